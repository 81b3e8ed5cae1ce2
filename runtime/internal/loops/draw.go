package loops

import "github.com/opgen/opgen/runtime/internal/simd"

// draw sets z to random numbers at consecutive positions: those of a normal distribution, or of a uniform one, as package rng draws them.
func (s *state[T]) draw(z []float64, seed, stream, index uint64, normal bool) {
	n := len(z)
	all := (n + 7) &^ 7 // words are drawn in groups
	high, low := s.words[0][:all], s.words[1][:all]
	s.drawer.Draw(high, low, seed, stream, index)
	if normal {
		simd.Normals(z[:all], high, low)
	} else {
		simd.Units(z, high[:n])
	}
}
