package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// shortLoops compiles an accumulation at gathered subscripts whose innermost loops are short, or returns nil.
// One index replaces those of several loops, so that a strip covers more iterations. The order of additions
// is unchanged. Quotients and remainders of the new index, which come from tables, replace the old indices.
// Which loops are replaced does not depend on the loops that other statements share.
func (k *unitCompiler[T]) shortLoops(st *statement) unit[T] {
	vars := k.bundle.vars
	last := len(vars) - 1
	if len(k.bundle.statements) > 1 || !st.add || last < 0 || extent(vars[last]) >= shortest ||
		!slices.ContainsFunc(vars, func(v *term.Variable) bool { return accessOf(st.left).offset.hidden(v) }) {
		return nil
	}
	first, n, shared := len(vars), 1, max(k.depth, k.separate(st))
	for first > shared && n < leastFlat && n*extent(vars[first-1]) <= stripLength {
		first--
		n *= extent(vars[first])
	}
	if n <= extent(vars[last]) {
		return nil
	}
	v := &term.Variable{Name: vars[last].Name, Lo: term.Number(0), Hi: term.Number(n)}
	to := map[*term.Variable]*term.Term{}
	step := 1
	for i, w := range slices.Backward(vars[first:]) {
		at := v.Term()
		if step > 1 {
			at = term.Arithmetic(term.Quotient, at, term.Number(step))
		}
		if i > 0 {
			at = term.Arithmetic(term.Modulo, at, term.Number(extent(w)))
		}
		to[w] = at
		step *= extent(w)
	}
	was := k.bundle
	defer func() { k.bundle = was }()
	s := st.mapped(func(x *term.Term) *term.Term { return x.Substitute(to) })
	s.vars = append(slices.Clone(vars[:first]), v)
	b := *was
	b.vars, b.statements = s.vars, []*statement{s}
	k.bundle = &b
	return k.pointwise(v)
}
