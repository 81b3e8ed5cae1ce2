package emit

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// span is an interval in which an integer lies. Code computes with the operators of Go where intervals show
// that an int holds the result, and asks the resolver to compute and to check elsewhere.
type span struct{ lo, hi int64 }

// greatest is the greatest int where it has 32 bits. What fits there fits 64 bits, too: only attributes and
// extents grow, and code that these multiply or add is checked.
const greatest = 1<<31 - 1

// listed is more than a list has elements, or a slot tensors.
const listed = 1 << 24

var (
	anyInt = span{-greatest - 1, greatest}
	extent = span{0, greatest}
)

// fits reports whether an int holds all of an interval, and the negatives.
func (s span) fits() bool { return s.lo >= -greatest && s.hi <= greatest }

// within returns the part of an interval that results have whose computation is checked.
func (s span) within() span { return span{max(s.lo, -greatest), min(s.hi, greatest)} }

func (s span) union(o span) span { return span{min(s.lo, o.lo), max(s.hi, o.hi)} }

// checked reports whether an operation of integers may have a result that an int does not hold.
func (x *exprs) checked(n expr.Node) bool { return !x.plain && !x.result(n).fits() }

// span returns an interval of an integer in Go.
func (x *exprs) span(n expr.Node) span {
	switch n := n.(type) {
	case *expr.Lit:
		v, _ := n.Value.(int64)
		return span{v, v}
	case *expr.Ident:
		return x.named(n)
	case *expr.Unary:
		return x.result(n).within()
	case *expr.Binary:
		if n.Op == "/" || n.Op == "%" { // which Go computes
			return x.result(n)
		}
		return x.result(n).within()
	case *expr.Cond:
		return x.span(n.Then).union(x.span(n.Else))
	case *expr.Index:
		return span{x.least(n.X), greatest}
	case *expr.Select:
		if f, ok := n.X.Type().Field(n.Field); ok && f.HasMin && !n.X.Type().Optional {
			return span{max(f.Min, anyInt.lo), greatest}
		}
	case *expr.Call:
		return x.called(n)
	case *expr.Reduce:
		if f := x.span(n.X); f.lo >= 0 && !n.Kind.Is(reduction.Extreme) {
			return extent
		} else if n.Kind.Is(reduction.Extreme) {
			return f
		}
	}
	return anyInt
}

// result returns the interval of what an operation gives in the numbers of mathematics.
func (x *exprs) result(n expr.Node) span {
	switch n := n.(type) {
	case *expr.Unary:
		a := x.span(n.X)
		return span{-a.hi, -a.lo}
	case *expr.Binary:
		a, b := x.span(n.X), x.span(n.Y)
		switch n.Op {
		case "+":
			return span{a.lo + b.lo, a.hi + b.hi}
		case "-":
			return span{a.lo - b.hi, a.hi - b.lo}
		case "*":
			products := []int64{a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi}
			return span{slices.Min(products), slices.Max(products)}
		case "/": // divisors are above 0
			return quotient(a, b)
		case "%":
			return span{0, max(b.hi-1, 0)}
		}
	}
	return anyInt
}

// quotient returns the interval of a quotient that is rounded down.
func quotient(a, b span) span {
	floor := func(p, q int64) int64 {
		d := p / q
		if p%q < 0 {
			d--
		}
		return d
	}
	least, most := max(b.lo, 1), max(b.hi, 1)
	return span{min(floor(a.lo, least), floor(a.lo, most)), max(floor(a.hi, least), floor(a.hi, most))}
}

// named returns the interval of a name.
func (x *exprs) named(n *expr.Ident) span {
	s := n.Symbol
	switch {
	case s.Class == expr.Position:
		return span{0, greatest - 1} // an index is below its range
	case s.Class == expr.Dim:
		return x.dimension(n.Name)
	case s.Class == expr.Attr && s.Axis:
		return span{0, listed}
	case s.HasMin:
		return span{max(s.Min, anyInt.lo), greatest}
	}
	return anyInt
}

// dimension returns the interval of a dimension: an extent of an input, or what an expression gives.
func (x *exprs) dimension(name string) span {
	if s, ok := x.spans[name]; ok {
		return s
	}
	s := extent
	for _, d := range x.e.op.Dims {
		if d.Name == name && d.Node != nil && !d.Rest && !d.Each {
			s = x.span(d.Node)
		}
	}
	if x.spans == nil {
		x.spans = map[string]span{}
	}
	x.spans[name] = s
	return s
}

// called returns the interval of what a function gives.
func (x *exprs) called(n *expr.Call) span {
	switch k := n.Fold(); {
	case k.Is(reduction.Extreme):
		return span{x.least(n.Args[0]), greatest}
	case k != 0 && x.least(n.Args[0]) >= 0:
		return extent
	}
	switch n.Func {
	case "len", "count":
		return span{0, listed}
	case "ceildiv":
		a, b := x.span(n.Args[0]), x.span(n.Args[1])
		s := quotient(a, b)
		return span{s.lo, min(s.hi+1, greatest)}
	case "min", "max":
		s := x.span(n.Args[0])
		for _, a := range n.Args[1:] {
			b := x.span(a)
			if n.Func == "min" {
				s = span{min(s.lo, b.lo), min(s.hi, b.hi)}
			} else {
				s = span{max(s.lo, b.lo), max(s.hi, b.hi)}
			}
		}
		return s
	case "or":
		if n.Type().Kind == expr.Int {
			return x.span(n.Args[0]).union(x.span(n.Args[1]))
		}
	}
	return anyInt
}

// least returns a number that no element of a list is below.
func (x *exprs) least(n expr.Node) int64 {
	switch n := n.(type) {
	case *expr.Ident:
		if n.Symbol.Class == expr.Dim {
			for _, d := range x.e.op.Dims {
				if d.Name == n.Name && d.Node != nil {
					return x.least(d.Node)
				}
			}
			return 0
		}
		if n.Symbol.Least > 0 {
			return n.Symbol.Least
		}
	case *expr.Index: // the run of a tensor
		return x.least(n.X)
	case *expr.Slice:
		return x.least(n.X)
	case *expr.Cond:
		return min(x.least(n.Then), x.least(n.Else))
	case *expr.List:
		least := int64(greatest)
		for _, e := range n.Elems {
			least = min(least, x.span(e).lo)
		}
		return least
	case *expr.Call:
		switch n.Func {
		case "broadcast":
			return min(x.least(n.Args[0]), x.least(n.Args[1]))
		case "keep", "drop", "permute":
			return x.least(n.Args[0])
		case "ones", "insert":
			return min(x.least(n.Args[0]), 1)
		}
	}
	return anyInt.lo
}

// resolver returns the function of the resolver with a name, or that of package shape where there is none.
func (x *exprs) resolver(name string) string {
	if x.plain {
		return "shape." + name
	}
	return "r." + name
}

// arithmetic returns a sum, a difference or a product that the resolver computes and checks. Terms and
// factors that stand side by side are arguments of one call.
func (x *exprs) arithmetic(n *expr.Binary) string {
	switch n.Op {
	case "+":
		return "r.Add(" + strings.Join(x.codes(x.chain(n)), ", ") + ")"
	case "*":
		return "r.Mul(" + strings.Join(x.codes(x.chain(n)), ", ") + ")"
	}
	return "r.Sub(" + x.code(n.X, 0) + ", " + x.code(n.Y, 0) + ")"
}

// chain returns the operands of operators that stand side by side. An operand of which an int holds the
// result remains whole.
func (x *exprs) chain(n *expr.Binary) []expr.Node {
	operands := []expr.Node{n.X, n.Y}
	for {
		b, ok := operands[0].(*expr.Binary)
		if !ok || b.Op != n.Op || b.Type().Kind != expr.Int || !x.checked(b) {
			return operands
		}
		operands = append([]expr.Node{b.X, b.Y}, operands[1:]...)
	}
}

// factors returns the factors of a product of integers.
func factors(n *expr.Binary) []expr.Node {
	var all []expr.Node
	for _, m := range []expr.Node{n.X, n.Y} {
		if b, ok := m.(*expr.Binary); ok && b.Op == "*" && b.Type().Kind == expr.Int {
			all = append(all, factors(b)...)
		} else {
			all = append(all, m)
		}
	}
	return all
}
