package program

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/term"
)

// farthest bounds the magnitude of integers that depend on indices, extents and attributes only. Rewrites of
// indices add and subtract them, and an int holds the sum of three.
const farthest = math.MaxInt/4 + 1

// TooFar begins the message about an integer beyond farthest.
var TooFar = fmt.Sprintf("want integers from -2^%d to 2^%[1]d beside indices", bits.UintSize-3)

// fits returns an error if the magnitude of x op y, of an operand, or of a part of an operand may exceed
// farthest. It checks integers that depend on indices, extents and attributes only; all rewrites of indices
// rely on this bound. Integers that depend on elements of tensors wrap around instead, and pass.
func (b *builder) fits(op term.Op, x, y *term.Term) error {
	for _, n := range []*term.Term{x, y} {
		if err := b.near(n); err != nil {
			return err
		}
	}
	return b.holds(op, x, y, farthest)
}

// near returns an error if the magnitude of n, or of a subexpression of n, may exceed farthest, by interval
// analysis. It checks integers that depend on indices, extents and attributes only, and what is added to
// elements of tensors. An integer with one value, without indices, may be larger elsewhere. near memoizes its
// results.
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
	if err == nil && !i.Known && (n.Op == term.Add || n.Op == term.Subtract) {
		for _, x := range n.Args {
			if i := b.spans.Of(x); i.Known && (i.Lo < -farthest || i.Hi > farthest) {
				err = fmt.Errorf("%s, got %s, where %s is %s", TooFar, brief(n), brief(x), among(i))
			}
		}
	}
	b.far[n] = err
	return err
}

// holds returns an error if the magnitude of x op y may exceed most, by interval analysis of x and y. It
// checks integers that depend on indices, extents and attributes only. If most is math.MaxInt, as for values
// that are no subscripts, the result must only fit 64 bits.
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

// applies returns the interval of x op y for x in i and y in j. ok is false for operations whose results are
// not greater than their operands. Quotients and remainders get the interval of x + y: a gradient ranges over
// all integers with the same quotient, and this range ends at a multiple of the divisor.
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

// among describes the integers in an interval, for a message.
func among(i affine.Interval) string {
	if i.Lo == i.Hi {
		return fmt.Sprint(i.Lo)
	}
	return fmt.Sprintf("%d to %d", i.Lo, i.Hi)
}

// brief prints a term for a message. A long term gets a generic description, since shared subterms may make
// its text much longer than the formula.
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
