package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// fold compiles reductions. Strips of an inner reduction run over the last reduced index, and strips of an
// outer reduction run over an index of the results. The choice makes most accesses contiguous.
func (k *unitCompiler[T]) fold(first *rewrite.Statement) unit[T] {
	r := k.bundle.folds[0]
	if !r.Kind.Is(reduction.Running) && !argument(r) || len(r.Vars) == 0 {
		return k.plain(first)
	}
	if q := rewrite.Windowed(r); q != r {
		r = q
		k.bundle.folds[0] = q
	}
	k.number = r.Number
	if r.Guard != nil && r.Kind == reduction.Mean {
		return k.plain(first)
	}
	v := k.foldVariable(k.bundle, k.free())
	switch {
	case v == nil:
		v = r.Vars[len(r.Vars)-1]
		if k.number == nil || !rewrite.Linear(k.number).Hidden(v) {
			return k.rows(v)
		}
	case !rewrite.Reaches(r, v) && (k.number == nil || k.own == dtype.F64 || single(k.number)):
		return k.columns(v)
	}
	return k.plain(first)
}

// foldOver is which kind of index the strips of a reduction run over.
type foldOver int

const (
	undecided   foldOver = iota
	overReduced          // the last reduced index: an inner reduction
	overResults          // an index of the results: an outer reduction
)

// argument reports whether a reduction is an argmax or argmin.
func argument(r *term.Reduction) bool { return r.Kind.Is(reduction.Argument) && !r.IsOrder() }

// foldOver chooses which kind of index the strips of a bundle's reduction run over, as if the bundle were a
// group of its own with depth shared loops. The choice, and so the bits of results, depends on the reduction
// alone. Fusion and coalescing also depend on other statements, such as which gradients are computed.
func (c *compiler[T]) foldOver(b bundle, depth int) foldOver {
	b.statements, b.folds = slices.Clone(b.statements), slices.Clone(b.folds)
	g := &bundleGroup{[]*bundle{&b}, depth}
	collapse(g)
	if b.folds[0] = rewrite.Windowed(b.folds[0]); len(b.folds[0].Vars) == 0 {
		return undecided
	}
	if c.foldVariable(&b, b.vars[max(g.depth-1, 0):]) == nil {
		return overReduced
	}
	return overResults
}

// foldVariable returns the last index of the results if strips should run over it. It returns nil if they
// should run over the last reduced index. It never chooses an outer reduction if a range depends on the last
// index of the results.
func (c *compiler[T]) foldVariable(b *bundle, vars []*term.Variable) *term.Variable {
	r := b.folds[0]
	own := r.Vars[len(r.Vars)-1]
	var result *term.Variable
	if n := len(vars); n > 0 && !rewrite.Reaches(r, vars[n-1]) {
		result = vars[n-1]
	}
	_, known := own.Hi.Known()
	rows := known && own.Lo.Is(0)
	better := rows && result != nil && foldScore(r, own) > foldScore(r, result)
	if b.over != undecided {
		better = b.over == overReduced
	}
	if result == nil || better {
		if !rows && len(vars) > 0 {
			return vars[len(vars)-1]
		}
		return nil
	}
	return result
}

// foldScore rates how contiguous the accesses of a reduction are along v: more is better.
func foldScore(r *term.Reduction, v *term.Variable) float64 {
	score := 10.0
	visit := func(e *term.Read) {
		switch f := rewrite.AccessOf(e).Offset; {
		case f.Hidden(v):
			score -= 3
		case f.Factor(v) == 1:
			score++
		case f.Factor(v) != 0:
			score--
		}
	}
	rewrite.Reads(r.Body, visit)
	rewrite.Reads(r.Guard, visit)
	for _, part := range []*term.Term{r.Body, r.Guard} {
		part.Walk(func(n *term.Term) { // gathers by comparison convert element by element
			if (n.Op == term.Equal || n.Op == term.Unequal) && n.Args[0].Kind == term.Integer && n.Reads() {
				rewrite.Reads(n, func(e *term.Read) {
					if rewrite.AccessOf(e).Offset.Factor(v) != 0 {
						score -= 2
					}
				})
			}
		})
	}
	return score * float64(min(rewrite.Extent(v), 64))
}

// body returns the value that a reduction reduces, or the identity where the guard fails.
func body(r *term.Reduction) *term.Term {
	x := r.Body
	if r.Kind == reduction.Count {
		x = term.RealNumber(1)
	}
	if r.Guard == nil || argument(r) {
		return x
	}
	return term.Conditional(r.Guard, x, term.RealNumber(r.Kind.Identity()))
}

// sameIndices returns reduction i of the bundle, with the indices of the first reduction in place of its own.
func (k *unitCompiler[T]) sameIndices(i int) *term.Reduction {
	out := *k.bundle.folds[i]
	to := map[*term.Variable]*term.Term{}
	for j, v := range out.Vars {
		to[v] = k.bundle.folds[0].Vars[j].Term()
	}
	out.Body, out.Guard = out.Body.Substitute(to), out.Guard.Substitute(to)
	return &out
}
