package kernels

import (
	"github.com/opgen/opgen/generated/aggregatespec"
	"github.com/opgen/opgen/kernels/internal/routing"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/vec"
)

// AggregateSpec is the kernel of aggregate_spec.
type AggregateSpec[T dtype.Float, L dtype.Index] struct{}

// ForwardPlace finds the rows of assignments.
func (AggregateSpec[T, L]) ForwardPlace(_ *op.Ctx, a *aggregatespec.Forward[T, L], _ op.Range) error {
	return routing.Place("gate_assign", a.GateAssign, a.Attrs.N, a.Dims.P, func(i, _, row int) { a.Place.Set(i, int32(row)) })
}

// ForwardRows collects the rows of assignments.
func (AggregateSpec[T, L]) ForwardRows(_ *op.Ctx, a *aggregatespec.Forward[T, L], r op.Range) error {
	size, place := a.Width, a.Place.RO()
	for i := r.Lo; i < r.Hi; i++ {
		to := a.Output.Span(i*size, (i+1)*size)
		if row, ok := routing.Row(a.ExpPred, a.GateAssign, place, i, size); ok {
			vec.Copy(to, row)
		} else {
			vec.Fill(to, 0)
		}
	}
	return nil
}

// Backward copies the gradients of rows to the experts that computed them.
func (AggregateSpec[T, L]) Backward(_ *op.Ctx, a *aggregatespec.Backward[T, L], r op.Range) error {
	size := a.Width
	for e := r.Lo; e < r.Hi; e++ {
		routing.Rows(a.GateAssign, a.Place, e, a.Dims.P, func(row, i int) {
			putScaled(a.GradExpPred[e].Span(row*size, (row+1)*size), a.GradOutput, i*size, i != routing.Dropped, 1)
		})
	}
	return nil
}

// putScaled puts scale times the elements of from that begin at element first or, if there are none,
// zeros.
func putScaled[T dtype.Float](to tensor.GradLane[T], from tensor.RO[T], first int, some bool, scale T) {
	for c := range to.Len() {
		var g T
		if some {
			g = scale * from.At(first+c)
		}
		to.Put(c, g)
	}
}
