package rewrite

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// takesLong reports whether a value is the result of an expensive function, such as a power or a
// transcendental function.
func takesLong(n *term.Term) bool {
	switch {
	case n.Kind != term.Real:
		return false
	case n.Op == term.Power:
		_, known := n.Args[1].Settled()
		return !known
	case n.Op == term.Apply:
		return n.Func.Has(term.Series)
	}
	return false
}

// hoisted hoists expensive functions out of loops whose indices they do not use: earlier statements compute
// them into temporaries. Functions of indices only become constant tensors. It returns the statement that
// loads the results.
func (z *normalizer) hoisted(s *Statement) *Statement {
	if !pointwiseValue(s) || len(s.Vars) == 0 || Box(s.Vars) == 0 {
		return s
	}
	// A temporary that holds integer-valued reals keeps their digits, see noteExact.
	exact := z.tensors[s.Target].Local && s.Value.Kind == term.Real && OfIntegers(s.Value, z.exacts)
	h := &hoister{normalizer: z, s: s, free: z.final(s), exact: exact}
	value := h.value(s.Value, s.Guard != nil || s.Lenient)
	if value == s.Value {
		return s
	}
	out := *s
	out.Value = value
	if h.first != nil {
		last := len(s.Vars) - 1
		rest := slices.DeleteFunc(slices.Clone(s.Vars[:last]), func(v *term.Variable) bool { return slices.Contains(h.first, v) })
		slices.SortStableFunc(rest, func(v, w *term.Variable) int { return Extent(v) - Extent(w) }) // a call covers many rows
		out.Vars = slices.Concat(h.first, rest, s.Vars[last:])
	}
	return &out
}

// hoistedBody hoists expensive functions out of the body of a reduction: those that use few of its indices
// and of those around it that it uses. A temporary holds their results, unless it is large, and larger than
// all tensors that the reduction reads.
func (z *normalizer) hoistedBody(n *term.Term, around []*term.Variable, lenient bool) *term.Term {
	r := n.Reduction
	if z.whole || z.ordered || r.Body.Kind != term.Real || r.Chain() != nil || !long(r.Body) {
		return r.Body
	}
	vars := slices.DeleteFunc(slices.Concat(around, r.Vars), func(v *term.Variable) bool {
		return !slices.Contains(r.Vars, v) && !n.Uses(v)
	})
	total, known := knownBox(vars)
	if !known || total == 0 {
		return r.Body
	}
	most := mostHeld
	Reads(r.Body, func(x *term.Read) { most = max(most, Elements(z.p.Tensors[x.Tensor])) })
	h := &hoister{normalizer: z, s: &Statement{Vars: vars}, pays: func(used []*term.Variable) bool {
		size := Box(used)
		return size <= most && size*leastSaved <= total && total-size >= leastHoisted
	}}
	return h.value(r.Body, lenient)
}

// final reports whether the loops of s may be permuted: no other statement reads the result of s, no
// statement writes what s reads, and no other code relies on the order.
func (z *normalizer) final(s *Statement) bool {
	ok := !z.ordered && !z.tensors[s.Target].Local && !z.used[s.Target]
	s.Walk(func(n *term.Term) {
		for i := 0; n.Op == term.Element && i < n.Read.Count; i++ {
			ok = ok && !z.written[z.tensors[n.Read.Tensor+i].Memory]
		}
	})
	return ok
}

// hoister hoists functions out of one statement.
type hoister struct {
	*normalizer
	s     *Statement
	free  bool                             // whether the loops may be permuted
	exact bool                             // whether the functions are part of a float64 value that depends on integers only
	first []*term.Variable                 // the new outermost loops; nil if the order is unchanged
	pays  func(vars []*term.Variable) bool // of reductions: whether hoisting a function of vars pays
}

// value replaces the expensive functions in a value by loads of temporaries.
func (h *hoister) value(n *term.Term, lenient bool) *term.Term {
	if !long(n) {
		return n
	}
	vars := slices.DeleteFunc(slices.Clone(h.s.Vars), func(v *term.Variable) bool { return !n.Uses(v) })
	if n.Kind == term.Real && len(vars) > 0 && len(vars) == len(n.Free()) && !Fails(n) {
		constant := fixed(n) && Box(vars) <= mostFixed
		if constant || h.worth(vars) {
			return h.before(n, vars, lenient, constant)
		}
	}
	return h.parts(n, lenient)
}

// parts replaces the expensive functions in the operands of a value by loads of temporaries.
func (h *hoister) parts(n *term.Term, lenient bool) *term.Term {
	if was := h.exact; n.Kind == term.Real && OfIntegers(n, h.exacts) {
		h.exact = true
		defer func() { h.exact = was }()
	}
	if n.Op == term.Choose {
		return term.Chosen(h.value(n.Args[0], lenient), h.value(n.Args[1], true), h.value(n.Args[2], true))
	}
	return n.Map(func(x *term.Term) *term.Term { return h.value(x, lenient) })
}

// worth reports whether hoisting a function of vars pays. The function must use the vectorized index, since
// otherwise it is computed once per strip anyway. The other indices of vars become the outermost loops, which
// both statements then share, so that shares of them run in parallel.
func (h *hoister) worth(vars []*term.Variable) bool {
	if h.pays != nil {
		return h.pays(vars)
	}
	last := h.s.Vars[len(h.s.Vars)-1]
	if !h.free || !slices.Contains(vars, last) || Box(h.s.Vars)-Box(vars) < leastHoisted || len(vars) < 2 {
		return false
	}
	first := vars[:len(vars)-1]
	if h.first != nil && !slices.Equal(first, h.first) {
		return false
	}
	h.first = first
	return true
}

// long reports whether a value contains an expensive function.
func long(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) { found = found || takesLong(m) })
	return found
}

// fixed reports whether a value depends on indices, attributes and constants only.
func fixed(n *term.Term) bool {
	ok := true
	n.Walk(func(m *term.Term) {
		ok = ok && m.Op != term.Element && m.Op != term.Step && m.Op != term.Reduce && !m.Func.Has(term.Random)
	})
	return ok
}

// before returns the load of a temporary that holds n. If constant is true, the temporary is computed at
// compile time, and otherwise by an earlier statement.
func (h *hoister) before(n *term.Term, vars []*term.Variable, lenient, constant bool) *term.Term {
	z := h.normalizer
	if !constant { // nested functions that cannot permute loops
		n = (&hoister{normalizer: z, s: &Statement{Vars: vars}, exact: h.exact}).value(n, lenient)
	}
	typ := z.own
	if h.exact {
		typ = dtype.F64
	}
	for i, s := range slices.Concat(z.constants, z.early) {
		if i >= len(z.constants) && z.overwritten(s, slices.Index(z.out, s)+1) {
			continue
		}
		if x := elementBy(s, n); x != nil && (lenient || !s.Lenient) && z.tensors[s.Target].Type == typ {
			return x
		}
	}
	x := z.temporary(n, vars, lenient)
	last := len(z.out) - 1
	target := z.out[last].Target
	z.tensors[target].Type = typ
	if h.exact {
		z.exacts[target] = true
	}
	if constant {
		z.tensors[target].Planned = true // with memory of its own
		z.constants = append(z.constants, z.out[last])
		z.out = z.out[:last]
	} else {
		z.early = append(z.early, z.out[last])
	}
	return x
}
