package loops

import (
	"slices"

	"github.com/opgen/opgen/internal/program"
	"github.com/opgen/opgen/internal/term"
)

// inlinedOnce returns statements in which the elements of local tensors that need no memory are replaced by their values: constants, and
// values without loops of their own that one place uses, where it computes each of them once.
func (z *normalizer) inlinedOnce(statements []*program.Statement) []*program.Statement {
	out := slices.Clone(statements)
	for i := 0; i < len(out); i++ {
		s := out[i]
		reader, read := z.onlyReader(out, i)
		constant := z.simple(out, i) && len(s.Value.Free()) == 0 && !s.Value.Reads()
		if !constant && (reader == nil || !z.simple(out, i) || z.later(out, i, reader) || !once(s, reader, read)) {
			continue
		}
		replace := func(n *term.Term) *term.Term { return replaced(n, s) }
		done := true
		for j, o := range out {
			if j == i || !uses(o, s.Target) {
				continue
			}
			m := *o
			m.Value, m.Guard = replace(o.Value), replace(o.Guard)
			left := *o.Left
			left.Idx, left.Which = nil, replace(o.Left.Which)
			for _, x := range o.Left.Idx {
				left.Idx = append(left.Idx, replace(x))
			}
			m.Left = &left
			out[j] = &m
			done = done && !uses(&m, s.Target)
		}
		if done {
			out = slices.Delete(out, i, i+1)
			i--
		}
	}
	return out
}

// simple reports whether a statement is all that gives a local tensor, with an index for each dimension, and has no loops but these.
func (z *normalizer) simple(statements []*program.Statement, i int) bool {
	s := statements[i]
	t := z.tensors[s.Target]
	if !t.Local || t.Memory != s.Target || s.Add || s.Guard != nil || s.Left.ByNumber || s.Left.Which != nil || len(s.Left.Idx) != len(s.Vars) || len(s.Vars) == 0 {
		return false
	}
	for d, x := range s.Left.Idx {
		if x.Op != term.Index || x.Var != s.Vars[d] || !x.Var.Lo.Is(0) || !term.SameInteger(x.Var.Hi, s.Left.Ext[d]) {
			return false
		}
	}
	loops := false
	s.Value.Walk(func(n *term.Term) { loops = loops || n.Op == term.Reduce })
	for j, o := range statements {
		loops = loops || j != i && o.Target == s.Target
	}
	return !loops
}

// uses reports whether a statement reads a tensor.
func uses(s *program.Statement, t int) bool {
	found := false
	walkAll(s, func(n *term.Term) {
		found = found || n.Op == term.Element && n.Read.Tensor <= t && t < n.Read.Tensor+n.Read.Count
	})
	return found
}

func walkAll(s *program.Statement, visit func(*term.Term)) {
	for _, n := range append([]*term.Term{s.Value, s.Guard, s.Left.Which}, s.Left.Idx...) {
		n.Walk(visit)
	}
}

// onlyReader returns the statement that reads what another one gives, and the element, if there is one such place.
func (z *normalizer) onlyReader(statements []*program.Statement, i int) (*program.Statement, *term.Read) {
	var reader *program.Statement
	var read *term.Read
	n := 0
	for _, o := range statements {
		walkAll(o, func(m *term.Term) {
			if t := statements[i].Target; m.Op == term.Element && m.Read.Tensor <= t && t < m.Read.Tensor+m.Read.Count {
				reader, read, n = o, m.Read, n+1
			}
		})
	}
	if n != 1 || read.Count != 1 || read.Which != nil || read.ByNumber || read.Else != nil {
		return nil, nil
	}
	return reader, read
}

// later reports whether what a statement reads may be written before another one reads it.
func (z *normalizer) later(statements []*program.Statement, i int, reader *program.Statement) bool {
	late := false
	statements[i].Value.Walk(func(n *term.Term) {
		for k := 0; n.Op == term.Element && k < n.Read.Count; k++ {
			for _, o := range statements[i:] {
				late = late || z.tensors[o.Target].Memory == z.tensors[n.Read.Tensor+k].Memory
			}
		}
	})
	return late
}

// once reports whether a statement computes the element that it reads of another one once for each of its indices.
func once(s, reader *program.Statement, read *term.Read) bool {
	if reader.Add || reader.Guard != nil || reader.Value.Op != term.Reduce && slices.ContainsFunc(reader.Vars, func(v *term.Variable) bool {
		return !slices.ContainsFunc(read.Idx, func(x *term.Term) bool { return x.Op == term.Index && x.Var == v })
	}) {
		return false
	}
	around := slices.Clone(reader.Vars)
	if reader.Value.Op == term.Reduce {
		r := reader.Value.Reduction
		if r.IsOrder() || r.Scan() != nil || r.Kind == "variance" || r.Kind == "logsumexp" || r.Guard != nil || len(r.Vars) == 0 {
			return false
		}
		around = append(around, r.Vars...)
	}
	if len(around) != len(read.Idx) {
		return false
	}
	for d, x := range read.Idx {
		if x.Op != term.Index || !slices.Contains(around, x.Var) || !x.Var.Lo.Is(0) || !term.SameInteger(x.Var.Hi, s.Left.Ext[d]) ||
			slices.ContainsFunc(read.Idx[:d], func(y *term.Term) bool { return y.Var == x.Var }) {
			return false
		}
	}
	return true
}

// replaced returns a value in which the elements that a statement gives are replaced by their values.
func replaced(n *term.Term, s *program.Statement) *term.Term {
	if n == nil {
		return nil
	}
	m := n.Map(func(x *term.Term) *term.Term { return replaced(x, s) })
	if m.Op != term.Element || m.Read.Tensor != s.Target || m.Read.Count != 1 || m.Read.Which != nil || m.Read.ByNumber || m.Read.Else != nil ||
		len(m.Read.Idx) != len(s.Vars) {
		return m
	}
	to := map[*term.Variable]*term.Term{}
	for d, v := range s.Vars {
		to[v] = m.Read.Idx[d]
	}
	return s.Value.Substitute(to)
}
