package kernels

import (
	"cmp"
	"sort"

	"github.com/opgen/opgen/generated/unique"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// Unique is the kernel of unique.
type Unique[T dtype.Float | dtype.Index | bool] struct{}

// Forward sorts the elements and keeps one of those that are equal. Elements of outputs that do not count
// are 0.
func (Unique[T]) Forward(_ *op.Ctx, a *unique.Forward[T], _ op.Range) error {
	n := a.Input.Len()
	for i := range n {
		a.Order.Set(i, int64(i))
	}
	sort.Sort(byValue[T]{a.Input, a.Order, comparison[T]()})
	inverse, wantInverse := a.Inverse.Get()
	counts, wantCounts := a.Counts.Get()
	first, wantFirst := a.First.Get()
	values, begin := 0, 0 // begin: the place of the first element of the last value
	for place := range n {
		at := int(a.Order.At(place))
		x := a.Input.At(at)
		if place == 0 || x != a.Input.At(int(a.Order.At(place-1))) {
			a.Output.Set(values, x)
			if wantFirst {
				first.Set(values, int64(at)) // equal elements stand in their order
			}
			values, begin = values+1, place
		}
		if wantInverse {
			inverse.Set(at, int64(values-1))
		}
		if wantCounts {
			counts.Set(values-1, int64(place-begin+1))
		}
	}
	a.Number.Set(0, int64(values))
	var zero T
	for i := values; i < n; i++ {
		a.Output.Set(i, zero)
		if wantCounts {
			counts.Set(i, 0)
		}
		if wantFirst {
			first.Set(i, 0)
		}
	}
	return nil
}

// byValue sorts the numbers of elements by the elements, and equal ones by their numbers.
type byValue[T dtype.Float | dtype.Index | bool] struct {
	of      tensor.RO[T]
	order   tensor.RW[int64]
	compare func(x, y T) int
}

func (s byValue[T]) Len() int { return s.order.Len() }

func (s byValue[T]) Less(i, j int) bool {
	a, b := s.order.At(i), s.order.At(j)
	c := s.compare(s.of.At(int(a)), s.of.At(int(b)))
	return c < 0 || c == 0 && a < b
}

func (s byValue[T]) Swap(i, j int) {
	a, b := s.order.At(i), s.order.At(j)
	s.order.Set(i, b)
	s.order.Set(j, a)
}

// comparison returns the order of the elements of a type. NaN is greater than all numbers, and equal to
// itself.
func comparison[T dtype.Float | dtype.Index | bool]() func(x, y T) int {
	for _, f := range []any{greatestNaN[float32], greatestNaN[float64], cmp.Compare[int32], cmp.Compare[int64], compareBool} {
		if f, ok := f.(func(x, y T) int); ok {
			return f
		}
	}
	return nil // T is one of the above
}

func greatestNaN[T dtype.Float](x, y T) int {
	return cmp.Or(compareBool(x != x, y != y), cmp.Compare(x, y))
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}
