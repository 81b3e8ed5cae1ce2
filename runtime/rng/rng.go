// Package rng draws random numbers that depend on a seed and a position only.
//
// A number is a pure function of (seed, stream, index), so ranges of a task can be drawn in any
// order and by any number of workers with the same result. The generator is Philox4x32-10 of
// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
package rng

import "math"

// Source draws from one stream of one seed. Different streams of a seed are independent; a task
// that draws other numbers in every training step uses the iteration as its stream.
type Source struct {
	key    [2]uint32
	stream [2]uint32
}

// New returns the source of a seed and a stream.
func New(seed, stream uint64) Source {
	return Source{
		key:    [2]uint32{uint32(seed), uint32(seed >> 32)},
		stream: [2]uint32{uint32(stream), uint32(stream >> 32)},
	}
}

const (
	mul0, mul1 = 0xD2511F53, 0xCD9E8D57
	weyl0      = 0x9E3779B9 // golden ratio
	weyl1      = 0xBB67AE85 // sqrt(3) - 1
)

// Block returns the four 32-bit words at position index.
func (s Source) Block(index uint64) [4]uint32 {
	c := [4]uint32{uint32(index), uint32(index >> 32), s.stream[0], s.stream[1]}
	k0, k1 := s.key[0], s.key[1]
	for range 10 {
		p0, p1 := uint64(mul0)*uint64(c[0]), uint64(mul1)*uint64(c[2])
		c = [4]uint32{uint32(p1>>32) ^ c[1] ^ k0, uint32(p1), uint32(p0>>32) ^ c[3] ^ k1, uint32(p0)}
		k0 += weyl0
		k1 += weyl1
	}
	return c
}

// Uniform returns a number in [0, 1), a multiple of 2^-53.
func (s Source) Uniform(index uint64) float64 {
	b := s.Block(index)
	return float64((uint64(b[0])<<32|uint64(b[1]))>>11) / (1 << 53)
}

// Normal returns a number with mean 0 and standard deviation 1 (Box-Muller).
func (s Source) Normal(index uint64) float64 {
	b := s.Block(index)
	u := 1 - float64(float64((uint64(b[0])<<32|uint64(b[1]))>>11)/(1<<53)) // (0, 1]: the logarithm exists
	v := float64((uint64(b[2])<<32|uint64(b[3]))>>11) / (1 << 53)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}

// NormalBetween returns a number of the normal distribution with mean 0 and standard deviation 1, of
// which only what lies between lo and hi is left. It draws by inverting the distribution function, so
// values are coarse where NormalMass(lo, hi) is tiny.
func (s Source) NormalBetween(index uint64, lo, hi float64) float64 {
	if lo > 0 {
		return -s.NormalBetween(index, -hi, -lo) // below 0 the distribution function keeps more digits
	}
	u := NormalCDF(lo) + float64(NormalMass(lo, hi)*s.Uniform(index))
	return min(max(math.Sqrt2*math.Erfinv(float64(2*u)-1), lo), hi)
}

// NormalMass returns how much of the normal distribution with mean 0 and standard deviation 1 lies
// between lo and hi.
func NormalMass(lo, hi float64) float64 {
	if lo > 0 {
		lo, hi = -hi, -lo
	}
	return NormalCDF(hi) - NormalCDF(lo)
}

// NormalCDF returns how much of the normal distribution with mean 0 and standard deviation 1 lies below x.
// Far below 0, erfc keeps the digits that 1 + erf would lose.
func NormalCDF(x float64) float64 { return float64(math.Erfc(-x/math.Sqrt2) / 2) }
