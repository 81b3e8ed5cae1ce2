package program

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// Opened rebuilds the program for the same use with symbols for extents and integer attributes, as in the
// programs of examples. With unsettled set, comparisons of symbols stay conditions, so that the program
// holds for other uses, too; Settle makes it executable.
func (p *Program) Opened(unsettled bool) (*Program, error) {
	u := *p.use
	u.Open, u.Unsettled = true, unsettled
	out, err := Build(&u)
	if err == nil && unsettled {
		out.Forget()
	}
	return out, err
}

// Forget marks the values of symbols as unknown. Results of an analysis then hold for all values of the
// symbols, and not only for the order of extents in this use.
func (p *Program) Forget() {
	p.symbols(func(n *term.Term) { n.Unknown = true })
}

// Settle replaces symbols by their values in this use, and folds the comparisons that then have known
// operands.
func (p *Program) Settle() { p.SettleSome(func(string) bool { return true }) }

// SettleSome does what Settle does for the symbols for whose names some returns true. Others stay symbolic.
func (p *Program) SettleSome(some func(symbol string) bool) {
	if p.use == nil || !p.use.Open {
		return
	}
	p.symbols(func(n *term.Term) {
		if some(n.Name) {
			n.Op, n.Unknown = term.Constant, false
		}
	})
	d := decider{}
	for _, s := range slices.Concat(p.Statements, p.Backward) {
		s.Value, s.Guard = d.decided(s.Value), d.decided(s.Guard)
	}
}

// symbols calls visit for each symbol in the program, once for a shared one. visit may change a symbol in
// place, since no other program shares it.
func (p *Program) symbols(visit func(n *term.Term)) {
	seen := map[*term.Term]bool{} // visit shared subterms once
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

// decider folds comparisons of known numbers in terms. The map memoizes the results.
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
