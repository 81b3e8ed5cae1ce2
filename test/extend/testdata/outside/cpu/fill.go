package cpu

import (
	"example.com/outside/ops/fill"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// Fill is the kernel of fill.
type Fill[T dtype.Float] struct{}

// Forward sets elements.
func (Fill[T]) Forward(_ *task.Ctx, a *fill.Forward[T], r task.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.Tensor.Set(i, T(a.Attrs.Value))
	}
	return nil
}
