package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// withoutCheap inlines temporaries whose values are constants, or are cheap functions of few elements. Such
// temporaries need no memory.
func (z *normalizer) withoutCheap(statements []*program.Statement) []*program.Statement {
	out := slices.Clone(statements)
	for i := 0; i < len(out); i++ {
		if s := out[i]; z.cheap(out, i) {
			out = slices.Delete(out, i, i+1)
			for j, o := range out {
				out[j] = replaced(o, s)
			}
			i--
		}
	}
	return out
}

// withoutCopies removes copies of tensors. A reduction that is only copied to another tensor is computed
// there instead. A temporary that is a copy is replaced by its source. A temporary of which few elements are
// used is inlined.
func (z *normalizer) withoutCopies(statements []*program.Statement) []*program.Statement {
	out := slices.Clone(statements)
	for i := 0; i < len(out); i++ {
		s := out[i]
		if z.copies(out, i) || z.rare(out, i) {
			out = slices.Delete(out, i, i+1)
			for j, o := range out {
				out[j] = replaced(o, s)
			}
			i--
			continue
		}
		if s.Value.Op != term.Reduce || !z.alone(out, i) {
			continue
		}
		users := 0
		at := -1
		for j, o := range out {
			if n := uses(o, s.Target); n > 0 {
				users += n
				at = j
			}
		}
		if at <= i || users != 1 || !z.unwritten(s, out[i:at+1]) {
			continue
		}
		if o := out[at]; o.Value.Op == term.Element && o.Value.Read.Tensor == s.Target && !o.Add && o.Guard == nil && len(o.Vars) == len(s.Vars) {
			out[at] = replaced(o, s)
			out = slices.Delete(out, i, i+1)
			i--
		}
	}
	return out
}

// copies reports whether statement i copies a whole tensor to a temporary, and no later statement writes the
// tensor.
func (z *normalizer) copies(statements []*program.Statement, i int) bool {
	s := statements[i]
	if s.Value.Op != term.Element || !z.alone(statements, i) {
		return false
	}
	r := s.Value.Read
	if t := z.tensors[s.Target].Type; t != dtype.Invalid && t != z.tensors[r.Tensor].Type {
		return false // elements are rounded
	}
	if r.Count != 1 || r.Which != nil || r.ByNumber || r.Else != nil || len(r.Idx) != len(s.Left.Idx) {
		return false
	}
	for d, x := range r.Idx {
		if !term.Identical(x, s.Left.Idx[d]) || !term.SameInteger(r.Ext[d], s.Left.Ext[d]) {
			return false
		}
	}
	return z.stays(statements, i)
}

// stays reports whether neither statement i nor a later one writes memory that statement i reads.
func (z *normalizer) stays(statements []*program.Statement, i int) bool {
	return z.unwritten(statements[i], statements[i:])
}

// unwritten reports whether none of some statements writes memory that the value of s reads.
func (z *normalizer) unwritten(s *program.Statement, statements []*program.Statement) bool {
	ok := true
	s.Value.Walk(func(n *term.Term) {
		for k := 0; n.Op == term.Element && k < n.Read.Count; k++ {
			memory := z.tensors[n.Read.Tensor+k].Memory
			ok = ok && !slices.ContainsFunc(statements, func(o *program.Statement) bool { return z.tensors[o.Target].Memory == memory })
		}
	})
	return ok
}

// rare reports whether statement i defines a temporary whose only use, in one later statement, reads at most
// half of the elements, such as the log-probabilities of which a loss gathers those of the labels.
func (z *normalizer) rare(statements []*program.Statement, i int) bool {
	s := statements[i]
	if t := z.tensors[s.Target].Type; t != dtype.Invalid && t != z.own || s.Value.Kind != term.Real || s.Value.Reduces() || !z.alone(statements, i) ||
		!z.stays(statements, i) {
		return false
	}
	user := -1
	for j, o := range statements {
		switch n := uses(o, s.Target); {
		case n > 1 || n == 1 && (user >= 0 || j < i):
			return false
		case n == 1:
			user = j
		}
	}
	if user < 0 {
		return false
	}
	o := statements[user]
	if n, known := often(o.Value, s.Target); known && n > 0 {
		all, known := knownBox(o.Vars)
		return known && 2*n*all <= Elements(z.p.Tensors[s.Target])
	}
	return false // in a guard or a subscript
}

// often returns an upper bound of the number of loads from a tensor in one evaluation of n. known is false if
// there is no bound, or if a load is part of a sort or scan.
func often(n *term.Term, tensor int) (count int, known bool) {
	known = true
	n.Map(func(x *term.Term) *term.Term {
		c, ok := often(x, tensor)
		count, known = count+c, known && ok
		return x
	})
	switch {
	case n.Op == term.Element && n.Read.Tensor == tensor:
		count++
	case n.Op == term.Reduce && count > 0:
		all, ok := knownBox(n.Reduction.Vars)
		count, known = count*all, known && ok && !n.Reduction.IsOrder() && n.Reduction.Scan() == nil
	}
	return count, known
}

// knownBox returns the number of iterations of loops over vars. known is false if a range is not constant.
func knownBox(vars []*term.Variable) (n int, known bool) {
	n = 1
	for _, v := range vars {
		hi, ok := v.Hi.Known()
		if !ok {
			return 0, false
		}
		n *= hi
	}
	return n, true
}

// few reports whether a value is cheap to recompute for each use. It has few operations. It loads only from
// tensors that no statement writes, and each load is invariant along an index.
func (z *normalizer) few(s *program.Statement) bool {
	if t := z.tensors[s.Target].Type; t != dtype.Invalid && t != z.own || s.Value.Kind != term.Real {
		return false
	}
	parts, ok := 0, true
	s.Value.Walk(func(n *term.Term) {
		parts++
		switch n.Op {
		case term.Reduce, term.Apply, term.Power, term.Step:
			ok = false
		case term.Element:
			for i := range n.Read.Count {
				ok = ok && !z.written[z.tensors[n.Read.Tensor+i].Memory]
			}
			ok = ok && slices.ContainsFunc(s.Vars, func(v *term.Variable) bool { return !n.Uses(v) })
		}
	})
	return ok && parts <= mostParts
}

// cheap reports whether statement i is the only definition of a temporary, and its value is a constant or
// cheap to recompute.
func (z *normalizer) cheap(statements []*program.Statement, i int) bool {
	s := statements[i]
	return (s.Value.Op == term.Constant || z.few(s) || z.moved(statements, i)) && z.alone(statements, i)
}

// moved reports whether the value of statement i is an integer of a tensor plus indices, such as the place
// beside one that a tensor gives. What reads it adds the indices itself.
func (z *normalizer) moved(statements []*program.Statement, i int) bool {
	s := statements[i]
	if t := z.tensors[s.Target].Type; s.Value.Kind != term.Integer || t != dtype.Invalid && t != dtype.I64 || len(z.outer) > 0 {
		return false
	}
	f := Linear(s.Value)
	if len(f.Rest) != 1 || f.Rest[0].Of.Op != term.Element || z.p.Unsigned(s.Value) {
		return false
	}
	r := f.Rest[0].Of.Read
	return r.Which == nil && r.Else == nil && len(AccessOf(r).Open) == 0 && z.stays(statements, i)
}

// alone reports whether statement i is the only definition of a temporary, and defines all of its elements.
func (z *normalizer) alone(statements []*program.Statement, i int) bool {
	s := statements[i]
	if t := z.tensors[s.Target]; !t.Local || z.p.Tensors[s.Target].Stored || t.Memory != s.Target || s.Add || s.Guard != nil ||
		s.Left.ByNumber || s.Left.Which != nil || len(s.Left.Idx) != len(s.Vars) {
		return false
	}
	for d, x := range s.Left.Idx {
		if x.Op != term.Index || x.Var != s.Vars[d] || !x.Var.Lo.Is(0) || !term.SameInteger(x.Var.Hi, s.Left.Ext[d]) {
			return false
		}
	}
	for j, o := range statements {
		again := j != i && o.Target == s.Target
		o.Walk(func(m *term.Term) { // selection among tensors, or an access that may be out of bounds
			if m.Op == term.Element && m.Read.Tensor <= s.Target && s.Target < m.Read.Tensor+m.Read.Count {
				again = again || m.Read.Count > 1 || m.Read.Which != nil || !z.withinExtents(m) ||
					!slices.EqualFunc(m.Read.Ext, s.Left.Ext, term.SameInteger) // a number among other extents is at other indices
			}
		})
		if again {
			return false
		}
	}
	return true
}

// withinExtents reports whether a load is in bounds, given that the elements of index tensors are below their
// bounds.
func (z *normalizer) withinExtents(n *term.Term) bool {
	if x := z.ranged(n); x.Op == term.Element {
		n = x
	}
	return len(AccessOf(n.Read).Open) == 0
}

// replaced returns statement o with the value of definition s in place of loads from s's target, in ranges,
// too.
func replaced(o, s *program.Statement) *program.Statement {
	var replace func(n *term.Term) *term.Term
	replace = func(n *term.Term) *term.Term {
		switch {
		case n == nil:
			return nil
		case n.Op == term.Element && n.Read.Tensor == s.Target:
			to := map[*term.Variable]*term.Term{}
			for i, v := range s.Vars {
				to[v] = replace(n.Read.Idx[i])
			}
			return s.Value.Substitute(to)
		}
		return n.Map(replace)
	}
	if uses(o, s.Target) == 0 {
		return o
	}
	m, left, to := *o, *o.Left, map[*term.Variable]*term.Term{}
	m.Vars = nil
	for _, v := range o.Vars {
		w := &term.Variable{Name: v.Name, Lo: replace(v.Lo).Substitute(to), Hi: replace(v.Hi).Substitute(to)}
		m.Vars, to[v] = append(m.Vars, w), w.Term()
	}
	each := func(n *term.Term) *term.Term { return replace(n).Substitute(to) }
	m.Value, m.Guard, m.Left = each(o.Value), each(o.Guard), &left
	left.Idx, left.Which = nil, each(o.Left.Which)
	for _, x := range o.Left.Idx {
		left.Idx = append(left.Idx, each(x))
	}
	return &m
}
