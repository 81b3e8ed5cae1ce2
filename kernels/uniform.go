package kernels

import (
	"github.com/opgen/opgen/generated/uniform"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/rng"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Uniform is the kernel of uniform.
type Uniform[T dtype.Float] struct{}

// Forward draws elements.
func (Uniform[T]) Forward(_ *task.Ctx, a *uniform.Forward[T], r task.Range) error {
	drawUniform(a.Tensor, r, a.Attrs.Seed, a.Attrs.Min, a.Attrs.Max)
	return nil
}

// drawUniform draws elements evenly from [lo, hi).
func drawUniform[T dtype.Float](to tensor.WO[T], r task.Range, seed int, lo, hi float64) {
	source := rng.New(uint64(seed), 0)
	for i := r.Lo; i < r.Hi; i++ {
		to.Set(i, T(lo+(hi-lo)*source.Uniform(uint64(i))))
	}
}

// fans returns how many inputs an output of a weight [out, in, ...] depends on, and how many outputs
// an input goes into; all dimensions after the second are those of a filter.
func fans(dims []int) (in, out float64) {
	switch len(dims) {
	case 0:
		return 1, 1
	case 1:
		return float64(dims[0]), float64(dims[0])
	}
	field := float64(shape.Prod(dims[2:]))
	return float64(dims[1]) * field, float64(dims[0]) * field
}
