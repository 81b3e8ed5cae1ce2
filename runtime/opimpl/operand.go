package opimpl

import (
	"fmt"

	"github.com/opgen/opgen/runtime/shape"
)

// Operand is a tensor of a slot whose shape is compared with the spec's. It may be absent.
type Operand struct {
	r    *resolver
	slot int
	i    int // of a variadic slot: the number of the tensor
}

// dims returns the shape; ok is false if the tensor is absent or the resolution has failed.
func (t Operand) dims() (dims []int, ok bool) {
	if t.r.err != nil || t.i >= len(t.r.res.Slots[t.slot]) {
		return nil, false
	}
	return t.r.res.Slots[t.slot][t.i].Shape, true
}

// written returns the shape as the spec writes it.
func (t Operand) written() string { return t.r.op.Slots[t.slot].Shape }

func (t Operand) fail(want, got string) { t.r.fail(t.slot, t.i, want, got) }

// Rank returns the shape if it has exactly n dimensions.
func (t Operand) Rank(n int) ([]int, bool) {
	dims, ok := t.dims()
	if ok && len(dims) != n {
		t.fail(fmt.Sprintf("%d dimensions %s", n, t.written()), shape.Format(dims))
		return nil, false
	}
	return dims, ok
}

// RankAtLeast returns the shape if it has n dimensions or more.
func (t Operand) RankAtLeast(n int) ([]int, bool) {
	dims, ok := t.dims()
	if ok && len(dims) < n {
		t.fail(fmt.Sprintf("at least %d dimensions %s", n, t.written()), shape.Format(dims))
		return nil, false
	}
	return dims, ok
}

// Equal requires that a dimension has the extent that its name was bound to before.
func (t Operand) Equal(name string, want, got int) {
	if dims, ok := t.dims(); ok && want != got {
		t.fail(fmt.Sprintf("%s = %d in %s", name, want, t.written()), fmt.Sprintf("%d in %s", got, shape.Format(dims)))
	}
}

// EqualDims requires that dimensions have the extents that their name was bound to before.
func (t Operand) EqualDims(name string, want, got []int) {
	if dims, ok := t.dims(); ok && !shape.Equal(want, got) {
		t.fail(fmt.Sprintf("%s... = %s in %s", name, shape.Format(want), t.written()), shape.Format(dims))
	}
}

// Axis returns attribute value axis, which counts from the end if negative, as a dimension: 0 to rank-1.
func (t Operand) Axis(attr string, axis int) int { return t.axis(attr, axis, 0) }

// AxisEnd is Axis for the end of a range of dimensions: 0 to rank.
func (t Operand) AxisEnd(attr string, axis int) int { return t.axis(attr, axis, 1) }

// Axes is Axis for several dimensions.
func (t Operand) Axes(attr string, axes []int) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = t.axis(attr, a, 0)
	}
	return out
}

func (t Operand) axis(attr string, axis, past int) int {
	dims, ok := t.dims()
	if !ok {
		return 0
	}
	rank, a := len(dims), axis
	if a < 0 {
		a += rank
	}
	if a < 0 || a >= rank+past {
		t.fail(fmt.Sprintf("attribute %s between %d and %d for %s", attr, -rank, rank+past-1, shape.Format(dims)), fmt.Sprint(axis))
		return 0
	}
	return a
}
