package formula

import (
	"cmp"
	"fmt"
	"math"

	"github.com/opgen/opgen/formula/term"
)

// ordered returns code for an integer as a sort key: an unsigned integer has its sign bit flipped, so that
// signed comparison orders it.
func (c *code) ordered(n *term.Term) func(*frame) int {
	x := c.integer(n)
	if !c.p.Unsigned(n) {
		return x
	}
	return func(f *frame) int { return x(f) ^ math.MinInt }
}

// whole is the value of an integer term: its 64 bits, and whether they are unsigned.
type whole struct {
	bits     int
	unsigned bool
}

// large reports whether the integer is 2^63 or more.
func (x whole) large() bool { return x.unsigned && x.bits < 0 }

// compare returns -1, 0 or 1, like cmp.Compare of the mathematical values.
func (x whole) compare(y whole) int {
	if a, b := x.large(), y.large(); a != b {
		return cmp.Compare(term.Truth(a), term.Truth(b))
	}
	return cmp.Compare(x.bits, y.bits)
}

// divided returns the quotient or remainder of two integers, at least one of which is unsigned; ok is false
// if op cannot divide by y.
func (x whole) divided(op term.Op, y whole) (out int, ok bool) {
	a, b := uint64(x.bits), uint64(y.bits)
	switch {
	case y.bits < 0 && !y.unsigned && op == term.Truncate && x.unsigned:
		return -int(a / -b), true
	case !y.large() && !term.Divisor(op, y.bits):
		return 0, false
	case x.bits >= 0 || x.unsigned:
		if op == term.Modulo {
			return int(a % b), true
		}
		return int(a / b), true
	case !y.large():
		return term.IntegerOf(op, x.bits, y.bits), true
	case op == term.Modulo: // x < 0 and y >= 2^63
		return int(a + b), true
	case op == term.Quotient:
		return -1, true
	case x.bits == math.MinInt && y.bits == math.MinInt: // -2^63 / 2^63
		return -1, true
	}
	return 0, true
}

// unsigned returns code for a quotient, remainder, min or max with an unsigned operand, or nil if n is no
// such operation.
func (c *code) unsigned(n *term.Term) func(*frame) int {
	if len(n.Args) != 2 {
		return nil
	}
	a, b := c.p.Unsigned(n.Args[0]), c.p.Unsigned(n.Args[1])
	if !a && !b {
		return nil
	}
	x, y, op := c.integer(n.Args[0]), c.integer(n.Args[1]), n.Op
	switch {
	case term.Divides(op):
		return func(f *frame) int {
			d := y(f)
			out, ok := whole{x(f), a}.divided(op, whole{d, b})
			if !ok {
				panic(failure{mistake(c.p.Operator, fmt.Sprintf("an integer is divided by %d", d))})
			}
			return out
		}
	case op == term.Apply && n.Func.Has(term.Extreme):
		side := 1
		if n.Func == term.Min {
			side = -1
		}
		return func(f *frame) int {
			v, w := whole{x(f), a}, whole{y(f), b}
			if w.compare(v)*side > 0 {
				return w.bits
			}
			return v.bits
		}
	}
	return nil
}

// compared returns code for a comparison of two integers, each of which may be signed or unsigned.
func (c *code) compared(n *term.Term) func(*frame) bool {
	a, b := c.p.Unsigned(n.Args[0]), c.p.Unsigned(n.Args[1])
	x, y := c.integer(n.Args[0]), c.integer(n.Args[1])
	if a && b {
		x, y = c.ordered(n.Args[0]), c.ordered(n.Args[1])
	} else if a || b {
		left, right := x, y
		x = func(f *frame) int { return whole{left(f), a}.compare(whole{right(f), b}) }
		y = func(*frame) int { return 0 }
	}
	return comparison(n.Op, x, y)
}
