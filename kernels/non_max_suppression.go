package kernels

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/generated/nonmaxsuppression"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// NonMaxSuppression is the kernel of non_max_suppression.
type NonMaxSuppression[T dtype.Float] struct{}

// Forward compares each box, from the best one on, with those that were selected. Rows of the output that do
// not count are 0.
func (NonMaxSuppression[T]) Forward(_ *op.Ctx, a *nonmaxsuppression.Forward[T], _ op.Range) error {
	least, bounded := a.Attrs.Least.Get()
	order := make([]int, 0, a.Dims.N)
	var selected []rectangle[T]
	row := 0
	for batch := range a.Dims.B {
		for class := range a.Dims.C {
			score := func(n int) T { return a.Scores.At((batch*a.Dims.C+class)*a.Dims.N + n) }
			order, selected = order[:0], selected[:0]
			for n := range a.Dims.N {
				if !bounded || score(n) > T(least) {
					order = append(order, n)
				}
			}
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(score(j), score(i)) })
			for _, n := range order {
				if len(selected) == a.Attrs.Most {
					break
				}
				b := rectangleOf(a, batch*a.Dims.N+n)
				if slices.ContainsFunc(selected, func(s rectangle[T]) bool { return b.overlaps(s, T(a.Attrs.Iou)) }) {
					continue
				}
				selected = append(selected, b)
				for k, x := range []int{batch, class, n} {
					a.Output.Set(3*row+k, int64(x))
				}
				row++
			}
		}
	}
	a.Number.Set(0, int64(row))
	for i := 3 * row; i < a.Output.Len(); i++ {
		a.Output.Set(i, 0)
	}
	return nil
}

// rectangle holds the lower and the upper bounds of a box in two dimensions.
type rectangle[T dtype.Float] struct{ lo, hi [2]T }

func rectangleOf[T dtype.Float](a *nonmaxsuppression.Forward[T], n int) (b rectangle[T]) {
	for d := range 2 {
		x, y := a.Boxes.At(4*n+d), a.Boxes.At(4*n+2+d)
		if a.Attrs.Centers {
			x, y = x-y/2, x+y/2
		}
		b.lo[d], b.hi[d] = min(x, y), max(x, y)
	}
	return b
}

func (b rectangle[T]) area() T { return (b.hi[0] - b.lo[0]) * (b.hi[1] - b.lo[1]) }

// overlaps reports whether the area of what two boxes share is more than a part of that of both.
func (b rectangle[T]) overlaps(c rectangle[T], part T) bool {
	shared := T(1)
	for d := range 2 {
		shared *= max(min(b.hi[d], c.hi[d])-max(b.lo[d], c.lo[d]), 0)
	}
	return shared > 0 && shared/(b.area()+c.area()-shared) > part
}
