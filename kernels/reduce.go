package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/kernels/internal/stats"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// Reduce is the kernel of reduce. The elements that become one are a group.
type Reduce[T dtype.Float | dtype.Index] struct{}

// Forward reduces groups.
func (Reduce[T]) Forward(_ *op.Ctx, a *reduce.Forward[T], r op.Range) error {
	if dtype.Of[T]().IsFloat() {
		reduceAs[T, float64](a, r, math.Inf(-1), math.Inf(1))
	} else {
		reduceAs[T, int64](a, r, math.MinInt64, math.MaxInt64)
	}
	return nil
}

// reduceAs reduces groups of T in arithmetic of A, whose values lie between lowest and highest.
func reduceAs[T dtype.Float | dtype.Index, A dtype.Number](a *reduce.Forward[T], r op.Range, lowest, highest A) {
	g := index.NewGroups(a.Dims.X, a.Dims.AXES, r.Lo)
	for i := r.Lo; i < r.Hi; i++ {
		var y A
		switch a.Attrs.OpType {
		case reduce.OpTypeReduceSum, reduce.OpTypeReduceMean:
			y = stats.Fold(a.Input, g, 0, func(sum A, x T) A { return sum + A(x) })
		case reduce.OpTypeReduceMax:
			y = stats.Fold(a.Input, g, lowest, func(top A, x T) A { return max(top, A(x)) })
		case reduce.OpTypeReduceMin:
			y = stats.Fold(a.Input, g, highest, func(low A, x T) A { return min(low, A(x)) })
		case reduce.OpTypeReduceProd:
			y = stats.Fold(a.Input, g, 1, func(product A, x T) A { return product * A(x) })
		}
		if a.Attrs.OpType == reduce.OpTypeReduceMean {
			y /= A(g.Size())
		}
		a.Output.Set(i, T(y))
		g.Next()
	}
}

// ReduceBackward is the kernel of reduce's backward.
type ReduceBackward[T dtype.Float] struct{}

// Backward computes the gradient of groups.
func (ReduceBackward[T]) Backward(_ *op.Ctx, a *reduce.Backward[T], r op.Range) error {
	g := index.NewGroups(a.Dims.X, a.Dims.AXES, r.Lo)
	for i := r.Lo; i < r.Hi; i++ {
		grad := float64(a.GradOutput.At(i))
		var of func(k int) float64 // the gradient of element k
		switch a.Attrs.OpType {
		case reduce.OpTypeReduceSum:
			of = func(int) float64 { return grad }
		case reduce.OpTypeReduceMean:
			of = func(int) float64 { return grad / float64(g.Size()) }
		case reduce.OpTypeReduceProd:
			input, _ := a.Input.Get()
			of = gradOfProduct(input, g, grad)
		default:
			input, _ := a.Input.Get()
			output, _ := a.Output.Get()
			of = gradOfExtremum(input, g, output.At(i), grad)
		}
		for _, k := range g.All() {
			a.GradInput.Put(k, T(of(k)))
		}
		g.Next()
	}
	return nil
}

// gradOfExtremum returns the gradient of elements of a group: those that equal the extremum share it.
func gradOfExtremum[T dtype.Float](x tensor.RO[T], g *index.Groups, extremum T, grad float64) func(k int) float64 {
	n := 0
	for _, k := range g.All() {
		if x.At(k) == extremum {
			n++
		}
	}
	return func(k int) float64 {
		if x.At(k) == extremum {
			return grad / float64(n)
		}
		return 0
	}
}

// gradOfProduct returns the gradient of elements of a group: the product of the others. The
// product of all is not divided by the element, since that may be 0.
func gradOfProduct[T dtype.Float](x tensor.RO[T], g *index.Groups, grad float64) func(k int) float64 {
	zeros, product := 0, 1.0
	for _, k := range g.All() {
		if v := float64(x.At(k)); v == 0 {
			zeros++
		} else {
			product *= v
		}
	}
	return func(k int) float64 {
		v := float64(x.At(k))
		switch {
		case zeros == 0:
			return grad * (product / v)
		case zeros == 1 && v == 0:
			return grad * product
		}
		return 0
	}
}
