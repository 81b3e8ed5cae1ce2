package example

import (
	"math"
	"math/bits"
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/runtime/shape"
)

// call evaluates a call of a builtin.
func (e *evaluator) call(n *expr.Call) any {
	if k := n.Fold(); k != 0 {
		return e.combine(k, e.list(n.Args[0]))
	}
	switch n.Func {
	case "len":
		switch v := e.eval(n.Args[0]).(type) {
		case [][]int:
			return len(v)
		case []any:
			return len(v)
		case []int:
			return len(v)
		}
		e.fail("want a list")
		return nil
	case "ceildiv":
		return e.divide(n.Func, e.integer(n.Args[0]), e.integer(n.Args[1]))
	case "min", "max":
		return e.extreme(n)
	case "broadcast":
		return e.broadcast(e.list(n.Args[0]), e.list(n.Args[1]))
	case "keep", "drop", "ones", "insert", "permute":
		return e.choose(n.Func, e.list(n.Args[0]), e.list(n.Args[1]))
	case "ceil":
		f := math.Ceil(e.float(n.Args[0]))
		return e.fit(int(f), math.Abs(f) < 1<<(bits.UintSize-1))
	case "sqrt":
		return math.Sqrt(e.float(n.Args[0]))
	case "log2":
		return math.Log2(e.float(n.Args[0]))
	case "has":
		return e.eval(n.Args[0]) != nil
	case "or":
		return e.or(n)
	case "count", "present":
		slot, _ := n.Args[0].(*expr.Ident)
		if slot == nil {
			break
		}
		if n.Func == "present" {
			return e.count(slot.Name) > 0
		}
		return e.count(slot.Name)
	case "places":
		if slot, ok := n.Args[0].(*expr.Ident); ok {
			return e.places(slot.Name)
		}
	}
	e.fail("unknown function %s", n.Func)
	return nil
}

// sum returns the sum of a list, checked for overflow.
func (e *evaluator) sum(list []int) int {
	sum := 0
	for _, n := range list {
		sum = e.fit(shape.Add(sum, n))
	}
	return sum
}

// or evaluates or(attribute, default). The result for an axis attribute is normalized.
func (e *evaluator) or(n *expr.Call) any {
	v := e.eval(n.Args[0])
	if v == nil {
		v = e.eval(n.Args[1])
	}
	id, _ := n.Args[0].(*expr.Ident)
	if i, ok := v.(int); ok && id != nil && id.Symbol.Class == expr.Attr && id.Symbol.Axis {
		return e.axis(id.Name, i)
	}
	return v
}

// extreme evaluates min or max of several numbers.
func (e *evaluator) extreme(n *expr.Call) any {
	kind := reduction.Of(n.Func)
	if n.Type().Kind == expr.Float {
		return fold(n, e.float, kind.Join())
	}
	return fold(n, e.integer, kind.IntegerJoin())
}

// fold combines the arguments of a call with f, from left to right.
func fold[T any](n *expr.Call, value func(expr.Node) T, f func(a, b T) T) T {
	out := value(n.Args[0])
	for _, a := range n.Args[1:] {
		out = f(out, value(a))
	}
	return out
}

func (e *evaluator) broadcast(a, b []int) any {
	s, ok := shape.Broadcast(a, b)
	if !ok {
		e.fail("want shapes that broadcast: equal extents, or 1, got %s and %s", shape.Format(a), shape.Format(b))
		return nil
	}
	return s
}

// choose evaluates keep, drop, ones, insert or permute of dims and axes.
func (e *evaluator) choose(f string, dims, axes []int) any {
	rank := len(dims)
	if f == "insert" {
		rank += len(axes)
	}
	if !e.distinct(axes, rank, dims) {
		return nil
	}
	if f == "permute" {
		if len(axes) != rank {
			e.fail("want every dimension of %s once, got %s", shape.Format(dims), shape.Format(axes))
			return nil
		}
		return shape.Permute(dims, axes)
	}
	out := []int{}
	for d := range rank {
		switch in := slices.Contains(axes, d); {
		case in && (f == "ones" || f == "insert"):
			out = append(out, 1)
		case f == "insert":
			out, dims = append(out, dims[0]), dims[1:]
		case f == "keep" && !in, f == "drop" && in:
		default:
			out = append(out, dims[d])
		}
	}
	return out
}

// distinct checks that axes are distinct and in [0, rank). dims is for the message.
func (e *evaluator) distinct(axes []int, rank int, dims []int) bool {
	for i, a := range axes {
		if a < 0 || a >= rank || slices.Contains(axes[:i], a) {
			e.fail("want different axes from 0 to %d for %s, got %s", rank-1, shape.Format(dims), shape.Format(axes))
			return false
		}
	}
	return e.err == nil
}
