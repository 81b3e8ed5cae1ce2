package simd

// setArithmetic sets the entries of sums and products to loops without calls.
func (t *table[T]) setArithmetic() {
	t.binary[Add], t.binary[Sub], t.binary[Mul] = add[T], sub[T], mul[T]
	t.binaryScalar[Add], t.binaryScalar[Mul] = addScalar[T], mulScalar[T]
	t.binaryScalar[Sub] = func(z, x []T, y T) { addScalar(z, x, -y) }
	t.scalarBinary[Add] = func(z []T, x T, y []T) { addScalar(z, y, x) }
	t.scalarBinary[Mul] = func(z []T, x T, y []T) { mulScalar(z, y, x) }
}

func add[T Float](z, x, y []T) {
	check(len(z), len(x), len(y), len(y))
	for i, v := range x {
		z[i] = v + y[i]
	}
}

func addScalar[T Float](z, x []T, y T) {
	check(len(z), len(x), len(x), len(x))
	for i, v := range x {
		z[i] = v + y
	}
}

func sub[T Float](z, x, y []T) {
	check(len(z), len(x), len(y), len(y))
	for i, v := range x {
		z[i] = v - y[i]
	}
}

func mul[T Float](z, x, y []T) {
	check(len(z), len(x), len(y), len(y))
	for i, v := range x {
		z[i] = v * y[i]
	}
}

func mulScalar[T Float](z, x []T, y T) {
	check(len(z), len(x), len(x), len(x))
	for i, v := range x {
		z[i] = v * y
	}
}

// The conversions of products in the loops below keep the compiler from fusing them with sums.

func mulAdd[T Float](z, w, x, y []T) {
	for i := range z {
		z[i] = T(w[i]*x[i]) + y[i]
	}
}

func mulAddScalar[T Float](z, w []T, x T, y []T) {
	for i := range z {
		z[i] = T(w[i]*x) + y[i]
	}
}

func mulSubFrom[T Float](z, w, x, y []T) {
	for i := range z {
		z[i] = y[i] - T(w[i]*x[i])
	}
}

func mulSub[T Float](z, w, x, y []T) {
	for i := range z {
		z[i] = T(w[i]*x[i]) - y[i]
	}
}

func affine[T Float](z, x []T, a, b, c, d T) {
	for i := range z {
		z[i] = T(((x[i]-a)-b)*c) + d
	}
}

func choose[T Float](z, w, x, y []T) {
	for i := range z {
		if w[i] != 0 {
			z[i] = x[i]
		} else {
			z[i] = y[i]
		}
	}
}

func choosePositive[T Float](z, w, x, y []T) {
	for i := range z {
		if w[i] > 0 {
			z[i] = x[i]
		} else {
			z[i] = y[i]
		}
	}
}

func widen(z []float64, x []float32) {
	for i, v := range x {
		z[i] = float64(v)
	}
}

func narrow(z []float32, x []float64) {
	for i, v := range x {
		z[i] = float32(v)
	}
}

func rests(z []float32, x []float64) {
	for i, v := range x {
		near := float64(float32(v))
		if z[i] = 0; near-near == 0 {
			z[i] = float32(v - near)
		}
	}
}

func sumInto[T Float](a *Lanes[T], x []T) {
	for i, v := range x {
		a[i%lanes] += v
	}
}

func prodInto[T Float](a *Lanes[T], x []T) {
	for i, v := range x {
		a[i%lanes] *= v
	}
}

func maxInto[T Float](a *Lanes[T], x []T) {
	for i, v := range x {
		a[i%lanes] = max(a[i%lanes], v)
	}
}

func minInto[T Float](a *Lanes[T], x []T) {
	for i, v := range x {
		a[i%lanes] = min(a[i%lanes], v)
	}
}

func dotInto[T Float](a *Lanes[T], x, y []T) {
	for i, v := range x {
		a[i%lanes] += T(v * y[i])
	}
}

func squaresInto[T Float](a *Lanes[T], x []T, mean T) {
	for i, v := range x {
		d := v - mean
		a[i%lanes] += T(d * d)
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
