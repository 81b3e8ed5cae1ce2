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

// textbookLogarithm rewrites logarithms whose argument overflows, underflows or loses digits where they do
// not: log(1 + exp(x)), also as log1p(exp(x)), is softplus(x), log(sigmoid(x)) is -softplus(-x), log(1 -
// sigmoid(x)) is -softplus(x), and log(exp(x)) is x. It returns nil for other functions and arguments, also
// for log1p(exp(-abs(x))), which is right.
func textbookLogarithm(f *term.Function, x *term.Term) *term.Term {
	sigmoid, log1p := term.Functions["sigmoid"], term.Functions["log1p"]
	switch {
	case f == term.Log && isOf(x, term.Exp) && x.Args[0].Kind == term.Real:
		return x.Args[0]
	case f == term.Log && isOf(x, sigmoid):
		return term.Opposite(term.Applied("softplus", term.Opposite(x.Args[0])))
	case f == log1p && x.Op == term.Negate && isOf(x.Args[0], sigmoid):
		return term.Opposite(term.Applied("softplus", x.Args[0].Args[0]))
	case f == log1p && isOf(x, term.Exp) && sizeOf(x.Args[0]) == nil:
		return term.Applied("softplus", x.Args[0])
	}
	return nil
}

// textbookSoftplus rewrites max(x, 0) + log(1 + exp(-abs(x))) as softplus(x), whose slope at 0 is 1/2: those
// of max(x, 0) and abs(x) are 0 there. It does so for -x, too, and rewrites min(x, 0) - log(1 + exp(-abs(x)))
// as -softplus(-x). It returns nil for other sums.
func textbookSoftplus(op term.Op, x, y *term.Term) *term.Term {
	if op == term.Add && isOf(x, term.Functions["log1p"]) {
		x, y = y, x
	}
	if !isOf(y, term.Functions["log1p"]) || !isOf(y.Args[0], term.Exp) {
		return nil
	}
	size := sizeOf(y.Args[0].Args[0])
	if size == nil {
		return nil
	}
	of, sign := term.Max, false // of the greater of 0 and x, or of the less
	if op == term.Subtract {
		of = term.Min
	} else if x.Op == term.Negate {
		x, of, sign = x.Args[0], term.Min, true
	}
	if x.Op != term.Apply || x.Func != of || x.Kind != term.Real || len(x.Args) != 2 {
		return nil
	}
	a, zero := x.Args[0], x.Args[1]
	if a.IsZero() {
		a, zero = zero, a
	}
	if !zero.IsZero() || !term.Identical(a, size) && !term.Identical(term.Opposite(a), size) && !term.Identical(a, term.Opposite(size)) {
		return nil
	}
	switch {
	case op == term.Subtract:
		return term.Opposite(term.Applied("softplus", term.Opposite(a)))
	case sign:
		return term.Applied("softplus", term.Opposite(a))
	}
	return term.Applied("softplus", a)
}

// isOf reports whether n is a value of a function of one number.
func isOf(n *term.Term, f *term.Function) bool { return n.Op == term.Apply && n.Func == f }

// sizeOf returns x if n is -abs(x), else nil.
func sizeOf(n *term.Term) *term.Term {
	if n.Op == term.Negate && isOf(n.Args[0], term.Abs) {
		return n.Args[0].Args[0]
	}
	return nil
}
