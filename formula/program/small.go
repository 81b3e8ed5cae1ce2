package program

import "github.com/opgen/opgen/formula/term"

// logarithmOfOneAnd rewrites log(1 + y) as log1p(y), which is as precise for large y and more precise for
// small y. It returns nil for other functions and arguments.
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

// exponentialLessOne rewrites exp(x) - 1 as expm1(x), which is more precise for small x, and 1 - exp(x) as
// -expm1(x). It returns nil for other sums.
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
