package loops

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// affine is a chain of up to three operations of a register and scalars that one instruction computes: (x -
// less)*times + plus. Each operation is rounded separately, so that the chain has the bits of separate
// operations.
type affine[T simd.Float] struct {
	x                 int        // the register of x
	less, times, plus operand[T] // operands that are uniform in a strip; without code if absent
}

// negative returns the negated scalar.
func negative[T simd.Float](x operand[T]) operand[T] {
	f := x.scalar
	out := operand[T]{scalar: func(s *state[T]) float64 { return -f(s) }, settled: x.settled, lenient: x.lenient}
	if x.term != nil {
		out.term = &term.Term{Op: term.Negate, Kind: term.Real, Args: []*term.Term{x.term}}
	}
	return out
}

// affineOf returns the chain that computes a register, if fits allows to extend it. Otherwise it returns an
// empty chain on the register.
func (z *vectorizer[T]) affineOf(reg int, fits func(affine[T]) bool) affine[T] {
	if a, ok := z.affine[reg]; ok && fits(a) {
		return a
	}
	return affine[T]{x: reg}
}

// minus emits x - y for a uniform y.
func (z *vectorizer[T]) minus(x, y operand[T]) int {
	if !y.split {
		if a := z.affineOf(x.reg, func(a affine[T]) bool { return a.times.scalar != nil && a.plus.scalar == nil }); a.times.scalar != nil {
			a.plus = negative(y)
			return z.joinedTo(x.reg, a)
		}
	}
	return z.joinedTo(x.reg, affine[T]{x: x.reg, less: y})
}

// times emits x * y for a uniform y.
func (z *vectorizer[T]) times(x, y operand[T]) int {
	a := z.affineOf(x.reg, func(a affine[T]) bool { return a.times.scalar == nil && (a.plus.scalar == nil || a.less.scalar == nil) })
	if a.plus.scalar != nil {
		a.less, a.plus = negative(a.plus), operand[T]{}
	}
	a.times = y
	return z.joinedTo(x.reg, a)
}

// plus emits x + y for a uniform y.
func (z *vectorizer[T]) plus(x, y operand[T]) int {
	a := z.affineOf(x.reg, func(a affine[T]) bool { return a.plus.scalar == nil })
	a.plus = y
	return z.joinedTo(x.reg, a)
}

// joinedTo emits chain a into a new register. before is the register of the chain that a extends: strip.drop
// removes its instruction if nothing else uses it.
func (z *vectorizer[T]) joinedTo(before int, a affine[T]) int {
	if a.x != before {
		z.strip.replaced[before] = true
	}
	r := z.give(a.instruction())
	z.affine[r] = a
	return r
}

// Numbers of the scalars of opAffine. Low is the rounding error of less in T.
const (
	affineLess = iota
	affineLow
	affineTimes
	affinePlus
	affineNumbers
)

// instruction returns the shortest instruction that computes the chain.
func (a affine[T]) instruction() instruction[T] {
	less, times, plus := a.less.scalar != nil, a.times.scalar != nil, a.plus.scalar != nil
	single := func(op simd.Binary, y operand[T]) instruction[T] {
		return instruction[T]{op: opBinaryNumber, binary: op, uses: []int{a.x}, numbers: []number[T]{y.number()}}
	}
	switch {
	case less && !times && !plus && !a.less.split:
		return single(simd.Sub, a.less)
	case !less && times && !plus:
		return single(simd.Mul, a.times)
	case !less && !times:
		return single(simd.Add, a.plus)
	}
	numbers := make([]number[T], affineNumbers)
	numbers[affineLess], numbers[affineTimes], numbers[affinePlus] = a.less.number(), a.times.number(), a.plus.number()
	numbers[affineLow].low = a.less.split
	return instruction[T]{op: opAffine, uses: []int{a.x}, numbers: numbers}
}

// lowOf returns y - high in T: the rounding error of high, which is y rounded to T.
func lowOf[T simd.Float](y float64, high T) T {
	if math.IsInf(float64(high), 0) {
		return 0
	}
	return T(y - float64(high))
}

// drop removes instructions whose chain a longer chain replaces, if nothing uses their registers. Stores
// stay.
func (p *strip[T]) drop() {
	used := map[int]bool{}
	dead := make([]bool, len(p.code))
	for i, in := range slices.Backward(p.code) {
		if dead[i] = p.replaced[in.def] && !used[in.def] && !p.views[in.def]; dead[i] {
			continue
		}
		for _, r := range in.uses {
			used[r] = true
		}
	}
	p.remove(func(i int) bool { return dead[i] })
}

// remove removes instructions that are dead, and shortens branches over them.
func (p *strip[T]) remove(dead func(i int) bool) {
	var code []instruction[T]
	for i, in := range p.code {
		for j := i + 1; j <= i+p.code[i].skip; j++ {
			if dead(j) {
				in.skip--
			}
		}
		if !dead(i) {
			code = append(code, in)
		}
	}
	p.code = code
}
