package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// evenRows reduces contiguous rows of one tensor in place, without a copy to strips. One call reduces several
// short rows, which overlaps the loads of a row with the reduction of the row before.
type evenRows[T simd.Float] struct {
	place    int // slot of the last index of the results
	fold     func(z, x []T, n, apart int)
	n        int // length of a row
	apart    int // distance of rows, in elements
	together int // rows per call
}

// rowFolds returns the function of package simd that reduces several rows. It returns nil if there is none
// for the reduction.
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

// evenly reports whether the rows of a reduction over v may be reduced in place: there is a function for
// several rows, and the row length is a multiple of evenLength.
func evenly[T simd.Float](r *term.Reduction, v *term.Variable) bool {
	n, known := v.Hi.Known()
	return rowFolds[T](r.Kind) != nil && known && v.Lo.Is(0) && n > 0 && n%evenLength == 0
}

// even returns how a reduction of rows of one tensor runs in place. It returns nil for other reductions.
func (k *unitCompiler[T]) even(u *rows[T], r *term.Reduction, v *term.Variable) *evenRows[T] {
	if !evenly[T](r, v) || len(u.sums) != 1 || len(u.inner.loops) > 0 || len(u.outer.loops) == 0 {
		return nil
	}
	if u.sums[0].into == nil {
		return nil
	}
	w, from := k.free()[len(k.free())-1], rewrite.AccessOf(r.Body.Read).Offset
	out := &evenRows[T]{place: k.place(w), fold: rowFolds[T](r.Kind), n: rewrite.Extent(v), apart: from.Factor(w), together: 1}
	if out.apart < 0 || from.Hidden(w) {
		return nil
	}
	if out.n <= stripLength {
		out.together = min(max(linesTogether/out.n, 1), stripLength)
	}
	return out
}

// inPlace reduces rows rows in place, from row first on.
func (u *rows[T]) inPlace(s *state[T], first, rows int) {
	e, p := u.even, u.sums[0]
	s.vars[e.place], s.vars[u.last.place] = first, 0
	x, z := s.mem[p.tensor].same[p.at(s):], s.beside[:rows]
	if e.n <= stripLength {
		e.fold(z, x, e.n, e.apart)
		p.put(s, e.place, first, z, 1, rows, e.n)
		return
	}
	total := p.unit
	for x = x[:e.n]; len(x) > 0; {
		n := min(stripLength, len(x))
		z := s.beside[:min(len(x)/n, stripLength)]
		e.fold(z, x, n, n)
		for _, v := range z {
			total = p.join(total, float64(v))
		}
		x = x[n*len(z):]
	}
	p.finish(s, total, e.n)
}
