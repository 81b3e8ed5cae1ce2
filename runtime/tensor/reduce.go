package tensor

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
)

// Reduction is a tensor into which the task reduces values, any number of times, with an operator that the
// spec states. The engine provides the initial values.
type Reduction[T dtype.Element] struct {
	_ [0]asReduced
	layout
	data []T
	join func(x, y T) T
}

// Len returns the number of elements.
func (v Reduction[T]) Len() int { return len(v.data) }

// Fold folds x into element i in row-major order.
func (v Reduction[T]) Fold(i int, x T) { v.data[i] = v.join(v.data[i], x) }

// Joining returns the function with which a reduction combines two values. It returns nil if there is none
// for their type.
func Joining[T dtype.Element](r perm.Redop) func(x, y T) T {
	var join any
	switch any(*new(T)).(type) {
	case float32:
		join = ofNumbers[float32](r)
	case float64:
		join = ofNumbers[float64](r)
	case int32:
		join = ofIntegers[int32](r)
	case int64:
		join = ofIntegers[int64](r)
	case bool:
		join = ofBool(r)
	}
	out, _ := join.(func(x, y T) T)
	return out
}

func ofNumbers[T dtype.Number](r perm.Redop) func(x, y T) T {
	switch r {
	case perm.Sum:
		return func(x, y T) T { return x + y }
	case perm.Prod:
		return func(x, y T) T { return x * y }
	case perm.Min:
		return func(x, y T) T { return min(x, y) }
	case perm.Max:
		return func(x, y T) T { return max(x, y) }
	}
	return nil
}

func ofIntegers[T dtype.Index](r perm.Redop) func(x, y T) T {
	switch r {
	case perm.Or:
		return func(x, y T) T { return x | y }
	case perm.And:
		return func(x, y T) T { return x & y }
	case perm.Xor:
		return func(x, y T) T { return x ^ y }
	}
	return ofNumbers[T](r)
}

func ofBool(r perm.Redop) func(x, y bool) bool {
	switch r {
	case perm.Or:
		return func(x, y bool) bool { return x || y }
	case perm.And:
		return func(x, y bool) bool { return x && y }
	case perm.Xor:
		return func(x, y bool) bool { return x != y }
	}
	return nil
}
