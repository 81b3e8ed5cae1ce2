package loops

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/shape"
)

// bundle is statements that are fused into one loop nest.
type bundle struct {
	vars       []*term.Variable
	statements []*rewrite.Statement
	// folds are the statements' reductions, if their values are reductions, which all reduce over equal
	// ranges. Otherwise it is nil.
	folds []*term.Reduction
	// over is which kind of index the strips of the reductions run over.
	over foldOver
}

// bundleGroup is bundles that share their outermost loops.
type bundleGroup struct {
	bundles []*bundle
	depth   int // the number of shared loops
}

// touch is an access to memory by a statement.
type touch struct {
	memory int
	at     rewrite.Form
	writes bool
	simple bool // whether the offset is affine
	vars   []*term.Variable
	access *rewrite.Access
}

// touches returns the accesses of a statement. They are cached while statements are fused, which compares all
// pairs of statements.
func (c *compiler[T]) touches(s *rewrite.Statement) []touch {
	if out, ok := c.touched[s]; ok {
		return out
	}
	var out []touch
	add := func(r *term.Read, writes bool) {
		a := rewrite.AccessOf(r)
		for i := range r.Count {
			memory := c.tensors[r.Tensor+i].Memory
			at, simple := a.Offset, len(a.Offset.Rest) == 0 && r.Which == nil
			if over := c.options.over; over != nil { // at one value of the index
				_, even := c.steps[memory]
				at, simple = at.Without(over), simple && even
			}
			out = append(out, touch{memory, at, writes, simple, s.Vars, a})
		}
	}
	for _, n := range append([]*term.Term{s.Value, s.Guard, s.Left.Which}, s.Left.Idx...) {
		if n != nil {
			rewrite.Reads(n, func(r *term.Read) { add(r, false) })
		}
	}
	left := *s.Left
	left.Tensor, left.Count = s.Target, 1
	add(&left, true)
	if c.touched != nil {
		c.touched[s] = out
	}
	return out
}

// grouped fuses statements into bundles, and bundles into groups.
func (c *compiler[T]) grouped(statements []*rewrite.Statement) []*bundleGroup {
	c.touched = map[*rewrite.Statement][]touch{}
	defer func() { c.touched = nil }() // statements change later
	var out []*bundleGroup
	for _, s := range statements {
		if n := len(out); n > 0 && c.join(out[n-1], s) {
			continue
		}
		out = append(out, &bundleGroup{[]*bundle{c.newBundle(s)}, c.depth(s)})
	}
	for i := len(out) - 2; i >= 0; i-- {
		if c.follow(out[i], out[i+1]) {
			out = slices.Delete(out, i+1, i+2)
		}
	}
	return serial(c.fit(out, c.options.Steps))
}

// serial merges consecutive groups that share no loops. Such groups do not run in shares, so their units may
// run in order in one group.
func serial(groups []*bundleGroup) []*bundleGroup {
	out := groups[:0]
	for _, g := range groups {
		if n := len(out); n > 0 && g.depth == 0 && out[n-1].depth == 0 {
			out[n-1].bundles = append(out[n-1].bundles, g.bundles...)
			continue
		}
		out = append(out, g)
	}
	return out
}

// follow fuses group next into g if that is legal, and if it saves a pass over memory.
func (c *compiler[T]) follow(g, next *bundleGroup) bool {
	if c.options.Steps > 1 {
		return false
	}
	for d := min(g.depth, next.depth); d > 0; d-- {
		if c.goesWith(g, next, d) {
			g.bundles, g.depth = append(g.bundles, next.bundles...), d
			return true
		}
	}
	return false
}

func newBundle(s *rewrite.Statement) *bundle {
	b := &bundle{vars: s.Vars, statements: []*rewrite.Statement{s}}
	if r := s.Reduction(); r != nil {
		b.folds = []*term.Reduction{r}
	}
	return b
}

// newBundle returns the bundle of one statement, and chooses which index the strips of its reduction run
// over.
func (c *compiler[T]) newBundle(s *rewrite.Statement) *bundle {
	b := newBundle(s)
	if b.folds != nil {
		b.over = c.foldOver(*b, c.depth(s))
	}
	return b
}

// depth returns the maximum number of outermost loops that a statement may share with others.
func (c *compiler[T]) depth(s *rewrite.Statement) int {
	switch {
	case s.Add:
		return min(c.separate(s), s.Even())
	case c.copies(s): // also if it accumulates: a range then covers the same elements
		if row, col := crossed(s, s.Vars); row != nil { // a tile covers both indices
			return 1 + min(slices.Index(s.Vars, row), slices.Index(s.Vars, col))
		}
	case s.Present() != nil:
		return len(s.Vars) - 1
	case s.Order() != nil:
		_, outer := rewrite.OrderedFirst(s)
		return outer
	case s.Reduction() != nil:
		if p := c.product(s); p != nil {
			return p.outer
		}
	}
	return len(s.Vars)
}

// separate returns the number of outermost loops whose iterations add to different elements.
func (c *compiler[T]) separate(s *rewrite.Statement) int {
	a := rewrite.AccessOf(s.Left)
	if s.Left.Which != nil {
		return 0
	}
	for d := len(s.Vars); d > 0; d-- {
		if known := a.Affine(); apart(s.Vars[:d], s.Vars[:d], known, known) || ownDimensions(s.Vars[:d], s.Vars[:d], a, a) {
			return d
		}
	}
	return 0
}

// ownDimensions reports whether each index of v, and the corresponding one of w, is the only index of one
// dimension of accesses x and y. Different values of the indices then access different elements. Dimensions
// behind it and before it need not be the same ones in both accesses, but must have as many elements.
func ownDimensions(v, w []*term.Variable, x, y *rewrite.Access) bool {
	for i := range v {
		own := false
		for d, after := len(x.Idx)-1, 1; d >= 0; d-- {
			f, rest := x.Idx[d].Factor(v[i]), x.Idx[d].Without(v[i])
			if f != 0 && rest.Constant() {
				e := y.Dimension(after, x.Ext[d])
				own = own || e >= 0 && f == y.Idx[e].Factor(w[i]) && rest.Same(y.Idx[e].Without(w[i]))
			}
			after *= x.Ext[d]
		}
		if !own {
			return false
		}
	}
	return true
}

// join fuses a statement into a group if that is legal, and if it saves a pass over memory.
func (c *compiler[T]) join(g *bundleGroup, s *rewrite.Statement) bool {
	for d := min(g.depth, c.depth(s)); d > 0; d-- {
		if !c.matches(g, s, d) || !c.profits(g, s, d) || c.splits(g, s, d) {
			continue
		}
		if c.options.Steps > 1 && !c.tensors[s.Target].Local && c.gives(g) {
			last := g.bundles[len(g.bundles)-1]
			return s.Reduction() != nil && len(s.Vars) == g.depth && c.merge(last, s)
		}
		g.depth = d
		for i := len(g.bundles) - 1; i >= 0; i-- {
			b := g.bundles[i]
			if c.merge(b, s) {
				return true
			}
			if c.conflicts(b, s) {
				break
			}
		}
		g.bundles = append(g.bundles, c.newBundle(s))
		return true
	}
	return false
}

// splits reports whether an elementwise group or statement would no longer be elementwise if both shared d
// loops. With one step all groups belong to it, so this never prevents fusion.
func (c *compiler[T]) splits(g *bundleGroup, s *rewrite.Statement, d int) bool {
	if !c.options.ByElement || c.options.Steps == 1 {
		return false
	}
	own := &bundle{vars: s.Vars, statements: []*rewrite.Statement{s}}
	alone := &bundleGroup{[]*bundle{own}, c.depth(s)}
	return (c.byElement(g) || c.byElement(alone)) && !c.byElement(&bundleGroup{append(slices.Clone(g.bundles), own), d})
}

// gives reports whether a group writes a tensor that is no temporary.
func (c *compiler[T]) gives(g *bundleGroup) bool {
	return slices.ContainsFunc(g.bundles, func(b *bundle) bool {
		return slices.ContainsFunc(b.statements, func(s *rewrite.Statement) bool { return !c.tensors[s.Target].Local })
	})
}

// matches reports whether a statement may share d loops with a group: no data hazard crosses iterations of
// the shared loops.
func (c *compiler[T]) matches(g *bundleGroup, s *rewrite.Statement, d int) bool {
	mine := c.touches(s)
	for _, b := range g.bundles {
		for i := range d {
			if rewrite.Extent(b.vars[i]) != rewrite.Extent(s.Vars[i]) {
				return false
			}
		}
		for _, o := range b.statements {
			for _, x := range c.touches(o) {
				for _, y := range mine {
					if x.memory == y.memory && (x.writes || y.writes) && !disjoint(x, y) &&
						!(x.simple && y.simple && apart(b.vars[:d], s.Vars[:d], x.at, y.at)) && !ownDimensions(b.vars[:d], s.Vars[:d], x.access, y.access) {
						return false
					}
				}
			}
		}
	}
	return true
}

// disjoint reports whether two accesses never access the same element.
func disjoint(x, y touch) bool {
	if !x.simple || !y.simple {
		return false
	}
	a, b := x.at.Bounds(), y.at.Bounds()
	return a.Known && b.Known && (a.Hi < b.Lo || b.Hi < a.Lo)
}

// apart reports whether the offsets x and y differ whenever the indices v of x and the indices w of y have
// different values. It proves this if the indices are digits of a mixed-radix number, whose lower digits
// cannot overflow.
func apart(v, w []*term.Variable, x, y rewrite.Form) bool {
	type digit struct{ factor, extent int }
	var digits []digit
	for i := range v {
		f := x.Factor(v[i])
		if f == 0 || f != y.Factor(w[i]) {
			return false
		}
		x, y = x.Without(v[i]), y.Without(w[i])
		digits = append(digits, digit{max(f, -f), rewrite.Extent(v[i])})
	}
	a, b := x.Bounds(), y.Bounds()
	if !a.Known || !b.Known {
		return false
	}
	slices.SortFunc(digits, func(p, q digit) int { return p.factor - q.factor })
	least := max(a.Hi, b.Hi) - min(a.Lo, b.Lo) + 1
	for _, d := range digits {
		if d.factor < least {
			return false
		}
		least = d.factor * d.extent
	}
	return true
}

// profits reports whether a statement and a group access a tensor with the same strides along the shared
// indices, so that its elements are still in the cache.
func (c *compiler[T]) profits(g *bundleGroup, s *rewrite.Statement, d int) bool {
	for _, y := range c.touches(s) {
		for _, b := range g.bundles {
			for _, o := range b.statements {
				for _, x := range c.touches(o) {
					if x.memory == y.memory && (x.simple && y.simple && alike(b.vars[:d], s.Vars[:d], x.at, y.at) ||
						ownDimensions(b.vars[:d], s.Vars[:d], x.access, y.access)) {
						return true
					}
				}
			}
		}
	}
	return false
}

// never reports whether the offsets x and y differ for all values of indices v and w: both are mixed-radix
// numbers, one digit of which always differs.
func never(v, w []*term.Variable, x, y rewrite.Form) bool {
	d, ok := shape.Sub(x.Base, y.Base)
	switch {
	case !ok || d == 0:
		return false
	case d < 0:
		return never(w, v, y, x)
	}
	digit := &term.Variable{Name: "which", Lo: term.Number(0), Hi: term.Number(2)} // 1 in x, 0 in y
	with := func(f rewrite.Form) rewrite.Form {
		f.Vars, f.Base = append(slices.Clone(f.Vars), rewrite.Multiple{Of: digit, Factor: d}), y.Base
		return f
	}
	return apart(append(slices.Clone(v), digit), append(slices.Clone(w), digit), with(x), with(y))
}

func alike(v, w []*term.Variable, x, y rewrite.Form) bool {
	for i := range v {
		if f := x.Factor(v[i]); f == 0 || f != y.Factor(w[i]) {
			return false
		}
	}
	return true
}

// conflicts reports whether a statement and a bundle have a data hazard: both access some memory, and one of
// them writes.
func (c *compiler[T]) conflicts(b *bundle, s *rewrite.Statement) bool {
	mine := c.touches(s)
	for _, o := range b.statements {
		for _, x := range c.touches(o) {
			for _, y := range mine {
				if x.memory == y.memory && (x.writes || y.writes) && !disjoint(x, y) {
					return true
				}
			}
		}
	}
	return false
}

// merge adds a statement to a bundle with the same loops, and returns true, if accesses of both to the same
// memory, one of them a store, are at the same iteration. Reductions over equal ranges are merged if they are
// independent.
func (c *compiler[T]) merge(b *bundle, s *rewrite.Statement) bool {
	r := s.Reduction()
	if len(b.vars) != len(s.Vars) || s.Add || b.statements[0].Add || (r != nil) != (b.folds != nil) || s.Guard != nil || b.statements[0].Guard != nil ||
		s.Lenient != b.statements[0].Lenient || !c.strips(s) || !c.strips(b.statements[0]) {
		return false
	}
	if r != nil && (len(b.folds) >= mostFolds || c.product(s) != nil || c.product(b.statements[0]) != nil || !summed(r) || !summed(b.folds[0]) || !sameLoops(r, b.folds[0]) || c.conflicts(b, s) ||
		c.order(s) != c.order(b.statements[0])) {
		return false
	}
	to := map[*term.Variable]*term.Term{}
	for i, v := range s.Vars {
		if rewrite.Extent(v) != rewrite.Extent(b.vars[i]) {
			return false
		}
		to[v] = b.vars[i].Term()
	}
	mine := c.touches(s)
	computed := !c.copies(s) && !c.copies(b.statements[0]) // copies of parts are faster if not fused
	for _, o := range b.statements {
		for _, x := range c.touches(o) {
			for _, y := range mine {
				if x.memory == y.memory && (x.writes || y.writes) && !(x.simple && y.simple && (c.sameElement(b.vars, s.Vars, x.at, y.at) || computed && never(b.vars, s.Vars, x.at, y.at))) {
					return false
				}
			}
		}
	}
	m := *s
	m.Vars = b.vars
	left := *s.Left
	left.Idx = nil
	for _, i := range s.Left.Idx {
		left.Idx = append(left.Idx, i.Substitute(to))
	}
	m.Left, m.Value = &left, s.Value.Substitute(to)
	b.statements = append(b.statements, &m)
	if r != nil {
		b.folds = append(b.folds, m.Reduction())
	}
	return true
}

// order returns a text for the order of additions in a sum: the kind of index that its strips run over, and
// which indices can be coalesced. Only sums with equal texts are merged, so that fusion does not change bits.
// Indices of the results count only if strips run over them.
func (c *compiler[T]) order(s *rewrite.Statement) string {
	b := c.newBundle(s)
	out := fmt.Sprint(b.over)
	for d := 0; d < len(b.vars)-1 && b.over == overResults; d++ {
		out += fmt.Sprint(" ", b.joinable(b.vars[d], b.vars[d+1]))
	}
	b.joinFolds()
	for _, v := range b.folds[0].Vars {
		out += fmt.Sprint(" ", rewrite.Extent(v))
	}
	return out
}

// sameElement reports whether two offsets are equal for equal values of the indices v and w.
func (c *compiler[T]) sameElement(v, w []*term.Variable, x, y rewrite.Form) bool {
	for i := range v {
		f := x.Factor(v[i])
		if f != y.Factor(w[i]) {
			return false
		}
		x, y = x.Without(v[i]), y.Without(w[i])
	}
	return x.Same(y)
}

// summed reports whether a reduction may be merged with others: it is a sum or mean without a guard.
func summed(r *term.Reduction) bool {
	return (r.Kind == reduction.Sum || r.Kind == reduction.Mean) && r.Guard == nil
}

// sameLoops reports whether two reductions have the same constant ranges.
func sameLoops(r, q *term.Reduction) bool {
	if len(r.Vars) != len(q.Vars) {
		return false
	}
	for i := range r.Vars {
		a, known := r.Vars[i].Hi.Known()
		b, both := q.Vars[i].Hi.Known()
		if !known || !both || a != b || !r.Vars[i].Lo.Is(0) || !q.Vars[i].Lo.Is(0) {
			return false
		}
	}
	return true
}

// strips reports whether a statement's value can be computed in strips of T. An integer cannot, unless it is
// only copied, or the result is exact in T.
func (c *compiler[T]) strips(s *rewrite.Statement) bool {
	if s.Parts {
		return false
	}
	if r := s.Reduction(); r != nil {
		return s.Value.Kind != term.Integer || r.Kind == reduction.Count || argument(r) && r.Body.Kind == term.Real ||
			c.tensors[s.Target].Type.IsFloat() && c.exact(r)
	}
	return s.Value.Kind != term.Integer || c.tensors[s.Target].Type.IsFloat() || c.moves(s)
}

// exact reports whether a reduction of integers is exact in the compute type. The identities of integer
// extremes are not.
func (c *compiler[T]) exact(r *term.Reduction) bool {
	return rewrite.Fits(r, c.own) && !(r.Kind.Is(reduction.Extreme) && mayBeEmpty(r))
}

// mayBeEmpty reports whether a reduction may reduce no elements.
func mayBeEmpty(r *term.Reduction) bool {
	return r.Guard != nil || slices.ContainsFunc(r.Vars, func(v *term.Variable) bool {
		lo, known := v.Lo.Known()
		hi, both := v.Hi.Known()
		return !known || !both || hi <= lo
	})
}

// moves reports whether a statement only copies elements, without a conversion.
func (c *compiler[T]) moves(s *rewrite.Statement) bool {
	return c.copies(s) && !c.tensors[s.Target].Add
}

// copies reports whether a statement copies elements, or adds them to the elements of its tensor.
func (c *compiler[T]) copies(s *rewrite.Statement) bool {
	n := s.Value
	if n.Op != term.Element || n.Read.Which != nil || s.Guard != nil || s.Add || s.Left.Which != nil ||
		c.tensors[n.Read.Tensor].Type != c.tensors[s.Target].Type {
		return false
	}
	a, b := rewrite.AccessOf(n.Read), rewrite.AccessOf(s.Left)
	return len(a.Open) == 0 && len(b.Open) == 0 && len(a.Offset.Rest) == 0 && len(b.Offset.Rest) == 0
}
