package kernels

import (
	"github.com/opgen/opgen/generated/groupby"
	"github.com/opgen/opgen/kernels/internal/routing"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/vec"
)

// GroupBy is the kernel of group_by.
type GroupBy[T dtype.Float, L dtype.Index] struct{}

// ForwardPlace assigns rows of experts to assignments.
func (GroupBy[T, L]) ForwardPlace(_ *op.Ctx, a *groupby.Forward[T, L], _ op.Range) error {
	d := &a.Dims
	vec.Fill(a.Source.Span(0, a.Source.Len()).WO(), routing.Dropped)
	return routing.Place("assign", a.Assign, a.Attrs.N, d.P, func(i, expert, row int) {
		a.Place.Set(i, int32(row))
		if row != routing.Dropped {
			a.Source.Set(expert*d.P+row, int32(i/d.K))
		}
	})
}

// ForwardRows fills rows of the experts, counted one expert after the other. Rows without an assignment
// follow those with one.
func (GroupBy[T, L]) ForwardRows(_ *op.Ctx, a *groupby.Forward[T, L], r op.Range) error {
	size, p := a.Width, a.Dims.P
	for i := r.Lo; i < r.Hi; {
		expert, first := i/p, i%p
		to, row, end := a.Expert[expert], first, min(p, first+r.Hi-i)
		for ; row < end; row++ {
			from := int(a.Source.At(expert*p + row))
			if from == routing.Dropped {
				break
			}
			vec.Copy(to.Span(row*size, (row+1)*size), a.Input.Span(from*size, (from+1)*size))
		}
		if row < end {
			vec.Fill(to.Span(row*size, end*size), 0)
		}
		i += end - first
	}
	return nil
}

// Backward sums, for rows of the input, the gradients of the rows that experts got.
func (GroupBy[T, L]) Backward(_ *op.Ctx, a *groupby.Backward[T, L], r op.Range) error {
	size, k := a.Width, a.Dims.K
	m := newMixture(a.GradExpert, a.Assign, a.Place, size)
	for b := r.Lo; b < r.Hi; b++ {
		m.sum(b*k, k, once, a.GradInput.Span(b*size, (b+1)*size).PutAll)
	}
	return nil
}

// once is the weight of each row of such a sum.
func once(int) float64 { return 1 }

// mixture is rows of experts, of size elements, with the assignments that have them.
type mixture[T dtype.Float, L dtype.Index] struct {
	experts []tensor.RO[T]
	assign  tensor.RO[L]
	place   tensor.RO[int32]
	size    int
	sums    []float64 // of a piece of a row
	out     []T
}

func newMixture[T dtype.Float, L dtype.Index](experts []tensor.RO[T], assign tensor.RO[L], place tensor.RO[int32], size int) mixture[T, L] {
	n := min(size, 256)
	return mixture[T, L]{experts, assign, place, size, make([]float64, n), make([]T, n)}
}

// sum passes put the elements of the weighted sum of the rows of assignments first to first+k-1, in pieces.
func (m mixture[T, L]) sum(first, k int, weight func(i int) float64, put func(c int, x []T)) {
	for lo := 0; lo < m.size; lo += len(m.sums) {
		sums := m.sums[:min(len(m.sums), m.size-lo)]
		clear(sums)
		for i := first; i < first+k; i++ {
			row, ok := routing.Row(m.experts, m.assign, m.place, i, m.size)
			if !ok {
				continue
			}
			w := weight(i)
			for c := range sums {
				sums[c] += float64(w * float64(row.At(lo+c)))
			}
		}
		for c, x := range sums {
			m.out[c] = T(x)
		}
		put(lo, m.out[:len(sums)])
	}
}

// setAll returns a function that sets elements of a lane.
func setAll[T dtype.Float](to tensor.WOLane[T]) func(c int, x []T) {
	return func(c int, x []T) {
		for i, v := range x {
			to.Set(c+i, v)
		}
	}
}
