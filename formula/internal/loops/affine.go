package loops

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// affine is a register to which up to three operations with numbers lead: (x - less)*times + plus. One
// primitive computes all of them. Each operation is rounded as it is alone, so results do not depend on how
// many are joined.
type affine[T simd.Float] struct {
	x                 int        // the register of x
	less, times, plus operand[T] // numbers; what is left out has no code
}

// negative returns the negative of a number.
func negative[T simd.Float](x operand[T]) operand[T] {
	f := x.scalar
	out := operand[T]{scalar: func(s *state[T]) float64 { return -f(s) }, settled: x.settled, lenient: x.lenient}
	if x.term != nil {
		out.term = &term.Term{Op: term.Negate, Kind: term.Real, Args: []*term.Term{x.term}}
	}
	return out
}

// affineOf returns the operations that lead to a register, for one more that needs those of which fits says
// that none is there. It returns the register without operations if there are none, or others.
func (z *vectorizer[T]) affineOf(reg int, fits func(affine[T]) bool) affine[T] {
	if a, ok := z.affine[reg]; ok && fits(a) {
		return a
	}
	return affine[T]{x: reg}
}

// minus emits x - y, where y is the same in all of a strip.
func (z *vectorizer[T]) minus(x, y operand[T]) int {
	if !y.split {
		if a := z.affineOf(x.reg, func(a affine[T]) bool { return a.times.scalar != nil && a.plus.scalar == nil }); a.times.scalar != nil {
			a.plus = negative(y)
			return z.joinedTo(x.reg, a)
		}
	}
	return z.joinedTo(x.reg, affine[T]{x: x.reg, less: y})
}

// times emits x * y, where y is the same in all of a strip.
func (z *vectorizer[T]) times(x, y operand[T]) int {
	a := z.affineOf(x.reg, func(a affine[T]) bool { return a.times.scalar == nil && (a.plus.scalar == nil || a.less.scalar == nil) })
	if a.plus.scalar != nil {
		a.less, a.plus = negative(a.plus), operand[T]{}
	}
	a.times = y
	return z.joinedTo(x.reg, a)
}

// plus emits x + y, where y is the same in all of a strip.
func (z *vectorizer[T]) plus(x, y operand[T]) int {
	a := z.affineOf(x.reg, func(a affine[T]) bool { return a.plus.scalar == nil })
	a.plus = y
	return z.joinedTo(x.reg, a)
}

// joinedTo emits the operations that lead from a register to a new one. The instruction for the operations
// before the last one is left out if nothing else uses its result.
func (z *vectorizer[T]) joinedTo(before int, a affine[T]) int {
	if a.x != before {
		z.strip.replaced[before] = true
	}
	r := z.register(false)
	z.emit(r, a.code(r), a.x)
	z.does(a.operation())
	z.affine[r] = a
	return r
}

// code returns what computes the operations.
func (a affine[T]) code(r int) func(s *state[T], n int) {
	x, less, times, plus := a.x, a.less.scalar, a.times.scalar, a.plus.scalar
	single := func(op simd.Binary, y func(*state[T]) float64) func(s *state[T], n int) {
		f := simd.BinaryScalarOf[T](op)
		return func(s *state[T], n int) { f(s.regs[r][:n], s.regs[x][:n], T(y(s))) }
	}
	switch {
	case less != nil && times == nil && plus == nil && !a.less.split:
		return single(simd.Sub, less)
	case less == nil && times != nil && plus == nil:
		return single(simd.Mul, times)
	case less == nil && times == nil:
		return single(simd.Add, plus)
	}
	split := a.less.split
	// These numbers change no x, not even a negative zero.
	less, times, plus = orElse(less, 0), orElse(times, 1), orElse(plus, math.Copysign(0, -1))
	return func(s *state[T], n int) {
		y := less(s)
		high, low := T(y), T(0)
		if split {
			low = lowOf(y, high)
		}
		simd.Affine(s.regs[r][:n], s.regs[x][:n], high, low, T(times(s)), T(plus(s)))
	}
}

// operation returns the operations for compiled loops.
func (a affine[T]) operation() *operation[T] {
	var numbers []number[T]
	for _, x := range []operand[T]{a.less, a.times, a.plus} {
		if x.scalar != nil {
			numbers = append(numbers, x.number())
		}
	}
	if a.less.split {
		numbers = slices.Insert(numbers, 1, number[T]{low: true})
	}
	return operationOf(func(m *vectors, x, k []value) value {
		v := x[0]
		if a.less.scalar != nil {
			v, k = m.Sub(v, k[0]), k[1:]
			if a.less.split {
				v, k = m.Sub(v, k[0]), k[1:]
			}
		}
		if a.times.scalar != nil {
			v, k = m.Mul(v, k[0]), k[1:]
		}
		if a.plus.scalar != nil {
			v = m.Add(v, k[0])
		}
		return v
	}, numbers...)
}

// lowOf returns what a number has beyond its greater part.
func lowOf[T simd.Float](y float64, high T) T {
	if math.IsInf(float64(high), 0) {
		return 0
	}
	return T(y - float64(high))
}

// orElse returns what gives a number, or what always gives another one if there is nothing.
func orElse[T simd.Float](f func(*state[T]) float64, otherwise float64) func(*state[T]) float64 {
	if f != nil {
		return f
	}
	return func(*state[T]) float64 { return otherwise }
}

// drop leaves out instructions whose results nothing uses, if others replace them. Those that write to memory
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

// remove leaves out instructions.
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
