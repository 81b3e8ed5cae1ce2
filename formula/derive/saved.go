package derive

import (
	"maps"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Missing returns the tensors of slots that the gradient needs but that backward does not get. given reports
// whether backward gets a slot. Tensors that can be recomputed from available slots are not missing.
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

// Kept returns the intermediate tensors that forward should save for the gradient: those that the gradient
// reads and that are costly to recompute from available and saved tensors, such as reductions. They hold real
// numbers, integers that take a reduction, such as places in an order, random choices, or what depends on
// what a tensor was before the task. Other integers and conditions are recomputed. given reports whether
// backward gets a slot that statements define. may reports whether a tensor may be saved; if not, it is
// recomputed from others that may.
func (g *Gradient) Kept(given func(slot int) bool, may func(t int) bool) []int {
	kept, _ := g.keeping(given, may)
	return kept
}

// Lost returns the tensors whose elements before the task the gradient needs, but that forward overwrites:
// it must save them. given and may are those of Kept.
func (g *Gradient) Lost(given func(slot int) bool, may func(t int) bool) []int {
	_, lost := g.keeping(given, may)
	return lost
}

// keeping returns what Kept and Lost do.
func (g *Gradient) keeping(given func(slot int) bool, may func(t int) bool) (saved, overwritten []int) {
	own, kept, lost := g.own(), map[int]bool{}, map[int]bool{}
	known := map[int]bool{} // of there, so that values that many others read are looked at once
	var there func(t int) bool
	there = func(t int) bool {
		l := g.Program.Tensors[t]
		switch is, seen := known[t]; {
		case own[t] || kept[t] || l.Slot >= 0 && l.Given && l.Old < 0 && given(l.Slot):
			return true
		case l.Old >= 0:
			return false
		case !l.Given:
			return true
		case seen:
			return is
		}
		known[t] = false
		known[t] = !g.costly(t) && !slices.ContainsFunc(g.readsOf(t), func(r int) bool { return !there(r) })
		return known[t]
	}
	seen := map[int]bool{}
	var keep func(t int)
	keep = func(t int) {
		if seen[t] || there(t) {
			return
		}
		seen[t] = true
		l := g.Program.Tensors[t]
		if l.Old >= 0 {
			lost[l.Old] = true
			return
		}
		if l.Slot < 0 && l.Given && (l.Kind == term.Real || g.costly(t) || g.past(t)) && may(t) {
			kept[t] = true
			clear(known)
			return
		}
		for _, r := range g.readsOf(t) {
			keep(r)
		}
	}
	direct := g.direct()
	slices.Sort(direct) // in the order in which statements give them
	for _, t := range direct {
		keep(t)
	}
	return slices.Sorted(maps.Keys(kept)), slices.Sorted(maps.Keys(lost))
}

// past reports whether a definition of a tensor reads what another one was before the task.
func (g *Gradient) past(t int) bool {
	return slices.ContainsFunc(g.readsOf(t), func(r int) bool { return g.Program.Tensors[r].Old >= 0 })
}

// readsOf returns the tensors that the definitions of tensor t read, sorted.
func (g *Gradient) readsOf(t int) []int {
	var out []int
	for _, s := range g.giving(t) {
		s.Reads(func(r *term.Read) {
			for k := range r.Count {
				out = append(out, r.Tensor+k)
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// giving returns the statements that define a tensor.
func (g *Gradient) giving(t int) []*program.Statement {
	if g.giver == nil {
		g.giver = map[int][]*program.Statement{}
		for _, s := range g.Program.Statements {
			g.giver[s.Target] = append(g.giver[s.Target], s)
		}
	}
	return g.giver[t]
}

// costly reports whether a tensor is costly to recompute: it is defined by a reduction, by a recurrence of
// real numbers, or by a condition on a random number. Integers count if the reduction reads elements, as an
// order does.
func (g *Gradient) costly(t int) bool {
	kind, found := g.Program.Tensors[t].Kind, false
	for _, s := range g.giving(t) {
		found = found || kind == term.Real && s.Recurrence != nil
		s.Value.Walk(func(n *term.Term) {
			found = found || n.Op == term.Reduce && (kind == term.Real || kind == term.Integer && n.Reads()) || kind == term.Boolean && n.Func.Has(term.Random)
		})
	}
	return found
}

// Statistic reports whether a tensor is a statistic of its operands, such as the mean of each row: reductions
// compute its elements, and each operand element contributes to one of them only. In a matrix product, in
// contrast, each operand element contributes to many results.
func (g *Gradient) Statistic(t int) bool { return g.statistic(t, map[int]bool{}) }

// statistic is Statistic with memoized results for other tensors.
func (g *Gradient) statistic(t int, known map[int]bool) bool {
	if is, seen := known[t]; seen {
		return is
	}
	known[t] = false
	reduces, all := false, true
	for _, s := range g.giving(t) {
		needs := func(n *term.Term) bool {
			free := n.Free()
			return !slices.ContainsFunc(s.Vars, func(v *term.Variable) bool { return !slices.Contains(free, v) })
		}
		s.Value.WalkInto(func(n *term.Term) bool {
			switch n.Op {
			case term.Reduce:
				reduces = true
				n.Walk(func(m *term.Term) { all = all && (m.Op != term.Element || needs(m)) })
				return false
			case term.Element:
				if l := g.Program.Tensors[n.Read.Tensor]; l.Slot < 0 && l.Given && g.reductions(n.Read.Tensor, map[int]bool{}) {
					reduces = true
					all = all && needs(n) && g.statistic(n.Read.Tensor, known)
				}
			}
			return true
		})
	}
	known[t] = reduces && all
	return known[t]
}

// reductions reports whether a tensor depends on a reduction, transitively through intermediate tensors.
func (g *Gradient) reductions(t int, seen map[int]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	found := false
	for _, s := range g.giving(t) {
		s.Value.Walk(func(n *term.Term) {
			found = found || n.Op == term.Reduce || n.Op == term.Element && g.Program.Tensors[n.Read.Tensor].Given && g.reductions(n.Read.Tensor, seen)
		})
	}
	return found
}

// Extreme reports whether a tensor is defined by max or min reductions, so that each element equals an
// operand element or the identity.
func (g *Gradient) Extreme(t int) bool {
	all := g.giving(t)
	return len(all) > 0 && !slices.ContainsFunc(all, func(s *program.Statement) bool {
		return s.Value.Op != term.Reduce || !s.Value.Reduction.Kind.Is(reduction.Extreme)
	})
}

// Whole returns the intermediate tensors with gradients, such as those of matrix products, whose gradient is
// needed as a whole: some statement of the gradient reads it at all indices of its first axis for each
// element that it computes. No part of that statement can thus begin before the whole gradient is complete.
func (g *Gradient) Whole() map[int]bool {
	out := map[int]bool{}
	for t, of := range g.Between {
		if !g.costly(t) || g.Statistic(t) {
			continue
		}
		for _, s := range g.Statements {
			s.Reads(func(r *term.Read) {
				if r.Tensor != of || len(r.Idx) == 0 || r.ByNumber {
					return
				}
				shared := slices.ContainsFunc(s.Vars, func(v *term.Variable) bool { return slices.Contains(r.Idx[0].Free(), v) })
				out[t] = out[t] || !shared
			})
		}
	}
	return out
}
