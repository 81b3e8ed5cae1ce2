package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// extracted replaces the reductions in a value by loads of temporaries, which new statements define. around
// are the indices of the statement. lenient says that the value is speculative, as operands of conditional
// expressions are.
func (z *normalizer) extracted(n *term.Term, around []*term.Variable, lenient bool) *term.Term {
	switch n.Op {
	case term.Reduce:
		inner := n
		if z.whole || n.Reduction.Chain() == nil {
			inner = z.inside(n, around, lenient)
		}
		used := slices.DeleteFunc(slices.Clone(around), func(v *term.Variable) bool { return !inner.Uses(v) })
		free := slices.DeleteFunc(inner.Free(), func(v *term.Variable) bool { return slices.Contains(z.outer, v) })
		if len(free) != len(used) { // an index of a reduction around this one, of a range that is not known
			return n
		}
		vars := around // over nothing, no element may be read
		if Box(around) > 0 {
			vars = used
		}
		if !z.whole && passes(inner) != nil && z.large(vars) {
			return n
		}
		if x := z.varied(inner, vars, lenient); x != inner {
			return x
		}
		inner = z.withMean(inner)
		if x := z.wholeProduct(inner, vars, lenient); x != nil {
			return x
		}
		if x := z.known(inner, lenient); x != nil {
			return x
		}
		return z.temporary(inner, vars, lenient)
	case term.Choose:
		return term.Chosen(z.extracted(n.Args[0], around, lenient), z.extracted(n.Args[1], around, true), z.extracted(n.Args[2], around, true))
	case term.And:
		return term.Both(z.extracted(n.Args[0], around, lenient), z.extracted(n.Args[1], around, true))
	case term.Or:
		return term.Either(z.extracted(n.Args[0], around, lenient), z.extracted(n.Args[1], around, true))
	}
	return n.Map(func(x *term.Term) *term.Term { return z.extracted(x, around, lenient) })
}

// inside extracts the reductions in the operands of reduction n.
func (z *normalizer) inside(n *term.Term, around []*term.Variable, lenient bool) *term.Term {
	r := *n.Reduction
	vars := slices.Clone(around)
	for _, v := range r.Vars {
		if lo, known := v.Lo.Known(); !known || lo != 0 {
			return n
		}
		if _, known := v.Hi.Known(); !known {
			return n
		}
		vars = append(vars, v)
	}
	if r.Body != nil {
		r.Body = z.extracted(z.hoistedBody(n, around, lenient || r.Guard != nil), vars, lenient || r.Guard != nil)
	}
	if r.Guard != nil {
		r.Guard = z.extracted(r.Guard, vars, lenient)
	}
	if r.Relative() {
		r.At = []*term.Term{z.extracted(r.At[0], around, lenient)}
	}
	return z.factored(&term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &r}, around, lenient)
}

// withMean attaches the mean to a variance, for device code, if an earlier statement computes it.
func (z *normalizer) withMean(n *term.Term) *term.Term {
	if !z.whole || n.Op != term.Reduce || n.Reduction.Kind != reduction.Variance {
		return n
	}
	mean := *n.Reduction
	mean.Kind = reduction.Mean
	for _, s := range z.out {
		if s.Lenient {
			continue
		}
		if x := givenBy(s, &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &mean}); x != nil {
			r := *n.Reduction
			r.At = []*term.Term{x}
			return &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &r}
		}
	}
	return n
}

// givenBy returns the load of the element of s's target that is equal to a reduction. It returns nil if s
// computes no such element.
func givenBy(s *Statement, reduction *term.Term) *term.Term {
	if s.Add || s.Guard != nil || s.Reduction() == nil || s.Left.Which != nil {
		return nil
	}
	return elementBy(s, reduction)
}

// elementBy returns the load of the element of s's target whose value is the given one, for some values of
// s's indices. It returns nil if there is no such element.
func elementBy(s *Statement, value *term.Term) *term.Term {
	m := term.Match{Values: map[*term.Variable]*term.Term{}, Open: s.Vars}
	if !m.Same(s.Value, value) || !m.Settled() {
		return nil
	}
	for _, v := range s.Vars { // s may define a part of its tensor only
		if x := m.Values[v]; x != nil {
			if b := Linear(x).Bounds(); !b.Known || b.Lo < 0 || b.Hi >= Extent(v) {
				return nil
			}
		}
	}
	read := *s.Left
	read.Tensor, read.Count, read.Idx = s.Target, 1, nil
	for _, x := range s.Left.Idx {
		read.Idx = append(read.Idx, x.Substitute(m.Values))
	}
	return &term.Term{Op: term.Element, Kind: value.Kind, Read: &read}
}

// known returns the load of a temporary that an earlier statement defines as reduction n (common
// subexpression elimination). It returns nil if there is none, or if the temporary or its inputs were
// overwritten since. A speculative definition never replaces a reduction that fails on accesses out of
// bounds.
func (z *normalizer) known(n *term.Term, lenient bool) *term.Term {
	if n.Op != term.Reduce {
		return nil
	}
	for i, s := range z.out {
		if z.tensors[s.Target].Type == dtype.Invalid {
			if x := z.knownBy(s, n, i+1, lenient); x != nil {
				return x
			}
		}
	}
	for _, g := range z.segments {
		if x := z.knownBy(g.of, n, g.end, lenient); x != nil {
			return x
		}
	}
	return nil
}

// knownBy returns the load of the temporary that statement s defines as reduction n. The statements of z.out
// from end on follow s.
func (z *normalizer) knownBy(s *Statement, n *term.Term, end int, lenient bool) *term.Term {
	if t := z.tensors[s.Target]; !t.Local || t.Planned || t.Memory != s.Target || s.Lenient && !lenient {
		return nil
	}
	x := givenBy(s, n)
	if x == nil {
		return nil
	}
	if z.overwritten(s, end) {
		return nil
	}
	return x
}

// overwritten reports whether a statement from z.out[end] on writes what statement s writes or reads.
func (z *normalizer) overwritten(s *Statement, end int) bool {
	used := map[int]bool{s.Target: true}
	Reads(s.Value, func(r *term.Read) {
		for k := range r.Count {
			used[z.tensors[r.Tensor+k].Memory] = true
		}
	})
	return slices.ContainsFunc(z.out[end:], func(o *Statement) bool { return used[z.tensors[o.Target].Memory] })
}

// temporary adds a statement that computes n into a new temporary over vars. It returns the load of the
// temporary.
func (z *normalizer) temporary(n *term.Term, vars []*term.Variable, lenient bool) *term.Term {
	t := Tensor{Local: true}
	l := &program.Local{Name: "t", Kind: n.Kind, Unsigned: z.p.Unsigned(n), Slot: -1, Old: -1}
	there, here := &term.Read{Count: 1, Text: "t"}, &term.Read{Count: 1, Text: "t"}
	to := map[*term.Variable]*term.Term{}
	var own []*term.Variable
	for _, v := range vars {
		w := &term.Variable{Name: v.Name, Lo: v.Lo, Hi: v.Hi}
		to[v] = w.Term()
		own = append(own, w)
		l.Shape = append(l.Shape, term.Number(Extent(v))) // the end of an empty range may be negative
		there.Idx, here.Idx = append(there.Idx, w.Term()), append(here.Idx, v.Term())
	}
	there.Ext, here.Ext = l.Shape, l.Shape
	id := z.p.Add(l)
	t.Memory = id
	z.tensors = append(z.tensors, t)
	there.Tensor, here.Tensor = id, id
	s := &Statement{Target: id, Left: there, Vars: own, Value: n.Substitute(to), Lenient: lenient}
	switch {
	case z.whole:
		z.out = append(z.out, s)
	case !z.histogram(s):
		z.segmented(s)
		z.out = append(z.out, presentLast(s))
	}
	return &term.Term{Op: term.Element, Kind: n.Kind, Read: here}
}
