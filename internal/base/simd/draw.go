package simd

import (
	"math"

	"github.com/opgen/opgen/internal/base/simd/approx"
)

// drawn is of how many positions words are drawn at a time at least.
const drawn = 8

// Drawer is memory for drawing words: what stays the same for all positions.
type Drawer [98]uint64

// Draw sets high[i] and low[i] to the first two and the last two of the four words of 32 bits at position
// index+i of a stream: those of Philox4x32-10, as package rng draws them one by one. The number of elements
// is a multiple of 8.
func (d *Drawer) Draw(high, low []uint64, seed, stream, index uint64) {
	check(len(high), len(low), len(high)&^(drawn-1), len(high))
	const half = 1<<32 - 1
	*(*[18]uint64)(d[:]) = [18]uint64{index, stream & half, stream >> 32, seed & half, seed >> 32, 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85, half,
		0, 1, 2, 3, 4, 5, 6, 7}
	conversions.draw(high, low, (*[98]uint64)(d))
}

// Units sets every z[i] to the number from 0 to 1, 1 excluded, that the upper 53 bits of x[i] stand for.
func Units(z []float64, x []uint64) {
	check(len(z), len(x), len(x), len(x))
	conversions.units(z, x)
}

// Normals sets every z[i] to a number of the standard normal distribution, within 4 units in the last place:
// sqrt(-2*log(1 - x)) * cos(2*pi*y), where x is the number from 0 to 1 that Units makes of high[i], and y
// that of low[i]. The number of elements is a multiple of 8.
func Normals(z []float64, high, low []uint64) {
	check(len(z), len(high), len(low), len(z)&^(drawn-1))
	conversions.normals(z, high, low)
}

func normals(z []float64, high, low []uint64) {
	for i := range z {
		z[i] = boxMuller(float64(int64(high[i]>>11)), float64(int64(low[i]>>11)))
	}
}

// boxMuller returns a number of the standard normal distribution that is made of two integers below 2^53.
func boxMuller(x, y float64) float64 {
	const whole = 1 << 53
	exponent, f := double.split(whole - x)
	root := math.Sqrt(double.logarithm(exponent-53, f) * -2)
	t := math.Abs(y-whole/2) - whole/4
	return root * float64(chain(approx.Turn, float64(t*t))*t)
}

func units(z []float64, x []uint64) {
	const unit = 1.0 / (1 << 53)
	for i, w := range x {
		z[i] = float64(int64(w>>11)) * unit
	}
}

// draw draws words at consecutive positions. at holds the first position, the words of the stream and of the
// seed, and the constants of the generator, and has room for vectors behind them.
func draw(high, low []uint64, at *[98]uint64) {
	for i := range high {
		index := at[0] + uint64(i)
		c0, c1, c2, c3 := index&at[9], index>>32, at[1], at[2]
		k0, k1 := at[3], at[4]
		for range 10 {
			p, q := at[5]*c0, at[6]*c2
			c0, c1, c2, c3 = q>>32^c1^k0, q&at[9], p>>32^c3^k1, p&at[9]
			k0, k1 = (k0+at[7])&at[9], (k1+at[8])&at[9]
		}
		high[i], low[i] = c0<<32|c1, c2<<32|c3
	}
}
