package derive

import "github.com/opgen/opgen/internal/term"

// Missing lists the tensors of slots that the gradient reads and that are neither given nor follow from what is given.
func (g *Gradient) Missing(given func(slot int) bool) []int {
	own := map[int]bool{} // what the gradient's statements give
	for _, t := range g.Of {
		own[t] = true
	}
	var todo, missing []int
	seen := map[int]bool{}
	read := func(n *term.Term) {
		if n.Op != term.Element {
			return
		}
		for k := range n.Read.Count {
			if t := n.Read.Tensor + k; !seen[t] && !own[t] {
				seen[t] = true
				todo = append(todo, t)
			}
		}
	}
	for _, s := range g.Statements {
		own[s.Target] = true
	}
	for _, s := range g.Statements {
		s.Value.Walk(read)
		s.Guard.Walk(read)
		for _, i := range s.Left.Idx {
			i.Walk(read)
		}
	}
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		l := g.Program.Tensors[t]
		switch {
		case l.Slot >= 0 && given(l.Slot):
		case l.Given:
			for _, s := range g.Program.Statements {
				if s.Target == t {
					s.Value.Walk(read)
				}
			}
		case l.Slot >= 0:
			missing = append(missing, t)
		}
	}
	return missing
}
