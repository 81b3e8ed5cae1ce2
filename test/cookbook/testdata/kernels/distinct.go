package kernels

import (
	"example.com/cookbook/generated/distinct"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Distinct is the kernel of distinct.
type Distinct[T dtype.Index] struct{}

// Forward keeps each value the first time. Elements of the output that do not count are 0.
func (Distinct[T]) Forward(_ *op.Ctx, a *distinct.Forward[T], _ op.Range) error {
	seen := map[T]bool{}
	for i := range a.Input.Len() {
		if x := a.Input.At(i); !seen[x] {
			a.Output.Set(len(seen), x)
			seen[x] = true
		}
	}
	a.Number.Set(0, int64(len(seen)))
	for i := len(seen); i < a.Output.Len(); i++ {
		a.Output.Set(i, 0)
	}
	return nil
}
