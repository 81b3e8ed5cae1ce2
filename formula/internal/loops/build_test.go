package loops

import (
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// index returns an index of n values.
func index(name string, n int) *term.Variable {
	return &term.Variable{Name: name, Lo: term.Number(0), Hi: term.Number(n)}
}

// reals returns a tensor of real numbers.
func reals(name string, shape ...int) *program.Local {
	l := &program.Local{Name: name, Kind: term.Real, Slot: -1, Old: -1}
	for _, d := range shape {
		l.Shape = append(l.Shape, term.Number(d))
	}
	return l
}

// readOf returns a place of a tensor of a program.
func readOf(p *program.Program, tensor int, idx ...*term.Term) *term.Read {
	return &term.Read{Tensor: tensor, Count: 1, Idx: idx, Ext: p.Tensors[tensor].Shape}
}

// elementOf returns the real number at a place.
func elementOf(r *term.Read) *term.Term {
	return &term.Term{Op: term.Element, Kind: term.Real, Read: r}
}

// timesOf returns x*y, unlike term.Product without folding.
func timesOf(x, y *term.Term) *term.Term {
	return &term.Term{Op: term.Multiply, Kind: term.Real, Args: []*term.Term{x, y}}
}

// reduction returns a reduction over indices.
func reduce(kind reduction.Kind, body *term.Term, vars ...*term.Variable) *term.Term {
	return &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &term.Reduction{Kind: kind, Vars: vars, Part: -1, Body: body}}
}
