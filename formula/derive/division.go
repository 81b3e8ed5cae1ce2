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

// Division is a set of axes that are partitioned together: each device has its part of every tensor with such
// an axis, and a replica of all other tensors.
type Division struct {
	// Axes are the partitioned axes of slots, sorted. A tensor has at most one.
	Axes []Axis
	// Symbols are the symbols of the extents of these axes, sorted.
	Symbols []string
	// Partial says that results without a partitioned axis are partial sums.
	Partial bool
	// Once is a tensor without a partitioned axis that must be added once, such as a bias: one device has it,
	// and the others have zeros in its place. It is -1 if there is none.
	Once int
}

// Use is a use of an operator that is to be divided among devices. Its program must be open and not settled,
// so that a condition on an extent counts as unknown: it may have another value in a part.
type Use struct {
	*program.Program
	// Derived holds the symbols of dimensions that are computed from other extents. They may have other
	// values in a part.
	Derived map[string]bool
	// Changed returns the symbols of Derived whose values differ in a part of division d. If it is nil, all
	// of Derived do.
	Changed func(d Division) map[string]bool
	// Own are tensors of slots that no other operator reads. They may be partitioned in blocks of several
	// elements.
	Own []int
	// Once are the candidates for Division.Once, such as a bias that is added to a sum over the partitioned
	// axis.
	Once []int
}

// inside returns, by tensor, whether no other operator reads it.
func (q *Use) inside() []bool {
	out := make([]bool, len(q.Tensors))
	for t, l := range q.Tensors {
		out[t] = l.Slot < 0 || slices.Contains(q.Own, t)
	}
	return out
}

// Divisions returns the ways in which a use can be divided among devices.
//
// Axes are partitioned together if one index subscripts both. These equivalence classes are found by
// union-find over axes, indices and the symbols of extents. In a tensor that no other operator reads, the
// subscript h * D + d with d < D counts as h: the axis is partitioned in blocks of D elements.
func (q *Use) Divisions() []Division {
	p := q.Program
	c := &classes{p: p, own: q.inside(), of: map[any]any{}, first: map[*term.Variable]int{}}
	for t, l := range p.Tensors {
		for i, n := range l.Shape {
			c.find(Axis{t, i})
			if n.Op == term.Symbol {
				c.join(Axis{t, i}, n.Name)
			}
		}
	}
	for _, s := range p.Statements {
		c.number(s.Left)
		s.Reads(c.number)
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
			d.derived, d.joined, d.inside = q.Derived, true, c.own
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
		d := members[root]
		found := Division{axes[root], slices.Sorted(maps.Keys(d.symbols)), false, -1}
		effect := d.run()
		if effect == Undivided && len(q.Derived) > 0 && q.Changed != nil {
			if d.derived = q.Changed(found); len(d.derived) < len(q.Derived) {
				effect = d.run()
			}
		}
		for _, t := range q.Once {
			has := slices.ContainsFunc(found.Axes, func(a Axis) bool { return a.Tensor == t })
			if effect != Undivided || has {
				continue
			}
			d.once = t + 1
			if effect = d.run(); effect == Partial {
				found.Once = t
			} else {
				effect = Undivided
			}
		}
		if found.Partial = effect == Partial; effect != Undivided {
			out = append(out, found)
		}
	}
	return out
}

// classes are the equivalence classes of axes, variables and symbols that are partitioned together
// (union-find).
type classes struct {
	p   *program.Program
	own []bool
	of  map[any]any // the parent of a member, itself for a root
	// first holds the first extent of the tensors whose elements an index counts, or 0 if they differ.
	first map[*term.Variable]int
}

// counted returns the index that counts all elements of a tensor in row-major order; nil if there is none.
func counted(r *term.Read) *term.Variable {
	if !r.ByNumber || len(r.Idx) != 1 || r.Idx[0].Op != term.Index || !r.Idx[0].Var.Lo.Is(0) {
		return nil
	}
	return r.Idx[0].Var
}

// number notes the first extent of a tensor whose elements an index counts.
func (c *classes) number(r *term.Read) {
	v := counted(r)
	if v == nil {
		return
	}
	all, known := v.Hi.Known()
	extent, elements := 0, 1
	for i, n := range c.p.Tensors[r.Tensor].Shape {
		m, ok := n.Known()
		if elements *= m; i == 0 {
			extent = m
		}
		known = known && ok
	}
	if first, ok := c.first[v]; !known || elements != all || ok && first != extent {
		extent = 0
	}
	c.first[v] = extent
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

// read joins each axis of r with the variable that subscripts it, if the variable ranges over the whole axis.
func (c *classes) read(r *term.Read) {
	idx := r.Idx
	if v := counted(r); v != nil && c.first[v] > 1 && len(c.p.Tensors[r.Tensor].Shape) > 1 {
		for t := range r.Count {
			c.join(v, Axis{r.Tensor + t, 0})
		}
		return
	}
	if r.ByNumber {
		idx = subscripts(c.p, r)
	}
	for i, x := range idx {
		v, block := indexOf(x, c.own[r.Tensor])
		if v == nil || !v.Lo.Is(0) {
			continue
		}
		n, known := c.p.Tensors[r.Tensor].Shape[i].Known()
		m, same := v.Hi.Known()
		if !known || !same || n != m*block {
			continue
		}
		for t := range r.Count {
			c.join(v, Axis{r.Tensor + t, i})
		}
	}
}

// indexOf returns the variable that determines a subscript's part of an axis, and the block size: v and 1 for
// a plain index v or, if blocks is set, h and D for h * D + d with d < D. It returns nil for other
// subscripts.
func indexOf(x *term.Term, blocks bool) (v *term.Variable, block int) {
	if x.Op == term.Index {
		return x.Var, 1
	}
	if !blocks || x.Op != term.Add {
		return nil, 0
	}
	for i, high := range x.Args {
		low := x.Args[1-i]
		if high.Op != term.Multiply || low.Op != term.Index || !low.Var.Lo.Is(0) {
			continue
		}
		for k, h := range high.Args {
			size, known := high.Args[1-k].Known()
			n, same := low.Var.Hi.Known()
			if h.Op == term.Index && known && same && size == n && n > 0 {
				return h.Var, n
			}
		}
	}
	return nil, 0
}

// subscripts returns the subscripts of an element x[#(i, j)] with a flat index, if i and j range over the
// dimensions of x (but for those of extent 1). Otherwise it returns nil.
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
