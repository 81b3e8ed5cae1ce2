package cpu

import (
	"example.com/outside/ops/fill"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Fill is the kernel of fill.
type Fill[T dtype.Float] struct{}

// Forward sets elements r.Lo to r.Hi-1.
func (Fill[T]) Forward(_ *op.Ctx, a *fill.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.Tensor.Set(i, T(a.Attrs.Value))
	}
	return nil
}
