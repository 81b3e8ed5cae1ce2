package rewrite

import (
	"slices"

	algebra "github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// All integers up to these bounds are exact in float32 and float64.
const (
	Exact32 = 1 << 24
	exact64 = 1 << 53
)

// WholeFactors returns the factors of a sum of products of integers that is a matrix product, and exact in
// float64. most is an upper bound of the absolute value of a sum. x is nil for other values.
func WholeFactors(vars []*term.Variable, value *term.Term, tensors []Tensor) (x, y *term.Term, most float64) {
	if value.Op != term.Reduce || value.Kind != term.Integer {
		return nil, nil, 0
	}
	r := value.Reduction
	if r.Kind != reduction.Sum || r.Guard != nil || r.Body.Op != term.Multiply || len(r.Vars) == 0 {
		return nil, nil, 0
	}
	count := 1
	for _, v := range r.Vars {
		n, known := v.Hi.Known()
		if !known || !v.Lo.Is(0) {
			return nil, nil, 0
		}
		count *= n
	}
	rows, known := knownBox(vars)
	if !known || rows*count < leastProducts {
		return nil, nil, 0
	}
	x, y = r.Body.Args[0], r.Body.Args[1]
	alone := func(a, b *term.Term) bool { // whether an index of the result is used by a, and not by b
		return slices.ContainsFunc(vars, func(v *term.Variable) bool { return a.Uses(v) && !b.Uses(v) })
	}
	last := r.Vars[len(r.Vars)-1]
	if x.Kind != term.Integer || y.Kind != term.Integer || !alone(x, y) || !alone(y, x) || !x.Uses(last) || !y.Uses(last) || x.Reduces() || y.Reduces() {
		return nil, nil, 0
	}
	a, b := wholeRange(x, tensors), wholeRange(y, tensors)
	if !a.Known || !b.Known {
		return nil, nil, 0
	}
	if most = magnitude(a) * magnitude(b) * float64(count); most > exact64 {
		return nil, nil, 0
	}
	return x, y, most
}

// magnitude returns the greatest absolute value in an interval, and at least 1.
func magnitude(x algebra.Interval) float64 { return float64(max(-x.Lo, x.Hi, 1)) }

// wholeRange returns an interval that contains an integer for all elements that tensors may hold.
func wholeRange(n *term.Term, tensors []Tensor) algebra.Interval {
	out := algebra.Interval{}
	switch n.Op {
	case term.Constant, term.Symbol:
		v, known := n.Known()
		out = algebra.Interval{Lo: v, Hi: v, Known: known}
	case term.Index:
		hi, known := n.Var.Hi.Known()
		out = algebra.Interval{Hi: max(hi-1, 0), Known: known && n.Var.Lo.Is(0)}
	case term.Element:
		out = elementRange(n, tensors)
	case term.Negate:
		out = wholeRange(n.Args[0], tensors).Times(-1)
	case term.Add, term.Subtract, term.Multiply, term.Choose:
		x, y := wholeRange(n.Args[len(n.Args)-2], tensors), wholeRange(n.Args[len(n.Args)-1], tensors)
		switch n.Op {
		case term.Add:
			out = x.Plus(y)
		case term.Subtract:
			out = x.Plus(y.Times(-1))
		case term.Multiply:
			out = x.Mul(y)
		default:
			out = x.Either(y)
		}
	}
	if out.Lo < -mostRange || out.Hi > mostRange {
		return algebra.Interval{}
	}
	return out
}

// elementRange returns an interval that contains the elements of an integer tensor, by its type.
func elementRange(n *term.Term, tensors []Tensor) algebra.Interval {
	t := tensors[n.Read.Tensor]
	out := algebra.Interval{Known: n.Read.Count == 1}
	switch {
	case t.Type == dtype.Bool:
		out.Lo, out.Hi = 0, 1
	case t.Type.IsInteger() && t.Type.Size() <= 2:
		least, most, _ := t.Type.Bounds()
		out.Lo, out.Hi = int(least), int(most)
	default:
		return algebra.Interval{}
	}
	if n.Read.Else != nil {
		other := wholeRange(n.Read.Else, tensors)
		out = out.Either(other)
	}
	return out
}

// wholeProduct replaces a sum of products of integers by a matrix product of real numbers, which is exact. It
// returns the result, converted to an integer. Temporaries hold the factors. It returns nil for other values.
func (z *normalizer) wholeProduct(value *term.Term, vars []*term.Variable, lenient bool) *term.Term {
	x, y, most := WholeFactors(vars, value, z.tensors)
	if x == nil || z.own == dtype.F32 && most > Exact32 {
		return nil
	}
	r := *value.Reduction
	all := slices.Concat(vars, r.Vars)
	factor := func(n *term.Term) *term.Term {
		return z.realTemporary(n, slices.DeleteFunc(slices.Clone(all), func(v *term.Variable) bool { return !n.Uses(v) }), lenient)
	}
	r.Body = &term.Term{Op: term.Multiply, Kind: term.Real, Args: []*term.Term{factor(x), factor(y)}}
	sum := z.realTemporary(&term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &r}, vars, lenient)
	whole := &term.Function{Name: "convert", Args: 1, Result: term.Integer, To: dtype.I64,
		Real: func(x ...float64) float64 { return x[0] }, Whole: func(x float64) int { return int(x) }}
	return &term.Term{Op: term.Apply, Kind: term.Integer, Func: whole, Args: []*term.Term{sum}}
}

// realTemporary adds a temporary of the compute type that holds n, and returns the load of it.
func (z *normalizer) realTemporary(n *term.Term, vars []*term.Variable, lenient bool) *term.Term {
	x := z.temporary(n, vars, lenient)
	x.Kind = term.Real
	z.p.Tensors[x.Read.Tensor].Kind = term.Real
	z.tensors[x.Read.Tensor].Type = z.own
	return x
}
