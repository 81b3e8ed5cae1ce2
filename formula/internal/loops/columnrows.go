package loops

import (
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
	a, w := accessOf(b.Read), r.Vars[0]
	if len(r.Vars) > 1 {
		return k.windowRows(r, b, a, v)
	}
	if len(a.offset.rest) > 0 {
		return k.lookedUp(r, b, a, v)
	}
	if r.Guard != nil {
		return nil
	}
	if _, known := w.Hi.Known(); !known || !w.Lo.Is(0) || len(a.open) > 0 || a.offset.factor(v) != 1 {
		return nil
	}
	apart := a.offset.factor(w)
	return &directRows[T]{tensor: b.Read.Tensor, at: k.value(a.offset.plus(form{vars: []multiple{{w, 1}}}, -apart)), apart: apart}
}

// windowRows is directRows for a reduction over several indices, such as those of a window, with few
// iterations.
func (k *unitCompiler[T]) windowRows(r *term.Reduction, b *term.Term, a *access, v *term.Variable) *directRows[T] {
	step := a.offset.factor(v)
	if r.Guard != nil || len(a.open) > 0 || len(a.offset.rest) > 0 || b.Read.Else != nil || step < 1 || a.offset.hidden(v) {
		return nil
	}
	first, begins := a.offset, []int{0}
	for _, w := range r.Vars {
		n, known := w.Hi.Known()
		if !known || !w.Lo.Is(0) || n < 1 || n*len(begins) > mostBegins || a.offset.hidden(w) {
			return nil
		}
		apart := a.offset.factor(w)
		first = first.plus(form{vars: []multiple{{w, 1}}}, -apart)
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
func (k *unitCompiler[T]) lookedUp(r *term.Reduction, b *term.Term, a *access, v *term.Variable) *directRows[T] {
	w, p := r.Vars[0], a.offset.rest[0]
	if _, known := w.Hi.Known(); !known || !w.Lo.Is(0) || len(a.offset.rest) > 1 || len(a.open) != 1 || a.offset.factor(v) != 1 || a.offset.factor(w) != 0 ||
		p.of.Op != term.Element || p.of.Uses(v) || p.of.Read.Which != nil || b.Read.Else != nil || !a.idx[a.open[0]].same(form{rest: []addend{{p.of, 1}}}) {
		return nil
	}
	at, typ := accessOf(p.of.Read), k.tensors[p.of.Read.Tensor].Type
	if len(at.open) > 0 || len(at.offset.rest) > 0 || typ != dtype.I32 && typ != dtype.I64 {
		return nil
	}
	n := &lookedUp[T]{tensor: p.of.Read.Tensor, wide: typ == dtype.I64, apart: at.offset.factor(w), rows: a.ext[a.open[0]]}
	n.first = k.value(at.offset.plus(form{vars: []multiple{{w, 1}}}, -n.apart))
	if g := r.Guard; g != nil {
		if g.Op != term.Unequal || !term.Identical(g.Args[0], p.of) {
			return nil
		}
		var known bool
		if n.none, known = g.Args[1].Known(); !known {
			return nil
		}
		n.some = true
	}
	same := form{base: a.offset.base, vars: a.offset.vars}
	return &directRows[T]{tensor: b.Read.Tensor, at: k.value(same), apart: p.factor, number: n}
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
