package cugen

import (
	"fmt"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// fold describes how device code accumulates a reduction.
type fold struct {
	typ   string // accumulator type
	first string // identity
	into  string // C expression that combines an accumulator and an element, each a %s
}

// foldOf returns the fold of a reduction of elements of kind of. It returns false if one accumulator does not
// suffice.
func (g *generator) foldOf(kind reduction.Kind, of term.Kind) (fold, bool) {
	if of == term.Integer {
		switch kind {
		case reduction.Sum, reduction.Count:
			return fold{"long long", "0", "%s + %s"}, true
		case reduction.Prod:
			return fold{"long long", "1", "%s * %s"}, true
		case reduction.Max:
			return fold{"long long", "OPGEN_LEAST", "opgen_greater(%s, %s)"}, true
		case reduction.Min:
			return fold{"long long", "OPGEN_GREATEST", "opgen_smaller(%s, %s)"}, true
		}
	}
	switch kind {
	case reduction.Sum, reduction.Mean:
		return fold{"double", "0", "%s + %s"}, true
	case reduction.Count:
		return fold{"long long", "0", "%s + %s"}, true
	case reduction.Prod:
		return fold{"double", "1", "%s * %s"}, true
	case reduction.Max:
		return fold{g.real(), "-OPGEN_INF", "opgen_max(%s, %s)"}, true
	case reduction.Min:
		return fold{g.real(), "OPGEN_INF", "opgen_min(%s, %s)"}, true
	case reduction.Any:
		return fold{"bool", "false", "%s || %s"}, true
	case reduction.All:
		return fold{"bool", "true", "%s && %s"}, true
	}
	return fold{}, false
}

// kindOf returns the kind in which a reduction accumulates. A real reduction accumulates real numbers, also
// of elements that are integers in this instantiation.
func kindOf(n *term.Term) term.Kind {
	r := n.Reduction
	if n.Kind == term.Real {
		return term.Real
	}
	if r.Body == nil {
		return term.Integer
	}
	return r.Body.Kind
}

// folded writes an element of reduction n in the kind of the accumulator.
func (f *function) folded(n *term.Term) string {
	r := n.Reduction
	switch {
	case r.Body == nil:
		return "1"
	case r.Kind.Is(reduction.Truth):
		return f.condition(r.Body)
	case kindOf(n) == term.Integer && !r.Kind.Is(reduction.Real):
		return f.integer(r.Body)
	}
	if r.Kind.Is(reduction.Extreme) {
		return f.rounded(f.number(r.Body))
	}
	return f.number(r.Body)
}

// reduce writes a reduction that one thread computes in sequence, and returns its value. Sums accumulate in
// double.
func (f *function) reduce(n *term.Term) string {
	r := n.Reduction
	if r.IsOrder() {
		return f.sorted(n)
	}
	around := func(visit func()) {
		for _, v := range r.Vars {
			f.loop(v)
		}
		if r.Guard != nil {
			f.open("if (%s) {", f.condition(r.Guard))
		}
		visit()
		if r.Guard != nil {
			f.close()
		}
		for range r.Vars {
			f.close()
		}
	}
	switch r.Kind {
	case reduction.Variance:
		return f.variance(r, around)
	case reduction.LogSumExp:
		return f.logsumexp(r, around)
	case reduction.ArgMax, reduction.ArgMin:
		return f.argument(r, around)
	}
	how, ok := f.foldOf(r.Kind, kindOf(n))
	if !ok {
		f.fail("the reduction "+r.Kind.String(), n)
		return "0"
	}
	acc := f.unique(r.Kind.String())
	f.typed(acc, how.typ)
	f.line("%s %s = %s;", how.typ, acc, how.first)
	count := ""
	if r.Kind == reduction.Mean {
		count = f.unique("count")
		f.line("long long %s = 0;", count)
	}
	around(func() {
		x := f.folded(n)
		f.line("%s = %s;", acc, fmt.Sprintf(how.into, acc, x))
		if count != "" {
			f.line("%s++;", count)
		}
	})
	if count != "" {
		return fmt.Sprintf("(%s / %s)", acc, count)
	}
	return acc
}

// variance writes a variance in double, in two passes. The first pass sums differences from the first
// element, so that equal elements have variance 0. Differences are never contracted with a product in the
// element into an FMA, since the rounding error of the product would remain.
func (f *function) variance(r *term.Reduction, around func(func())) string {
	if !f.wideBody(r) {
		return f.narrowVariance(r, around)
	}
	first, sum, count := f.unique("first"), f.unique("sum"), f.unique("count")
	f.typed(first, "double")
	f.typed(sum, "double")
	f.line("double %s = 0, %s = 0;", first, sum)
	f.line("long long %s = 0;", count)
	around(func() {
		x := f.name("double", "x", f.number(r.Body))
		f.open("if (%s == 0) {", count)
		f.line("%s = %s;", first, x)
		f.close()
		f.line("%s += __dsub_rn(%s, %s);", sum, x, first)
		f.line("%s++;", count)
	})
	mean, squares := f.name("double", "mean", fmt.Sprintf("%s + %s / %s", first, sum, count)), f.unique("squares")
	f.typed(squares, "double")
	f.line("double %s = 0;", squares)
	around(func() {
		d := f.name("double", "d", fmt.Sprintf("__dsub_rn(%s, %s)", f.number(r.Body), mean))
		f.line("%s += %s * %s;", squares, d, d)
	})
	return fmt.Sprintf("(%s / %s)", squares, count)
}

// wideBody reports whether the elements of a reduction are double. For float elements narrowVariance is exact
// enough: they have 24 bits, so the sum of up to 2^29 equal ones is exact in double, and so is their mean.
func (f *function) wideBody(r *term.Reduction) bool {
	return f.real() == ctypes[dtype.F64] || f.typeOf(r.Body) == ctypes[dtype.F64]
}

// narrowVariance writes a variance of float elements, in two passes. A mean that a statement has stored is
// loaded.
func (f *function) narrowVariance(r *term.Reduction, around func(func())) string {
	mean, count := f.unique("mean"), f.unique("count")
	f.typed(mean, "double")
	f.line("long long %s = 0;", count)
	if len(r.At) > 0 {
		f.line("const double %s = %s;", mean, f.number(r.At[0]))
	} else {
		f.line("double %s = 0;", mean)
		around(func() {
			f.line("%s += %s;", mean, f.number(r.Body))
			f.line("%s++;", count)
		})
		f.line("%s /= %s;", mean, count)
		f.line("%s = 0;", count)
	}
	sum := f.unique("sum")
	f.typed(sum, "double")
	f.line("double %s = 0;", sum)
	around(func() {
		d := f.name("double", "d", f.number(r.Body)+" - "+mean)
		f.line("%s += %s * %s;", sum, d, d)
		f.line("%s++;", count)
	})
	return fmt.Sprintf("(%s / %s)", sum, count)
}

func (f *function) logsumexp(r *term.Reduction, around func(func())) string {
	top, sum := f.name(f.real(), "top", f.rounded(f.number(r.At[0]))), f.unique("sum")
	f.line("double %s = 0;", sum)
	f.open("if (opgen_finite(%s)) {", top)
	around(func() { f.line("%s += opgen_exp(%s);", sum, f.rounded("("+f.number(r.Body)+" - "+top+")")) })
	f.close()
	return f.name("double", "logsumexp", logarithm(top, sum))
}

// logarithm writes the log of a sum of exp(x - top), or 0 if top is not finite.
func logarithm(top, sum string) string {
	return fmt.Sprintf("opgen_finite(%s) ? opgen_log(%s) : 0", top, sum)
}

// numbered writes the row-major number of the current indices of a reduction.
func (f *function) numbered(r *term.Reduction) string {
	if r.Number != nil {
		return f.integer(r.Number)
	}
	if r.Part >= 0 {
		return f.integer(r.Vars[r.Part].Term())
	}
	n := term.Number(0)
	for _, v := range r.Vars {
		n = term.Sum(term.Arithmetic(term.Multiply, n, term.Difference(v.Hi, v.Lo)), v.Term())
	}
	return f.integer(n)
}

func (f *function) argument(r *term.Reduction, around func(func())) string {
	best, at, found := f.unique("best"), f.unique("index"), f.unique("found")
	f.line("%s %s = 0;", f.real(), best)
	f.line("long long %s = 0;", at)
	f.line("bool %s = false;", found)
	sign := ""
	if r.Kind == reduction.ArgMin {
		sign = "-"
	}
	around(func() {
		x := f.name(f.real(), "x", sign+f.rounded(f.number(r.Body)))
		f.open("if (!%s || opgen_better(%s, %s)) {", found, x, best)
		f.line("%s = %s;", best, x)
		f.line("%s = %s;", at, f.numbered(r))
		f.line("%s = true;", found)
		f.close()
	})
	return at
}

// foldable reports whether all ranges of a reduction are constant and begin at 0, so that threads may share
// it.
func foldable(r *term.Reduction) bool {
	for _, v := range r.Vars {
		if _, known := v.Hi.Known(); !known || !v.Lo.Is(0) {
			return false
		}
	}
	return len(r.Vars) > 0
}

// contiguous reports whether at least as many reads of a reduction have stride 1 along its last index as
// along the last index of the result, vars.
func contiguous(r *term.Reduction, vars []*term.Variable) bool {
	own, result := 0, 0
	visit := func(n *term.Term) {
		if n.Op != term.Element {
			return
		}
		if s, known := rewrite.Stride(n.Read, r.Vars[len(r.Vars)-1]); known && s == 1 {
			own++
		}
		if len(vars) == 0 {
			return
		}
		if s, known := rewrite.Stride(n.Read, vars[len(vars)-1]); known && s == 1 {
			result++
		}
	}
	r.Body.Walk(visit)
	r.Guard.Walk(visit)
	return own >= result
}
