package box

import (
	"slices"
	"sync"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
)

// PutProducts puts sums of products of elements of a and b into c. Axes with the distance 0 in c are summed.
func PutProducts[T dtype.Float](c tensor.OutMat[T], a, b tensor.ROLane[T], axes []Axis) {
	y := opened(b)
	inside("b", len(y), axes, func(x Axis) int { return x.B })
	putProducts(c, a, y, axes)
}

// PutSums puts sums of elements of a into c. Axes with the distance 0 in c are summed.
func PutSums[T dtype.Float](c tensor.OutMat[T], a tensor.ROLane[T], axes []Axis) {
	if !slices.ContainsFunc(axes, func(x Axis) bool { return x.C == 0 && x.Extent != 1 }) {
		Put(c, a, axes)
		return
	}
	axes = slices.Clone(axes)
	for i := range axes {
		axes[i].B = 0
	}
	putProducts(c, a, []T{1}, axes)
}

func putProducts[T dtype.Float](c tensor.OutMat[T], a tensor.ROLane[T], y []T, axes []Axis) {
	to, x, ok := open(c, a, axes)
	if !ok {
		return
	}
	p := products[T]{c: to, a: x, b: y, add: c.Mode() == tensor.Accumulate}
	axes = merged(axes)
	if len(axes) == 0 {
		axes = []Axis{{Extent: 1, C: 1}}
	}
	at := innermost(axes)
	p.inner = axes[at]
	for _, x := range slices.Delete(axes, at, at+1) {
		if x.C > 0 {
			p.kept = append(p.kept, x)
		} else {
			p.summed = append(p.summed, x)
		}
	}
	p.room = rooms[T]().Get().(*room[T])
	defer rooms[T]().Put(p.room)
	p.walk(p.kept, 0, 0, 0)
}

// innermost returns along which axis strips take the least time.
func innermost(axes []Axis) int {
	// The numbers are nanoseconds, as measured: what a strip takes beside its elements, an element, and one
	// more for each tensor in which elements lie apart.
	const whole, near, apart = 40, 0.3, 0.7
	best, least := 0, 0.0
	for i, x := range axes {
		time := near + whole/float64(max(min(x.Extent, strip), 1))
		for _, d := range [...]int{x.A, x.B} {
			if d > 1 {
				time += apart
			}
		}
		if i == 0 || time < least {
			best, least = i, time
		}
	}
	return best
}

// products computes sums of products. A strip of sums lies along the inner axis, or, where that one is
// summed, gives one sum.
type products[T dtype.Float] struct {
	c, a, b      []T
	add          bool
	kept, summed []Axis // all but the inner one
	inner        Axis
	room         *room[T]
}

// walk computes the sums of a box, of which the first elements are at c, a and b.
func (p *products[T]) walk(axes []Axis, c, a, b int) {
	if len(axes) > 0 {
		x := axes[0]
		for range x.Extent {
			p.walk(axes[1:], c, a, b)
			c, a, b = c+x.C, a+x.A, b+x.B
		}
		return
	}
	x := p.inner
	if x.C == 0 {
		n := min(x.Extent, strip)
		clear(p.room.sums[:n])
		p.sum(p.summed, a, b, n)
		p.put(c, 1, one(p.room, total(p.room.sums[:n])))
		return
	}
	for lo := 0; lo < x.Extent; lo += strip {
		n := min(strip, x.Extent-lo)
		at, i, j := c+lo*x.C, a+lo*x.A, b+lo*x.B
		switch {
		case len(p.summed) > 0:
			clear(p.room.sums[:n])
			p.sum(p.summed, i, j, n)
			p.put(at, n, narrow(p.room, n))
		case x.A <= 1 && x.B <= 1:
			p.put(at, n, p.product(i, j, n))
		default:
			z := p.room.sums[:n]
			simd.BinaryOf[float64](simd.Mul)(z, widen(&p.room.x, p.a[i:], x.A, n), widen(&p.room.y, p.b[j:], x.B, n))
			p.put(at, n, narrow(p.room, n))
		}
	}
}

// product returns products of n elements, which lie side by side or are one element.
func (p *products[T]) product(a, b, n int) []T {
	z := p.room.z[:n]
	switch x := p.inner; {
	case x.A == 1 && x.B == 1:
		simd.BinaryOf[T](simd.Mul)(z, p.a[a:a+n], p.b[b:b+n])
	case x.A == 1:
		simd.BinaryScalarOf[T](simd.Mul)(z, p.a[a:a+n], p.b[b])
	case x.B == 1:
		simd.ScalarBinaryOf[T](simd.Mul)(z, p.a[a], p.b[b:b+n])
	default:
		fill(z, p.a[a]*p.b[b])
	}
	return z
}

// sum adds products to a strip of n sums, for all indices of the axes that are summed.
func (p *products[T]) sum(axes []Axis, a, b, n int) {
	if len(axes) > 0 {
		x := axes[0]
		for range x.Extent {
			p.sum(axes[1:], a, b, n)
			a, b = a+x.A, b+x.B
		}
		return
	}
	x := p.inner
	if x.C > 0 {
		p.addStrip(a, b, n)
		return
	}
	for lo := 0; lo < x.Extent; lo += strip {
		p.addStrip(a+lo*x.A, b+lo*x.B, min(strip, x.Extent-lo))
	}
}

// addStrip adds products of n elements to the first n sums.
func (p *products[T]) addStrip(a, b, n int) {
	x, w := p.inner, p.room
	sums := w.sums[:n]
	switch {
	case x.A == 0 && x.B == 0:
		v := float64(float64(p.a[a]) * float64(p.b[b]))
		for i := range sums {
			sums[i] += v
		}
	case x.B == 0:
		simd.MulAddScalar(sums, widen(&w.x, p.a[a:], x.A, n), float64(p.b[b]), sums)
	case x.A == 0:
		simd.MulAddScalar(sums, widen(&w.x, p.b[b:], x.B, n), float64(p.a[a]), sums)
	default:
		simd.MulAdd(sums, widen(&w.x, p.a[a:], x.A, n), widen(&w.y, p.b[b:], x.B, n), sums)
	}
}

// put puts n results into c.
func (p *products[T]) put(c, n int, z []T) {
	step := p.inner.C
	switch {
	case step == 1 && p.add:
		add(p.c[c:c+n], z)
	case step == 1:
		copy(p.c[c:c+n], z)
	default:
		for _, v := range z {
			if p.add {
				v += p.c[c]
			}
			p.c[c] = v
			c += step
		}
	}
}

// room is memory for strips.
type room[T dtype.Float] struct {
	sums, x, y [strip]float64
	z          [strip]T
}

var (
	rooms32 = sync.Pool{New: func() any { return new(room[float32]) }}
	rooms64 = sync.Pool{New: func() any { return new(room[float64]) }}
)

// rooms returns idle memory for elements of a type.
func rooms[T dtype.Float]() *sync.Pool {
	if _, wide := any(T(0)).(float64); wide {
		return &rooms64
	}
	return &rooms32
}

// widen returns n elements of x, a distance apart, in float64.
func widen[T dtype.Float](room *[strip]float64, x []T, step, n int) []float64 {
	to := room[:n]
	if step != 1 {
		at := 0
		for i := range to {
			to[i] = float64(x[at])
			at += step
		}
		return to
	}
	switch x := any(x).(type) {
	case []float64:
		return x[:n]
	case []float32:
		simd.Widen(to, x[:n])
	}
	return to
}

// narrow returns n sums as elements.
func narrow[T dtype.Float](w *room[T], n int) []T {
	switch z := any(w.z[:n]).(type) {
	case []float32:
		simd.Narrow(z, w.sums[:n])
	case []float64:
		copy(z, w.sums[:n])
	}
	return w.z[:n]
}

// one returns a number as the only element of a list.
func one[T dtype.Float](w *room[T], x float64) []T {
	w.z[0] = T(x)
	return w.z[:1]
}

// total returns the sum of numbers. It adds one half to the other as long as there are many.
func total(x []float64) float64 {
	for len(x) > 8 {
		half := len(x) / 2
		rest := len(x) - half
		simd.BinaryOf[float64](simd.Add)(x[:half], x[:half], x[rest:])
		x = x[:rest]
	}
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum
}
