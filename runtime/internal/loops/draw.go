package loops

import (
	"math"

	"github.com/opgen/opgen/runtime/internal/simd"
)

// draw sets z to random numbers at consecutive positions: those of a normal distribution, or of a uniform one, as package rng draws them.
func (s *state[T]) draw(z []float64, seed, stream, index uint64, normal bool) {
	n := len(z)
	all := (n + 7) &^ 7 // words are drawn in groups
	high, low := s.words[0][:all], s.words[1][:all]
	s.drawer.Draw(high, low, seed, stream, index)
	simd.Units(z, high[:n])
	if !normal {
		return
	}
	angle := s.random[1][:n]
	simd.Units(angle, low[:n])
	simd.ScalarBinaryOf[float64](simd.Sub)(z, 1, z) // (0, 1]: the logarithm exists
	simd.BinaryScalarOf[float64](simd.Mul)(angle, angle, 2*math.Pi)
	simd.UnaryOf[float64](simd.Log)(z, z)
	simd.BinaryScalarOf[float64](simd.Mul)(z, z, -2)
	simd.UnaryOf[float64](simd.Sqrt)(z, z)
	simd.UnaryOf[float64](simd.Cos)(angle, angle)
	simd.BinaryOf[float64](simd.Mul)(z, z, angle)
}
