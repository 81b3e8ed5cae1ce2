package program

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// Opened returns the program of the same use in which extents and integer attributes are symbols, as in the
// programs of examples. With unsettled, what symbols are compared with stays a condition, so that the program
// is that of other uses, too. Settle makes it one that can be computed.
func (p *Program) Opened(unsettled bool) (*Program, error) {
	u := *p.use
	u.Open, u.Unsettled = true, unsettled
	return Build(&u)
}

// Settle puts the values of symbols in their place.
func (p *Program) Settle() {
	if p.use == nil || !p.use.Open {
		return
	}
	seen := map[*term.Term]bool{} // what occurs several times is looked at once
	settle := func(n *term.Term) {
		n.WalkInto(func(n *term.Term) bool {
			if n.Op == term.Symbol {
				n.Op = term.Constant // the terms are those of the program alone
			}
			more := !seen[n]
			seen[n] = true
			return more
		})
	}
	d := decider{}
	for _, t := range p.Tensors {
		for _, n := range t.Shape {
			settle(n)
		}
	}
	for _, s := range slices.Concat(p.Statements, p.Backward) {
		for _, v := range s.Vars {
			settle(v.Lo)
			settle(v.Hi)
		}
		for _, n := range slices.Concat(s.Left.Idx, s.Left.Ext) {
			settle(n)
		}
		settle(s.Value)
		settle(s.Guard)
		s.Value, s.Guard = d.decided(s.Value), d.decided(s.Guard)
	}
}

// decider holds, for terms that it has seen, those in which comparisons of numbers that are known are
// conditions that are known.
type decider map[*term.Term]*term.Term

func (d decider) decided(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	out := d[n]
	if out == nil {
		out = n.Map(d.decided)
		switch out.Op {
		case term.Equal, term.Unequal, term.Less, term.AtMost:
			out = term.Compare(out.Op, out.Args[0], out.Args[1])
		}
		d[n] = out
	}
	return out
}
