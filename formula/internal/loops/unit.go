package loops

import (
	"maps"
	"math"
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// group compiles a group of bundles, each to a unit.
func (c *compiler[T]) group(g *bundleGroup) *loopGroup[T] {
	byElement := c.byElement(g)
	factors := collapse(g)
	if len(g.bundles) == 1 { // shares may split what was coalesced
		factors[0] = 1
	}
	if c.shortens(g) {
		g.depth--
	}
	out := &loopGroup[T]{total: 1, block: math.MaxInt32, byElement: byElement}
	for d := range g.depth {
		s := shared{extent: rewrite.Extent(g.bundles[0].vars[d])}
		if d == g.depth-1 {
			s.extent /= max(factors[0], 1)
		}
		for _, b := range g.bundles {
			if d < g.depth-1 {
				s.places = append(s.places, c.place(b.vars[d]))
			}
		}
		out.shared = append(out.shared, s)
		out.total *= s.extent
	}
	own, least := 1, 1
	var p parting[T]
	c.streams(g, out)
	brief := c.transients(g, factors)
	for i, b := range g.bundles {
		k := &unitCompiler[T]{compiler: c, bundle: b, depth: g.depth, factor: factors[i]}
		if c.ahead = nil; i > 0 && i == len(g.bundles)-1 && out.used >= leastUsed {
			c.ahead = k.lead()
		}
		out.units = append(out.units, k.compile())
		out.kinds = append(out.kinds, k.kind(out.units[i]))
		if c.options.Listed {
			out.listed = append(out.listed, k.list(out.units[i]))
		}
		n := k.elements()
		out.work += n * out.total
		p.add(out, out.units[i], n*out.total)
		switch u := out.units[i].(type) {
		case *matrices[T]:
			if u.rows.lead {
				least = max(least, (blocks.rows+u.rows.factor-1)/u.rows.factor)
			}
			continue
		case *columns[T]:
			if u.strip.lead { // strips of few columns are short, and take part of each line of memory only
				least = max(least, (blocks.columns+u.strip.factor-1)/u.strip.factor)
			}
		}
		own = max(own, n)
	}
	if len(g.bundles) > 1 && g.depth > 0 {
		out.block = max(blocks.elements/own, least)
		c.keep(out, brief)
	}
	out.parts = p.most()
	out.noteUnit()
	return out
}

// streams estimates the bytes that a group writes and accesses. It selects tensors for non-temporal stores:
// those that nothing else in the task accesses.
func (c *compiler[T]) streams(g *bundleGroup, out *loopGroup[T]) {
	if c.past = map[int]bool{}; c.options.over != nil { // the next value of the index reads what one gave
		return
	}
	read := map[int]int{} // bytes, by memory
	for _, b := range g.bundles {
		all := rewrite.Box(b.vars)
		if b.folds != nil {
			for _, v := range b.folds[0].Vars {
				all *= max(rewrite.Extent(v), 1)
			}
		}
		for _, s := range b.statements {
			if t := c.tensors[s.Target]; !t.Local && t.Type == c.own && !t.Add && !s.Add {
				c.past[s.Target] = true
				out.written += rewrite.Box(b.vars) * t.Type.Size()
			}
			for _, x := range c.touches(s) {
				if t := c.tensors[x.memory]; !x.writes {
					read[x.memory] = max(read[x.memory], min(rewrite.Elements(c.p.Tensors[x.memory]), all)*t.Type.Size())
				}
			}
		}
	}
	out.used = out.written
	for t, n := range read {
		if !c.tensors[t].Local {
			out.used += n
		}
	}
	if out.past = out.written >= leastWritten && out.used >= leastUsed; !out.past {
		clear(c.past)
	}
	for t := range c.past {
		_, again := read[c.tensors[t].Memory]
		for b := range c.users[t] {
			again = again || !slices.Contains(g.bundles, b)
		}
		if again {
			delete(c.past, t)
		}
	}
}

// unitCompiler compiles one bundle of a group.
type unitCompiler[T simd.Float] struct {
	*compiler[T]
	bundle *bundle
	depth  int
	factor int        // iterations that were coalesced into one iteration of the last shared loop
	number *term.Term // the number of an element, which is the result of an argmax or argmin
	limits map[*term.Variable]limits
}

// lead returns the index of the last shared loop. It returns nil if no loop is shared.
func (k *unitCompiler[T]) lead() *term.Variable {
	if k.depth == 0 {
		return nil
	}
	return k.bundle.vars[k.depth-1]
}

// free returns the indices of the last shared loop and of the unit's own loops.
func (k *unitCompiler[T]) free() []*term.Variable { return k.bundle.vars[max(k.depth-1, 0):] }

// elements estimates how many elements one iteration of the last shared loop computes.
func (k *unitCompiler[T]) elements() int {
	n := k.factor * rewrite.Box(k.bundle.vars[k.depth:])
	if k.depth == 0 {
		n = rewrite.Box(k.bundle.vars)
	}
	if r := k.bundle.folds; r != nil {
		for _, v := range r[0].Vars {
			if e, ok := v.Hi.Known(); ok {
				n *= max(e, 1)
			}
		}
	}
	return max(n, 1)
}

// loop returns the loop over an index.
func (k *unitCompiler[T]) loop(v *term.Variable) loop[T] {
	if v == k.lead() {
		return loop[T]{place: k.place(v), lead: true, factor: k.factor}
	}
	lo, hi := v.Lo, v.Hi
	if own, ok := k.limits[v]; ok {
		lo, hi = own.lo, own.hi
	}
	return loop[T]{place: k.place(v), lo: k.integer(lo), hi: k.integer(hi)}
}

// loops returns the loops over vars, without that over v.
func (k *unitCompiler[T]) loops(vars []*term.Variable, v *term.Variable) nest[T] {
	var out nest[T]
	for _, w := range vars {
		if w != v {
			out.loops = append(out.loops, k.loop(w))
		}
	}
	return out
}

// whole reports whether a unit itself loops over all values of an index. If its group shares the loop, the
// unit runs for a block of values only. This happens if a reduction becomes a scan after groups were formed,
// when it loses an index that its value does not use.
func (k *unitCompiler[T]) whole(v *term.Variable) bool {
	return slices.Contains(k.bundle.vars[k.depth:], v)
}

func (k *unitCompiler[T]) compile() unit[T] {
	k.limit()
	first := k.bundle.statements[0]
	if k.bundle.folds != nil {
		s := *first
		s.Value = &term.Term{Op: term.Reduce, Kind: first.Value.Kind, Reduction: k.bundle.folds[0]}
		first = &s
		if p := k.product(first); p != nil && len(k.bundle.statements) == 1 {
			return k.productUnit(first, p)
		}
		if r := first.Order(); r != nil {
			return k.orderUnit(first, r)
		}
		if t := first.Scan(); t != nil && k.whole(t.Present) {
			k.lenient = first.Lenient
			defer func() { k.lenient = false }()
			return k.scanUnit(first, t)
		}
		if c := first.Chain(); c != nil && k.whole(c.Present) {
			k.lenient = first.Lenient
			defer func() { k.lenient = false }()
			return k.chainUnit(first, c)
		}
	}
	if !k.strips(first) {
		if u := k.wholes(first); u != nil {
			return u
		}
		return k.plain(first)
	}
	if k.limits != nil {
		k.lenient = first.Lenient || first.Guard != nil || first.Skip
		defer func() { k.lenient = false }()
		return k.pointwise(k.bundle.vars[len(k.bundle.vars)-1])
	}
	if u := k.transposed(first); u != nil {
		return u
	}
	if u := k.movement(first); u != nil {
		return u
	}
	if k.bundle.folds != nil && len(k.bundle.statements) == 1 && k.elements() <= fewTested && slices.Contains([]reduction.Kind{reduction.All, reduction.Any, reduction.Count}, k.bundle.folds[0].Kind) {
		return k.plain(first)
	}
	k.lenient = first.Lenient || first.Guard != nil || first.Skip
	defer func() { k.lenient = false }()
	if k.bundle.folds != nil {
		return k.fold(first)
	}
	if u := k.shortRows(); u != nil {
		return u
	}
	if u := k.placedRows(); u != nil {
		return u
	}
	if u := k.shortLoops(first); u != nil {
		return u
	}
	if vars := k.bundle.vars; len(vars) > 0 {
		return k.pointwise(vars[len(vars)-1])
	}
	return k.plain(first)
}

// pointwise is statements without reductions, which run in strips.
type pointwise[T simd.Float] struct {
	outer  nest[T]
	inner  loop[T]
	length int // maximum iterations of inner in a strip
	code   strip[T]
	rows   *rowLoop[T] // runs code for several iterations of the next outer index in one call; nil if not applicable

	// elements is the number of elements of one iteration of inner: that of a row if a strip covers several,
	// and otherwise 1. The index in slot last is that of elements in a row.
	elements, last int
	repeated       []repeatedRow[T]  // values that are the same in all rows
	stretched      []stretchedRow[T] // values that are the same in each row
	found          []foundRow[T]     // rows at places that other tensors name
	to             *placedRows[T]    // the scatter-add of the rows; nil if the statement has another form
}

// pointwise compiles pointwise statements in strips of v. Temporaries that no other statements access stay in
// registers.
func (k *unitCompiler[T]) pointwise(v *term.Variable) unit[T] {
	kept := map[int]bool{}
	for _, s := range k.bundle.statements {
		t := k.tensors[s.Target]
		if t.Local && t.Type == k.own && t.Memory == s.Target && len(k.bundle.statements) > 1 && k.private(s.Target) {
			kept[s.Target] = true
		}
	}
	z := k.pointwiseStrip(v, kept)
	for t := range kept {
		if z.loaded[t] {
			z, kept = k.pointwiseStrip(v, nil), nil
			break
		}
	}
	maps.Copy(k.kept, kept)
	k.finish(&z.strip)
	u := &pointwise[T]{outer: k.loops(k.free(), v), inner: k.loop(v), code: z.strip, elements: 1, last: k.place(v), length: z.strip.length}
	over := k.free()
	if len(u.outer.loops) == 0 {
		over = k.bundle.vars // the group runs the other loops
	}
	if _, ragged := k.limits[v]; !ragged {
		u.rows = k.rowLoop(&u.code, over)
	}
	return u
}

// private reports whether only the bundle accesses a tensor.
func (k *unitCompiler[T]) private(t int) bool {
	for b := range k.users[t] {
		if b != k.bundle {
			return false
		}
	}
	return true
}

// pointwiseStrip compiles the statements. It leaves out stores to the tensors in kept.
func (k *unitCompiler[T]) pointwiseStrip(v *term.Variable, kept map[int]bool) *vectorizer[T] {
	z := newVectorizer(k.compiler, v)
	if n, known := v.Hi.Known(); known && v.Lo.Is(0) {
		z.strip.reach = n
	}
	for _, s := range k.bundle.statements {
		switch {
		case s.Value.Kind != term.Real && k.moves(s):
			z.move(s)
		case kept[s.Target]:
			x := operand[T]{reg: z.vector(z.real(s.Value))}
			z.known[z.c.key(&term.Term{Op: term.Element, Kind: term.Real, Read: s.Left})] = x
		default:
			z.store(s, z.real(s.Value))
		}
	}
	return z
}

// finish removes dead instructions, fuses others into machine code, and allocates buffers to registers.
func (c *compiler[T]) finish(p *strip[T]) {
	p.drop()
	p.dropKept()
	if c.options.Listed {
		p.listed = p.code
	}
	c.fuse(p)
	c.buffers = max(c.buffers, p.assign())
	p.limit()
	c.compiled = append(c.compiled, p)
}

func (u *pointwise[T]) run(s *state[T], lo, hi int) {
	if len(u.outer.loops) == 0 {
		u.row(s, lo, hi)
		return
	}
	if u.rows != nil { // the inner range is then independent of the outer loops
		if a, b := u.inner.limits(s, lo, hi); b-a <= u.code.length {
			s.vars[u.inner.place] = a
			u.outer.stretches(s, 0, lo, hi, mostRows(b-a), func(s *state[T], first, rows int) { u.rows.run(s, b-a, first, rows) })
			return
		}
	}
	u.outer.each(s, 0, lo, hi, func(s *state[T]) { u.row(s, lo, hi) })
}

// several runs rows rows of n elements, from row first on. loopGroup.noteUnit decides whether it is used.
func (u *pointwise[T]) several(s *state[T], n, first, rows int) {
	s.vars[u.inner.place] = 0
	for most := mostRows(n); rows > 0; rows -= most {
		u.rows.run(s, n, first, min(rows, most))
		first += most
	}
}

// row runs all strips of one row.
func (u *pointwise[T]) row(s *state[T], lo, hi int) {
	a, b := u.inner.limits(s, lo, hi)
	s.vars[u.last], s.vars[u.inner.place] = 0, a
	for i := range u.repeated {
		u.repeated[i].fill(s, u.elements, min(u.length, b-a))
	}
	for i := a; i < b; i += u.length {
		s.vars[u.inner.place] = i
		rows := min(u.length, b-i)
		n := rows * u.elements
		for j := range u.stretched {
			u.stretched[j].fill(s, u.elements, rows)
		}
		for j := range u.found {
			u.found[j].fill(s, u.elements, rows)
		}
		u.outer.ahead(s, &u.code, n, lo, hi)
		u.code.exec(s, n)
		if u.to != nil {
			u.to.add(s, u.elements, rows)
		}
	}
}

// plain is a statement that scalar code computes.
type plain[T simd.Float] struct {
	loops nest[T]
	give  func(*state[T])
}

func (k *unitCompiler[T]) plain(st *rewrite.Statement) unit[T] {
	k.lenient = st.Lenient || st.Skip
	defer func() { k.lenient = false }()
	give := k.giver(st)
	return &plain[T]{k.loops(k.free(), nil), give}
}

func (u *plain[T]) run(s *state[T], lo, hi int) { u.loops.each(s, 0, lo, hi, u.give) }

// giver returns scalar code that computes and stores one element.
func (c *compiler[T]) giver(st *rewrite.Statement) func(*state[T]) {
	bare := *st
	bare.Guard = nil
	holds := c.holds(st.Guard)
	if st.Value.Kind == term.Integer && !c.tensors[st.Target].Type.IsFloat() {
		x, write := c.integer(st.Value), c.integerWriter(&bare)
		return func(s *state[T]) {
			if holds(s) {
				write(s, x(s))
			}
		}
	}
	x, write := c.real(st.Value), c.writer(&bare)
	if st.Guard == nil {
		return func(s *state[T]) { write(s, x(s)) }
	}
	return func(s *state[T]) {
		if holds(s) {
			write(s, x(s))
		}
	}
}

// putNumber returns code that stores a real number as an element of the target of st, or accumulates it
// there.
func putNumber[T simd.Float](st *rewrite.Statement, t rewrite.Tensor) func(*block[T], int, float64) {
	if !st.Joined() {
		return storageOf[T](t.Type).putReal(t.Add || st.Add)
	}
	get, put, join := storageOf[T](t.Type).realAt(), storageOf[T](t.Type).putReal(false), st.Fold.Join()
	return func(b *block[T], i int, v float64) { put(b, i, join(get(b, i), v)) }
}

// putWhole returns code that stores an integer as an element of the target of st, or accumulates it there.
func putWhole[T simd.Float](st *rewrite.Statement, t rewrite.Tensor) func(*block[T], int, int) {
	if !st.Joined() {
		return storageOf[T](t.Type).putInteger(t.Add || st.Add)
	}
	get, put, join := storageOf[T](t.Type).integerAt(), storageOf[T](t.Type).putInteger(false), st.Fold.IntegerJoin()
	return func(b *block[T], i int, v int) { put(b, i, join(get(b, i), v)) }
}

// target returns code that computes the address at which a statement stores. inside is false if it is out of
// bounds and the statement skips such stores; otherwise it is an error.
func (c *compiler[T]) target(st *rewrite.Statement) func(*state[T]) (tensor, at int, inside bool) {
	left := *st.Left
	left.Tensor, left.Count, left.Else = st.Target, max(left.Count, 1), nil
	was := c.lenient
	c.lenient = st.Skip
	defer func() { c.lenient = was }()
	return c.reached(&left)
}

// writer returns code that stores a number as the current element of a statement's target, if the guard
// holds.
func (c *compiler[T]) writer(st *rewrite.Statement) func(*state[T], float64) {
	find, put := c.target(st), putNumber[T](st, c.tensors[st.Target])
	if a := rewrite.AccessOf(st.Left); st.Guard == nil && len(a.Open) == 0 && st.Left.Which == nil {
		at, t := c.value(a.Offset), st.Target
		return func(s *state[T], v float64) { put(&s.mem[t], at(s), v) }
	}
	holds := c.holds(st.Guard)
	return func(s *state[T], v float64) {
		if !holds(s) {
			return
		}
		if id, at, inside := find(s); inside {
			put(&s.mem[id], at, v)
		}
	}
}
