// Package kernels holds the hand-written kernels of this module.
package kernels

import (
	"fmt"

	"example.com/signature/generated/blend"
	"example.com/signature/generated/tally"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Blend is the kernel of blend.
type Blend[T dtype.Float] struct{}

// Forward computes all outputs.
func (Blend[T]) Forward(_ *op.Ctx, a *blend.Forward[T], _ op.Range) error {
	var rest T
	for _, w := range a.Weights[1:] {
		rest += T(w)
	}
	for i := range a.Second.Len() {
		rest += a.Second.At(i)
	}
	for k, out := range a.Mixed {
		for i := range a.First.Len() {
			out.Set(i, T(a.Weights[0])*a.First.At(i)+T(k)*rest)
		}
	}
	return nil
}

// Tally is the kernel of tally.
type Tally[T dtype.Float] struct{}

// Forward folds elements r.Lo to r.Hi-1 of all parts.
func (Tally[T]) Forward(_ *op.Ctx, a *tally.Forward[T], r op.Range) error {
	if len(a.RowSizes) != int(a.Ratio)-1 {
		return fmt.Errorf("%s: want a ratio of %d, got %v", a.Label, len(a.RowSizes)+1, a.Ratio)
	}
	for _, p := range a.Parts {
		for i := r.Lo; i < r.Hi; i++ {
			x := min(p.At(i), T(a.Limit))
			a.Sum.Fold(0, x)
			a.Product.Fold(0, x)
			a.Least.Fold(0, x)
			a.Greatest.Fold(0, x)
			if x > 0 {
				a.Positive.Fold(0, 1)
			}
		}
	}
	return nil
}
