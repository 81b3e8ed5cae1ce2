package loops

import (
	"math"
	"strconv"

	"github.com/opgen/opgen/formula/term"
)

// A choice of integers whose condition compares integers with numbers, such as that of a place out of bounds,
// takes a pass over integer strips for each integer that it compares. Strips of T would take several.

// interval is what conditions say about an integer: it is in [lo, hi].
type interval struct {
	of     *term.Term
	lo, hi int
}

// intervals splits a condition into intervals of integers that differ within a strip, and what is left, which
// is nil if nothing is.
func (f *integerCompiler[T]) intervals(condition *term.Term) (all []interval, rest *term.Term) {
next:
	for _, c := range term.Conjuncts(condition) {
		x, ok := intervalOf(c)
		if !ok || !x.of.Uses(f.z.v) {
			rest = term.All(rest, c)
			continue
		}
		for i := range all {
			if term.Identical(all[i].of, x.of) {
				all[i].lo, all[i].hi = max(all[i].lo, x.lo), min(all[i].hi, x.hi)
				continue next
			}
		}
		all = append(all, x)
	}
	return all, rest
}

// intervalOf returns what a comparison of an integer with a number says. ok is false for other conditions.
func intervalOf(c *term.Term) (x interval, ok bool) {
	if c.Op != term.Less && c.Op != term.AtMost || c.Args[0].Kind != term.Integer || c.Args[1].Kind != term.Integer {
		return interval{}, false
	}
	least, isLeast := c.Args[0].Known()
	most, isMost := c.Args[1].Known()
	switch {
	case isLeast == isMost:
		return interval{}, false
	case isLeast && c.Op == term.Less && least == math.MaxInt, isMost && c.Op == term.Less && most == math.MinInt:
		return interval{}, false
	case isLeast && c.Op == term.Less:
		return interval{c.Args[1], least + 1, math.MaxInt}, true
	case isLeast:
		return interval{c.Args[1], least, math.MaxInt}, true
	case c.Op == term.Less:
		return interval{c.Args[0], math.MinInt, most - 1}, true
	}
	return interval{c.Args[0], math.MinInt, most}, true
}

// chosen emits code that computes a choice of integers in strip k.
func (f *integerCompiler[T]) chosen(n *term.Term, k int) {
	tests, rest := []interval(nil), n.Args[0]
	if !n.Args[2].Uses(f.z.v) {
		tests, rest = f.intervals(rest)
	}
	mask := -1
	if rest != nil {
		mask = f.register(rest)
	}
	f.value(n.Args[1], k)
	for _, t := range tests {
		y := f.value(t.of, k+1)
		f.z.fromMemory(n.Args[2])
		f.emit(k, integerInstruction[T]{op: integerWithin, of: n.Args[2], value: f.z.c.integer(n.Args[2]), y: y, lo: t.lo, hi: t.hi})
	}
	if mask >= 0 {
		y := f.value(n.Args[2], k+1)
		f.emit(k, integerInstruction[T]{op: integerSelect, reg: mask, y: y})
	}
}

// outsideTo sets z to other where y is not in [lo, hi].
func outsideTo(z, y []int, lo, hi, other int) {
	if lo > hi {
		count(z, other, 0)
		return
	}
	first, span := uint(lo), uint(hi)-uint(lo)
	for i, v := range y[:len(z)] {
		if uint(v)-first > span {
			z[i] = other
		}
	}
}

// rangeText returns an interval for a listing.
func rangeText(lo, hi int) string {
	out := ".."
	if lo > math.MinInt {
		out = strconv.Itoa(lo) + " " + out
	}
	if hi < math.MaxInt {
		out += " " + strconv.Itoa(hi)
	}
	return out
}
