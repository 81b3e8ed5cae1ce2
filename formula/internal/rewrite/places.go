package rewrite

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Places that elements of tensors or rounded real numbers decide, such as those of samples of images, often
// depend on fewer indices than the values there: all channels have them in common. Such places are computed
// once, into temporaries, and so is what else depends on these indices only, such as the weights of samples
// and conditions.

// places hoists places out of the loops over indices that they do not use.
func (z *normalizer) places() {
	if len(z.outer) > 0 { // a temporary would be part of the recurrence
		return
	}
	statements := z.out
	z.out = nil
	var shared []*Statement
	for _, s := range statements {
		p := &placer{normalizer: z, shared: shared}
		s = p.hoisted(s)
		z.out, shared = append(z.out, s), p.shared
	}
}

// placer hoists places out of one statement.
type placer struct {
	*normalizer
	vars    []*term.Variable // the indices of the temporaries, in their order
	shared  []*Statement     // the definitions of temporaries, also of statements before
	changed bool
}

// hoisted returns the statement that loads temporaries in place of what they hold.
func (p *placer) hoisted(s *Statement) *Statement {
	vars, last, ok := loopsOf(s)
	if !ok {
		return s
	}
	var places []*term.Term
	note := func(r *term.Read) {
		if placeable(r) {
			places = append(places, slices.DeleteFunc(slices.Clone(r.Idx), func(x *term.Term) bool { return !looked(x) })...)
		}
	}
	Reads(s.Value, note)
	note(s.Left)
	var rest []*term.Variable // out of whose loops places are hoisted
	for _, v := range vars {
		if slices.ContainsFunc(places, func(x *term.Term) bool { return x.Uses(v) }) {
			p.vars = append(p.vars, v)
		} else {
			rest = append(rest, v)
		}
	}
	if Box(rest) < leastShared || Box(vars)-Box(p.vars) < leastPlaces || !slices.Contains(p.vars, last) || s.Guard != nil && slices.ContainsFunc(s.Left.Idx, DividesByZero) {
		return s
	}
	out := *s
	lenient := s.Lenient || s.Guard != nil || s.Skip
	out.Value = p.value(s.Value, lenient)
	if p.target(&out); !p.changed {
		return s
	}
	return &out
}

// loopsOf returns the indices of a statement and of its reduction. The reduced ones stand before the last
// ones of the results, since most strips run over those. last is the index over which strips run. ok is false
// if nothing is hoisted out of such a statement.
func loopsOf(s *Statement) (vars []*term.Variable, last *term.Variable, ok bool) {
	vars = s.Vars
	if r := s.Reduction(); r != nil {
		if r.IsOrder() || r.Relative() || r.Number != nil || s.Present() != nil || s.Parts {
			return nil, nil, false
		}
		first := min(1, len(vars))
		vars = slices.Concat(vars[:first], r.Vars, vars[first:])
	}
	for _, v := range vars {
		if _, known := v.Hi.Known(); !known || !v.Lo.Is(0) || Extent(v) < 1 {
			return nil, nil, false
		}
	}
	if len(vars) == 0 || len(s.Ragged) > 0 || s.Left.Which != nil {
		return nil, nil, false
	}
	return vars, vars[len(vars)-1], true
}

// looked reports whether an integer depends on indices, and on elements of tensors or on real numbers, which
// it rounds.
func looked(n *term.Term) bool {
	if len(n.Free()) == 0 {
		return false
	}
	found := false
	n.Walk(func(m *term.Term) { found = found || m.Op == term.Element || m.Kind == term.Real })
	return found
}

// placeable reports whether places of an access may be hoisted: what stands for elements out of bounds is the
// same for all of them.
func placeable(r *term.Read) bool {
	return r.Count <= 1 && r.Which == nil && (r.Else == nil || len(r.Else.Free()) == 0 && !r.Else.Reads()) && !slices.ContainsFunc(r.Idx, DividesByZero)
}

// value returns a value with loads of temporaries.
func (p *placer) value(n *term.Term, lenient bool) *term.Term {
	if n == nil {
		return nil
	}
	if n.Kind != term.Integer && p.pays(n) {
		return p.held(n, lenient)
	}
	switch n.Op {
	case term.Element:
		if !placeable(n.Read) || n.Kind == term.Integer || n.Read.Else == nil && !lenient && !p.inside(n.Read) { // elsewhere is an error, which names its subscripts
			return n
		}
		r := p.access(n.Read, nil, lenient)
		if r == n.Read {
			return n
		}
		if r.Else == nil {
			r.Else = &term.Term{Op: term.Constant, Kind: n.Kind} // never used
		}
		return &term.Term{Op: term.Element, Kind: n.Kind, Read: r}
	case term.Choose, term.And, term.Or:
		args := []*term.Term{p.value(n.Args[0], lenient)}
		for _, x := range n.Args[1:] {
			args = append(args, p.value(x, true))
		}
		switch n.Op {
		case term.Choose:
			return term.Chosen(args[0], args[1], args[2])
		case term.And:
			return term.Both(args[0], args[1])
		}
		return term.Either(args[0], args[1])
	case term.Reduce:
		r := *n.Reduction
		if p.guarded(&r) {
			return &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &r}
		}
		r.Body, r.Guard = p.value(r.Body, lenient || r.Guard != nil), p.value(r.Guard, lenient)
		return &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &r}
	}
	if n.Kind == term.Integer {
		return n
	}
	return n.Map(func(x *term.Term) *term.Term { return p.value(x, lenient) })
}

// guarded rewrites a sum of products of a place's element and what does not depend on other indices. Its
// guard becomes part of both, so that the sum has none. It returns false for other reductions.
func (p *placer) guarded(r *term.Reduction) bool {
	if r.Kind != reduction.Sum || r.Guard == nil || !p.hoistable(r.Guard) || r.Body.Op != term.Multiply || r.Body.Kind != term.Real {
		return false
	}
	weight, element := r.Body.Args[0], r.Body.Args[1]
	if weight.Op == term.Element && !p.hoistable(weight) {
		weight, element = element, weight
	}
	if !p.hoistable(weight) || element.Op != term.Element || element.Kind != term.Real || !placeable(element.Read) || element.Read.Else == nil || !element.Read.Else.IsZero() {
		return false
	}
	x := p.access(element.Read, r.Guard, true)
	if x == element.Read {
		return false
	}
	w := p.held(term.Chosen(r.Guard, weight, term.RealNumber(0)), true)
	r.Body, r.Guard = term.Arithmetic(term.Multiply, w, &term.Term{Op: term.Element, Kind: term.Real, Read: x}), nil
	return true
}

// target hoists the places at which a statement accumulates, with the conditions of its guard.
func (p *placer) target(s *Statement) {
	if !s.Add || !placeable(s.Left) || !s.Skip && !p.inside(s.Left) {
		return
	}
	var own, rest []*term.Term
	for _, c := range term.Conjuncts(s.Guard) {
		if p.hoistable(c) {
			own = append(own, c)
		} else {
			rest = append(rest, p.value(c, true))
		}
	}
	r := p.access(s.Left, term.All(own...), true)
	if r == s.Left {
		s.Guard = term.All(slices.Concat(own, rest)...)
		return
	}
	s.Left, s.Guard = r, term.All(rest...)
	if len(own) > 0 { // which the place stands for now
		s.Skip, s.Lenient = true, true
	}
}

// access returns an access with the number of an element in place of adjacent subscripts that elements of
// tensors decide, where several steps compute it. The number is -1 out of bounds and where a condition does
// not hold. It returns r if there are no such subscripts.
func (p *placer) access(r *term.Read, where *term.Term, lenient bool) *term.Read {
	a := AccessOf(r)
	first, end := 0, 0 // of the subscripts that use most indices
	for i := 0; i < len(r.Idx); i++ {
		j := i
		for j < len(r.Idx) && looked(r.Idx[j]) && p.hoistable(r.Idx[j]) {
			j++
		}
		if p.uses(r.Idx[i:j]) > p.uses(r.Idx[first:end]) {
			first, end = i, j
		}
		i = max(i, j)
	}
	if first == end || end == first+1 && where == nil && simple(a.Idx[first]) {
		return r
	}
	at, size, inside := term.Number(0), 1, where
	for d := first; d < end; d++ {
		if size > math.MaxInt32/max(a.Ext[d], 1) {
			return r
		}
		size *= a.Ext[d]
		at = term.Sum(term.Product(at, term.Number(a.Ext[d])), r.Idx[d])
		if !p.within(r.Idx[d], a.Ext[d]) {
			inside = term.All(inside, term.Compare(term.AtMost, term.Number(0), r.Idx[d]), term.Compare(term.Less, r.Idx[d], term.Number(a.Ext[d])))
		}
	}
	if inside != nil {
		at = term.Chosen(inside, at, term.Number(-1))
	}
	out := *r
	out.ByNumber, out.Ext = true, nil
	out.Idx = slices.Concat(r.Idx[:first], []*term.Term{p.held(at, lenient)}, r.Idx[end:])
	for _, n := range slices.Concat(a.Ext[:first], []int{size}, a.Ext[end:]) {
		out.Ext = append(out.Ext, term.Number(n))
	}
	return &out
}

// inside reports whether an access is in bounds.
func (p *placer) inside(r *term.Read) bool {
	for d, n := range AccessOf(r).Ext {
		if !p.within(r.Idx[d], n) {
			return false
		}
	}
	return true
}

// within reports whether a subscript is in bounds of a dimension.
func (p *placer) within(x *term.Term, extent int) bool {
	b := Linear(p.ranged(x)).Bounds()
	return b.Known && b.Lo >= 0 && b.Hi < extent
}

// uses returns how many of the indices of temporaries some integers use.
func (p *placer) uses(of []*term.Term) int {
	n := 0
	for _, v := range p.vars {
		if slices.ContainsFunc(of, func(x *term.Term) bool { return x.Uses(v) }) {
			n++
		}
	}
	return n
}

// simple reports whether a subscript is an element of a tensor plus what is the same for all of them, which
// loops look up themselves.
func simple(f Form) bool {
	return len(f.Vars) == 0 && len(f.Rest) == 1 && f.Rest[0].Factor == 1 && f.Rest[0].Of.Op == term.Element
}

// pays reports whether a temporary for a value saves steps.
func (p *placer) pays(n *term.Term) bool {
	if !p.hoistable(n) || len(n.Free()) == 0 {
		return false
	}
	steps := 0
	if n.Kind == term.Boolean { // which is converted where it is used
		steps--
	}
	n.WalkInto(func(m *term.Term) bool {
		if len(m.Args) > 0 || m.Op == term.Element && (m.Kind != term.Real || p.tensors[m.Read.Tensor].Type != p.own) { // or a conversion
			steps++
		}
		return m.Op != term.Element
	})
	return steps >= leastSteps
}

// hoistable reports whether a value is the same for all values of the indices out of whose loops places are
// hoisted, and may be computed before them.
func (p *placer) hoistable(n *term.Term) bool {
	if slices.ContainsFunc(n.Free(), func(v *term.Variable) bool { return !slices.Contains(p.vars, v) }) || n.Reduces() || DividesByZero(n) || n.Kind == term.Real && OfIntegers(n, p.exacts) {
		return false
	}
	ok := true
	n.Walk(func(m *term.Term) { ok = ok && !m.Func.Has(term.Random) && m.Op != term.Step })
	return ok
}

// held returns the load of a temporary that holds a value.
func (p *placer) held(n *term.Term, lenient bool) *term.Term {
	p.changed = true
	for _, s := range p.shared {
		if x := elementBy(s, n); x != nil && (lenient || !s.Lenient) && p.ready(s.Value) <= slices.Index(p.out, s) && p.inOrder(x) {
			return x
		}
	}
	x := p.temporary(n, slices.DeleteFunc(slices.Clone(p.vars), func(v *term.Variable) bool { return !n.Uses(v) }), lenient)
	last := len(p.out) - 1
	s := p.out[last]
	p.out = slices.Insert(p.out[:last], p.ready(s.Value), s) // other statements stay together
	if n.Kind == term.Real {
		p.tensors[s.Target].Type = p.own
	}
	p.shared = append(p.shared, s)
	return x
}

// inOrder reports whether the elements of a temporary lie in the order of the loops.
func (p *placer) inOrder(x *term.Term) bool {
	at, last := AccessOf(x.Read).Offset, math.MaxInt
	for _, v := range p.vars {
		f := at.Factor(v)
		if f > last {
			return false
		}
		if f > 0 {
			last = f
		}
	}
	return true
}

// ready returns the number of the first statement before which all that write what a value reads have run.
func (p *placer) ready(n *term.Term) int {
	read := map[int]bool{}
	Reads(n, func(r *term.Read) {
		for i := range max(r.Count, 1) {
			read[p.tensors[r.Tensor+i].Memory] = true
		}
	})
	for i, s := range slices.Backward(p.out) {
		if read[p.tensors[s.Target].Memory] {
			return i + 1
		}
	}
	return 0
}
