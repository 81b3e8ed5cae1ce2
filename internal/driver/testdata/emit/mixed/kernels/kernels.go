// Package kernels holds the kernels of operators on elements of many types.
package kernels

import (
	"example.com/mixed/generated/choose"
	"example.com/mixed/generated/convert"
	"example.com/mixed/generated/nothing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Choose is the kernel of choose.
type Choose[D dtype.Index, T bool | int32 | float32, C dtype.Index] struct{}

// Forward chooses.
func (Choose[D, T, C]) Forward(_ *op.Ctx, a *choose.Forward[D, T, C], _ op.Range) error {
	var count C
	for i := range a.Cond.Len() {
		x, y := a.First.At(i), a.Second.At(i)
		a.Same.Set(i, x == y)
		if a.Cond.At(i) {
			a.Output.Set(i, x)
			count++
		} else {
			a.Output.Set(i, y)
		}
	}
	a.Count.Set(0, count)
	a.Rest.Set(0, D(a.Cond.Len())-D(count))
	return nil
}

// ChooseBackward is the kernel of choose's backward.
type ChooseBackward[D dtype.Index, T float32, C dtype.Index] struct{}

// Backward passes gradients on.
func (ChooseBackward[D, T, C]) Backward(_ *op.Ctx, a *choose.Backward[D, T, C], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		g := a.GradOutput.At(i)
		if a.Cond.At(i) {
			a.GradFirst.Put(i, g)
			a.GradSecond.Put(i, 0)
		} else {
			a.GradFirst.Put(i, 0)
			a.GradSecond.Put(i, g)
		}
		if i == 0 {
			a.GradBias.Put(0, 0)
		}
	}
	return nil
}

// Nothing is the kernel of nothing.
type Nothing[T dtype.Element] struct{}

// Forward writes zeros.
func (Nothing[T]) Forward(_ *op.Ctx, a *nothing.Forward[T], r op.Range) error {
	var zero T
	for i := r.Lo; i < r.Hi; i++ {
		a.Output.Set(i, zero)
	}
	return nil
}

// Convert is the kernel of convert.
type Convert[T float32 | int64 | uint8, U dtype.Float | uint8] struct{}

// Forward converts.
func (Convert[T, U]) Forward(_ *op.Ctx, a *convert.Forward[T, U], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.Output.Set(i, U(a.Input.At(i)))
	}
	return nil
}

// ConvertBackward is the kernel of convert's backward.
type ConvertBackward[T float32, U dtype.Float] struct{}

// BackwardOnly converts gradients back.
func (ConvertBackward[T, U]) BackwardOnly(_ *op.Ctx, a *convert.Backward[T, U], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.GradInput.Put(i, T(a.GradOutput.At(i)))
	}
	return nil
}
