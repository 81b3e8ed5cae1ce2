package loops

import (
	"slices"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
)

// transient is a temporary that only one group accesses, each element in the same iteration of the shared
// loops that defines it. A share keeps the elements of one block, which stay in a cache.
type transient struct {
	tensor  int
	place   int   // slot of the variable with the offset of the current block
	strides []int // by shared loop: distance of blocks of neighboring iterations, in elements
	first   int   // offset of the first block
	span    int   // elements that one iteration of the last shared loop accesses
	at      int   // offset in the share's arena, in bytes
	bytes   int
}

// transients finds the transient temporaries of a group, and makes accesses to them relative to the current
// block. Loops of the bundles are coalesced: one iteration of the last shared loop is factors[i] iterations
// of bundle i.
func (c *compiler[T]) transients(g *bundleGroup, factors []int) []*transient {
	if len(g.bundles) < 2 || g.depth == 0 || c.options.over != nil {
		return nil
	}
	var out []*transient
	for t := range c.tensors {
		if !c.tensors[t].Local || c.tensors[t].Planned || rewrite.Elements(c.p.Tensors[t])*c.tensors[t].Type.Size() < blocks.least || !c.onlyIn(g, t) {
			continue
		}
		x := c.transient(g, factors, t)
		if x == nil {
			continue
		}
		begin := &term.Variable{Name: "begin", Lo: term.Number(0), Hi: term.Number(1)} // keeps proved bounds
		for _, b := range g.bundles {
			b.relative(t, begin)
		}
		x.place = c.place(begin)
		out = append(out, x)
	}
	return out
}

// onlyIn reports whether only one group accesses the memory of a tensor, and no other tensor shares it.
func (c *compiler[T]) onlyIn(g *bundleGroup, t int) bool {
	if len(c.users[t]) == 0 {
		return false
	}
	for b := range c.users[t] {
		if !slices.Contains(g.bundles, b) {
			return false
		}
	}
	for i, o := range c.tensors {
		if (o.Memory == t) != (i == t) {
			return false
		}
	}
	return true
}

// transient returns the layout of the blocks of tensor t. It returns nil if accesses do not all have the same
// layout.
func (c *compiler[T]) transient(g *bundleGroup, factors []int, t int) *transient {
	x := &transient{tensor: t}
	lo, hi := 0, -1
	ok := true
	visit := func(b *bundle, factor int, r *term.Read) {
		a := rewrite.AccessOf(r)
		rest := a.Offset
		var strides []int
		for d, v := range b.vars[:g.depth] {
			stride := rest.Factor(v)
			if d == g.depth-1 {
				stride *= factor
				if factor > 1 { // an iteration of the shared loop is several of v
					rest = rest.Plus(rewrite.Form{Vars: []rewrite.Multiple{{Of: &term.Variable{Lo: term.Number(0), Hi: term.Number(factor)}, Factor: 1}}}, rest.Factor(v))
				}
			}
			strides = append(strides, stride)
			rest = rest.Without(v)
		}
		bounds := rest.Bounds()
		if r.Count != 1 || r.Which != nil || len(a.Open) > 0 || len(rest.Rest) > 0 || !bounds.Known || slices.Min(strides) <= 0 ||
			x.strides != nil && !slices.Equal(strides, x.strides) {
			ok = false
			return
		}
		if x.strides == nil {
			x.strides, lo, hi = strides, bounds.Lo, bounds.Hi
		}
		lo, hi = min(lo, bounds.Lo), max(hi, bounds.Hi)
	}
	for i, b := range g.bundles {
		for _, s := range b.statements {
			ok = ok && s.Present() == nil && s.Order() == nil
		}
		b.elements(t, func(r *term.Read) { visit(b, factors[i], r) })
		ok = ok && !b.beyond(t)
	}
	if !ok || x.strides == nil {
		return nil
	}
	each := x.strides[len(x.strides)-1] // code may access whole rows
	x.first = lo / each * each
	x.span = hi/each*each + each - x.first
	return x
}

// elements calls visit for the loads and stores of tensor t in a bundle.
func (b *bundle) elements(t int, visit func(*term.Read)) {
	for i, s := range b.statements {
		all := *s
		if b.folds != nil {
			all.Value = &term.Term{Op: term.Reduce, Kind: s.Value.Kind, Reduction: b.folds[i]}
		}
		all.Walk(func(n *term.Term) {
			if n.Op == term.Element && n.Read.Tensor <= t && t < n.Read.Tensor+n.Read.Count {
				visit(n.Read)
			}
		})
		if s.Target == t {
			left := *s.Left
			left.Tensor, left.Count = t, 1
			visit(&left)
		}
	}
}

// beyond reports whether a reduction, as a window, loads elements of a tensor that lie behind the ends of its
// dimensions. Its guard leaves them out, but the memory of a block may end before them.
func (b *bundle) beyond(t int) bool {
	found := false
	for _, r := range b.folds {
		w := rewrite.Windowed(r)
		for _, n := range []*term.Term{w.Guard, w.Body, w.Number} {
			rewrite.Reads(n, func(e *term.Read) {
				found = found || w != r && e.Tensor <= t && t < e.Tensor+e.Count && len(rewrite.AccessOf(e).Open) > 0
			})
		}
	}
	return found
}

// relative subtracts an offset from all accesses to tensor t in a bundle.
func (b *bundle) relative(t int, begin *term.Variable) {
	moved := func(r *term.Read) *term.Read {
		q := *numbered(r)
		q.Idx = slices.Clone(q.Idx)
		last := len(q.Idx) - 1
		q.Idx[last] = term.Arithmetic(term.Subtract, q.Idx[last], begin.Term())
		return &q
	}
	var replace func(n *term.Term) *term.Term
	replace = func(n *term.Term) *term.Term {
		if n == nil {
			return nil
		}
		m := n.Map(replace)
		if m.Op == term.Element && m.Read.Tensor == t {
			c := *m
			c.Read = moved(m.Read)
			return &c
		}
		return m
	}
	for i, s := range b.statements {
		m := s.Mapped(replace)
		if s.Target == t {
			m.Left = moved(m.Left)
		}
		b.statements[i] = m
	}
	for i, r := range b.folds {
		q := *r
		q.Guard, q.Body, q.Number, q.At = replace(r.Guard), replace(r.Body), replace(r.Number), nil
		for _, x := range r.At {
			q.At = append(q.At, replace(x))
		}
		b.folds[i] = &q
	}
}

// keep chooses the temporaries of which shares keep one block: those whose block has at most half of all
// elements. Other transients are stored whole, with offset 0.
func (c *compiler[T]) keep(g *loopGroup[T], all []*transient) {
	last := len(g.shared) - 1
	for _, x := range all {
		n := x.strides[last]*(min(g.block, g.shared[last].extent)-1) + x.span
		if c.kept[x.tensor] || n*2 > rewrite.Elements(c.p.Tensors[x.tensor]) {
			continue
		}
		x.at, x.bytes = g.room, n*c.tensors[x.tensor].Type.Size()
		g.room += (x.bytes + roomAlign - 1) &^ (roomAlign - 1)
		g.transients = append(g.transients, x)
		c.kept[x.tensor] = true
	}
}

// enter sets the blocks of a share's transients to memory in an arena, which the caller must return.
func (c *code[T]) enter(s *state[T], g *loopGroup[T]) room {
	r := rooms.take((g.room + 7) / 8)
	base := unsafe.Pointer(unsafe.SliceData(r))
	for _, x := range g.transients {
		s.mem[x.tensor] = blockOf[T](c.tensors[x.tensor].Type, unsafe.Slice((*byte)(unsafe.Add(base, x.at)), x.bytes))
	}
	return r
}

// begin sets the offsets of the current blocks: those of iteration first of the last shared loop and
// iteration row, in row-major order, of the outer ones.
func (g *loopGroup[T]) begin(s *state[T], row, first int) {
	for _, x := range g.transients {
		last := len(g.shared) - 1
		at := x.first + first*x.strides[last]
		for i, r := last-1, row; i >= 0; i-- {
			at += x.strides[i] * (r % g.shared[i].extent)
			r /= g.shared[i].extent
		}
		s.vars[x.place] = at
	}
}
