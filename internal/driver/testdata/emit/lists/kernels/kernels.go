// Package kernels holds the kernels of operators on lists of tensors.
package kernels

import (
	"example.com/lists/generated/stack"
	"example.com/lists/generated/weigh"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Weigh is the kernel of weigh.
type Weigh[T dtype.Float] struct{}

// Forward multiplies.
func (Weigh[T]) Forward(_ *op.Ctx, a *weigh.Forward[T], r op.Range) error {
	for k := r.Lo; k < r.Hi; k++ {
		var total T
		for i := range a.Input[k].Len() {
			p := a.Input[k].At(i) * a.Factor[k].At(i)
			a.Product[k].Set(i, p)
			total += p
		}
		a.Total.Set(k, total)
	}
	return nil
}

// Backward treats weights that are not given as ones.
func (Weigh[T]) Backward(_ *op.Ctx, a *weigh.Backward[T], r op.Range) error {
	for k := r.Lo; k < r.Hi; k++ {
		for i := range a.Input[k].Len() {
			g := a.GradProduct[k].At(i) + a.GradTotal.At(k)
			if a.Factor == nil {
				a.GradInput[k].Put(i, g)
				continue
			}
			a.GradInput[k].Put(i, g*a.Factor[k].At(i))
			if a.GradFactor[k].Wanted() {
				a.GradFactor[k].Add(i, g*a.Input[k].At(i))
			}
		}
	}
	return nil
}

// Stack is the kernel of stack.
type Stack struct{}

// Forward copies lanes, each scaled by the first number of its matrix's scale, if there is one.
func (Stack) Forward(_ *op.Ctx, a *stack.Forward, _ op.Range) error {
	lanes := len(a.Dims.L)
	for _, out := range a.Output {
		at := 0
		for lane := range a.Input[0].Shape()[0] {
			for k, in := range a.Input {
				for i := range in.Lane(lane).Len() {
					x := in.Lane(lane).At(i)
					if k < len(a.ScaleParts) && a.ScaleParts[k].Extents[0] == a.Scale[k].Len() {
						x *= a.Scale[k].At(0)
					}
					out.Set(at, x+float64(lanes))
					at++
				}
			}
		}
	}
	return nil
}
