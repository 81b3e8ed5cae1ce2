package fourier

import "math"

// radices lists the factors for which there is a pass.
var radices = []int{4, 2, 3, 5, 7, 11, 13}

const greatest = 13

// factorsOf divides a length into factors. ok is false if others than radices are left.
func factorsOf(length int) (factors []int, ok bool) {
	for _, r := range radices {
		for length%r == 0 && length > 1 {
			factors = append(factors, r)
			length /= r
		}
	}
	return factors, length == 1
}

// passes transforms numbers in a pass for each factor of their length.
type passes struct {
	length   int
	factors  []int
	cos, sin []float64 // exp(-2πi k / length)
}

// newPasses fills the tables for passes over as many numbers as these have.
func newPasses(factors []int, cos, sin []float64) passes {
	p := passes{length: len(cos), factors: factors, cos: cos, sin: sin}
	for k := range cos {
		s, c := math.Sincos(2 * math.Pi * float64(k) / float64(len(cos)))
		cos[k], sin[k] = c, -s
	}
	return p
}

// run transforms re and im in place. The other two places are overwritten.
func (p *passes) run(re, im, re2, im2 []float64) {
	from, to := complexes{re, im}, complexes{re2, im2}
	n, stride := p.length, 1
	for _, r := range p.factors {
		switch r {
		case 2:
			p.halves(from, to, n/2, stride)
		case 4:
			p.quarters(from, to, n/4, stride)
		default:
			p.parts(from, to, r, n/r, stride)
		}
		from, to = to, from
		n, stride = n/r, stride*r
	}
	if len(p.factors)%2 == 1 {
		copy(re, re2)
		copy(im, im2)
	}
}

// complexes holds complex numbers as two lists.
type complexes struct{ re, im []float64 }

// halves divides stride interleaved lists of 2 * m numbers into lists of m.
func (p *passes) halves(x, y complexes, m, stride int) {
	for q := range m {
		cos, sin := p.cos[q*stride], p.sin[q*stride]
		a, b, to := q*stride, (q+m)*stride, 2*q*stride
		for j := range stride {
			ar, ai, br, bi := x.re[a+j], x.im[a+j], x.re[b+j], x.im[b+j]
			y.re[to+j], y.im[to+j] = ar+br, ai+bi
			y.re[to+stride+j], y.im[to+stride+j] = times(ar-br, ai-bi, cos, sin)
		}
	}
}

// quarters divides stride interleaved lists of 4 * m numbers into lists of m.
func (p *passes) quarters(x, y complexes, m, stride int) {
	for q := range m {
		w := q * stride
		c1, s1, c2, s2, c3, s3 := p.cos[w], p.sin[w], p.cos[2*w], p.sin[2*w], p.cos[3*w], p.sin[3*w]
		to := 4 * q * stride
		for j := range stride {
			a, b, c, d := q*stride+j, (q+m)*stride+j, (q+2*m)*stride+j, (q+3*m)*stride+j
			sr, si, tr, ti := x.re[a]+x.re[c], x.im[a]+x.im[c], x.re[a]-x.re[c], x.im[a]-x.im[c]
			ur, ui, vr, vi := x.re[b]+x.re[d], x.im[b]+x.im[d], x.re[b]-x.re[d], x.im[b]-x.im[d]
			y.re[to+j], y.im[to+j] = sr+ur, si+ui
			y.re[to+stride+j], y.im[to+stride+j] = times(tr+vi, ti-vr, c1, s1)
			y.re[to+2*stride+j], y.im[to+2*stride+j] = times(sr-ur, si-ui, c2, s2)
			y.re[to+3*stride+j], y.im[to+3*stride+j] = times(tr-vi, ti+vr, c3, s3)
		}
	}
}

// parts divides stride interleaved lists of r * m numbers into lists of m.
func (p *passes) parts(x, y complexes, r, m, stride int) {
	var re, im [greatest]float64
	turn := p.length / r
	for q := range m {
		for j := range stride {
			for t := range r {
				at := (q+m*t)*stride + j
				re[t], im[t] = x.re[at], x.im[at]
			}
			for u := range r {
				sr, si := re[0], im[0]
				for t := 1; t < r; t++ {
					w := t * u % r * turn
					a, b := times(re[t], im[t], p.cos[w], p.sin[w])
					sr, si = sr+a, si+b
				}
				at := (r*q+u)*stride + j
				w := q * u * stride % p.length
				y.re[at], y.im[at] = times(sr, si, p.cos[w], p.sin[w])
			}
		}
	}
}
