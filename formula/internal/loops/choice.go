package loops

import (
	"math"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/shape"
)

// condition compiles a condition, and returns a register with 1 where it holds and 0 elsewhere.
func (z *vectorizer[T]) condition(n *term.Term) int {
	switch n.Op {
	case term.Element:
		return z.load(n)
	case term.Choose:
		return z.choose(n)
	case term.Not:
		return z.unary(simd.Not, n.Args[0])
	case term.And, term.Or:
		op := map[term.Op]simd.Binary{term.And: simd.And, term.Or: simd.Or}[n.Op]
		x, was := z.real(n.Args[0]), z.c.lenient
		z.c.lenient = true // the second operand is speculative
		y := z.real(n.Args[1])
		z.c.lenient = was
		return z.binary(op, x, y)
	case term.Apply:
		switch x := n.Args[0]; {
		case n.Func == term.IsNaN:
			return z.unary(simd.IsNaN, x)
		case n.Func.Has(term.Conversion) && x.Kind == term.Integer:
			return z.compareIntegers(&term.Term{Op: term.Unequal, Kind: term.Boolean, Args: []*term.Term{x, term.Number(0)}})
		case n.Func.Has(term.Conversion):
			return z.binary(simd.Unequal, z.real(x), z.real(term.RealNumber(0)))
		}
		return z.lanes(n)
	case term.Equal, term.Unequal, term.Less, term.AtMost:
		if n.Args[0].Kind == term.Integer && n.Args[1].Kind == term.Integer {
			return z.compareIntegers(n)
		}
		op := map[term.Op]simd.Binary{term.Equal: simd.Equal, term.Unequal: simd.Unequal, term.Less: simd.Less, term.AtMost: simd.AtMost}[n.Op]
		return z.binary(op, z.real(n.Args[0]), z.real(n.Args[1]))
	}
	return z.lanes(n)
}

// compareIntegers compiles a comparison of integers, which is exact even for integers that T does not
// represent. It returns a register of 1 and 0.
func (z *vectorizer[T]) compareIntegers(n *term.Term) int {
	if rewrite.Linear(n.Args[0]).Hidden(z.v) || rewrite.Linear(n.Args[1]).Hidden(z.v) {
		return z.compareEach(n)
	}
	inside, outside := 1.0, 0.0
	if n.Op == term.Unequal {
		inside, outside = 0, 1
	}
	numbers := []number[T]{constantNumber[T](inside), constantNumber[T](outside)}
	return z.give(z.stretch(n, numbers))
}

// stretch returns the instruction for numbers[0] where comparison n of integers holds, and numbers[1] where
// it does not. For Unequal it is the other way around.
func (z *vectorizer[T]) stretch(n *term.Term, numbers []number[T]) instruction[T] {
	x, y := rewrite.Linear(n.Args[0]), rewrite.Linear(n.Args[1])
	return instruction[T]{op: opStretch, relation: n.Op, from: z.count(x.Plus(y, -1), nil), numbers: numbers,
		sides: &[2]address[T]{*z.count(x, z.c.value(x)), *z.count(y, z.c.value(y))}}
}

// fillCompared sets each element of z to inside if its integers compare as relation says, and to outside
// otherwise. Integers of elements of tensors may wrap around within a strip, and may be so far apart that
// their difference does. Then they are compared one by one.
func (in *instruction[T]) fillCompared(s *state[T], z []T) {
	inside, outside := in.number(s, 0), in.number(s, 1)
	p, q := &in.sides[0], &in.sides[1]
	x, y := p.at(s), q.at(s)
	if wraps(x, p.step, len(z)) || wraps(y, q.step, len(z)) {
		for i := range z {
			z[i] = outside
			if x < y && in.relation == term.Less || x <= y && in.relation == term.AtMost ||
				x == y && (in.relation == term.Equal || in.relation == term.Unequal) {
				z[i] = inside
			}
			x, y = x+p.step, y+q.step
		}
		return
	}
	d := x - y
	switch {
	case x >= y && (d < 0 || d > rewrite.Farthest):
		d = rewrite.Farthest
	case x < y && (d >= 0 || d < -rewrite.Farthest):
		d = -rewrite.Farthest
	}
	lo, hi := stretch(in.relation, d, in.from.step, len(z))
	fill(z[:lo], outside)
	fill(z[lo:hi], inside)
	fill(z[hi:], outside)
}

// wraps reports whether first + i*step may exceed an int for an i in [0, n).
func wraps(first, step, n int) bool {
	const most = math.MaxInt >> 23 // a strip has far fewer than 2^23 elements
	last := first + step*(n-1)
	return step > most || step < -most || step > 0 && last < first || step < 0 && last > first
}

// chooseStretch compiles a choice of two uniform values, if the condition compares integers whose difference
// is affine in the vectorized index. It returns false for other choices.
func (z *vectorizer[T]) chooseStretch(n *term.Term) (reg int, ok bool) {
	c := n.Args[0]
	if n.Args[1].Uses(z.v) || n.Args[2].Uses(z.v) || len(c.Args) != 2 || c.Args[0].Kind != term.Integer || c.Args[1].Kind != term.Integer {
		return 0, false
	}
	switch c.Op {
	case term.Equal, term.Less, term.AtMost:
	default:
		return 0, false
	}
	if rewrite.Linear(c.Args[0]).Hidden(z.v) || rewrite.Linear(c.Args[1]).Hidden(z.v) {
		return 0, false
	}
	was := z.c.lenient
	z.c.lenient = true
	x, y := z.real(n.Args[1]), z.real(n.Args[2])
	z.c.lenient = was
	numbers := []number[T]{x.number(), y.number()}
	return z.give(z.stretch(c, numbers)), true
}

// stretch returns the interval of i in [0, n) for which first + i*step stands in relation op to 0. For
// Unequal it returns the interval for which they are equal.
func stretch(op term.Op, first, step, n int) (lo, hi int) {
	if op == term.Less {
		first++ // now it must be at most 0
	}
	if op == term.Equal || op == term.Unequal {
		if lo, hi = within(first, step, 1, n); lo > hi {
			return 0, 0
		}
		return lo, hi
	}
	switch {
	case step == 0 && first <= 0:
		return 0, n
	case step == 0:
		return 0, 0
	case step > 0:
		return 0, min(n, max(0, shape.FloorDiv(-first, step)+1))
	}
	return min(n, max(0, -shape.FloorDiv(-first, -step))), n
}

// choose compiles a conditional expression. If the condition is uniform in a strip, only the selected operand
// is computed.
func (z *vectorizer[T]) choose(n *term.Term) int {
	if !n.Args[0].Uses(z.v) {
		return z.branch(n)
	}
	if r, ok := z.chooseStretch(n); ok {
		return r
	}
	test, positive := positiveOf(n.Args[0])
	w := z.real(test)
	was := z.c.lenient
	z.c.lenient = true
	x, y := z.real(n.Args[1]), z.real(n.Args[2])
	z.c.lenient = was
	in := instruction[T]{op: opSelect, uses: []int{w.reg, z.vector(x), z.vector(y)}}
	if positive {
		in.op = opSelectPositive
	}
	return z.give(in)
}

// positiveOf returns x and true for a condition x > 0. For other conditions it returns the condition and
// false.
func positiveOf(n *term.Term) (*term.Term, bool) {
	if n.Op == term.Less && n.Args[1].Kind == term.Real {
		if v, known := n.Args[0].Settled(); known && v == 0 {
			return n.Args[1], true
		}
	}
	return n, false
}

// branch compiles a conditional expression whose condition is uniform in a strip.
func (z *vectorizer[T]) branch(n *term.Term) int {
	holds, r := z.c.condition(n.Args[0]), z.register(false)
	fails := func(s *state[T]) bool { return !holds(s) }
	for i, when := range []func(*state[T]) bool{holds, fails} {
		start := len(z.strip.code)
		z.strip.code = append(z.strip.code, instruction[T]{op: opBranch, when: when, test: n.Args[0], not: i > 0, def: -1})
		outside, views := z.known, len(z.views)
		z.known = cloned(outside) // values of one branch are unknown in the other
		x := z.vector(z.real(n.Args[1+i]))
		z.known, z.views = outside, z.views[:views] // and after both
		z.emit(instruction[T]{op: opCopy, uses: []int{x}, def: r})
		z.strip.code[start].skip = len(z.strip.code) - start - 1
	}
	return r
}
