package loops

import (
	"slices"

	"github.com/opgen/opgen/internal/term"
)

// windowed returns a reduction in which an index whose range is a window of constant size, cut at the borders, counts the
// elements of the window. Conditions leave out what lies beyond the borders.
func windowed(r *term.Reduction) *term.Reduction {
	out := *r
	out.Vars = nil
	to := map[*term.Variable]*term.Term{}
	conditions := []*term.Term{r.Guard}
	for _, v := range r.Vars {
		first, size, rest := window(v)
		if size == 0 {
			out.Vars = append(out.Vars, v)
			continue
		}
		w := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(size)}
		to[v] = term.Sum(first, w.Term())
		for _, c := range rest {
			conditions = append(conditions, c.Substitute(map[*term.Variable]*term.Term{v: to[v]}))
		}
		out.Vars = append(out.Vars, w)
	}
	if len(to) == 0 {
		return r
	}
	for i, c := range conditions {
		conditions[i] = settled(c.Substitute(to))
		if conditions[i] == nil {
			continue
		}
		if holds, known := conditions[i].Truth(); known && holds {
			conditions[i] = nil
		}
	}
	out.Guard = term.All(conditions...)
	out.Body = r.Body.Substitute(to)
	return &out
}

// window returns where the range of an index begins, its constant size, and the conditions that its borders are. The
// size is 0 if the range is known, or if its size is not constant.
func window(v *term.Variable) (first *term.Term, size int, conditions []*term.Term) {
	if _, known := v.Lo.Known(); known {
		if _, known := v.Hi.Known(); known {
			return nil, 0, nil
		}
	}
	lows, highs := operands(v.Lo, "max"), operands(v.Hi, "min")
	for i, lo := range lows {
		for j, hi := range highs {
			d := linear(hi).plus(linear(lo), -1)
			if !d.constant() || d.base <= 0 || linear(lo).constant() {
				continue
			}
			for _, x := range slices.Delete(slices.Clone(lows), i, i+1) {
				conditions = append(conditions, term.Compare(term.AtMost, x, v.Term()))
			}
			for _, x := range slices.Delete(slices.Clone(highs), j, j+1) {
				conditions = append(conditions, term.Compare(term.Less, v.Term(), x))
			}
			return lo, d.base, conditions
		}
	}
	return nil, 0, nil
}

// operands lists the integers of which n is the maximum or the minimum.
func operands(n *term.Term, name string) []*term.Term {
	if n.Op == term.Apply && n.Func.Name == name {
		return append(operands(n.Args[0], name), operands(n.Args[1], name)...)
	}
	return []*term.Term{n}
}
