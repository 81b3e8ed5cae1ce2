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
	out, err := Build(&u)
	if err == nil && unsettled {
		out.Forget()
	}
	return out, err
}

// Forget makes the values of symbols unknown: what is derived of the program then holds for all of them, so
// also where what it reads depends on which extents are larger than others.
func (p *Program) Forget() {
	p.symbols(func(n *term.Term) { n.Unknown = true })
}

// Settle puts the values of symbols in their place.
func (p *Program) Settle() {
	if p.use == nil || !p.use.Open {
		return
	}
	p.symbols(func(n *term.Term) { n.Op, n.Unknown = term.Constant, false })
	d := decider{}
	for _, s := range slices.Concat(p.Statements, p.Backward) {
		s.Value, s.Guard = d.decided(s.Value), d.decided(s.Guard)
	}
}

// symbols calls visit for each symbol, which is a term of the program alone.
func (p *Program) symbols(visit func(n *term.Term)) {
	seen := map[*term.Term]bool{} // what occurs several times is looked at once
	look := func(n *term.Term) {
		n.WalkInto(func(n *term.Term) bool {
			more := !seen[n]
			seen[n] = true
			if n.Op == term.Symbol && more {
				visit(n)
			}
			return more
		})
	}
	for _, t := range p.Tensors {
		for _, n := range t.Shape {
			look(n)
		}
	}
	for _, s := range slices.Concat(p.Statements, p.Backward) {
		for _, v := range s.Vars {
			look(v.Lo)
			look(v.Hi)
		}
		for _, n := range slices.Concat(s.Left.Idx, s.Left.Ext) {
			look(n)
		}
		look(s.Value)
		look(s.Guard)
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
