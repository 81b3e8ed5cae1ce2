package loops

import (
	"fmt"
	"maps"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// unsigned returns an error if loops cannot compute a statement with uint64. Loops represent a uint64 by the
// int with the same bits. This is correct for copies, selections, sums, differences, products, comparisons
// for equality, and subscripts. Elements are converted to real numbers correctly, too, by their storage.
// extremes holds the identities of max and min that other code may store in tensors.
func unsigned(p *program.Program, statements []*program.Statement, extremes map[int]program.Ends) error {
	held := maps.Clone(extremes)
	if held == nil {
		held = map[int]program.Ends{}
	}
	for _, s := range statements {
		wrong := func(n *term.Term) error {
			return fmt.Errorf("%s: there are no loops for %s with integers of type %v", s, n, dtype.U64)
		}
		target := p.Tensors[s.Target]
		ends := program.EndsOf(s.Value, held, p.Unsigned)
		held[s.Target] = held[s.Target].Or(ends)
		switch {
		case p.Unsigned(s.Value) && target.Kind != term.Integer && !stored(s.Value),
			target.Unsigned && ends.Any(): // the bounds of int stand for those of uint64
			return wrong(s.Value)
		}
		var err error
		s.Walk(func(n *term.Term) {
			if !byBits(p, n) {
				err = wrong(n)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// byBits reports whether operation n is correct if its uint64 operands are the ints with the same bits.
// Operands that become real numbers must be elements, since their storage converts them.
func byBits(p *program.Program, n *term.Term) bool {
	switch n.Op {
	case term.Reduce:
		return !p.Unsigned(n.Reduction.Body)
	case term.Element:
		if n.Kind != term.Integer || p.Unsigned(n) {
			return true
		}
		some := p.Unsigned(n.Read.Else)
		for i := range n.Read.Count {
			some = some || p.Tensors[n.Read.Tensor+i].Unsigned
		}
		return !some // or else elements and the default differ in their signs
	}
	if !slices.ContainsFunc(n.Args, p.Unsigned) {
		return true
	}
	real := n.Kind == term.Real // whether operands become real numbers
	for _, x := range n.Args {
		real = real || x.Kind == term.Real
	}
	switch n.Op {
	case term.Add, term.Subtract, term.Multiply, term.Negate, term.Choose:
		if !real {
			return true
		}
	case term.Equal, term.Unequal:
		if !real {
			return p.Natural(n.Args[0]) && p.Natural(n.Args[1])
		}
	}
	return real && !n.Func.Has(term.Random) &&
		!slices.ContainsFunc(n.Args, func(x *term.Term) bool { return p.Unsigned(x) && !stored(x) })
}

// stored reports whether a term is an element without a default, or with a constant one.
func stored(n *term.Term) bool {
	if n.Op != term.Element {
		return false
	}
	if n.Read.Else == nil {
		return true
	}
	_, known := n.Read.Else.Known()
	return known
}
