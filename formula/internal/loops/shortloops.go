package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
)

// shortLoops compiles an accumulation at gathered subscripts whose innermost loops are short, or returns nil.
// One index replaces those of several loops, so that a strip covers more iterations. The order of additions
// is unchanged. Quotients and remainders of the new index, which come from tables, replace the old indices.
// Which loops are replaced does not depend on the loops that other statements share.
func (k *unitCompiler[T]) shortLoops(st *rewrite.Statement) unit[T] {
	vars := k.bundle.vars
	last := len(vars) - 1
	if len(k.bundle.statements) > 1 || !st.Add || last < 0 || rewrite.Extent(vars[last]) >= rewrite.Shortest ||
		!slices.ContainsFunc(vars, func(v *term.Variable) bool { return rewrite.AccessOf(st.Left).Offset.Hidden(v) }) {
		return nil
	}
	first, n, shared := len(vars), 1, max(k.depth, k.separate(st))
	for first > shared && n < leastFlat && n*rewrite.Extent(vars[first-1]) <= stripLength {
		first--
		n *= rewrite.Extent(vars[first])
	}
	if first > shared && n < leastFlat {
		if d := divisorUpTo(rewrite.Extent(vars[first-1]), stripLength/n); d > 1 {
			st, vars = divided(st, vars, first-1, d)
			n *= d
			last++
		}
	}
	if n <= rewrite.Extent(vars[last]) {
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
			at = term.Arithmetic(term.Modulo, at, term.Number(rewrite.Extent(w)))
		}
		to[w] = at
		step *= rewrite.Extent(w)
	}
	was := k.bundle
	defer func() { k.bundle = was }()
	s := st.Mapped(func(x *term.Term) *term.Term { return x.Substitute(to) })
	s.Vars = append(slices.Clone(vars[:first]), v)
	b := *was
	b.vars, b.statements = s.Vars, []*rewrite.Statement{s}
	k.bundle = &b
	return k.pointwise(v)
}

// divisorUpTo returns the greatest divisor of n that is at most limit.
func divisorUpTo(n, limit int) int {
	d := max(min(n, limit), 1)
	for n%d != 0 {
		d--
	}
	return d
}

// divided returns a statement and its loops with two loops in place of loop i, of which the inner one has n
// iterations.
func divided(st *rewrite.Statement, vars []*term.Variable, i, n int) (*rewrite.Statement, []*term.Variable) {
	v := vars[i]
	high := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(rewrite.Extent(v) / n)}
	low := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(n)}
	to := map[*term.Variable]*term.Term{v: term.Sum(term.Product(high.Term(), term.Number(n)), low.Term())}
	out := st.Mapped(func(x *term.Term) *term.Term { return x.Substitute(to) })
	out.Vars = slices.Concat(vars[:i], []*term.Variable{high, low}, vars[i+1:])
	return out, out.Vars
}
