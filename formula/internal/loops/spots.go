package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// spots is a form of places whose subscripts are elements of one or two tensors of int64, each plus what is
// the same for a whole strip: a sample's row and column. One loop reads, checks and uses them, where integer
// strips take a pass for each step.
type spots[T simd.Float] struct {
	base func(*state[T]) int // the offset without the elements
	step int                 // by which it grows
	dims [2]spot[T]          // the second one's tensor is -1 if there is none
	rest []inBounds[T]       // the subscripts that are the same for a whole strip
}

// spot is a subscript.
type spot[T simd.Float] struct {
	tensor int                 // that holds the elements
	first  func(*state[T]) int // the place of the first one
	step   int                 // between elements
	plus   func(*state[T]) int // what is added
	factor int                 // of the offset
	extent int                 // exclusive upper bound of the subscript
}

// spotsOf matches places, or returns nil.
func (z *vectorizer[T]) spotsOf(a *rewrite.Access) *spots[T] {
	out := &spots[T]{step: a.Offset.Factor(z.v)}
	out.dims[1].tensor = -1
	same, elements := rewrite.Form{Base: a.Offset.Base, Vars: a.Offset.Vars}, []rewrite.Addend(nil)
	for _, p := range a.Offset.Rest {
		if p.Of.Uses(z.v) {
			elements = append(elements, p)
		} else {
			same.Rest = append(same.Rest, p)
		}
	}
	if len(elements) == 0 || len(elements) > len(out.dims) {
		return nil
	}
	seen := make([]bool, len(elements))
	for _, d := range a.Open {
		plus, one := a.Idx[d], -1
		plus.Rest = nil
		for _, p := range a.Idx[d].Rest {
			if !p.Of.Uses(z.v) {
				plus.Rest = append(plus.Rest, p)
				continue
			}
			at := slices.IndexFunc(elements, func(e rewrite.Addend) bool { return z.c.key(e.Of) == z.c.key(p.Of) })
			if one >= 0 || p.Factor != 1 || at < 0 || seen[at] {
				return nil
			}
			one = at
		}
		if plus.Factor(z.v) != 0 {
			return nil
		}
		if one < 0 {
			out.rest = append(out.rest, inBounds[T]{z.count(plus, z.c.value(plus)), a.Ext[d]})
			continue
		}
		e := elements[one].Of
		if e.Op != term.Element || e.Read.Which != nil || z.c.tensors[e.Read.Tensor].Type != dtype.I64 {
			return nil
		}
		at := rewrite.AccessOf(e.Read)
		if len(at.Open) > 0 || at.Offset.Hidden(z.v) || at.Offset.Factor(z.v) < 1 {
			return nil
		}
		seen[one] = true
		out.dims[one] = spot[T]{e.Read.Tensor, z.c.value(at.Offset), at.Offset.Factor(z.v), z.c.value(plus), elements[one].Factor, a.Ext[d]}
	}
	if slices.Contains(seen, false) {
		return nil
	}
	out.base = z.c.value(same)
	return out
}

// inside reports whether the subscripts that are the same for a whole strip are in bounds.
func (p *spots[T]) inside(s *state[T]) bool {
	return !slices.ContainsFunc(p.rest, func(b inBounds[T]) bool { return uint(b.index.at(s)) >= uint(b.extent) })
}

// elements returns the elements for n places: those from the first one on.
func (d *spot[T]) elements(s *state[T], n int) []int64 {
	return wholesIn[int64](&s.mem[d.tensor])[d.first(s):][:(n-1)*d.step+1]
}

// row returns the elements among which elements of one tensor decide, where these are adjacent and so are the
// elements that decide. It returns nil for other places.
func (p *spots[T]) row(x []T, at int) []T {
	a := &p.dims[0]
	if p.dims[1].tensor >= 0 || p.step != 0 || a.step != 1 || a.factor != 1 || at < 0 || at+a.extent > len(x) {
		return nil
	}
	return x[at : at+a.extent]
}

// gather loads elements into z, and the value of other where they are out of bounds. The value is computed
// only if an element is, since it may fail. gather reports whether none is.
func (p *spots[T]) gather(s *state[T], z, from []T, other *number[T]) bool {
	if len(z) == 0 {
		return true
	}
	if !p.inside(s) {
		fill(z, other.orZero(s))
		return false
	}
	var value T // of elements out of bounds, once there was one
	inside := true
	a, b, at := &p.dims[0], &p.dims[1], p.base(s)
	x, plus, extent := a.elements(s, len(z)), a.plus(s), uint(a.extent)
	if row := p.row(from, at); row != nil && plus == 0 {
		for i, v := range x[:len(z)] {
			if uint(v) < uint(len(row)) {
				z[i] = row[v]
			} else {
				if inside {
					value, inside = other.orZero(s), false
				}
				z[i] = value
			}
		}
		return inside
	}
	if b.tensor < 0 {
		for i, j := 0, 0; i < len(z); i, j = i+1, j+a.step {
			if v := int(x[j]); uint(v+plus) < extent {
				z[i] = from[at+v*a.factor]
			} else {
				if inside {
					value, inside = other.orZero(s), false
				}
				z[i] = value
			}
			at += p.step
		}
		return inside
	}
	y, plus2, extent2 := b.elements(s, len(z)), b.plus(s), uint(b.extent)
	for i, j, k := 0, 0, 0; i < len(z); i, j, k = i+1, j+a.step, k+b.step {
		v, w := int(x[j]), int(y[k])
		if uint(v+plus) < extent && uint(w+plus2) < extent2 {
			z[i] = from[at+v*a.factor+w*b.factor]
		} else {
			if inside {
				value, inside = other.orZero(s), false
			}
			z[i] = value
		}
		at += p.step
	}
	return inside
}

// add adds x to the elements that are in bounds, in order, where guard, if there is one, is not 0.
func (p *spots[T]) add(s *state[T], z, x, guard []T) {
	if len(x) == 0 || !p.inside(s) {
		return
	}
	a, b, at := &p.dims[0], &p.dims[1], p.base(s)
	first, plus, extent := a.elements(s, len(x)), a.plus(s), uint(a.extent)
	if row := p.row(z, at); row != nil && plus == 0 && guard == nil {
		for i, v := range first[:len(x)] {
			if uint(v) < uint(len(row)) {
				row[v] += x[i]
			}
		}
		return
	}
	var none [1]int64 // a subscript that is always in bounds
	second, plus2, extent2 := none[:], 0, uint(1)
	if b.tensor >= 0 {
		second, plus2, extent2 = b.elements(s, len(x)), b.plus(s), uint(b.extent)
	}
	for i, j, k := 0, 0, 0; i < len(x); i, j, k = i+1, j+a.step, k+b.step {
		v, w := int(first[j]), int(second[k])
		if uint(v+plus) < extent && uint(w+plus2) < extent2 && (guard == nil || guard[i] != 0) {
			z[at+v*a.factor+w*b.factor] += x[i]
		}
		at += p.step
	}
}
