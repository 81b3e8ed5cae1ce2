package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// rowResults is the destination of sums, means or extremes of rows: real elements at a constant distance.
type rowResults[T simd.Float] struct {
	tensor int
	at     func(*state[T]) int // offset for the current row
	apart  int                 // distance between results, in elements
	mean   bool                // whether results are divided by the row length
}

// rowResults returns the destination of a statement's results along index w. It returns nil if storing takes
// more than a conversion and a division.
func (c *compiler[T]) rowResults(st *rewrite.Statement, r *term.Reduction, w *term.Variable) *rowResults[T] {
	t, a := c.tensors[st.Target], rewrite.AccessOf(st.Left)
	if t.Type != dtype.F64 && t.Type != dtype.F32 || t.Add || st.Add || st.Guard != nil || st.Left.Which != nil || len(a.Open) > 0 || a.Offset.Hidden(w) {
		return nil
	}
	switch r.Kind {
	case reduction.Sum, reduction.Max, reduction.Min:
	case reduction.Mean:
		return &rowResults[T]{st.Target, c.value(a.Offset), a.Offset.Factor(w), true}
	default:
		return nil
	}
	return &rowResults[T]{st.Target, c.value(a.Offset), a.Offset.Factor(w), false}
}

// put stores the results of rows rows of n elements: every step-th element of of. The index must be at the
// first row.
func (p *rowResults[T]) put(s *state[T], of []T, step, rows, n int) {
	switch m := &s.mem[p.tensor]; {
	case m.same != nil && step == 1 && !p.mean:
		simd.Scatter(m.same, of[:rows], p.at(s), p.apart)
	case m.f64 != nil:
		putRows(p, m.f64, s, of, step, rows, n)
	default:
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
