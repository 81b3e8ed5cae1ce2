package program

import (
	"math/bits"

	"github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// narrowed is an integer before convert makes it one of a type of fewer bits.
type narrowed struct {
	x  *term.Term
	to dtype.Type
}

// converted returns x as an element of type t.
func (b *builder) converted(x *term.Term, t dtype.Type) *term.Term {
	k := kindOf(t)
	switch {
	case x.Kind == term.Integer && k == term.Integer:
		return b.wrapped(x, t)
	case x.Kind == k && k != term.Real:
		return x
	}
	f := term.Converting(t, k, func(v float64) float64 { return rounded(v, t) }, func(v float64) int { return whole(v, t) })
	return &term.Term{Op: term.Apply, Kind: k, Func: f, Args: []*term.Term{x}}
}

// wrapped returns the integer whose bits are the last bits of x, as many as type t has: by a remainder, which
// loops, the interpreter and device code have in common.
func (b *builder) wrapped(x *term.Term, t dtype.Type) *term.Term {
	size := 8 * t.Size()
	if size >= bits.UintSize || b.within(x, t) {
		return x
	}
	least, all := integersOf(t).Lo, term.Number(1<<size)
	out := term.Arithmetic(term.Modulo, x, all)
	if least < 0 {
		low := term.Number(-least)
		out = term.Arithmetic(term.Subtract, term.Arithmetic(term.Modulo, term.Arithmetic(term.Add, x, low), all), low)
	}
	b.narrowed[out] = narrowed{x, t}
	return out
}

// within reports whether x is known to be an integer of type t.
func (b *builder) within(x *term.Term, t dtype.Type) bool {
	of := integersOf(t)
	if i := b.spans.Of(x); i.Known {
		return of.Lo <= i.Lo && i.Hi <= of.Hi
	}
	if n, ok := b.narrowed[x]; ok {
		i := integersOf(n.to)
		return of.Lo <= i.Lo && i.Hi <= of.Hi
	}
	if x.Op == term.Choose {
		return b.within(x.Args[1], t) && b.within(x.Args[2], t)
	}
	if x.Op != term.Element || x.Read.Else != nil && !b.within(x.Read.Else, t) {
		return false
	}
	for k := range x.Read.Count {
		from := b.program.Tensors[x.Read.Tensor+k].Type
		if !from.IsInteger() || 8*from.Size() >= bits.UintSize {
			return false
		}
		if i := integersOf(from); i.Lo < of.Lo || of.Hi < i.Hi {
			return false
		}
	}
	return true
}

// integersOf returns the interval of the integers of a type of fewer bits than int has.
func integersOf(t dtype.Type) affine.Interval {
	least, most, known := t.Bounds()
	return affine.Interval{Lo: int(least), Hi: int(most), Known: known}
}

// storedIn returns an integer that a tensor of type t stores with the same bits as x. A store keeps the last
// bits.
func (b *builder) storedIn(x *term.Term, t dtype.Type) *term.Term {
	for t.IsInteger() {
		n, ok := b.narrowed[x]
		if !ok || t.Size() > n.to.Size() {
			break
		}
		x = n.x
	}
	return x
}
