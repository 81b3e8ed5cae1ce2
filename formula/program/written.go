package program

import (
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// written maps the reductions that are defined in terms of others to the functions that lower them. Later
// passes never see these reductions.
var written = map[reduction.Kind]func(*term.Term) *term.Term{reduction.LogSumExp: relative, reduction.Norm: norm}

// norm lowers a norm to scale * sqrt(sum((x / scale)^2)), as BLAS nrm2 does: the squares of large or small
// elements would overflow or underflow. The scale is a power of 2, so the division is exact. The scale is
// detached, since it does not change the result.
func norm(n *term.Term) *term.Term {
	same := func(x *term.Term) *term.Term { return x }
	x := n.Reduction.Body
	if x.Kind == term.Integer {
		x = term.Arithmetic(term.Multiply, term.RealNumber(1), x)
	}
	if len(n.Reduction.Vars) == 0 && n.Reduction.Guard == nil {
		return applied(term.Abs, []*term.Term{x})
	}
	top := *n.Reduction
	top.Kind, top.Detached, top.Body = reduction.Max, true, applied(term.Abs, []*term.Term{x})
	greatest := &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &top}
	scale := term.Applied("binade", greatest.Map(same)) // a copy with fresh variables
	squares := *n.Reduction
	square := &term.Term{Op: term.Power, Kind: term.Real, Args: []*term.Term{term.WholeRatio(x, scale), term.Number(2)}}
	squares.Kind, squares.Body = reduction.Sum, square
	return term.Applied("length", scale, &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &squares})
}
