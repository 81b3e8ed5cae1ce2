package kernels

import (
	"example.com/gather/generated/gather"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
)

// Gather is the kernel of gather.
type Gather[T dtype.Float, I dtype.Index] struct{}

// parts returns the number of elements in front of, along and behind the axis.
func parts(at *gather.Attrs, d *gather.Dims) (outer, along, inner int) {
	axis := at.Axis
	if axis < 0 {
		axis += len(d.X)
	}
	return shape.Prod(d.X[:axis]), d.X[axis], shape.Prod(d.X[axis+1:])
}

// Forward copies the elements. Rows that mask rules out become 0.
func (Gather[T, I]) Forward(_ *op.Ctx, a *gather.Forward[T, I], _ op.Range) error {
	outer, along, inner := parts(&a.Attrs, &a.Dims)
	mask, masked := a.Mask.Get()
	taken := int32(0)
	to := 0
	for row := range outer {
		use := !masked || mask.At(row)
		if use {
			taken++
		}
		for i := range a.Indices.Len() {
			for k := range inner {
				var x T
				if use {
					x = a.Data.At((row*along+int(a.Indices.At(i)))*inner + k)
				}
				a.Output.Set(to, x)
				to++
			}
		}
	}
	a.Taken.Set(0, taken)
	return nil
}

// Backward adds the gradient of every copy, as if nothing was masked.
func (Gather[T, I]) Backward(_ *op.Ctx, a *gather.Backward[T, I], _ op.Range) error {
	outer, along, inner := parts(&a.Attrs, &a.Dims)
	from := 0
	for row := range outer {
		for i := range a.Indices.Len() {
			for k := range inner {
				a.GradData.Add((row*along+int(a.Indices.At(i)))*inner+k, a.GradOutput.At(from))
				from++
			}
		}
	}
	return nil
}
