package oracle

import (
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/runtime/dtype"
)

// signs is what is known of the sign of an integer before it is computed.
type signs uint8

const (
	unknown signs = iota // the language does not say it
	signed               // it has a sign, and may lie below 0
	natural              // it has a sign, and is known to be 0 or more
	without              // it has 64 bits and no sign
)

// signsOf returns what is known of the sign of an integer.
func (e *evaluation) signsOf(n expr.Node, s *scope) signs {
	switch n := n.(type) {
	case *expr.Lit:
		return signOf(e.value(n, s, false))
	case *expr.Ident:
		if a := s.params[n.Name]; a != nil {
			return e.signsOf(a.node, a.scope)
		}
		if v, ok := e.attrs[n.Name]; ok {
			return signOf(v)
		}
		if a := e.arrays[n.Name]; len(a) > 0 {
			return a[0].signs()
		}
		if e.dims[n.Name] != "" && s.bound(n.Name, -1) != nil {
			return unknown // the range of a reduction may begin elsewhere than its dimension
		}
	case *expr.Read:
		a := e.arrays[n.Name]
		if len(a) == 0 || s.params[n.Name] != nil {
			return unknown
		}
		out := a[0].signs()
		for _, b := range a[1:] {
			out = joined(out, b.signs())
		}
		if n.Else != nil {
			out = joined(out, e.signsOf(n.Else, s))
		}
		return out
	case *expr.Unary:
		if n.Op == "-" {
			if _, literal := n.X.(*expr.Lit); literal {
				return signOf(e.value(n, s, false))
			}
			return signed
		}
	case *expr.Cond:
		if holds, known := e.settledCondition(n.If, s); known && holds {
			return e.signsOf(n.Then, s)
		} else if known {
			return e.signsOf(n.Else, s)
		}
		return joined(e.signsOf(n.Then, s), e.signsOf(n.Else, s))
	case *expr.Reduce:
		switch {
		case n.Kind == reduction.Count:
			return natural
		case slices.Contains([]reduction.Kind{reduction.Sum, reduction.Prod, reduction.Max, reduction.Min}, n.Kind) && e.signsOf(n.X, s) == without:
			return without
		}
	}
	return unknown
}

// readsUnsigned reports whether an expression reads a tensor of integers of 64 bits without a sign.
func (e *evaluation) readsUnsigned(n expr.Node) bool {
	found := false
	expr.Walk(n, func(n expr.Node) {
		name := ""
		switch n := n.(type) {
		case *expr.Read:
			name = n.Name
		case *expr.Ident:
			name = n.Name
		}
		for _, a := range e.arrays[name] {
			found = found || a.kind == integer && a.typ == dtype.U64
		}
	})
	return found
}

func signOf(v value) signs {
	switch {
	case v.kind != integer || v.unsure:
		return unknown
	case v.unsigned:
		return without
	case v.i >= 0:
		return natural
	}
	return signed
}

// signs returns what is known of the sign of the elements of a tensor.
func (a *array) signs() signs {
	switch {
	case a.kind != integer || a.typ == dtype.Invalid:
		return unknown
	case a.typ == dtype.U64:
		return without
	}
	return signed
}

// joined returns what is known of the sign of an integer that is one of two: it has none, if one of the two
// has none, and the other has none either or is known to be 0 or more.
func joined(x, y signs) signs {
	switch {
	case x == unknown || y == unknown:
		return unknown
	case x == signed || y == signed:
		return signed
	case x == without || y == without:
		return without
	}
	return unknown
}

// as returns an integer that is one of several, of whose sign something is known. With a sign, the bits of a
// number from 2^63 on are those of one below 0.
func (v value) as(known signs) value {
	if v.kind != integer || v.edge != 0 {
		return v
	}
	switch {
	case known == signed:
		v.unsigned = false
	case known == without:
		v.unsigned = true
	case v.unsigned && v.i < 0:
		panic(ErrAmbiguous)
	}
	return v
}
