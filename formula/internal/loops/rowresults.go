package loops

import (
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// rowResults is where the results of rows that follow one another go, if they are real numbers at linear
// places: sums, or means.
type rowResults[T simd.Float] struct {
	tensor int
	at     func(*state[T]) int // the place for the row at which the index stands
	apart  int                 // how far those of neighbors lie apart
	mean   bool                // whether a result is what is folded divided by how many elements there are
}

// rowResults returns where a statement puts its results for values of an index; nil if that takes more than
// to write a sum or a mean.
func (c *compiler[T]) rowResults(st *statement, r *term.Reduction, w *term.Variable) *rowResults[T] {
	t, a := c.tensors[st.target], accessOf(st.left)
	if t.Type != dtype.F64 && t.Type != dtype.F32 || t.Add || st.add || st.guard != nil || st.left.Which != nil || len(a.open) > 0 || a.offset.hidden(w) {
		return nil
	}
	switch r.Kind {
	case reduction.Sum, reduction.Max, reduction.Min:
	case reduction.Mean:
		return &rowResults[T]{st.target, c.value(a.offset), a.offset.factor(w), true}
	default:
		return nil
	}
	return &rowResults[T]{st.target, c.value(a.offset), a.offset.factor(w), false}
}

// put writes what was folded in each of some rows of n elements. The results of neighbors lie step apart, and
// the index stands at the first row.
func (p *rowResults[T]) put(s *state[T], of []T, step, rows, n int) {
	if m := &s.mem[p.tensor]; m.f64 != nil {
		putRows(p, m.f64, s, of, step, rows, n)
	} else {
		putRows(p, m.f32, s, of, step, rows, n)
	}
}

func putRows[T, U simd.Float](p *rowResults[T], to []U, s *state[T], of []T, step, rows, n int) {
	at := p.at(s)
	for row := range rows {
		v := float64(of[row*step])
		if p.mean {
			v /= float64(n)
		}
		to[at] = U(v)
		at += p.apart
	}
}
