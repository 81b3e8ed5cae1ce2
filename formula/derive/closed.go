package derive

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Equal reports whether tensor s of p and tensor t of q are provably equal. It inlines all definitions in
// both programs, simplifies, and compares the terms x and y. Inputs and weights correspond by name.
func Equal(p *program.Program, s int, q *program.Program, t int) (x, y *term.Term, equal bool) {
	names := map[string]int{}
	var at []*term.Term // an index over an extent of 1 is 0
	for _, n := range p.Tensors[s].Shape {
		x := (&term.Variable{Name: "i", Lo: term.Number(0), Hi: n}).Term()
		if v, known := n.Known(); known && v == 1 {
			x = term.Number(0)
		}
		at = append(at, x)
	}
	if !sameShape(p.Tensors[s].Shape, q.Tensors[t].Shape) {
		return nil, nil, false
	}
	x, y = closed(p, s, at, names), closed(q, t, at, names)
	return x, y, x != nil && y != nil && term.Identical(x, y)
}

// closed returns the element of tensor t at index at with all definitions inlined and the term simplified.
// names numbers the tensors that remain, by name. It returns nil if t has no sole definition.
func closed(p *program.Program, t int, at []*term.Term, names map[string]int) *term.Term {
	s := sole(p, t)
	if s == nil || len(at) != len(s.Left.Idx) {
		return nil
	}
	values := map[*term.Variable]*term.Term{}
	for i, x := range s.Left.Idx {
		values[x.Var] = at[i]
	}
	c := &closer{p, names, 0}
	return trim(tidy(c.replace(s.Value.Substitute(values))))
}

// sole returns the only statement that defines t, if its left side has plain indices only and it does not
// accumulate. Otherwise it returns nil.
func sole(p *program.Program, t int) *program.Statement {
	var out *program.Statement
	for _, s := range p.Statements {
		if s.Target != t {
			continue
		}
		if out != nil || s.Left.ByNumber || s.Add || s.Recurrence != nil || slices.ContainsFunc(s.Left.Idx, func(i *term.Term) bool { return i.Op != term.Index }) {
			return nil
		}
		out = s
	}
	return out
}

// maxClosed bounds how many definitions are inlined: a chain of statements that each read another one twice
// doubles the term each time.
const maxClosed = 10_000

// closer inlines the definitions of a program.
type closer struct {
	p        *program.Program
	names    map[string]int
	replaced int
}

// replace inlines the definitions of all elements in n.
func (c *closer) replace(n *term.Term) *term.Term {
	if n.Op != term.Element {
		return n.Map(c.replace)
	}
	if s := sole(c.p, n.Read.Tensor); s != nil && n.Read.Which == nil && n.Read.Else == nil && !n.Read.ByNumber && c.replaced < maxClosed {
		c.replaced++
		values := map[*term.Variable]*term.Term{}
		for i, x := range s.Left.Idx {
			values[x.Var] = n.Read.Idx[i]
		}
		return c.replace(s.Value.Substitute(values))
	}
	out := n.Map(c.replace)
	name := c.p.Tensors[n.Read.Tensor].Name
	if _, known := c.names[name]; !known {
		c.names[name] = len(c.names)
	}
	r := *out.Read
	r.Tensor, r.Text = c.names[name], name
	return &term.Term{Op: term.Element, Kind: out.Kind, Read: &r}
}
