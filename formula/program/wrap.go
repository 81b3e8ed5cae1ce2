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
// may give one beyond farthest, or has an operand that may be. All rules that rewrite indices rely on it.
// Integers of elements of tensors, and what is computed from them, wrap around.
func (b *builder) fits(op term.Op, x, y *term.Term) error {
	for _, n := range []*term.Term{x, y} {
		if err := b.near(n); err != nil {
			return err
		}
	}
	return b.holds(op, x, y, farthest)
}

// near returns an error if an integer that is made of indices, extents and attributes alone, or one of which
// it is made, may lie beyond farthest. Numbers without indices may.
func (b *builder) near(n *term.Term) error {
	if b.unsettled || n.Kind != term.Integer || len(n.Args) == 0 {
		return nil
	}
	err, ok := b.far[n]
	if ok {
		return err
	}
	for _, x := range n.Args {
		if err == nil {
			err = b.near(x)
		}
	}
	i := b.spans.Of(n)
	if n.Op == term.Power { // spans have no rule for it
		i, _ = applies(n.Op, b.spans.Of(n.Args[0]), b.spans.Of(n.Args[1]))
	}
	if err == nil && i.Known && i.Lo != i.Hi && (i.Lo < -farthest || i.Hi > farthest) {
		err = fmt.Errorf("%s, got %s, which is %s", TooFar, brief(n), among(i))
	}
	b.far[n] = err
	return err
}

// holds returns an error if an operation on integers that are made of indices, extents and attributes alone
// may give one whose magnitude is above most. Values that are no indices only must fit 64 bits.
func (b *builder) holds(op term.Op, x, y *term.Term, most int) error {
	if b.unsettled || x.Kind != term.Integer || y.Kind != term.Integer {
		return nil
	}
	i, j := b.spans.Of(x), b.spans.Of(y)
	if !i.Known || !j.Known {
		return nil
	}
	alone := i.Lo == i.Hi && j.Lo == j.Hi // then the result is evaluated as it is
	if out, ok := applies(op, i, j); !ok || out.Known && (alone || most == math.MaxInt || out.Lo >= -most && out.Hi <= most) {
		return nil
	}
	return fmt.Errorf("%s, got %s, of %s and %s", TooFar, brief(&term.Term{Op: op, Kind: term.Integer, Args: []*term.Term{x, y}}), among(i), among(j))
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

// brief is a term in a message. One that shares its parts may be much longer than what was written.
func brief(n *term.Term) string {
	const most = 64
	size := 0
	n.WalkInto(func(*term.Term) bool {
		size++
		return size < most
	})
	if size >= most {
		return "a long expression"
	}
	return n.String()
}
