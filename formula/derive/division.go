package derive

import (
	"cmp"
	"maps"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Axis is a dimension of a tensor of a program.
type Axis struct{ Tensor, Dim int }

// Division is a set of axes that devices can divide together, each having its part of every axis in it, and
// all of the tensors without one.
type Division struct {
	// Axes are those of slots' tensors, in order. A tensor has at most one.
	Axes []Axis
	// Symbols are those of the extents of these axes, sorted.
	Symbols []string
	// Partial says that results without such an axis are partial sums.
	Partial bool
}

// Divisions returns the ways in which a use can be divided. The program of the use must be open and not
// settled, so that a condition on an extent counts as one that may or may not hold in a part. derived holds
// the symbols of dimensions that are computed from other extents: they count as numbers that differ in a
// part.
//
// Axes belong together if one index subscripts both. The classes are found by union-find over axes, indices
// and the symbols of extents.
func Divisions(p *program.Program, derived map[string]bool) []Division {
	c := &classes{p: p, of: map[any]any{}}
	for t, l := range p.Tensors {
		for i, n := range l.Shape {
			c.find(Axis{t, i})
			if n.Op == term.Symbol {
				c.join(Axis{t, i}, n.Name)
			}
		}
	}
	for _, s := range p.Statements {
		for _, v := range s.Vars {
			c.variable(v)
		}
		c.read(s.Left)
		s.Reads(c.read)
		s.Value.Walk(func(n *term.Term) {
			if n.Op == term.Reduce {
				for _, v := range n.Reduction.Vars {
					c.variable(v)
				}
			}
		})
	}
	members := map[any]*divider{}
	axes := map[any][]Axis{}
	for x := range c.of {
		root := c.find(x)
		d := members[root]
		if d == nil {
			d = newDivider(p)
			d.derived, d.joined = derived, true
			members[root] = d
		}
		switch x := x.(type) {
		case string:
			d.symbols[x] = true
		case *term.Variable:
			d.vars[x] = true
		case Axis:
			d.axes[x] = true
			if p.Tensors[x.Tensor].Slot >= 0 {
				axes[root] = append(axes[root], x)
			}
		}
	}
	roots := slices.Collect(maps.Keys(axes))
	for _, list := range axes {
		slices.SortFunc(list, func(a, b Axis) int { return cmp.Or(a.Tensor-b.Tensor, a.Dim-b.Dim) })
	}
	slices.SortFunc(roots, func(a, b any) int {
		return slices.CompareFunc(axes[a], axes[b], func(a, b Axis) int { return cmp.Or(a.Tensor-b.Tensor, a.Dim-b.Dim) })
	})
	var out []Division
	for _, root := range roots {
		if effect := members[root].run(); effect != Undivided {
			out = append(out, Division{axes[root], slices.Sorted(maps.Keys(members[root].symbols)), effect == Partial})
		}
	}
	return out
}

// classes are sets of axes, variables and symbols that divide together.
type classes struct {
	p  *program.Program
	of map[any]any // the parent of a member, itself for a root
}

func (c *classes) find(x any) any {
	parent, ok := c.of[x]
	switch {
	case !ok:
		c.of[x] = x
		return x
	case parent == x:
		return x
	}
	root := c.find(parent)
	c.of[x] = root
	return root
}

func (c *classes) join(x, y any) { c.of[c.find(x)] = c.find(y) }

func (c *classes) variable(v *term.Variable) {
	c.find(v)
	if v.Lo.Is(0) && v.Hi.Op == term.Symbol {
		c.join(v, v.Hi.Name)
	}
}

// read joins each axis with the variable that is its subscript, if that goes over all of it.
func (c *classes) read(r *term.Read) {
	idx := r.Idx
	if r.ByNumber {
		idx = subscripts(c.p, r)
	}
	for i, x := range idx {
		if x.Op != term.Index || !x.Var.Lo.Is(0) {
			continue
		}
		n, known := c.p.Tensors[r.Tensor].Shape[i].Known()
		m, same := x.Var.Hi.Known()
		if !known || !same || n != m {
			continue
		}
		for t := range r.Count {
			c.join(x.Var, Axis{r.Tensor + t, i})
		}
	}
}

// subscripts returns the subscripts of an element that is given by its row-major number; nil if the indices
// that the number counts have other extents than the tensor, but for those of 1.
func subscripts(p *program.Program, r *term.Read) []*term.Term {
	shape := p.Tensors[r.Tensor].Shape
	out := make([]*term.Term, len(shape))
	at := 0
	next := func() (n int, ok bool) {
		for ; at < len(r.Idx); at++ {
			if n, ok = r.Ext[at].Known(); !ok || n != 1 {
				return n, ok
			}
		}
		return 0, false
	}
	for i, extent := range shape {
		want, ok := extent.Known()
		switch {
		case !ok:
			return nil
		case want == 1:
			out[i] = term.Number(0)
			continue
		}
		if n, ok := next(); !ok || n != want {
			return nil
		}
		out[i] = r.Idx[at]
		at++
	}
	if _, more := next(); more || at < len(r.Idx) {
		return nil
	}
	return out
}
