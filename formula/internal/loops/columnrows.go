package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// directRows locates the rows of a tensor whose sum is a reduction. package simd adds such rows without code
// of a strip.
type directRows[T simd.Float] struct {
	tensor int
	at     func(*state[T]) int // offset of the first row; if rows are gathered, of row 0
	apart  int                 // distance of rows, in elements
	number *lookedUp[T]        // the gathered row numbers; nil if rows have a constant distance
	// begins holds the offsets of rows, relative to the first one, of a reduction over several indices; nil
	// for one index.
	begins []int
	step   int // distance of elements in a row, for a reduction over several indices
}

// lookedUp is a tensor whose elements are the numbers of rows to sum.
type lookedUp[T simd.Float] struct {
	tensor int
	wide   bool // whether row numbers are int64; otherwise they are int32
	first  func(*state[T]) int
	apart  int
	rows   int  // exclusive upper bound of row numbers
	some   bool // whether the number none stands for no row (padding)
	none   int
}

// directRows locates the rows of a tensor whose sum over r's indices is the reduction. b is the reduction's
// value, and v the vectorized index. It returns nil if the reduction has another form.
func (k *unitCompiler[T]) directRows(r *term.Reduction, b *term.Term, v *term.Variable) *directRows[T] {
	if b.Op != term.Element || b.Read.Which != nil || k.tensors[b.Read.Tensor].Type != k.own {
		return nil
	}
	a, w := rewrite.AccessOf(b.Read), r.Vars[0]
	if len(r.Vars) > 1 {
		return k.windowRows(r, b, a, v)
	}
	if len(a.Offset.Rest) > 0 {
		return k.lookedUp(r, b, a, v)
	}
	if r.Guard != nil {
		return nil
	}
	if _, known := w.Hi.Known(); !known || !w.Lo.Is(0) || len(a.Open) > 0 || a.Offset.Factor(v) != 1 {
		return nil
	}
	apart := a.Offset.Factor(w)
	return &directRows[T]{tensor: b.Read.Tensor, at: k.value(a.Offset.Plus(rewrite.Form{Vars: []rewrite.Multiple{{Of: w, Factor: 1}}}, -apart)), apart: apart}
}

// windowRows is directRows for a reduction over several indices, such as those of a window, with few
// iterations.
func (k *unitCompiler[T]) windowRows(r *term.Reduction, b *term.Term, a *rewrite.Access, v *term.Variable) *directRows[T] {
	step := a.Offset.Factor(v)
	if r.Guard != nil || len(a.Open) > 0 || len(a.Offset.Rest) > 0 || b.Read.Else != nil || step < 1 || a.Offset.Hidden(v) {
		return nil
	}
	first, begins := a.Offset, []int{0}
	for _, w := range r.Vars {
		n, known := w.Hi.Known()
		if !known || !w.Lo.Is(0) || n < 1 || n*len(begins) > mostBegins || a.Offset.Hidden(w) {
			return nil
		}
		apart := a.Offset.Factor(w)
		first = first.Plus(rewrite.Form{Vars: []rewrite.Multiple{{Of: w, Factor: 1}}}, -apart)
		var next []int
		for _, from := range begins {
			for i := range n {
				next = append(next, from+i*apart)
			}
		}
		begins = next
	}
	return &directRows[T]{tensor: b.Read.Tensor, at: k.value(first), begins: begins, step: step}
}

// lookedUp is directRows for a gather whose row numbers are elements of a tensor.
func (k *unitCompiler[T]) lookedUp(r *term.Reduction, b *term.Term, a *rewrite.Access, v *term.Variable) *directRows[T] {
	w, p := r.Vars[0], a.Offset.Rest[0]
	if _, known := w.Hi.Known(); !known || !w.Lo.Is(0) || len(a.Offset.Rest) > 1 || len(a.Open) != 1 || a.Offset.Factor(v) != 1 || a.Offset.Factor(w) != 0 ||
		p.Of.Op != term.Element || p.Of.Uses(v) || p.Of.Read.Which != nil || b.Read.Else != nil || !a.Idx[a.Open[0]].Same(rewrite.Form{Rest: []rewrite.Addend{{Of: p.Of, Factor: 1}}}) {
		return nil
	}
	at, typ := rewrite.AccessOf(p.Of.Read), k.tensors[p.Of.Read.Tensor].Type
	if len(at.Open) > 0 || len(at.Offset.Rest) > 0 || typ != dtype.I32 && typ != dtype.I64 {
		return nil
	}
	n := &lookedUp[T]{tensor: p.Of.Read.Tensor, wide: typ == dtype.I64, apart: at.Offset.Factor(w), rows: a.Ext[a.Open[0]]}
	n.first = k.value(at.Offset.Plus(rewrite.Form{Vars: []rewrite.Multiple{{Of: w, Factor: 1}}}, -n.apart))
	if g := r.Guard; g != nil {
		if g.Op != term.Unequal || !term.Identical(g.Args[0], p.Of) {
			return nil
		}
		var known bool
		if n.none, known = g.Args[1].Known(); !known {
			return nil
		}
		n.some = true
	}
	same := rewrite.Form{Base: a.Offset.Base, Vars: a.Offset.Vars}
	return &directRows[T]{tensor: b.Read.Tensor, at: k.value(same), apart: p.Factor, number: n}
}

// addRows adds the first n elements of all rows to the accumulators. It returns false if a gathered row
// number is out of bounds.
func (p *columnSum[T]) addRows(s *state[T], n, rows int) bool {
	if l := p.direct.number; l != nil {
		if l.wide {
			return addLookedUp(p, s, n, rows, wholesIn[int64](&s.mem[l.tensor])[l.first(s):])
		}
		return addLookedUp(p, s, n, rows, wholesIn[int32](&s.mem[l.tensor])[l.first(s):])
	}
	d := p.direct
	acc, x, at, add := s.regs[p.acc][:n], s.mem[d.tensor].same, d.at(s), simd.BinaryOf[T](simd.Add)
	for first := 0; first < rows; first += flushed {
		m := min(flushed, rows-first)
		switch {
		case d.step > 1:
			for i := range m {
				addApart(acc, x[at+d.begins[first+i]:], d.step)
			}
		case d.begins == nil && d.apart == n: // contiguous, which the processor predicts
			for i := range m {
				add(acc, acc, x[at+(first+i)*n:][:n])
			}
		default:
			places := s.places[:m+simd.Ahead]
			for i := range places {
				if r := min(first+i, rows-1); d.begins == nil {
					places[i] = at + r*d.apart
				} else {
					places[i] = at + d.begins[r]
				}
			}
			simd.SumAt(acc, x, places, m)
		}
		if m == flushed {
			p.flush(s, n, first+m)
		}
	}
	return true
}

// addApart adds elements of x, apart elements from each other, to z.
func addApart[T simd.Float](z, x []T, apart int) {
	x = x[:(len(z)-1)*apart+1]
	if apart == 2 {
		simd.AddSeconds(z, x)
		return
	}
	at := 0
	for i := range z {
		z[i] += x[at]
		at += apart
	}
}

// addLookedUp adds gathered rows to the accumulators. It prefetches rows some iterations ahead, also those of
// the next result. It returns false if a row number is out of bounds.
func addLookedUp[T simd.Float, U int32 | int64](p *columnSum[T], s *state[T], n, rows int, numbers []U) bool {
	l, from := p.direct.number, p.direct.at(s)
	acc, x := s.regs[p.acc][:n], s.mem[p.direct.tensor].same
	for first := 0; first < rows; first += flushed {
		end := min(first+flushed, rows)
		places, m := s.places[:0], 0 // the first m are summed
		for i := first; i < end+simd.Ahead && i*l.apart < len(numbers); i++ {
			k := int(numbers[i*l.apart])
			switch {
			case l.some && k == l.none:
			case uint(k) < uint(l.rows):
				places = append(places, from+k*p.direct.apart)
			case i < end:
				return false
			}
			if i < end {
				m = len(places)
			}
		}
		for len(places) < m+simd.Ahead {
			places = append(places, from)
		}
		simd.SumAt(acc, x, places, m)
		if end == first+flushed {
			p.flush(s, n, end)
		}
	}
	return true
}
