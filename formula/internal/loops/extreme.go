package loops

import (
	"maps"
	"math"

	"github.com/opgen/opgen/formula/program"
)

// extremes returns which identities of max and min each integer tensor may hold, from what those of other
// code may hold.
func extremes(statements []*statement, of map[int]program.Ends) map[int]program.Ends {
	out := map[int]program.Ends{}
	maps.Copy(out, of)
	for range 2 { // a statement of a recurrence may read what one below it gives
		for _, s := range statements {
			out[s.target] = out[s.target].Or(program.EndsOf(s.value, out, nil))
		}
	}
	return out
}

// bounding returns code that stores integers, and maps the 64-bit identities of max and min to those of the
// storage type.
func (c *compiler[T]) bounding(st *statement, put func(*block[T], int, int)) func(*block[T], int, int) {
	least, most, ok := c.boundsFor(st)
	if !ok {
		return put
	}
	return func(b *block[T], i, v int) { put(b, i, bounded(v, least, most)) }
}

// boundsFor returns the bounds to which the identities of max and min are mapped in the target of st; ok is
// false if no mapping is needed. A bound of int64 that is not such an identity is an ordinary value.
func (c *compiler[T]) boundsFor(st *statement) (least, most int, ok bool) {
	i := integersOf[T](c.tensors[st.target].Type)
	if i == nil {
		return 0, 0, false
	}
	least, most, ok = i.bounds()
	ends := program.EndsOf(st.value, c.extremes, nil)
	if !ends.Least {
		least = math.MinInt
	}
	if !ends.Most {
		most = math.MaxInt
	}
	return least, most, ok && ends.Any()
}

// bounded maps the bounds of int64 to other integers.
func bounded(v, least, most int) int {
	switch v {
	case math.MinInt:
		return least
	case math.MaxInt:
		return most
	}
	return v
}

// boundAll maps the bounds of int64 in a strip of integers.
func boundAll(x []int, least, most int) {
	for i, v := range x {
		x[i] = bounded(v, least, most)
	}
}
