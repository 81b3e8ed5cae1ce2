// Package fourier computes discrete Fourier transforms of any length, in a time of N log N.
//
// A length that is a product of small primes is divided by one after the other, as [Stockham] does: the
// numbers move between two places, and end in order. Any other length is written as a convolution, as
// [Bluestein] does, whose length is a power of 2.
//
// [Stockham]: https://en.wikipedia.org/wiki/Cooley%E2%80%93Tukey_FFT_algorithm
// [Bluestein]: https://en.wikipedia.org/wiki/Chirp_Z-transform
package fourier

import (
	"fmt"
	"math"
)

// Transform holds the tables for transforms of one length. Several goroutines may use it at once.
type Transform struct {
	// Name says what is transformed, and where, for traces.
	Name string

	length int
	passes passes
	chirp  *chirp    // nil if the length is a product of small primes
	tables []float64 // all of them
}

// New makes the tables for a length of 1 or more. alloc returns memory for them.
func New(length, device int, alloc func(n int) ([]float64, error)) (*Transform, error) {
	t := &Transform{Name: fmt.Sprintf("fft of %d numbers, device %d", length, device), length: length}
	padded, size := length, 2*length
	factors, ok := factorsOf(length)
	if !ok {
		padded = 1
		for padded < 2*length-1 {
			padded *= 2
		}
		factors, _ = factorsOf(padded)
		size = 2*length + 4*padded
	}
	var err error
	if t.tables, err = alloc(size); err != nil {
		return nil, err
	}
	rest := t.tables
	table := func(n int) []float64 {
		var x []float64
		x, rest = rest[:n:n], rest[n:]
		return x
	}
	t.passes = newPasses(factors, table(padded), table(padded))
	if !ok {
		t.chirp = &chirp{table(length), table(length), table(padded), table(padded)}
		t.chirp.fill(&t.passes)
	}
	return t, nil
}

// Free frees the tables.
func (t *Transform) Free(free func([]float64) error) error { return free(t.tables) }

// Room returns how many numbers each of the places holds that Run takes. It is less than 4 times the length.
func (t *Transform) Room() int { return t.passes.length }

// Run transforms complex numbers in place: the first ones of re and im, as many as the length. Elements of
// all four places are changed, each of which has Room numbers.
//
//	out[k] = sum over n of in[n] * exp(-2πi k n / length)
func (t *Transform) Run(re, im, re2, im2 []float64) {
	if t.chirp == nil {
		t.passes.run(re, im, re2, im2)
		return
	}
	c, n := t.chirp, t.length
	for k := range n {
		re[k], im[k] = times(re[k], im[k], c.cos[k], c.sin[k])
	}
	clear(re[n:])
	clear(im[n:])
	t.passes.run(re, im, re2, im2)
	for k := range re { // the conjugate, so that the next transform is the inverse one
		x, y := times(re[k], im[k], c.re[k], c.im[k])
		re[k], im[k] = x, -y
	}
	t.passes.run(re, im, re2, im2)
	scale := 1 / float64(len(re))
	for k := range n {
		re[k], im[k] = times(re[k]*scale, -im[k]*scale, c.cos[k], c.sin[k])
	}
}

// times returns the product of two complex numbers.
func times(a, b, c, d float64) (re, im float64) {
	return float64(a*c) - float64(b*d), float64(a*d) + float64(b*c)
}

// chirp holds the factors by which a transform is a convolution: n k = (n² + k² - (n - k)²) / 2.
type chirp struct {
	cos, sin []float64 // exp(-πi k² / length)
	re, im   []float64 // the transform of their conjugates, at the distances k of elements
}

// fill computes the tables. p transforms as many numbers as there are distances.
func (c *chirp) fill(p *passes) {
	n, padded := len(c.cos), len(c.re)
	clear(c.re)
	clear(c.im)
	for k := range n {
		sin, cos := math.Sincos(math.Pi * float64(k*k%(2*n)) / float64(n)) // of the rest, since k² is large
		c.cos[k], c.sin[k] = cos, -sin
		for _, at := range []int{k, (padded - k) % padded} {
			c.re[at], c.im[at] = cos, sin
		}
	}
	p.run(c.re, c.im, make([]float64, padded), make([]float64, padded))
}
