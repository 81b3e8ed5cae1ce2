package derive

import "github.com/opgen/opgen/formula/term"

// Missing returns the slot tensors that the gradient reads but that are neither given nor can be recomputed
// from given slots.
func (g *Gradient) Missing(given func(slot int) bool) []int {
	own := g.own()
	pending, missing := g.direct(), []int(nil)
	seen := map[int]bool{}
	for _, t := range pending {
		seen[t] = true
	}
	for len(pending) > 0 {
		t := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		l := g.Program.Tensors[t]
		switch {
		case l.Slot >= 0 && given(l.Slot):
		case l.Given:
			for _, s := range g.Program.Statements {
				if s.Target != t {
					continue
				}
				s.Value.Walk(func(n *term.Term) {
					for _, t := range tensorsOf(n) {
						if !seen[t] && !own[t] {
							seen[t] = true
							pending = append(pending, t)
						}
					}
				})
			}
		case l.Slot >= 0:
			missing = append(missing, t)
		}
	}
	return missing
}

// Reads returns the slots that the gradient reads.
func (g *Gradient) Reads() map[int]bool {
	out := map[int]bool{}
	for _, t := range g.direct() {
		if l := g.Program.Tensors[t]; l.Slot >= 0 {
			out[l.Slot] = true
		}
	}
	return out
}

// own returns the tensors of gradients and the targets of the gradient's statements.
func (g *Gradient) own() map[int]bool {
	own := map[int]bool{}
	for _, t := range g.Of {
		own[t] = true
	}
	for _, s := range g.Statements {
		own[s.Target] = true
	}
	return own
}

// direct returns the forward tensors that the gradient's statements read, in order of first read.
func (g *Gradient) direct() []int {
	own := g.own()
	seen := map[int]bool{}
	var out []int
	for _, s := range g.Statements {
		s.Reads(func(r *term.Read) {
			for k := range r.Count {
				if t := r.Tensor + k; !seen[t] && !own[t] {
					seen[t] = true
					out = append(out, t)
				}
			}
		})
	}
	return out
}

// tensorsOf returns the tensors that n may be an element of: none if n is no element.
func tensorsOf(n *term.Term) []int {
	if n.Op != term.Element {
		return nil
	}
	var out []int
	for k := range n.Read.Count {
		out = append(out, n.Read.Tensor+k)
	}
	return out
}
