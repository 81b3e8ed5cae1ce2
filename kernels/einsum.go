package kernels

import (
	"slices"

	"github.com/opgen/opgen/generated/einsum"
	"github.com/opgen/opgen/kernels/equation"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// Einsum is the kernel of einsum.
type Einsum[T dtype.Float] struct{}

// Forward computes elements of the output: sums of products over the labels that the output lacks.
func (Einsum[T]) Forward(_ *op.Ctx, a *einsum.Forward[T], r op.Range) error {
	b, err := equation.Bind(a.Terms, a.Dims.X)
	if err != nil {
		return err
	}
	s := sums[T]{tensors: a.Input, strides: b.Strides[:len(a.Input)], extents: b.Extents}
	for l := b.Rank; l < len(b.Extents); l++ {
		s.free = append(s.free, l)
	}
	at := make([]int, len(b.Extents))
	for o := r.Lo; o < r.Hi; o++ {
		rest := o
		for l := b.Rank - 1; l >= 0; l-- {
			at[l] = rest % b.Extents[l]
			rest /= b.Extents[l]
		}
		a.Output.Set(o, T(s.total(at)))
	}
	return nil
}

// Backward computes gradients of elements of the inputs, counted one input after the other.
func (Einsum[T]) Backward(_ *op.Ctx, a *einsum.Backward[T], r op.Range) error {
	b, err := equation.Bind(a.Terms, a.Dims.X)
	if err != nil {
		return err
	}
	parts(a.Dims.X, r, func(i, lo, hi, _ int) {
		// The gradient is a sum of products of the output's gradient and the other inputs.
		s := sums[T]{extents: b.Extents}
		for k, x := range append(slices.Clone(a.Input), a.GradOutput) {
			if k != i {
				s.tensors, s.strides = append(s.tensors, x), append(s.strides, b.Strides[k])
			}
		}
		e := element{shape: a.Dims.X[i], labels: b.Labels[i], extents: b.Extents, at: make([]int, len(b.Extents))}
		s.free = e.free()
		for n := lo; n < hi; n++ {
			if !e.locate(n) {
				a.GradInput[i].Put(n, 0) // it is not on the diagonal that the equation reads
				continue
			}
			a.GradInput[i].Put(n, T(s.total(e.at)))
		}
	})
	return nil
}

// element finds which values of labels read an element of an input.
type element struct {
	shape, labels, extents []int
	at                     []int // the values of the input's labels
}

// free returns the labels that an element leaves open: those that the input lacks, and those along which it is repeated.
func (e *element) free() []int {
	var out []int
	for l := range e.extents {
		d := slices.Index(e.labels, l)
		if d < 0 || e.shape[d] != e.extents[l] {
			out = append(out, l)
		}
	}
	return out
}

// locate sets at for element n. It reports whether anything reads the element: a label that occurs twice has one value.
func (e *element) locate(n int) bool {
	clear(e.at)
	ok := true
	for d := len(e.shape) - 1; d >= 0; d-- {
		v, l := n%e.shape[d], e.labels[d]
		n /= e.shape[d]
		if again := slices.Index(e.labels[d+1:], l); again >= 0 && e.at[l] != v {
			ok = false
		}
		e.at[l] = v
	}
	return ok
}

// sums adds products of elements of tensors over the labels in free.
type sums[T dtype.Float] struct {
	tensors []tensor.RO[T]
	strides [][]int // of each tensor, along each label
	extents []int   // of labels
	free    []int
}

// total returns the sum for the given values of the other labels.
func (s *sums[T]) total(at []int) float64 {
	offsets := make([]int, len(s.tensors))
	for k, strides := range s.strides {
		for l, v := range at {
			offsets[k] += v * strides[l]
		}
		for _, l := range s.free {
			offsets[k] -= at[l] * strides[l]
		}
	}
	return s.over(s.free, offsets)
}

// over returns the sum over labels, where the first element of each tensor is at an offset.
func (s *sums[T]) over(free, offsets []int) float64 {
	if len(free) == 0 {
		p := 1.0
		for k, x := range s.tensors {
			p *= float64(x.At(offsets[k]))
		}
		return p
	}
	l, sum := free[0], 0.0
	for range s.extents[l] {
		sum += s.over(free[1:], offsets)
		for k := range offsets {
			offsets[k] += s.strides[k][l]
		}
	}
	for k := range offsets {
		offsets[k] -= s.extents[l] * s.strides[k][l]
	}
	return sum
}
