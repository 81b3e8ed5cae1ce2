package kernels

import (
	"errors"
	"fmt"
	"math"

	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/kernels/internal/elements"
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/tensor"
)

// ElementBinary is the kernel of element_binary.
type ElementBinary[T dtype.Float | dtype.Index] struct{}

// Forward combines elements of the two sides.
func (ElementBinary[T]) Forward(_ *op.Ctx, a *elementbinary.Forward[T], r op.Range) error {
	var err error
	elements.Zip(a.Output, a.LhsInput, a.RhsInput, r.Lo, r.Hi, combination[T](a.Attrs.Type, &err))
	return err
}

// combination returns the function that combines two elements. It sets err if the elements have no result.
func combination[T dtype.Number](op elementbinary.Type, err *error) func(x, y T) T {
	integer := dtype.Of[T]().IsInteger()
	switch op {
	case elementbinary.TypeEwAdd:
		return func(x, y T) T { return x + y }
	case elementbinary.TypeEwSub:
		return func(x, y T) T { return x - y }
	case elementbinary.TypeEwMul:
		return func(x, y T) T { return x * y }
	case elementbinary.TypeEwDiv:
		return func(x, y T) T {
			if integer && y == 0 {
				*err = errors.New("slot rhs_input: want integers other than 0 to divide by, got 0")
				return 0
			}
			return x / y
		}
	case elementbinary.TypeEwMax:
		return func(x, y T) T { return max(x, y) }
	case elementbinary.TypeEwMin:
		return func(x, y T) T { return min(x, y) }
	}
	if !integer { // EW_POW
		return func(x, y T) T { return T(math.Pow(float64(x), float64(y))) }
	}
	return func(x, y T) T {
		if y < 0 {
			*err = fmt.Errorf("slot rhs_input: want exponents of integers of 0 or more, got %v", y)
			return 0
		}
		return integerPower(x, int(y))
	}
}

// integerPower returns x multiplied n times.
func integerPower[T dtype.Number](x T, n int) T {
	p := T(1)
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			p *= x
		}
		x *= x
	}
	return p
}

// ElementBinaryBackward is the kernel of element_binary's backward.
type ElementBinaryBackward[T dtype.Float] struct{}

// BackwardLhs computes elements of the gradient of lhs_input.
func (ElementBinaryBackward[T]) BackwardLhs(_ *op.Ctx, a *elementbinary.Backward[T], r op.Range) error {
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
func (ElementBinaryBackward[T]) BackwardRhs(_ *op.Ctx, a *elementbinary.Backward[T], r op.Range) error {
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
func backwardSide[T dtype.Float](a *elementbinary.Backward[T], to tensor.Grad[T], side []int, r op.Range, derivative func(x, y float64) float64) {
	if !to.Wanted() {
		return
	}
	d := &a.Dims
	lhs, haveLhs := a.LhsInput.Get()
	rhs, haveRhs := a.RhsInput.Get()
	copies := index.NewGroups(d.O, shape.BroadcastAxes(side, d.O), r.Lo,
		shape.Strides(d.O), shape.BroadcastStrides(d.L, d.O), shape.BroadcastStrides(d.R, d.O))
	for i := r.Lo; i < r.Hi; i++ {
		var sum float64
		for _, o := range copies.All() {
			var x, y float64
			if haveLhs {
				x = float64(lhs.At(copies.Offset(1)))
			}
			if haveRhs {
				y = float64(rhs.At(copies.Offset(2)))
			}
			sum += float64(a.GradOutput.At(o)) * derivative(x, y)
		}
		to.Put(i, T(sum))
		copies.Next()
	}
}
