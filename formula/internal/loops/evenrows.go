package loops

import (
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// evenRows is an inner reduction of contiguous rows of one tensor, without a copy to strips. One call
// reduces several short rows, which overlaps the loads of a row with the reduction of the row before.
type evenRows[T simd.Float] struct {
	outer nest[T] // over the indices of the results but the last
	row   loop[T] // over the last index of the results
	last  loop[T] // over the reduced index
	sum   *rowSum[T]
	fold  func(z, x []T, n, apart int)
	n     int // length of a row
	apart int // stride between rows
	// to is the offset of the first result, if results are stored without a conversion or a further
	// operation; otherwise nil.
	to       func(*state[T]) int
	target   int
	toApart  int
	together int            // rows per call
	wide     *rowResults[T] // destination of float32 and float64 results; otherwise nil
}

// linesTogether is the approximate number of elements in the rows of one call.
const linesTogether = 16 << 10

// rowFolds returns the primitive that reduces several rows, or nil.
func rowFolds[T simd.Float](kind reduction.Kind) func(z, x []T, n, apart int) {
	switch kind {
	case reduction.Sum, reduction.Mean:
		return simd.SumRows[T]
	case reduction.Max:
		return simd.MaxRows[T]
	case reduction.Min:
		return simd.MinRows[T]
	}
	return nil
}

// evenLength is the required divisor of the row length.
const evenLength = 64

// evenly reports whether the rows of a reduction may be reduced in place.
func evenly[T simd.Float](r *term.Reduction, v *term.Variable) bool {
	n, known := v.Hi.Known()
	return rowFolds[T](r.Kind) != nil && known && v.Lo.Is(0) && n > 0 && n%evenLength == 0
}

// even returns a unit for rows of one tensor, or nil if the reduction is another one.
func (k *unitCompiler[T]) even(u *rows[T], r *term.Reduction, v *term.Variable) unit[T] {
	if !evenly[T](r, v) || len(u.sums) != 1 || len(u.inner.loops) > 0 || len(u.outer.loops) == 0 {
		return nil
	}
	n, _ := v.Hi.Known()
	vars, sum, fold := k.free(), u.sums[0], rowFolds[T](r.Kind)
	if len(sum.passes) != 1 || sum.passes[0].into == nil {
		return nil
	}
	w, place := vars[len(vars)-1], u.outer.loops[len(vars)-1]
	from := accessOf(r.Body.Read).offset
	out := &evenRows[T]{outer: nest[T]{u.outer.loops[:len(vars)-1]}, row: place, last: u.last, sum: sum, fold: fold, n: n, apart: from.factor(w)}
	if out.apart < 0 || from.hidden(w) {
		return nil
	}
	out.together = 1
	if n <= stripLength {
		out.together = min(max(linesTogether/n, 1), stripLength)
	}
	st := k.bundle.statements[0]
	a, t := accessOf(st.left), k.tensors[st.target]
	if len(a.open) == 0 && !a.offset.hidden(w) && st.left.Which == nil && t.Type == k.own && !t.Add && !st.add && r.Kind != reduction.Mean {
		out.to, out.target, out.toApart = k.value(a.offset), st.target, a.offset.factor(w)
	}
	out.wide = k.rowResults(st, r, w)
	return out
}

func (u *evenRows[T]) run(s *state[T], lo, hi int) {
	u.outer.each(s, 0, lo, hi, func(s *state[T]) { u.rows(s, lo, hi) })
}

// rows reduces the rows of one iteration of the outer loops.
func (u *evenRows[T]) rows(s *state[T], lo, hi int) {
	a, b := u.row.limits(s, lo, hi)
	s.vars[u.last.place] = 0
	p := u.sum.passes[0]
	x := s.mem[p.tensor].same
	for i := a; i < b; i += u.together {
		s.vars[u.row.place] = i
		at, m := p.at(s), min(u.together, b-i)
		if u.n > stripLength {
			u.give(s, u.long(s, x[at:at+u.n]))
			continue
		}
		z := s.beside[:m]
		u.fold(z, x[at:], u.n, u.apart)
		if u.to != nil {
			simd.Scatter(s.mem[u.target].same, z, u.to(s), u.toApart)
			continue
		}
		if u.wide != nil {
			u.wide.put(s, z, 1, m, u.n)
			continue
		}
		for j, v := range z {
			s.vars[u.row.place] = i + j
			u.give(s, p.both(p.unit, float64(v)))
		}
	}
}

// long reduces a row that is longer than a strip.
func (u *evenRows[T]) long(s *state[T], x []T) float64 {
	p := u.sum.passes[0]
	total := p.unit
	for len(x) > 0 {
		n := min(stripLength, len(x))
		z := s.beside[:min(len(x)/n, stripLength)]
		u.fold(z, x, n, n)
		for _, v := range z {
			total = p.both(total, float64(v))
		}
		x = x[n*len(z):]
	}
	return total
}

// give finishes and stores one result.
func (u *evenRows[T]) give(s *state[T], total float64) {
	s.folded[0], s.count = total, u.n
	u.sum.give(s, u.sum.finish(s, s.folded[:], u.n))
}
