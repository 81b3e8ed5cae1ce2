package kernels

import (
	"github.com/opgen/opgen/generated/nonzero"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Nonzero is the kernel of nonzero.
type Nonzero[T dtype.Float | dtype.Index | bool] struct{}

// Forward finds the elements that are not zero. Rows of the output that do not count are 0.
func (Nonzero[T]) Forward(_ *op.Ctx, a *nonzero.Forward[T], _ op.Range) error {
	var zero T
	rank, row := len(a.Extents), 0
	for i := range a.Input.Len() {
		if a.Input.At(i) == zero {
			continue
		}
		rest := i
		for k := rank - 1; k >= 0; k-- {
			a.Output.Set(row*rank+k, int64(rest%a.Extents[k]))
			rest /= a.Extents[k]
		}
		row++
	}
	a.Number.Set(0, int64(row))
	for i := row * rank; i < a.Output.Len(); i++ {
		a.Output.Set(i, 0)
	}
	return nil
}
