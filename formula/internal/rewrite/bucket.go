package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// A segment reduction is a statement whose guard equates an index of the result with a value: total[e] =
// sum(b if expert[b] == e: x[b]). It becomes two statements: one initializes the result with the identity,
// and one scatters each element into its segment.

// histogram returns the scatter statement of a segment reduction. It returns nil for other statements.
func histogram(s *Statement) *Statement {
	r := s.Reduction()
	if r == nil || s.Add || s.Guard != nil || s.Left.Which != nil {
		return nil
	}
	if !r.Kind.Is(reduction.Fold) {
		return nil
	}
	r = conditional(r)
	left, to := *s.Left, map[*term.Variable]*term.Term{}
	left.Idx = slices.Clone(s.Left.Idx)
	var given []*term.Variable
	var values, rest []*term.Term
	for _, g := range term.Conjuncts(r.Guard) {
		v, x, d := assigned(g, s)
		if v == nil || to[v] != nil || x.UsesAny(given) || slices.ContainsFunc(values, func(x *term.Term) bool { return x.Uses(v) }) {
			rest = append(rest, g)
			continue
		}
		given, values, to[v], left.Idx[d] = append(given, v), append(values, x), x, x
	}
	for _, v := range r.Vars {
		if _, known := v.Hi.Known(); !known || !v.Lo.Is(0) {
			return nil
		}
	}
	if len(given) == 0 {
		return spread(s)
	}
	out := &Statement{Target: s.Target, Left: &left, Value: &term.Term{Op: term.Constant, Kind: s.Value.Kind, Int: 1, Float: 1},
		Add: true, Fold: r.Kind, Skip: true, Lenient: s.Lenient}
	if r.Body != nil {
		out.Value = assign(r.Body, to)
	}
	if len(rest) > 0 {
		out.Guard = assign(term.All(rest...), to)
	}
	var last []*term.Variable // the index with stride 1, which becomes the innermost one
	for _, v := range s.Vars {
		switch {
		case slices.Contains(given, v):
		case AccessOf(s.Left).Offset.Factor(v) == 1:
			last = append(last, v)
		default:
			out.Vars = append(out.Vars, v)
		}
	}
	out.Vars = slices.Concat(out.Vars, r.Vars, last)
	return out
}

// conditional moves the condition of a choice between a value and what changes no result into the condition
// of a reduction: sum(b: expert[b] == e ? x[b] : 0) is sum(b if expert[b] == e: x[b]).
func conditional(r *term.Reduction) *term.Reduction {
	for r.Body != nil && r.Body.Op == term.Choose && identity(r.Body.Args[2], r.Kind) {
		to := *r
		to.Guard, to.Body = term.All(r.Guard, r.Body.Args[0]), r.Body.Args[1]
		r = &to
	}
	return r
}

// identity reports whether a value is the identity of a reduction.
func identity(n *term.Term, kind reduction.Kind) bool {
	if n.Kind == term.Integer {
		v, known := n.Known()
		return known && v == kind.IntegerIdentity()
	}
	v, known := n.Settled()
	return known && v == kind.Identity() && n.Kind == term.Real
}

// spread returns the statement of a ragged scatter: it adds each element to all results in a range that
// tensors bound, as in total[e] = sum(r if first[r] <= e && e < first[r + 1]: x[r]). The statement loops over
// the elements and their ranges, not over all elements for each result. spread returns nil for other
// statements.
func spread(s *Statement) *Statement {
	r := conditional(s.Reduction())
	conditions := term.Conjuncts(r.Guard)
	if r.Kind != reduction.Sum || len(conditions) < 2 {
		return nil
	}
	for i, v := range s.Vars {
		low, high := false, false
		for _, g := range conditions[:2] {
			lo, hi, _ := term.Relation(g, v)
			low, high = low || lo != nil && lo.Reads(), high || hi != nil && hi.Reads()
		}
		if !low || !high {
			continue
		}
		vars := slices.Concat(s.Vars[:i], s.Vars[i+1:], r.Vars, s.Vars[i:i+1])
		return &Statement{Target: s.Target, Left: s.Left, Vars: vars, Value: r.Body, Add: true, Fold: r.Kind, Skip: true,
			Guard: r.Guard, Lenient: s.Lenient, Ragged: s.Vars[i : i+1]}
	}
	return nil
}

// assign substitutes gathered integers for indices in n. The scatter skips elements whose integer is out of
// bounds. Nested reductions are computed for these elements too, so there the integer is clamped.
func assign(n *term.Term, to map[*term.Variable]*term.Term) *term.Term {
	if n == nil {
		return nil
	}
	if n.Op == term.Index && to[n.Var] != nil {
		return to[n.Var]
	}
	if n.Op != term.Reduce {
		return n.Map(func(x *term.Term) *term.Term { return assign(x, to) })
	}
	near := map[*term.Variable]*term.Term{}
	for v, x := range to {
		near[v] = term.Greatest(term.Number(0), term.Least(x, term.Number(max(Extent(v)-1, 0))))
	}
	return n.Substitute(near)
}

// assigned matches a condition v == x with a gathered value x, and returns the index, the value and the
// dimension of the index on the left side.
func assigned(g *term.Term, s *Statement) (v *term.Variable, x *term.Term, dim int) {
	if g.Op != term.Equal {
		return nil, nil, 0
	}
	for i, a := range g.Args {
		x := g.Args[1-i]
		if a.Op != term.Index || !slices.Contains(s.Vars, a.Var) || x.Kind != term.Integer || x.Uses(a.Var) || !x.Reads() {
			continue
		}
		dim := slices.IndexFunc(s.Left.Idx, func(n *term.Term) bool { return n.Op == term.Index && n.Var == a.Var })
		if dim < 0 || slices.ContainsFunc(s.Left.Idx[dim+1:], func(n *term.Term) bool { return n.Uses(a.Var) }) {
			continue
		}
		if n, known := s.Left.Ext[dim].Known(); known && n == Extent(a.Var) {
			return a.Var, x, dim
		}
	}
	return nil, nil, 0
}

// scattered reports whether a statement is a segment reduction for which there are no loops.
func scattered(s *Statement) bool {
	r := s.Reduction()
	if r == nil || s.Add || s.Guard != nil {
		return false
	}
	return r.Kind.Is(reduction.Fold) && slices.ContainsFunc(term.Conjuncts(r.Guard), func(g *term.Term) bool {
		for i := range g.Args {
			a, x := g.Args[i], g.Args[len(g.Args)-1-i]
			if g.Op == term.Equal && a.Op == term.Index && slices.Contains(s.Vars, a.Var) && x.Kind == term.Integer && x.Reads() && !x.Uses(a.Var) {
				return true
			}
		}
		return false
	})
}

// segment is a segment reduction that became several statements. The last one is that before z.out[end].
type segment struct {
	of  *Statement
	end int
}

// histogram adds the statements of segment reduction n. It returns false if n is another statement.
func (z *normalizer) histogram(n *Statement) bool {
	into := histogram(n)
	if into == nil {
		return false
	}
	t := &z.tensors[n.Target]
	if t.Type == dtype.Invalid && !t.Add {
		defer func() { z.segments = append(z.segments, segment{n, len(z.out)}) }()
	}
	full := Box(into.Vars) > crowded*max(Elements(z.p.Tensors[n.Target]), 1)
	wide := full && n.Value.Kind == term.Real && t.Type != dtype.F64 && (into.Fold == reduction.Sum || into.Fold == reduction.Prod)
	if wide && t.Local && t.Type == dtype.Invalid {
		t.Type, wide = dtype.F64, false
	}
	// Real numbers do not represent all partial results of integers.
	wide = wide || n.Value.Kind == term.Integer && z.p.Tensors[n.Target].Kind == term.Real && !Fits(n.Reduction(), z.own)
	if adds := into.Fold == reduction.Sum || into.Fold == reduction.Count; wide || t.Add && !adds || z.readsTarget(into) {
		typ := t.Type // without wide, bits do not depend on what shares memory
		if wide {
			typ = dtype.F64
		}
		z.aside(n, into, typ)
		return true
	}
	if !t.Add {
		first := *n
		first.Value = foldedOf(into.Fold, n.Value.Kind)
		z.finish(&first)
	}
	z.finish(into)
	return true
}

// segmented rewrites a segment reduction whose elements no one operation joins by those that have one: a mean
// is a sum divided by a count, and the logarithm of a pair that of a sum of exponentials.
func (z *normalizer) segmented(n *Statement) {
	r := n.Reduction()
	if r == nil || r.Kind != reduction.Mean && !r.Relative() {
		return
	}
	part := func(of term.Kind, kind reduction.Kind, body *term.Term) *Statement {
		to := *r
		to.Kind, to.At, to.Body = kind, nil, body
		s := *n
		s.Value = (&term.Term{Op: term.Reduce, Kind: of, Reduction: &to}).Map(func(x *term.Term) *term.Term { return x }) // its own indices
		return &s
	}
	if histogram(part(term.Real, reduction.Sum, r.Body)) == nil {
		return
	}
	local := func(s *Statement) *term.Term {
		if x := z.known(s.Value, s.Lenient); x != nil {
			return x
		}
		read := z.results(s.Value.Kind, n.Vars)
		s.Target, s.Left = read.Tensor, read
		z.histogram(s)
		return &term.Term{Op: term.Element, Kind: s.Value.Kind, Read: read}
	}
	if r.Kind == reduction.Mean {
		n.Value = term.Ratio(local(part(term.Real, reduction.Sum, r.Body)), local(part(term.Integer, reduction.Sum, term.Number(1))))
		return
	}
	total := local(part(term.Real, reduction.Sum, term.Applied("exp", term.Arithmetic(term.Subtract, r.Body, r.At[0]))))
	// The logarithm is 0 if the maximum is not finite.
	n.Value = term.Chosen(term.Compare(term.Less, term.RealNumber(0), total), term.Applied("log", total), term.RealNumber(0))
}

// readsTarget reports whether a statement reads the memory into which it scatters.
func (z *normalizer) readsTarget(s *Statement) bool {
	found := false
	s.Walk(func(n *term.Term) {
		for i := 0; n.Op == term.Element && i < n.Read.Count; i++ {
			found = found || z.tensors[n.Read.Tensor+i].Memory == z.tensors[s.Target].Memory
		}
	})
	return found
}

// foldedOf returns the identity of a reduction of elements of a kind.
func foldedOf(kind reduction.Kind, of term.Kind) *term.Term {
	if of == term.Integer {
		return term.Number(kind.IntegerIdentity())
	}
	return term.RealNumber(kind.Identity())
}

// results adds a temporary with an element for each value of the indices of a statement, and returns the load
// of that element.
func (z *normalizer) results(kind term.Kind, vars []*term.Variable) *term.Read {
	l := &program.Local{Name: "t", Kind: kind, Slot: -1, Old: -1}
	read := &term.Read{Count: 1, Text: "t"}
	for _, v := range vars {
		l.Shape, read.Idx = append(l.Shape, v.Hi), append(read.Idx, v.Term())
	}
	read.Tensor, read.Ext = z.p.Add(l), l.Shape
	z.tensors = append(z.tensors, Tensor{Local: true, Memory: read.Tensor})
	return read
}

// aside adds the statements of segment reduction n, with scatter statement into, by way of a temporary, which
// is copied to the result. Real elements of the temporary have the type typ.
func (z *normalizer) aside(n, into *Statement, typ dtype.Type) {
	read := z.results(n.Value.Kind, n.Vars)
	left := *read
	left.Idx = nil
	for _, v := range n.Vars {
		at := v.Term()
		for d, x := range n.Left.Idx { // the scattered subscript of the index
			if x.Op == term.Index && x.Var == v {
				at = into.Left.Idx[d]
			}
		}
		left.Idx = append(left.Idx, at)
	}
	id := read.Tensor
	if n.Value.Kind == term.Real {
		z.tensors[id].Type = typ
	}
	z.finish(&Statement{Target: id, Left: read, Vars: n.Vars, Value: foldedOf(into.Fold, n.Value.Kind)})
	aside := *into
	aside.Target, aside.Left = id, &left
	z.finish(&aside)
	given := *n
	given.Value = &term.Term{Op: term.Element, Kind: n.Value.Kind, Read: read}
	z.finish(&given)
}

// join fuses the segment reduction of statement i into the later statement that adds it to another value, as
// in y[n] = x[n] + total[n]: the elements are scattered into y, which begins as x. It returns false if that
// is illegal.
func (z *normalizer) join(statements []*program.Statement, i int) bool {
	s := statements[i]
	t := z.tensors[s.Target]
	if !t.Local || t.Memory != s.Target || s.Add || s.Guard != nil || s.Value.Op != term.Reduce || s.Value.Kind != term.Real {
		return false
	}
	reader := slices.IndexFunc(statements, func(o *program.Statement) bool { return uses(o, s.Target) > 0 })
	n := 0
	for _, o := range z.p.Statements { // of the whole program, so that bits do not depend on the task
		n += uses(o, s.Target)
	}
	if n != 1 || reader < i || statements[reader].Add || statements[reader].Guard != nil || z.joined[statements[reader]] != nil {
		return false // the statement is already fused with another one
	}
	for k, o := range statements { // which would come before what it adds to
		if k != i && z.tensors[o.Target].Memory == t.Memory {
			return false
		}
	}
	early := false // whether the elements are overwritten in between
	s.Value.Walk(func(m *term.Term) {
		for k := 0; m.Op == term.Element && k < m.Read.Count; k++ {
			for _, o := range statements[i : reader+1] {
				early = early || z.tensors[o.Target].Memory == z.tensors[m.Read.Tensor+k].Memory
			}
		}
	})
	if _, _, ok := joinedWith(statements[reader].Value, s.Target, s.Value.Reduction.Kind); early || !ok {
		return false
	}
	z.joined[statements[reader]] = s
	return true
}

// uses returns the number of loads from a tensor in a statement.
func uses(s *program.Statement, t int) int {
	count := 0
	s.Reads(func(r *term.Read) {
		if r.Tensor <= t && t < r.Tensor+r.Count {
			count++
		}
	})
	return count
}

// joinedWith matches a value that combines an element of a tensor with another real value, by the operation
// of a reduction. It returns the other value and the load of the element.
func joinedWith(n *term.Term, tensor int, kind reduction.Kind) (other *term.Term, read *term.Read, ok bool) {
	if op, f := term.JoinOf(kind); n.Op != op || n.Func != f {
		return nil, nil, false
	}
	for i, x := range n.Args {
		if x.Op == term.Element && x.Read.Tensor == tensor && x.Read.Count == 1 && x.Read.Else == nil && n.Args[1-i].Kind == term.Real {
			return n.Args[1-i], x.Read, true
		}
	}
	return nil, nil, false
}

// folded adds the statements of n, into whose result it scatters segment reduction h. It returns false if the
// subscripts of n and h do not correspond.
func (z *normalizer) folded(n, h *Statement) bool {
	into := histogram(h)
	if into == nil || z.tensors[n.Target].Add && into.Fold != reduction.Sum {
		return false
	}
	if t := z.tensors[n.Target].Type; t != dtype.F64 && Box(into.Vars) > crowded*Elements(z.p.Tensors[h.Target]) {
		return false
	}
	other, read, ok := joinedWith(n.Value, h.Target, into.Fold)
	if !ok {
		return false
	}
	if len(n.Left.Idx) != len(read.Idx) {
		return false
	}
	left := *n.Left
	left.Idx = nil
	for d, x := range n.Left.Idx {
		p := slices.IndexFunc(read.Idx, func(y *term.Term) bool { return term.Identical(x, y) })
		if p < 0 || x.Op != term.Index || !term.SameInteger(n.Left.Ext[d], read.Ext[p]) ||
			h.Left.Idx[p].Op != term.Index || Extent(h.Left.Idx[p].Var) != Extent(x.Var) {
			return false
		}
		left.Idx = append(left.Idx, into.Left.Idx[p])
	}
	into.Target, into.Left = n.Target, &left
	first := *n
	first.Value = other
	z.finish(&first)
	z.finish(into)
	return true
}
