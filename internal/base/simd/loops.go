package simd

import "unsafe"

// The conversions of products in the loops below keep the compiler from fusing them with sums.

func mulAdd[T Float](z, w, x, y []T) {
	w, x, y = w[:len(z)], x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = T(w[i]*x[i]) + y[i]
	}
}

func mulAddScalar[T Float](z, w []T, x T, y []T) {
	w, y = w[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = T(w[i]*x) + y[i]
	}
}

func mulSubFrom[T Float](z, w, x, y []T) {
	w, x, y = w[:len(z)], x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = y[i] - T(w[i]*x[i])
	}
}

func mulSub[T Float](z, w, x, y []T) {
	w, x, y = w[:len(z)], x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = T(w[i]*x[i]) - y[i]
	}
}

func affine[T Float](z, x []T, a, b, c, d T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = T(((x[i]-a)-b)*c) + d
	}
}

func choose[T Float](z, w, x, y []T) {
	if unsafe.Sizeof(T(0)) == 4 {
		chooseBits(bitsOf[uint32](z), w, bitsOf[uint32](x), bitsOf[uint32](y))
		return
	}
	chooseBits(bitsOf[uint64](z), w, bitsOf[uint64](x), bitsOf[uint64](y))
}

func choosePositive[T Float](z, w, x, y []T) {
	if unsafe.Sizeof(T(0)) == 4 {
		choosePositiveBits(bitsOf[uint32](z), w, bitsOf[uint32](x), bitsOf[uint32](y))
		return
	}
	choosePositiveBits(bitsOf[uint64](z), w, bitsOf[uint64](x), bitsOf[uint64](y))
}

// bitsOf returns the memory of x as integers of the same size: processors move those on a condition without a
// jump.
func bitsOf[U uint32 | uint64, T Float](x []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func chooseBits[U uint32 | uint64, T Float](z []U, w []T, x, y []U) {
	w, x, y = w[:len(z)], x[:len(z)], y[:len(z)]
	for i, c := range w {
		v, other := y[i], x[i]
		if c != 0 {
			v = other
		}
		z[i] = v
	}
}

func choosePositiveBits[U uint32 | uint64, T Float](z []U, w []T, x, y []U) {
	w, x, y = w[:len(z)], x[:len(z)], y[:len(z)]
	for i, c := range w {
		v, other := y[i], x[i]
		if c > 0 {
			v = other
		}
		z[i] = v
	}
}

func widen(z []float64, x []float32) {
	z = z[:len(x)]
	for i, v := range x {
		z[i] = float64(v)
	}
}

func narrow(z []float32, x []float64) {
	z = z[:len(x)]
	for i, v := range x {
		z[i] = float32(v)
	}
}

func rests(z []float32, x []float64) {
	z = z[:len(x)]
	for i, v := range x {
		near := float64(float32(v))
		if z[i] = 0; near-near == 0 {
			z[i] = float32(v - near)
		}
	}
}

func sumInto[T Float](a *Lanes[T], x []T) {
	for len(x) >= lanes {
		for i, v := range (*[lanes]T)(x) {
			a[i] += v
		}
		x = x[lanes:]
	}
	for i, v := range x {
		a[i%lanes] += v
	}
}

func prodInto[T Float](a *Lanes[T], x []T) {
	for len(x) >= lanes {
		for i, v := range (*[lanes]T)(x) {
			a[i] *= v
		}
		x = x[lanes:]
	}
	for i, v := range x {
		a[i%lanes] *= v
	}
}

func maxInto[T Float](a *Lanes[T], x []T) {
	for len(x) >= lanes {
		for i, v := range (*[lanes]T)(x) {
			a[i] = greater(a[i], v)
		}
		x = x[lanes:]
	}
	for i, v := range x {
		a[i%lanes] = max(a[i%lanes], v)
	}
}

// greater is max. Most numbers are below the greatest one so far, or equal to it but for zeros.
func greater[T Float](top, v T) T {
	if v < top {
		return top
	}
	return max(top, v)
}

func minInto[T Float](a *Lanes[T], x []T) {
	for len(x) >= lanes {
		for i, v := range (*[lanes]T)(x) {
			a[i] = lesser(a[i], v)
		}
		x = x[lanes:]
	}
	for i, v := range x {
		a[i%lanes] = min(a[i%lanes], v)
	}
}

// lesser is min.
func lesser[T Float](top, v T) T {
	if v > top {
		return top
	}
	return min(top, v)
}

func dotInto[T Float](a *Lanes[T], x, y []T) {
	for len(x) >= lanes && len(y) >= lanes {
		p, q := (*[lanes]T)(x), (*[lanes]T)(y)
		for i := range a {
			a[i] += T(p[i] * q[i])
		}
		x, y = x[lanes:], y[lanes:]
	}
	for i, v := range x {
		a[i%lanes] += T(v * y[i])
	}
}

func (c *elementary[T]) expInto(a *Lanes[T], x []T, shift T) {
	for i, v := range x {
		a[i%lanes] += c.exp(v - shift)
	}
}

// foldRows sets every z[i] to what into folds of n elements of x, from i*apart on, and gather of the lanes.
func foldRows[T Float](z, x []T, n, apart int, first T, into func(*Lanes[T], []T), gather func(*Lanes[T]) T) {
	for i := range z {
		var a Lanes[T]
		a.Fill(first)
		into(&a, x[i*apart:][:n])
		z[i] = gather(&a)
	}
}

func sumLanes[T Float](a *Lanes[T]) T {
	b := *a
	for n := lanes / 2; n > 0; n /= 2 {
		for i := range n {
			b[i] += b[i+n]
		}
	}
	return b[0]
}

func prodLanes[T Float](a *Lanes[T]) T {
	b := *a
	for n := lanes / 2; n > 0; n /= 2 {
		for i := range n {
			b[i] *= b[i+n]
		}
	}
	return b[0]
}

func maxLanes[T Float](a *Lanes[T]) T {
	b := *a
	for n := lanes / 2; n > 0; n /= 2 {
		for i := range n {
			b[i] = max(b[i], b[i+n])
		}
	}
	return b[0]
}

func minLanes[T Float](a *Lanes[T]) T {
	b := *a
	for n := lanes / 2; n > 0; n /= 2 {
		for i := range n {
			b[i] = min(b[i], b[i+n])
		}
	}
	return b[0]
}
