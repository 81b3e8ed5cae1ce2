package kernels

import (
	"example.com/cookbook/generated/choose"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Choose is the kernel of choose.
type Choose[T dtype.Float] struct{}

// Forward computes elements r.Lo to r.Hi-1 of the output.
func (Choose[T]) Forward(_ *op.Ctx, a *choose.Forward[T], r op.Range) error {
	d := a.Dims
	for o := r.Lo; o < r.Hi; o++ {
		if a.Condition.At(fit(o, d.O, d.C)) {
			a.Output.Set(o, a.Yes.At(fit(o, d.O, d.Y)))
		} else {
			a.Output.Set(o, a.No.At(fit(o, d.O, d.X)))
		}
	}
	return nil
}

// BackwardYes computes elements r.Lo to r.Hi-1 of the gradient of yes.
func (Choose[T]) BackwardYes(_ *op.Ctx, a *choose.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.GradYes.Put(i, chosen(a, i, a.Dims.Y, true))
	}
	return nil
}

// BackwardNo computes elements r.Lo to r.Hi-1 of the gradient of no.
func (Choose[T]) BackwardNo(_ *op.Ctx, a *choose.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.GradNo.Put(i, chosen(a, i, a.Dims.X, false))
	}
	return nil
}

// chosen adds up the gradients of the elements for which element i of an input of the given shape was chosen.
func chosen[T dtype.Float](a *choose.Backward[T], i int, shape []int, when bool) T {
	var sum T
	for o := range a.GradOutput.Len() {
		if fit(o, a.Dims.O, shape) == i && a.Condition.At(fit(o, a.Dims.O, a.Dims.C)) == when {
			sum += a.GradOutput.At(o)
		}
	}
	return sum
}

// fit returns the element of a tensor of the shape in that belongs to element o of one of the shape out. Its extents are those of
// out, from the last one on, or 1.
func fit(o int, out, in []int) int {
	at, step := 0, 1
	for k := len(out) - 1; k >= 0; k-- {
		i := o % out[k]
		o /= out[k]
		if j := k - len(out) + len(in); j >= 0 {
			if in[j] > 1 {
				at += i * step
			}
			step *= in[j]
		}
	}
	return at
}
