// Package tensor provides the views through which kernels access tensors.
//
// The type of a view gives the permissions: RO reads, WO writes, RW does both, Grad and Scatter receive
// gradients. No view returns a slice, so what the type forbids does not compile. Elements are
// addressed by their row-major number. Lanes (one-dimensional, strided) and matrices are parts of
// a view; taking them does not allocate. An index outside a view panics, as for a slice. Engines turn such a
// panic into an error that names the task.
//
// Matrix products and vector code live in the packages blas and vec, which take views.
package tensor

import (
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
)

// layout is the part that all views share: the shape, and how Lane divides the elements.
type layout struct {
	shape  []int
	lane   int // elements of a lane
	stride int // distance between a lane's elements; also the number of neighboring lanes
}

// Shape returns the extents, slowest dimension first. The caller must not change them.
func (l layout) Shape() []int { return l.shape }

// bounds returns the elements between the first and the last of lane i: data[lo:hi].
func (l layout) bounds(i int) (lo, hi int) {
	if l.lane == 0 {
		return 0, 0 // an empty tensor may have lanes, of no elements
	}
	if l.stride == 1 {
		return i * l.lane, (i + 1) * l.lane
	}
	lo = i/l.stride*l.stride*l.lane + i%l.stride
	return lo, lo + (l.lane-1)*l.stride + 1
}

// along returns the layout of a contiguous tensor whose lanes run along dimension dim. A scalar is one
// lane of one element.
func (l layout) along(dim int) layout {
	l.lane, l.stride = 1, 1
	if len(l.shape) == 0 {
		return l
	}
	l.lane = l.shape[dim]
	for _, n := range l.shape[dim+1:] {
		l.stride *= n
	}
	l.stride = max(l.stride, 1) // so that empty tensors do not divide by it
	return l
}

// rows returns the layout of a contiguous tensor whose lanes run along the last dimension. The shape is
// copied: plans keep the one that is given.
func rows(shape []int) layout { return layout{shape: slices.Clone(shape)}.along(max(len(shape)-1, 0)) }

// Each permission has a type, of which its views and their parts hold an array without elements. Without it,
// Go would convert between views that have the same other fields.
type (
	asRO      struct{}
	asWO      struct{}
	asRW      struct{}
	asGrad    struct{}
	asScatter struct{}
	asReduced struct{}
	asOut     struct{}
)

// RO is a tensor that the task may read.
type RO[T dtype.Element] struct {
	_ [0]asRO
	layout
	data []T
}

// Along returns the same tensor with lanes along dimension dim rather than the last.
func (v RO[T]) Along(dim int) RO[T] {
	v.layout = v.along(dim)
	return v
}

// Len returns the number of elements.
func (v RO[T]) Len() int { return len(v.data) }

// At returns element i in row-major order.
func (v RO[T]) At(i int) T { return v.data[i] }

// Lane returns lane i: all elements along the lane dimension, the others fixed. Lanes are numbered
// row-major over the other dimensions.
func (v RO[T]) Lane(i int) ROLane[T] {
	lo, hi := v.bounds(i)
	return ROLane[T]{data: v.data[lo:hi], n: v.lane, s: v.stride}
}

// Span returns elements lo to hi-1 as a lane.
func (v RO[T]) Span(lo, hi int) ROLane[T] { return ROLane[T]{data: v.data[lo:hi:hi], n: hi - lo, s: 1} }

// Mat returns elements lo to lo+rows*cols-1 as a row-major matrix.
func (v RO[T]) Mat(lo, rows, cols int) ROMat[T] {
	return ROMat[T]{data: matrix(v.data, lo, rows, cols), rows: rows, cols: cols, ld: cols}
}

// WO is a tensor that the task must write, every element once, and may not read.
type WO[T dtype.Element] struct {
	_ [0]asWO
	layout
	data []T
}

// Along returns the same tensor with lanes along dimension dim rather than the last.
func (v WO[T]) Along(dim int) WO[T] {
	v.layout = v.along(dim)
	return v
}

// Len returns the number of elements.
func (v WO[T]) Len() int { return len(v.data) }

// Set writes element i in row-major order.
func (v WO[T]) Set(i int, x T) { v.data[i] = x }

// Lane returns lane i, as RO.Lane does.
func (v WO[T]) Lane(i int) WOLane[T] {
	lo, hi := v.bounds(i)
	return WOLane[T]{data: v.data[lo:hi], n: v.lane, s: v.stride}
}

// Span returns elements lo to hi-1 as a lane.
func (v WO[T]) Span(lo, hi int) WOLane[T] { return WOLane[T]{data: v.data[lo:hi:hi], n: hi - lo, s: 1} }

// Mat returns elements lo to lo+rows*cols-1 as a row-major matrix that stores what is put into it.
func (v WO[T]) Mat(lo, rows, cols int) OutMat[T] {
	return OutMat[T]{data: matrix(v.data, lo, rows, cols), rows: rows, cols: cols, ld: cols, mode: Store}
}

// RW is a tensor that the task may read and write.
type RW[T dtype.Element] struct {
	_ [0]asRW
	layout
	data []T
}

// Along returns the same tensor with lanes along dimension dim rather than the last.
func (v RW[T]) Along(dim int) RW[T] {
	v.layout = v.along(dim)
	return v
}

// Len returns the number of elements.
func (v RW[T]) Len() int { return len(v.data) }

// At returns element i in row-major order.
func (v RW[T]) At(i int) T { return v.data[i] }

// Set writes element i in row-major order.
func (v RW[T]) Set(i int, x T) { v.data[i] = x }

// RO returns the same tensor for reading only.
func (v RW[T]) RO() RO[T] { return RO[T]{layout: v.layout, data: v.data} }

// WO returns the same tensor for writing only.
func (v RW[T]) WO() WO[T] { return WO[T]{layout: v.layout, data: v.data} }

// Lane returns lane i, as RO.Lane does.
func (v RW[T]) Lane(i int) RWLane[T] {
	lo, hi := v.bounds(i)
	return RWLane[T]{data: v.data[lo:hi], n: v.lane, s: v.stride}
}

// Span returns elements lo to hi-1 as a lane.
func (v RW[T]) Span(lo, hi int) RWLane[T] { return RWLane[T]{data: v.data[lo:hi:hi], n: hi - lo, s: 1} }

// Mode is what Put does with a value.
type Mode uint8

const (
	// Discard drops values: the gradient is unused.
	Discard Mode = iota
	// Store overwrites: the task is the first to contribute to this gradient.
	Store
	// Accumulate adds to what earlier tasks contributed.
	Accumulate
)

// Grad is a gradient to which the task contributes: it puts each element exactly once. The planner decides
// whether a value is stored, added or dropped; kernels do not depend on it.
type Grad[T dtype.Number] struct {
	_ [0]asGrad
	layout
	data []T
	n    int // elements, also when discarding
	mode Mode
}

// Wanted reports whether the gradient is used. If it is not, values are dropped, and a kernel need not
// compute them.
func (v Grad[T]) Wanted() bool { return v.mode != Discard }

// Along returns the same tensor with lanes along dimension dim rather than the last.
func (v Grad[T]) Along(dim int) Grad[T] {
	v.layout = v.along(dim)
	return v
}

// Len returns the number of elements.
func (v Grad[T]) Len() int { return v.n }

// Put contributes x to element i in row-major order.
func (v Grad[T]) Put(i int, x T) {
	if v.mode == Store {
		v.data[i] = x
	} else if v.mode == Accumulate {
		v.data[i] += x
	}
}

// Lane returns lane i, as RO.Lane does.
func (v Grad[T]) Lane(i int) GradLane[T] {
	if v.mode == Discard {
		return GradLane[T]{n: v.lane, s: v.stride}
	}
	lo, hi := v.bounds(i)
	return GradLane[T]{data: v.data[lo:hi], n: v.lane, s: v.stride, mode: v.mode}
}

// Span returns elements lo to hi-1 as a lane.
func (v Grad[T]) Span(lo, hi int) GradLane[T] {
	if v.mode == Discard {
		return GradLane[T]{n: hi - lo, s: 1}
	}
	return GradLane[T]{data: v.data[lo:hi:hi], n: hi - lo, s: 1, mode: v.mode}
}

// Mat returns elements lo to lo+rows*cols-1 as a row-major matrix with the gradient's mode.
func (v Grad[T]) Mat(lo, rows, cols int) OutMat[T] {
	m := OutMat[T]{rows: rows, cols: cols, ld: cols, mode: v.mode}
	if v.mode != Discard {
		m.data = matrix(v.data, lo, rows, cols)
	}
	return m
}

// Scatter is a gradient to which the task contributes: it adds to any element any number of times.
// The engine provides the zeros or the earlier contributions.
type Scatter[T dtype.Number] struct {
	_ [0]asScatter
	layout
	data []T
	n    int
}

// Wanted reports whether the gradient is used. If it is not, values are dropped.
func (v Scatter[T]) Wanted() bool { return v.data != nil }

// Along returns the same tensor with lanes along dimension dim rather than the last.
func (v Scatter[T]) Along(dim int) Scatter[T] {
	v.layout = v.along(dim)
	return v
}

// Len returns the number of elements.
func (v Scatter[T]) Len() int { return v.n }

// Add adds x to element i in row-major order.
func (v Scatter[T]) Add(i int, x T) {
	if v.data != nil {
		v.data[i] += x
	}
}

// Lane returns lane i, as RO.Lane does.
func (v Scatter[T]) Lane(i int) ScatterLane[T] {
	if v.data == nil {
		return ScatterLane[T]{n: v.lane, s: v.stride}
	}
	lo, hi := v.bounds(i)
	return ScatterLane[T]{data: v.data[lo:hi], n: v.lane, s: v.stride}
}

// Span returns elements lo to hi-1 in row-major order as a lane.
func (v Scatter[T]) Span(lo, hi int) ScatterLane[T] {
	l := ScatterLane[T]{n: hi - lo, s: 1}
	if v.data != nil {
		l.data = v.data[lo:hi:hi]
	}
	return l
}

// Opt is a tensor, or a group of them, that may be absent.
type Opt[V any] struct {
	v  V
	ok bool
}

// Some returns a present view.
func Some[V any](v V) Opt[V] { return Opt[V]{v, true} }

// Get returns the view and whether it is present.
func (o Opt[V]) Get() (V, bool) { return o.v, o.ok }

// Has reports whether the view is present.
func (o Opt[V]) Has() bool { return o.ok }

// PerWorker is scratch memory of which every worker has its own copy. What is in it at the start of
// a range is undefined.
type PerWorker[T dtype.Element] struct{ own []RW[T] }

// Along returns the same memory with lanes along dimension dim rather than the last.
func (p PerWorker[T]) Along(dim int) PerWorker[T] {
	own := make([]RW[T], len(p.own))
	for i, v := range p.own {
		own[i] = v.Along(dim)
	}
	return PerWorker[T]{own}
}

// Of returns the copy of the worker that runs the range (op.Ctx.Worker). Of memory whose slot is
// absent, it has no elements.
func (p PerWorker[T]) Of(worker int) RW[T] {
	if len(p.own) == 0 {
		return RW[T]{}
	}
	return p.own[worker]
}
