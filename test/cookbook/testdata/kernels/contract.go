package kernels

import (
	"example.com/cookbook/equation"
	"example.com/cookbook/generated/contract"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Contract is the kernel of contract.
type Contract[T dtype.Float] struct{}

// Forward computes elements r.Lo to r.Hi-1 of the output.
func (Contract[T]) Forward(_ *op.Ctx, a *contract.Forward[T], r op.Range) error {
	t, extents, err := terms(a.Terms, a.Dims)
	if err != nil {
		return err
	}
	for o := r.Lo; o < r.Hi; o++ {
		at := map[byte]int{t.Out[0]: o / a.Dims.Y[1], t.Out[1]: o % a.Dims.Y[1]}
		var sum float64
		for s := range extents[t.Shared] {
			at[t.Shared] = s
			sum += float64(a.Lhs.At(place(t.Lhs, at, extents))) * float64(a.Rhs.At(place(t.Rhs, at, extents)))
		}
		a.Output.Set(o, T(sum))
	}
	return nil
}

// Backward computes both gradients.
func (Contract[T]) Backward(_ *op.Ctx, a *contract.Backward[T], _ op.Range) error {
	t, extents, err := terms(a.Terms, a.Dims)
	if err != nil {
		return err
	}
	for i := range a.GradLhs.Len() {
		a.GradLhs.Put(i, product(i, t.Lhs, t.Rhs, t.Out, a.Rhs.At, a.GradOutput.At, extents))
	}
	for i := range a.GradRhs.Len() {
		a.GradRhs.Put(i, product(i, t.Rhs, t.Lhs, t.Out, a.Lhs.At, a.GradOutput.At, extents))
	}
	return nil
}

// product computes element i of the gradient of the matrix whose labels are of: the sum over the one label that it does not have.
func product[T dtype.Float](i int, of, other, out string, matrix, grad func(int) T, extents map[byte]int) T {
	at := map[byte]int{of[0]: i / extents[of[1]], of[1]: i % extents[of[1]]}
	free := other[0]
	if _, ok := at[free]; ok {
		free = other[1]
	}
	var sum float64
	for s := range extents[free] {
		at[free] = s
		sum += float64(matrix(place(other, at, extents))) * float64(grad(place(out, at, extents)))
	}
	return T(sum)
}

// terms reads the equation and the extents of its labels.
func terms(text string, dims contract.Dims) (equation.Terms, map[byte]int, error) {
	t, err := equation.Parse(text)
	if err != nil {
		return t, nil, err
	}
	extents, err := t.Extents(dims.L, dims.R)
	return t, extents, err
}

// place returns the number of the element of a matrix with the given labels.
func place(labels string, at, extents map[byte]int) int {
	return at[labels[0]]*extents[labels[1]] + at[labels[1]]
}
