package program

import "github.com/opgen/opgen/formula/term"

// logarithmOfOneAnd returns log(1 + y) as log1p(y), which has the digits of y that the sum loses where y is
// small; nil for other functions and sums. What the sum does not lose, log1p has, too.
func logarithmOfOneAnd(f *term.Function, sum *term.Term) *term.Term {
	if f != term.Log || sum.Op != term.Add && sum.Op != term.Subtract {
		return nil
	}
	x, y := sum.Args[0], sum.Args[1]
	if sum.Op == term.Add && y.IsOne() {
		x, y = y, x
	}
	if !x.IsOne() || y.Kind != term.Real {
		return nil
	}
	if sum.Op == term.Subtract {
		y = term.Opposite(y)
	}
	return term.Applied("log1p", y)
}

// exponentialLessOne returns exp(x) - 1 as expm1(x), which has the digits that the difference loses where x
// is small, and 1 - exp(x) as its opposite; nil for other sums and differences.
func exponentialLessOne(op term.Op, x, y *term.Term) *term.Term {
	exponential := func(n *term.Term) bool { return n.Op == term.Apply && n.Func == term.Exp }
	one := func(n *term.Term, v float64) bool {
		return n.Op == term.Constant && n.Kind != term.Boolean && n.Value() == v
	}
	switch {
	case op == term.Subtract && exponential(x) && one(y, 1), op == term.Add && exponential(x) && one(y, -1):
		return term.Applied("expm1", x.Args[0])
	case op == term.Add && one(x, -1) && exponential(y):
		return term.Applied("expm1", y.Args[0])
	case op == term.Subtract && one(x, 1) && exponential(y):
		return term.Opposite(term.Applied("expm1", y.Args[0]))
	}
	return nil
}
