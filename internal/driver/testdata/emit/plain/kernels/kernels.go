package kernels

import (
	"fmt"
	"math"

	"example.com/plain/generated/any"
	"example.com/plain/generated/look"
	"example.com/plain/generated/momentum"
	"example.com/plain/generated/ramp"
	"example.com/plain/generated/shape"
	"example.com/plain/generated/zeroes"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Any is the kernel of any.
type Any[B bool | uint8] struct{}

// Forward looks for an element that differs from the zero value.
func (Any[B]) Forward(_ *op.Ctx, a *any.Forward[B], _ op.Range) error {
	found := a.Type.At(0)
	var zero B
	for i := range a.Func.Len() {
		if x := a.Func.At(i); x != zero {
			found = x
		}
	}
	a.String.Set(0, found)
	return nil
}

// Shape is the kernel of shape.
type Shape struct{}

// Forward writes the extents.
func (Shape) Forward(_ *op.Ctx, a *shape.Forward, _ op.Range) error {
	for i, n := range a.Dims.X {
		a.Extents.Set(i, int64(n))
	}
	a.Empty.Set(0, a.Input.Len() == 0)
	return nil
}

// Ramp is the kernel of ramp.
type Ramp struct{}

// Forward counts.
func (Ramp) Forward(_ *op.Ctx, a *ramp.Forward, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.Output.Set(i, float64(i))
	}
	return nil
}

// Look is the kernel of look.
type Look struct{}

// Init makes a table of roots.
func (Look) Init(_ *op.Ctx, a *look.Init) (*task.Block, int, error) {
	roots := make([]float64, 5)
	for i := range roots {
		roots[i] = math.Sqrt(float64(i))
	}
	table, err := task.AllocBlock(a.Memory, dtype.F64, len(roots))
	if err != nil {
		return nil, 0, err
	}
	return table, len(roots), task.WriteBlock(table, roots)
}

// Forward looks up.
func (Look) Forward(_ *op.Ctx, a *look.Forward, r op.Range) error {
	roots := make([]float64, a.Table.Bytes()/8)
	if err := task.ReadBlock(roots, a.Table); err != nil {
		return err
	}
	for i := r.Lo; i < r.Hi; i++ {
		a.Output.Set(i, roots[int(a.Index.At(i))%len(roots)])
	}
	return nil
}

// Cleanup notices a state that is another's.
func (Look) Cleanup(_ *op.Ctx, a *look.Cleanup) error {
	if a.Table.Bytes() != int64(8*a.Entries) {
		return fmt.Errorf("want a table of %d entries, got %d bytes", a.Entries, a.Table.Bytes())
	}
	return nil
}

// Momentum is the kernel of momentum.
type Momentum[T float64] struct{}

// Update moves the weight; the velocity is held back in the first steps.
func (Momentum[T]) Update(ctx *op.Ctx, a *momentum.Update[T], r op.Range) error {
	keep := T(1 - math.Exp(-float64(a.Iteration(ctx))))
	for i := r.Lo; i < r.Hi; i++ {
		v := keep*a.Velocity.At(i) - T(a.Attrs.Lr)*a.Grad.At(i)
		a.Velocity.Set(i, v)
		a.Weight.Set(i, a.Weight.At(i)+v)
	}
	return nil
}

// Zeroes is the kernel of zeroes.
type Zeroes[T float64] struct{}

// Forward sets elements to 0.
func (Zeroes[T]) Forward(_ *op.Ctx, a *zeroes.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.Tensor.Set(i, 0)
	}
	return nil
}
