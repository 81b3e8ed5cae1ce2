package kernels

import (
	"math"

	"github.com/opgen/opgen/generated/fan"
	"github.com/opgen/opgen/generated/nonlinearity"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/rng"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/tensor"
)

// draw sets each element to sample of its number. Nothing else decides its value.
func draw[T dtype.Float](to tensor.WO[T], r op.Range, seed int, sample func(s rng.Source, i uint64) float64) {
	source := rng.New(uint64(seed), 0)
	for i := r.Lo; i < r.Hi; i++ {
		to.Set(i, T(sample(source, uint64(i))))
	}
}

// drawUniform draws elements evenly from [lo, hi).
func drawUniform[T dtype.Float](to tensor.WO[T], r op.Range, seed int, lo, hi float64) {
	draw(to, r, seed, func(s rng.Source, i uint64) float64 { return lo + (hi-lo)*s.Uniform(i) })
}

// drawNormal draws elements from a normal distribution.
func drawNormal[T dtype.Float](to tensor.WO[T], r op.Range, seed int, mean, stddev float64) {
	draw(to, r, seed, func(s rng.Source, i uint64) float64 { return mean + stddev*s.Normal(i) })
}

// fans returns how many inputs an output of a weight [out, in, ...] depends on, and how many outputs depend on an input.
// All dimensions after the second are those of a filter.
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

// kaimingDeviation returns the standard deviation after He and others of the elements of a weight.
func kaimingDeviation(dims []int, mode fan.Fan, next nonlinearity.Nonlinearity, slope float64) float64 {
	gain := 1.0
	switch next {
	case nonlinearity.Relu:
		gain = math.Sqrt2
	case nonlinearity.LeakyRelu:
		gain = math.Sqrt(2 / (1 + slope*slope))
	case nonlinearity.Tanh:
		gain = 5.0 / 3
	case nonlinearity.Selu:
		gain = 3.0 / 4
	}
	n, out := fans(dims)
	if mode == fan.FanOut {
		n = out
	}
	return gain / math.Sqrt(max(n, 1))
}
