package loops

import (
	"math"

	"github.com/opgen/opgen/internal/term"
	"github.com/opgen/opgen/runtime/internal/simd"
)

// The density of the standard normal distribution, and x times it. The latter is 0 at infinity, where the product of both
// would be NaN: it is part of the slope of x * Phi(x).
var (
	density = &term.Function{Name: "density", Args: 1, Result: term.Real, Real: func(x ...float64) float64 {
		return math.Exp(-x[0]*x[0]/2) / math.Sqrt(2*math.Pi)
	}}
	moment = &term.Function{Name: "moment", Args: 1, Result: term.Real, Real: func(x ...float64) float64 {
		if math.IsInf(x[0], 0) {
			return 0
		}
		return x[0] * density.Real(x[0])
	}}
)

// densities returns a value in which the density of the standard normal distribution is one function.
func densities(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	m := n.Map(densities)
	if m.Op != term.Divide {
		return m
	}
	if v, ok := m.Args[1].Settled(); !ok || v != math.Sqrt(2*math.Pi) {
		return m
	}
	if x := exponent(m.Args[0]); x != nil {
		return &term.Term{Op: term.Apply, Kind: term.Real, Func: density, Args: []*term.Term{x}}
	}
	if p := m.Args[0]; p.Op == term.Multiply {
		if x := exponent(p.Args[1]); x != nil && term.Identical(x, p.Args[0]) {
			return &term.Term{Op: term.Apply, Kind: term.Real, Func: moment, Args: []*term.Term{x}}
		}
	}
	return m
}

// exponent returns x if n is exp(-(x * x / 2)); otherwise nil.
func exponent(n *term.Term) *term.Term {
	if n.Op != term.Apply || n.Func.Name != "exp" || n.Args[0].Op != term.Negate || n.Args[0].Args[0].Op != term.Divide {
		return nil
	}
	square, half := n.Args[0].Args[0].Args[0], n.Args[0].Args[0].Args[1]
	if v, ok := half.Settled(); !ok || v != 2 || square.Op != term.Multiply || !term.Identical(square.Args[0], square.Args[1]) {
		return nil
	}
	return square.Args[0]
}

// moment compiles x times the density.
func (z *vectorizer[T]) moment(n *term.Term) int {
	x := z.real(n.Args[0])
	d := operand[T]{reg: z.unaryOf(simd.Density, x)}
	product := z.binary(simd.Mul, x, d)
	r := z.register(false)
	z.emit(r, func(s *state[T], n int) {
		simd.Select(s.regs[r][:n], s.regs[d.reg][:n], s.regs[product][:n], s.regs[d.reg][:n])
	}, d.reg, product)
	z.does(operationOf[T](func(m *vectors, x, _ []value) value { return m.Select(x[0], x[1], x[0]) }))
	return r
}
