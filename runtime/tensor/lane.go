package tensor

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
)

// ROLane is a one-dimensional strided view for reading.
type ROLane[T dtype.Element] struct {
	_    [0]asRO
	data []T
	n, s int
}

// Len returns the number of elements.
func (l ROLane[T]) Len() int { return l.n }

// At returns element i.
func (l ROLane[T]) At(i int) T { return l.data[i*l.s] }

// Sealed returns the elements in a form that only the runtime's own packages can open.
func (l ROLane[T]) Sealed() (p unlock.Part[T], n, stride int) {
	return unlock.SealPart(l.data), l.n, l.s
}

// WOLane is a one-dimensional strided view for writing.
type WOLane[T dtype.Element] struct {
	_    [0]asWO
	data []T
	n, s int
}

// Len returns the number of elements.
func (l WOLane[T]) Len() int { return l.n }

// Set writes element i.
func (l WOLane[T]) Set(i int, x T) { l.data[i*l.s] = x }

// Sealed returns the elements in a form that only the runtime's own packages can open.
func (l WOLane[T]) Sealed() (p unlock.Part[T], n, stride int) {
	return unlock.SealPart(l.data), l.n, l.s
}

// RWLane is a one-dimensional strided view for reading and writing.
type RWLane[T dtype.Element] struct {
	_    [0]asRW
	data []T
	n, s int
}

// Len returns the number of elements.
func (l RWLane[T]) Len() int { return l.n }

// At returns element i.
func (l RWLane[T]) At(i int) T { return l.data[i*l.s] }

// Set writes element i.
func (l RWLane[T]) Set(i int, x T) { l.data[i*l.s] = x }

// RO returns the same lane for reading only.
func (l RWLane[T]) RO() ROLane[T] { return ROLane[T]{data: l.data, n: l.n, s: l.s} }

// WO returns the same lane for writing only.
func (l RWLane[T]) WO() WOLane[T] { return WOLane[T]{data: l.data, n: l.n, s: l.s} }

// GradLane is a one-dimensional strided part of a Grad.
type GradLane[T dtype.Number] struct {
	_    [0]asGrad
	data []T
	n, s int
	mode Mode
}

// Len returns the number of elements.
func (l GradLane[T]) Len() int { return l.n }

// Put contributes x to element i.
func (l GradLane[T]) Put(i int, x T) {
	if l.mode == Store {
		l.data[i*l.s] = x
	} else if l.mode == Accumulate {
		l.data[i*l.s] += x
	}
}

// PutAll contributes the elements of x to element i and those that follow it.
func (l GradLane[T]) PutAll(i int, x []T) {
	switch {
	case l.mode == Store && l.s == 1:
		copy(l.data[i:i+len(x)], x)
	case l.mode == Accumulate && l.s == 1:
		to := l.data[i : i+len(x)]
		for k, v := range x {
			to[k] += v
		}
	default:
		for k, v := range x {
			l.Put(i+k, v)
		}
	}
}

// ScatterLane is a one-dimensional strided part of a Scatter.
type ScatterLane[T dtype.Number] struct {
	_    [0]asScatter
	data []T
	n, s int
}

// Len returns the number of elements.
func (l ScatterLane[T]) Len() int { return l.n }

// Add adds x to element i.
func (l ScatterLane[T]) Add(i int, x T) {
	if l.data != nil {
		l.data[i*l.s] += x
	}
}

// Sealed returns the lane in a form that only the runtime's own packages can open. There are no elements if
// the gradient is not used.
func (l ScatterLane[T]) Sealed() (p unlock.Part[T], n, stride int) {
	return unlock.SealPart(l.data), l.n, l.s
}
