package tensor

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
)

// Reduction is a tensor into which the task folds values, any number of times, with an operator that
// the spec gives. The engine provides the first values.
type Reduction[T dtype.Number] struct {
	layout
	data []T
	op   perm.Redop
}

// Len returns the number of elements.
func (v Reduction[T]) Len() int { return len(v.data) }

// Fold folds x into element i in row-major order.
func (v Reduction[T]) Fold(i int, x T) {
	switch v.op {
	case perm.Sum:
		v.data[i] += x
	case perm.Prod:
		v.data[i] *= x
	case perm.Min:
		v.data[i] = min(v.data[i], x)
	case perm.Max:
		v.data[i] = max(v.data[i], x)
	}
}
