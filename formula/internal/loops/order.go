package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/internal/base/sorting"
)

// order is a statement whose value is an argsort or a rank. It sorts each row of keys once.
type order[T simd.Float] struct {
	outer, inner nest[T]
	vars         nest[T] // the sorted indices but the last
	last         loop[T]
	keys         strip[T]
	x            int                   // register of the keys
	whole        func(*state[T]) int   // computes integer keys; nil for real keys
	at           []func(*state[T]) int // the position in the sorted row for an argsort, or the indices of the element for a rank
	first        int                   // length of the prefix of the sorted row that results need; negative for all of it
	rank         bool
	part         int
	descending   bool
	name         string
	give         func(*state[T], int)
}

// orderUnit compiles an argsort or a rank.
func (k *unitCompiler[T]) orderUnit(st *rewrite.Statement, r *term.Reduction) unit[T] {
	k.fails = true
	_, shared := rewrite.OrderedFirst(st)
	vars := k.free()
	own := max(shared-max(k.depth-1, 0), 0)
	v := r.Vars[len(r.Vars)-1]
	u := &order[T]{outer: k.loops(vars[:own], nil), inner: k.loops(vars[own:], nil), vars: k.loops(r.Vars, v), last: k.loop(v), first: -1,
		rank: r.Kind == reduction.Rank, part: r.Part, descending: r.Descending, name: r.Kind.String(), give: k.integerWriter(st)}
	for _, x := range r.At {
		u.at = append(u.at, k.integer(x))
	}
	if b := rewrite.Linear(r.At[0]).Bounds(); !u.rank && b.Known && b.Lo >= 0 {
		u.first = b.Hi + 1
	}
	if r.Body.Kind == term.Integer {
		u.whole = k.integer(r.Body)
		return u
	}
	z := newVectorizer(k.compiler, v)
	u.x = z.vector(z.real(r.Body))
	k.finish(&z.strip)
	u.keys = z.strip
	return u
}

// orders holds the buffers of a sort.
type orders[T simd.Float] struct {
	keys  []T
	whole []int
	table []int64
	ranks []int64
}

func (u *order[T]) run(s *state[T], lo, hi int) { u.outer.each(s, 0, lo, hi, u.row) }

// row sorts one row, and stores the results that depend on it.
func (u *order[T]) row(s *state[T]) {
	o := &s.orders
	o.keys, o.whole = o.keys[:0], o.whole[:0]
	u.vars.each(s, 0, 0, 0, u.collect)
	n := max(len(o.keys), len(o.whole))
	first := n
	if u.first >= 0 {
		first = min(first, u.first)
	}
	o.table = slices.Grow(o.table[:0], n)[:first]
	if u.whole != nil {
		sorting.First(o.table, o.whole, u.descending)
	} else {
		sorting.First(o.table, o.keys, u.descending)
	}
	if u.rank {
		o.ranks = slices.Grow(o.ranks[:0], n)[:n]
		for i, k := range o.table {
			o.ranks[k] = int64(i)
		}
	}
	u.inner.each(s, 0, 0, 0, func(s *state[T]) {
		if u.rank {
			u.give(s, int(o.ranks[u.element(s)]))
			return
		}
		i := u.at[0](s)
		if i < 0 || i >= len(o.table) {
			fail("%s has %d places, and got %d", u.name, n, i)
		}
		u.give(s, u.number(s, int(o.table[i])))
	})
}

// collect appends the keys at all values of the last sorted index.
func (u *order[T]) collect(s *state[T]) {
	lo, hi := u.last.limits(s, 0, 0)
	if u.whole != nil {
		for i := lo; i < hi; i++ {
			s.vars[u.last.place] = i
			s.orders.whole = append(s.orders.whole, u.whole(s))
		}
		return
	}
	for i := lo; i < hi; i += stripLength {
		s.vars[u.last.place] = i
		n := min(stripLength, hi-i)
		u.keys.exec(s, n)
		s.orders.keys = append(s.orders.keys, s.regs[u.x][:n]...)
	}
}

// dim returns the first value of sorted index d, and the number of its values.
func (u *order[T]) dim(s *state[T], d int) (lo, n int) {
	l := &u.last
	if d < len(u.vars.loops) {
		l = &u.vars.loops[d]
	}
	lo, hi := l.limits(s, 0, 0)
	return lo, max(hi-lo, 0)
}

// element returns the row-major number of the element whose rank the statement stores.
func (u *order[T]) element(s *state[T]) int {
	n := 0
	for d, x := range u.at {
		lo, size := u.dim(s, d)
		i := x(s) - lo
		if i < 0 || i >= size {
			fail("%s has %d places, and got %d", u.name, size, i)
		}
		n = n*size + i
	}
	return n
}

// number returns the value that an argsort stores for the element with row-major number n: that number, or
// one of its indices.
func (u *order[T]) number(s *state[T], n int) int {
	whole := 0
	scale := 1
	for d := len(u.vars.loops); d >= 0; d-- {
		lo, size := u.dim(s, d)
		i := lo + n%size
		if n /= size; d == u.part {
			return i
		}
		whole += i * scale
		scale *= size
	}
	return whole
}
