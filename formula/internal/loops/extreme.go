package loops

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// extremes returns the tensors of integers that hold extremes, which may be those of nothing: the bounds of
// 64 bits.
func extremes(statements []*statement) map[int]bool {
	out := map[int]bool{}
	for _, s := range statements {
		if Extreme(s.value, out) {
			out[s.target] = true
		}
	}
	return out
}

// Extreme reports whether an integer is an extreme, which may be that of nothing. Some tensors are known to
// hold extremes.
func Extreme(n *term.Term, tensors map[int]bool) bool {
	switch {
	case n.Kind != term.Integer:
		return false
	case n.Op == term.Reduce:
		return n.Reduction.Kind.Is(reduction.Extreme)
	case n.Op == term.Constant:
		return n.Int == math.MinInt || n.Int == math.MaxInt
	case n.Op == term.Element:
		return n.Read.Count == 1 && tensors[n.Read.Tensor]
	case n.Op == term.Choose:
		return Extreme(n.Args[1], tensors) || Extreme(n.Args[2], tensors)
	}
	return false
}

// bounding returns code that writes integers, in which the extremes of nothing become the bounds of a
// narrower type.
func (c *compiler[T]) bounding(st *statement, put func(*block[T], int, int)) func(*block[T], int, int) {
	least, most, ok := c.boundsFor(st)
	if !ok {
		return put
	}
	return func(b *block[T], i, v int) { put(b, i, bounded(v, least, most)) }
}

// boundsFor returns what extremes of nothing become in the tensor that a statement gives; ok is false if it
// gives none, or if they stay what they are. Of a reduction, the other bound of 64 bits is an element.
func (c *compiler[T]) boundsFor(st *statement) (least, most int, ok bool) {
	least, most, ok = boundsOfType(c.tensors[st.target].Type)
	if !ok || !Extreme(st.value, c.extremes) {
		return 0, 0, false
	}
	if st.value.Op == term.Reduce && st.value.Reduction.Kind == reduction.Max {
		most = math.MaxInt
	} else if st.value.Op == term.Reduce {
		least = math.MinInt
	}
	return least, most, true
}

// boundsOfType returns the least and the greatest integer of a type of fewer than 64 bits.
func boundsOfType(t dtype.Type) (least, most int, ok bool) {
	switch t {
	case dtype.I8:
		return math.MinInt8, math.MaxInt8, true
	case dtype.U8:
		return 0, math.MaxUint8, true
	case dtype.I32:
		return math.MinInt32, math.MaxInt32, true
	}
	return 0, 0, false
}

// bounded returns an integer, and in place of the bounds of 64 bits others.
func bounded(v, least, most int) int {
	switch v {
	case math.MinInt:
		return least
	case math.MaxInt:
		return most
	}
	return v
}

// boundAll does so for a strip of integers.
func boundAll(x []int, least, most int) {
	for i, v := range x {
		x[i] = bounded(v, least, most)
	}
}
