package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// number is a scalar operand of an instruction, which is uniform in a strip.
type number[T simd.Float] struct {
	get func(*state[T]) float64
	// low says that the scalar is the rounding error of the scalar before it, in T.
	low     bool
	settled bool // whether the number is constant
	// term is the term that get computes; nil if none represents it.
	term *term.Term
	// lenient says that the term is speculative: loads out of bounds are 0.
	lenient bool
}

// wideElement is a load of a float64 element at an affine offset.
type wideElement struct {
	tensor int
	offset rewrite.Form
}

// number returns the scalar of an operand that is uniform.
func (x operand[T]) number() number[T] {
	return number[T]{get: x.scalar, settled: x.settled, term: x.term, lenient: x.lenient}
}

// constantNumber returns a constant scalar.
func constantNumber[T simd.Float](v float64) number[T] {
	return number[T]{get: func(*state[T]) float64 { return v }, settled: true, term: term.RealNumber(v)}
}

// set stores scalars, converted to T, as the arguments of a fused loop.
func set[T simd.Float](s *state[T], numbers []number[T], to []T) {
	var v float64
	for i := range numbers {
		n := &numbers[i]
		if !n.low {
			v = n.get(s)
		}
		to[i] = n.of(v)
	}
}

// there reports whether the scalar is present: scalars of opAffine are optional.
func (n *number[T]) there() bool { return n.get != nil || n.low }

// of converts the scalar's float64 value v to an argument.
func (n *number[T]) of(v float64) T {
	if n.low {
		return lowOf(v, T(v))
	}
	return T(v)
}

// orZero returns the scalar, or 0 if it is not present.
func (n *number[T]) orZero(s *state[T]) T {
	if !n.there() {
		return 0
	}
	return n.of(n.get(s))
}
