package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// foundRow is rows of a tensor at places that other tensors name, one after the other in a strip. The offsets
// of all rows of the strip are computed at once.
type foundRow[T simd.Float] struct {
	tensor  int
	places  *finder[T]
	all     int                        // register of the strip
	other   T                          // the elements of a row out of bounds
	fails   func(s *state[T], row int) // reports an error for a row out of bounds; nil if it is none
	fetched bool                       // whether rows are prefetched
}

// findsRows reports whether an access is to contiguous elements of rows at places that other tensors name. w
// is the index of rows, and v that of their elements.
func findsRows(a *rewrite.Access, w, v *term.Variable) bool {
	if !a.Offset.Hidden(w) || a.Offset.Hidden(v) || a.Offset.Factor(v) != 1 {
		return false
	}
	for _, d := range a.Open {
		if a.Idx[d].Hidden(v) || a.Idx[d].Factor(v) != 0 {
			return false
		}
	}
	return true
}

// found returns what stands for an element of rows at places that other tensors name. It returns nil for
// other elements.
func (p *rowParts[T]) found(x *term.Term) *term.Term {
	r := x.Read
	if x.Op != term.Element || x.Kind != term.Real || r.Which != nil || p.tensors[r.Tensor].Type != p.own || p.tensors[r.Tensor].Memory == p.tensors[p.s.Target].Memory {
		return nil
	}
	a := rewrite.AccessOf(r)
	if !findsRows(a, p.w, p.v) {
		return nil
	}
	key := p.key(x)
	if y := p.seen[key]; y != nil {
		return y
	}
	out := foundRow[T]{tensor: r.Tensor, fetched: rewrite.Elements(p.p.Tensors[r.Tensor])*p.own.Size() >= leastFetched}
	switch {
	case r.Else != nil:
		v, known := r.Else.Settled()
		if !known {
			return nil
		}
		out.other = T(v)
	case !p.lenient:
		one, place := p.reached(r), p.place(p.w)
		out.fails = func(s *state[T], row int) { locate(s, place, row, one) }
	}
	rows := newVectorizer(p.compiler, p.w)
	if out.places, _ = rows.found(a); len(rows.strip.code) > 0 {
		return nil
	}
	y := p.stands(x, key, x.Kind)
	out.all = p.holds(y, p.key)
	p.rows = append(p.rows, out)
	return y
}

// fill copies rows rows of n elements.
func (r *foundRow[T]) fill(s *state[T], n, rows int) {
	places, _ := r.places.places(s, rows)
	from, all := s.mem[r.tensor].same, s.regs[r.all]
	for i, at := range places {
		if r.fetched && i+distance < len(places) && places[i+distance] >= 0 {
			simd.Fetch(from[places[i+distance]:][:n])
		}
		to := all[i*n:][:n]
		switch {
		case at >= 0:
			copy(to, from[at:at+n])
		case r.fails != nil:
			r.fails(s, i)
		default:
			fill(to, r.other)
		}
	}
}
