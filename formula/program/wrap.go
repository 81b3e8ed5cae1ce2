package program

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/term"
)

// farthest bounds integers that are made of indices, extents and attributes alone. The rules that rewrite
// indices add such integers and subtract them: an int holds sums of three.
const farthest = math.MaxInt/4 + 1

// TooFar begins the message about an integer beyond farthest.
var TooFar = fmt.Sprintf("want integers from -2^%d to 2^%[1]d beside indices", bits.UintSize-3)

// fits returns an error if an operation on integers that are made of indices, extents and attributes alone
// may give one that is too large. All rules that rewrite indices rely on it. Integers of elements of tensors,
// and what is computed from them, wrap around.
func (b *builder) fits(op term.Op, x, y *term.Term) error {
	if b.unsettled || x.Kind != term.Integer || y.Kind != term.Integer {
		return nil
	}
	i, j := b.spans.Of(x), b.spans.Of(y)
	if !i.Known || !j.Known {
		return nil
	}
	alone := i.Lo == i.Hi && j.Lo == j.Hi // then the result is evaluated as it is
	if out, ok := applies(op, i, j); !ok || out.Known && (alone || out.Lo >= -farthest && out.Hi <= farthest) {
		return nil
	}
	n := &term.Term{Op: op, Kind: term.Integer, Args: []*term.Term{x, y}}
	return fmt.Errorf("%s, got %s, of %s and %s", TooFar, n, among(i), among(j))
}

// applies returns the interval of an operation on integers of two intervals; ok is false for operations that
// make no integer greater. For quotients and remainders it is that of the operands' sum: gradients go over
// the integers that have one quotient, whose end is a multiple of the divisor.
func applies(op term.Op, i, j affine.Interval) (out affine.Interval, ok bool) {
	switch op {
	case term.Add, term.Quotient, term.Modulo, term.Truncate:
		return i.Plus(j), true
	case term.Subtract:
		return i.Plus(j.Times(-1)), true
	case term.Multiply:
		return i.Mul(j), true
	case term.Power:
		out = affine.Exactly(1)
		for n := 0; n < j.Hi && out.Known && n < bits.UintSize; n++ { // powers of 0 and 1 stay
			out = out.Mul(i)
		}
		return out, true
	}
	return affine.Interval{}, false
}

// among says in a message which integers an interval has.
func among(i affine.Interval) string {
	if i.Lo == i.Hi {
		return fmt.Sprint(i.Lo)
	}
	return fmt.Sprintf("%d to %d", i.Lo, i.Hi)
}
