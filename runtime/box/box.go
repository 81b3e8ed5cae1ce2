// Package box computes over boxes of elements: along each axis of a box, elements of a tensor lie a fixed
// distance apart. So the axes of tensors need not have the same order, and neither copies nor sums of
// products move tensors first.
//
// Sums are carried in float64, in an order that depends on the axes only.
package box

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// Axis is an axis of a box: the number of elements along it, and their distance in the result c and in the
// operands a and b. A distance of 0 means that one element stands for all.
type Axis struct{ Extent, C, A, B int }

// Put puts elements of a into c, whose row has them at other places. No axis has the distance 0 in c.
func Put[T dtype.Float](c tensor.OutMat[T], a tensor.ROLane[T], axes []Axis) {
	to, from, ok := open(c, a, axes)
	if !ok {
		return
	}
	p := copier[T]{add: c.Mode() == tensor.Accumulate}
	axes = merged(axes)
	for len(axes) < 2 {
		axes = append([]Axis{{Extent: 1}}, axes...)
	}
	inner := axes[len(axes)-1]
	axes = axes[:len(axes)-1]
	next := len(axes) - 1
	if at := slices.IndexFunc(axes, func(x Axis) bool { return x.A == 1 }); at >= 0 && inner.A > 1 {
		next = at // a and c have their neighboring elements along these two axes
	}
	p.inner, p.next = inner, axes[next]
	p.walk(slices.Delete(axes, next, next+1), to, from)
}

// open returns the elements of c and a, and whether there are any to put. It panics if axes reach beyond
// them.
func open[T dtype.Float](c tensor.OutMat[T], a tensor.ROLane[T], axes []Axis) (to, from []T, ok bool) {
	if c.Rows() != 1 {
		panic(fmt.Sprintf("box: want a result of one row, got %d", c.Rows()))
	}
	if c.Mode() == tensor.Discard || slices.ContainsFunc(axes, func(x Axis) bool { return x.Extent == 0 && x.C > 0 }) {
		return nil, nil, false
	}
	to, _, _ = unlock.Mat(c.Sealed())
	from = opened(a)
	inside("c", len(to), axes, func(x Axis) int { return x.C })
	inside("a", len(from), axes, func(x Axis) int { return x.A })
	return to, from, true
}

// opened returns the elements of a lane.
func opened[T dtype.Float](a tensor.ROLane[T]) []T {
	x, _, step := unlock.Lane(a.Sealed())
	if step != 1 {
		panic("box: want neighboring elements")
	}
	return x
}

// inside panics if axes reach beyond n elements.
func inside(name string, n int, axes []Axis, distance func(Axis) int) {
	last := 0
	for _, x := range axes {
		d := distance(x)
		if d < 0 || x.Extent < 0 || x.Extent > 1 && d > 0 && x.Extent-1 > (n-1-last)/d {
			panic(fmt.Sprintf("box: axes %v reach beyond the %d elements of %s", axes, n, name))
		}
		last += max(x.Extent-1, 0) * d
	}
}

// merged returns axes by their distances in c, the greatest first. Two are one where that makes no
// difference, and axes of one element are left out.
func merged(axes []Axis) []Axis {
	axes = slices.DeleteFunc(slices.Clone(axes), func(x Axis) bool { return x.Extent == 1 })
	slices.SortStableFunc(axes, func(x, y Axis) int { return cmp.Compare(y.C, x.C) })
	return Merge(axes)
}

// Merge coalesces adjacent axes that are contiguous in all tensors. It changes the list.
func Merge(axes []Axis) []Axis {
	out := axes[:0]
	for _, x := range axes {
		if n := len(out); n > 0 {
			if y := &out[n-1]; y.C == x.C*x.Extent && y.A == x.A*x.Extent && y.B == x.B*x.Extent {
				*y = Axis{y.Extent * x.Extent, x.C, x.A, x.B}
				continue
			}
		}
		out = append(out, x)
	}
	return out
}

// copier copies planes of two axes.
type copier[T dtype.Float] struct {
	next, inner Axis
	add         bool
}

// walk copies the planes of a box.
func (p *copier[T]) walk(axes []Axis, c, a []T) {
	if len(axes) == 0 {
		p.plane(c, a)
		return
	}
	x := axes[0]
	for i := range x.Extent {
		p.walk(axes[1:], c[i*x.C:], a[i*x.A:])
	}
}

// short is up to how many elements a loop takes less time than a call.
const short = 12

func (p *copier[T]) plane(c, a []T) {
	x, y := p.next, p.inner
	switch {
	case y.C == 1 && y.A > 1 && x.A == 1:
		p.transpose(c, a)
	case y.C == 1 && y.A == 1 && y.Extent > short:
		for i := range x.Extent {
			to, from := c[i*x.C:i*x.C+y.Extent], a[i*x.A:i*x.A+y.Extent]
			if p.add {
				add(to, from)
			} else {
				copy(to, from)
			}
		}
	case y.C == 1 && y.A == 0 && !p.add:
		for i := range x.Extent {
			fill(c[i*x.C:i*x.C+y.Extent], a[i*x.A])
		}
	case p.add:
		for i := range x.Extent {
			to, from := i*x.C, i*x.A
			for range y.Extent {
				c[to] += a[from]
				to, from = to+y.C, from+y.A
			}
		}
	default:
		for i := range x.Extent {
			to, from := i*x.C, i*x.A
			for range y.Extent {
				c[to] = a[from]
				to, from = to+y.C, from+y.A
			}
		}
	}
}

// strip is how many elements are computed at a time, and side is how many rows or columns of a matrix are
// transposed at a time: so many pages stay in reach.
const (
	strip = 256
	side  = 64
)

// transpose copies a plane whose elements neighbor each other along the inner axis in c, and along the next
// one in a.
func (p *copier[T]) transpose(c, a []T) {
	x, y := p.next, p.inner
	if !p.add {
		for j := 0; j < x.Extent; j += side {
			simd.Transpose(c[j*x.C:], x.C, a[j:], y.A, y.Extent, min(side, x.Extent-j))
		}
		return
	}
	const few = strip / side
	w := rooms[T]().Get().(*room[T])
	defer rooms[T]().Put(w)
	for j := 0; j < x.Extent; j += few {
		for i := 0; i < y.Extent; i += side {
			rows, cols := min(side, y.Extent-i), min(few, x.Extent-j)
			simd.Transpose(w.z[:], side, a[i*y.A+j:], y.A, rows, cols)
			for k := range cols {
				at := (j+k)*x.C + i
				add(c[at:at+rows], w.z[k*side:k*side+rows])
			}
		}
	}
}

// add adds the elements of x to those of z.
func add[T dtype.Float](z, x []T) { simd.BinaryOf[T](simd.Add)(z, z, x) }

// fill sets all elements of z.
func fill[T dtype.Float](z []T, x T) {
	one := min(len(z), short)
	for i := range z[:one] {
		z[i] = x
	}
	for done := one; done < len(z); { // copies go many elements at a time
		done += copy(z[done:], z[:min(done, 8*strip)])
	}
}
