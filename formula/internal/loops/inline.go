package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// withoutCheap returns statements in which the elements of local tensors that are all the same number, or
// follow from few numbers, are replaced by what gives them. Such tensors need no memory.
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

// withoutCopies returns statements in which a value that a local tensor holds until a later statement copies
// all of it is given by that statement. Elements of a local tensor that is a copy are read where they come
// from, and those of which few are used are computed where they are.
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
		if s.Value.Op != term.Reduce || !z.alone(out, i) || !z.lasts(s) {
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
		if at <= i || users != 1 {
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

// copies reports whether a statement copies all of a tensor, which no later statement writes, to a local one.
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

// stays reports whether neither a statement nor a later one writes memory that it reads.
func (z *normalizer) stays(statements []*program.Statement, i int) bool {
	ok := true
	statements[i].Value.Walk(func(n *term.Term) {
		for k := 0; n.Op == term.Element && k < n.Read.Count; k++ {
			memory := z.tensors[n.Read.Tensor+k].Memory
			ok = ok && !slices.ContainsFunc(statements[i:], func(o *program.Statement) bool { return z.tensors[o.Target].Memory == memory })
		}
	})
	return ok
}

// rare reports whether a statement gives a local tensor of which one later statement uses at most half of the
// elements, in one place, such as the logarithm of each probability where a loss takes that of the label.
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
		return known && 2*n*all <= elements(z.p.Tensors[s.Target])
	}
	return false // it is used in a condition or an index of the left side
}

// often returns how many elements of a tensor a value reads; known is false if that is not known, or if it
// reads them for an order or a scan.
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

// knownBox returns the number of values of indices, if it is known.
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

// lasts reports whether a value is the same for all of the task: no statement writes memory that it reads.
func (z *normalizer) lasts(s *program.Statement) bool {
	ok := true
	s.Value.Walk(func(n *term.Term) {
		for i := 0; n.Op == term.Element && i < n.Read.Count; i++ {
			ok = ok && !z.written[z.tensors[n.Read.Tensor+i].Memory]
		}
	})
	return ok
}

// mostParts is of how many parts a value consists at most that is computed wherever it is used.
const mostParts = 16

// few reports whether a value takes few operations, and reads only elements that are the same for all values
// of some of the indices, which no statement gives.
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

// cheap reports whether a statement gives all elements of a local tensor a number, or a value of few parts,
// and no other one gives any.
func (z *normalizer) cheap(statements []*program.Statement, i int) bool {
	s := statements[i]
	return (s.Value.Op == term.Constant || z.few(s)) && z.alone(statements, i)
}

// alone reports whether a statement gives all elements of a local tensor, and no other one gives any.
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
		for _, n := range append([]*term.Term{o.Value, o.Guard, o.Left.Which}, o.Left.Idx...) {
			n.Walk(func(m *term.Term) { // one of several tensors, or an element that may lie outside
				if m.Op == term.Element && m.Read.Tensor <= s.Target && s.Target < m.Read.Tensor+m.Read.Count {
					again = again || m.Read.Count > 1 || m.Read.Which != nil || !z.withinExtents(m)
				}
			})
		}
		if again {
			return false
		}
	}
	return true
}

// withinExtents reports whether an element lies inside its tensor, if integers of tensors are in their
// ranges.
func (z *normalizer) withinExtents(n *term.Term) bool {
	if x := z.ranged(n); x.Op == term.Element {
		n = x
	}
	return len(accessOf(n.Read).open) == 0
}

// replaced returns a statement in which the elements that another one gives are its value.
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
	m, left := *o, *o.Left
	m.Value, m.Guard, m.Left = replace(o.Value), replace(o.Guard), &left
	left.Idx, left.Which = nil, replace(o.Left.Which)
	for _, x := range o.Left.Idx {
		left.Idx = append(left.Idx, replace(x))
	}
	return &m
}
