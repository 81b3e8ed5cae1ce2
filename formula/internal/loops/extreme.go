package loops

import (
	"maps"
	"math"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
)

// extremes returns, by integer tensor, which identities of max and min its elements may be. of says so of
// tensors that other code writes.
func extremes(statements []*rewrite.Statement, of map[int]program.Ends) map[int]program.Ends {
	out := map[int]program.Ends{}
	maps.Copy(out, of)
	for range 2 { // a statement of a recurrence may read what one below it gives
		for _, s := range statements {
			out[s.Target] = out[s.Target].Or(program.EndsOf(s.Value, out, nil))
		}
	}
	return out
}

// bounding wraps put, which stores an integer, so that the identities of max and min of int64 become those of
// the storage type.
func (c *compiler[T]) bounding(st *rewrite.Statement, put func(*block[T], int, int)) func(*block[T], int, int) {
	least, most, ok := c.boundsFor(st)
	if !ok {
		return put
	}
	return func(b *block[T], i, v int) { put(b, i, bounded(v, least, most)) }
}

// boundsFor returns the integers to which the target of st maps the least and the greatest int64, the
// identities of max and min. ok is false if no mapping is needed. A value that cannot be such an identity is
// not mapped.
func (c *compiler[T]) boundsFor(st *rewrite.Statement) (least, most int, ok bool) {
	from, to, ok := c.tensors[st.Target].Type.Bounds()
	least, most = int(from), int(to)
	ends := program.EndsOf(st.Value, c.extremes, nil)
	if !ends.Least {
		least = math.MinInt
	}
	if !ends.Most {
		most = math.MaxInt
	}
	return least, most, ok && ends.Any()
}

// bounded returns least for the least int64, most for the greatest int64, and v for others.
func bounded(v, least, most int) int {
	switch v {
	case math.MinInt:
		return least
	case math.MaxInt:
		return most
	}
	return v
}

// boundAll applies bounded to a strip of integers.
func boundAll(x []int, least, most int) {
	for i, v := range x {
		x[i] = bounded(v, least, most)
	}
}
