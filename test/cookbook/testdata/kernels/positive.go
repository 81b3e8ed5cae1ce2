package kernels

import (
	"example.com/cookbook/generated/positive"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Positive is the kernel of positive.
type Positive[T dtype.Float] struct{}

// Forward finds the numbers. Elements of the output that do not count are 0.
func (Positive[T]) Forward(_ *op.Ctx, a *positive.Forward[T], _ op.Range) error {
	n := 0
	for i := range a.Input.Len() {
		if a.Input.At(i) > 0 {
			a.Output.Set(n, int64(i))
			n++
		}
	}
	a.Number.Set(0, int64(n))
	for i := n; i < a.Output.Len(); i++ {
		a.Output.Set(i, 0)
	}
	return nil
}
