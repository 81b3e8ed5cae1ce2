package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/index"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// ElementBinary is the kernel of element_binary.
type ElementBinary[T dtype.Float] struct{}

// Forward combines elements of the two sides.
func (ElementBinary[T]) Forward(_ *task.Ctx, a *elementbinary.Forward[T], r task.Range) error {
	d := &a.Dims
	w := index.New(d.O, r.Lo, shape.BroadcastStrides(d.L, d.O), shape.BroadcastStrides(d.R, d.O))
	for i := r.Lo; i < r.Hi; i++ {
		a.Output.Set(i, combine(a.Attrs.Type, a.LhsInput.At(w.Offset(0)), a.RhsInput.At(w.Offset(1))))
		w.Next()
	}
	return nil
}

func combine[T dtype.Float](op elementbinary.Type, x, y T) T {
	switch op {
	case elementbinary.TypeEwAdd:
		return x + y
	case elementbinary.TypeEwSub:
		return x - y
	case elementbinary.TypeEwMul:
		return x * y
	case elementbinary.TypeEwDiv:
		return x / y
	case elementbinary.TypeEwMax:
		return max(x, y)
	case elementbinary.TypeEwMin:
		return min(x, y)
	}
	return T(math.Pow(float64(x), float64(y))) // EW_POW
}

// BackwardLhs computes elements of the gradient of lhs_input.
func (ElementBinary[T]) BackwardLhs(_ *task.Ctx, a *elementbinary.Backward[T], r task.Range) error {
	backwardSide(a, a.GradLhsInput, a.Dims.L, r, func(x, y float64) float64 {
		switch a.Attrs.Type {
		case elementbinary.TypeEwMul:
			return y
		case elementbinary.TypeEwDiv:
			return 1 / y
		case elementbinary.TypeEwMax:
			return share(x, y)
		case elementbinary.TypeEwMin:
			return share(y, x)
		case elementbinary.TypeEwPow:
			if y == 0 {
				return 0
			}
			return y * math.Pow(x, y-1)
		}
		return 1 // EW_ADD, EW_SUB
	})
	return nil
}

// BackwardRhs computes elements of the gradient of rhs_input.
func (ElementBinary[T]) BackwardRhs(_ *task.Ctx, a *elementbinary.Backward[T], r task.Range) error {
	backwardSide(a, a.GradRhsInput, a.Dims.R, r, func(x, y float64) float64 {
		switch a.Attrs.Type {
		case elementbinary.TypeEwSub:
			return -1
		case elementbinary.TypeEwMul:
			return x
		case elementbinary.TypeEwDiv:
			return -x / (y * y)
		case elementbinary.TypeEwMax:
			return share(y, x)
		case elementbinary.TypeEwMin:
			return share(x, y)
		case elementbinary.TypeEwPow:
			if x == 0 && y >= 0 {
				return 0
			}
			return math.Pow(x, y) * math.Log(x)
		}
		return 1 // EW_ADD
	})
	return nil
}

// share returns the part of the gradient that goes to x where the greater of x and y is taken.
func share(x, y float64) float64 {
	switch {
	case x > y:
		return 1
	case x == y:
		return 0.5
	}
	return 0
}

// backwardSide sums, for elements of one side, gradient times derivative over all elements of the
// output in which it was repeated.
func backwardSide[T dtype.Float](a *elementbinary.Backward[T], to tensor.Grad[T], side []int, r task.Range, derivative func(x, y float64) float64) {
	if !to.Wanted() {
		return
	}
	d := &a.Dims
	lhs, haveLhs := a.LhsInput.Get()
	rhs, haveRhs := a.RhsInput.Get()
	out := shape.Strides(d.O)
	left, right := shape.BroadcastStrides(d.L, d.O), shape.BroadcastStrides(d.R, d.O)
	// The dimensions of the output fall into those of the side and those in which it is repeated.
	own, repeated := make([]int, len(d.O)), make([]int, len(d.O))
	for i, stride := range shape.BroadcastStrides(side, d.O) {
		own[i], repeated[i] = 1, d.O[i]
		if stride != 0 || d.O[i] == 1 {
			own[i], repeated[i] = d.O[i], 1
		}
	}
	copies := shape.Prod(repeated)
	outer := index.New(own, r.Lo, out, left, right)
	for i := r.Lo; i < r.Hi; i++ {
		inner := index.New(repeated, 0, out, left, right)
		var sum float64
		for range copies {
			var x, y float64
			if haveLhs {
				x = float64(lhs.At(outer.Offset(1) + inner.Offset(1)))
			}
			if haveRhs {
				y = float64(rhs.At(outer.Offset(2) + inner.Offset(2)))
			}
			sum += float64(a.GradOutput.At(outer.Offset(0)+inner.Offset(0))) * derivative(x, y)
			inner.Next()
		}
		to.Put(i, T(sum))
		outer.Next()
	}
}
