package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// transposed is a transposing copy: source and result have stride 1 along different indices. It copies tile
// by tile, so that whole cache lines of both are used.
type transposed[T simd.Float] struct {
	outer        nest[T]
	row, col     loop[T] // over the indices with stride 1 in the source and in the result
	from, to     func(*state[T]) int
	rowTo        int // distance of rows in the result
	colFrom      int // distance of columns in the source
	source, goal int
	element      dtype.Type
	storage      storage[T] // of element
	own          bool       // whether elements have the compute type
}

// transposed compiles a transposing copy. It returns nil for other statements.
func (k *unitCompiler[T]) transposed(s *rewrite.Statement) unit[T] {
	if len(k.bundle.statements) != 1 || k.bundle.folds != nil || !k.moves(s) {
		return nil
	}
	from, to := rewrite.AccessOf(s.Value.Read).Offset, rewrite.AccessOf(s.Left).Offset
	row, col := crossed(s, k.free())
	if row == nil {
		return nil
	}
	outer := slices.DeleteFunc(slices.Clone(k.free()), func(v *term.Variable) bool { return v == row || v == col })
	return &transposed[T]{outer: k.loops(outer, nil), row: k.loop(row), col: k.loop(col), from: k.value(from), to: k.value(to),
		rowTo: to.Factor(row), colFrom: from.Factor(col), source: s.Value.Read.Tensor, goal: s.Target, element: k.tensors[s.Target].Type, storage: storageOf[T](k.tensors[s.Target].Type),
		own: k.tensors[s.Target].Type == k.own}
}

// crossed returns the index with stride 1 in the source and that with stride 1 in the result. It returns nil
// if these are the same or there is none.
func crossed(s *rewrite.Statement, vars []*term.Variable) (row, col *term.Variable) {
	from, to := rewrite.AccessOf(s.Value.Read).Offset, rewrite.AccessOf(s.Left).Offset
	for _, v := range vars {
		if from.Factor(v) == 1 && to.Factor(v) != 1 {
			row = v
		}
		if to.Factor(v) == 1 && from.Factor(v) != 1 {
			col = v
		}
	}
	if row == nil || col == nil || to.Factor(row) <= 0 || from.Factor(col) <= 0 {
		return nil, nil
	}
	return row, col
}

func (u *transposed[T]) run(s *state[T], lo, hi int) {
	if u.own && s.past {
		if s.tile == nil {
			s.tile = make([]T, pastRows*pastCols)
		}
		u.tiles(s, lo, hi, pastRows, pastCols, func(s *state[T], rows, cols int) {
			simd.Transpose(s.tile, cols, s.mem[u.source].same[u.from(s):], u.colFrom, cols, rows)
			to := u.to(s)
			for k := range rows {
				simd.Stream(s.mem[u.goal].same[to:to+cols], s.tile[k*cols:(k+1)*cols])
				to += u.rowTo
			}
		})
		return
	}
	if u.own {
		u.tiles(s, lo, hi, tileSide, tileSide, func(s *state[T], rows, cols int) {
			simd.Transpose(s.mem[u.goal].same[u.to(s):], u.rowTo, s.mem[u.source].same[u.from(s):], u.colFrom, cols, rows)
		})
		return
	}
	u.tiles(s, lo, hi, tileSide, tileSide, func(s *state[T], rows, cols int) {
		goal, source, to, from := &s.mem[u.goal], &s.mem[u.source], u.to(s), u.from(s)
		switch u.element {
		case dtype.F32:
			simd.Transpose(goal.f32[to:], u.rowTo, source.f32[from:], u.colFrom, cols, rows)
		case dtype.F64:
			simd.Transpose(goal.f64[to:], u.rowTo, source.f64[from:], u.colFrom, cols, rows)
		case dtype.I32, dtype.U32: // copies do not look at bits
			simd.Transpose(as[float32](goal.data)[to:], u.rowTo, as[float32](source.data)[from:], u.colFrom, cols, rows)
		case dtype.I64, dtype.U64:
			simd.Transpose(as[float64](goal.data)[to:], u.rowTo, as[float64](source.data)[from:], u.colFrom, cols, rows)
		default:
			for k := range rows {
				u.storage.move(goal, to+k*u.rowTo, 1, source, from+k, u.colFrom, cols)
			}
		}
	})
}

// tiles calls visit for all tiles, with the number of their rows and columns. The indices are at a tile's
// first element.
func (u *transposed[T]) tiles(s *state[T], lo, hi, height, width int, visit func(s *state[T], rows, cols int)) {
	u.outer.each(s, 0, lo, hi, func(s *state[T]) {
		a, b := u.row.limits(s, lo, hi)
		c, d := u.col.limits(s, lo, hi)
		for i := a; i < b; i += height {
			for j := c; j < d; j += width {
				s.vars[u.row.place], s.vars[u.col.place] = i, j
				visit(s, min(height, b-i), min(width, d-j))
			}
		}
	})
}
