package rewrite

import (
	"math"

	"github.com/opgen/opgen/formula/term"
)

// integral replaces comparisons of an integer of indices with a real number, such as d < D / 2, by
// comparisons of integers that hold for the same values of the indices: d < 3, for a D of 5. Ranges are
// divided at these.
func integral(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	m := n.Map(integral)
	if m.Op != term.Less && m.Op != term.AtMost && m.Op != term.Equal && m.Op != term.Unequal {
		return m
	}
	x, y := m.Args[0], m.Args[1]
	switch {
	case ofIndices(x) && nearConstant(y):
		c := y.Float
		if m.Op == term.Less { // x < c
			return term.Compare(m.Op, x, term.Number(int(math.Ceil(c))))
		}
		if m.Op == term.AtMost || c == math.Floor(c) {
			return term.Compare(m.Op, x, term.Number(int(math.Floor(c))))
		}
	case ofIndices(y) && nearConstant(x):
		c := x.Float
		if m.Op == term.Less { // c < y
			return term.Compare(m.Op, term.Number(int(math.Floor(c))), y)
		}
		if m.Op == term.AtMost || c == math.Floor(c) {
			return term.Compare(m.Op, term.Number(int(math.Ceil(c))), y)
		}
	default:
		return m
	}
	return term.Condition(m.Op == term.Unequal) // no integer is equal to a fraction
}

// ofIndices reports whether n is an integer that depends on indices only, and whose values are far from those
// that real numbers round.
func ofIndices(n *term.Term) bool {
	if n.Kind != term.Integer {
		return false
	}
	f := Linear(n)
	b := f.Bounds()
	return len(f.Vars) > 0 && len(f.Rest) == 0 && b.Known && max(b.Hi, -b.Lo) < mostIntegral
}

// nearConstant reports whether n is a real constant that is no further away than integers of indices are.
func nearConstant(n *term.Term) bool {
	return n.Op == term.Constant && n.Kind == term.Real && math.Abs(n.Float) < mostIntegral
}
