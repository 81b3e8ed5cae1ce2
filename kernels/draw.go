package kernels

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/rng"
	"github.com/opgen/opgen/runtime/tensor"
)

// draw sets each element to sample of its number. Nothing else decides its value.
func draw[T dtype.Float](to tensor.WO[T], r op.Range, seed int, sample func(s rng.Source, i uint64) float64) {
	source := rng.New(uint64(seed), 0)
	for i := r.Lo; i < r.Hi; i++ {
		to.Set(i, T(sample(source, uint64(i))))
	}
}
