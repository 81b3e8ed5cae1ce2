package cugen

import (
	"fmt"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// team describes the threads that share a reduction: each member reduces a strided subset of the elements,
// and a tree reduction combines the partial results.
type team struct {
	members int  // the number of threads, a power of 2
	rows    bool // whether the members are neighboring threads; otherwise neighboring threads belong to teams of neighboring results
}

// teamFor returns the team for reductions to results values of elements elements each. rows says that the
// elements of a reduction are contiguous. The team depends on nothing else, so the order of additions is
// fixed.
func teamFor(results, elements int, rows bool) team {
	t := team{1, rows}
	most := 32
	if rows && (elements >= 1024 || results < 1024) {
		most = threads
	}
	for t.members < most && elements >= 16*t.members && (rows || results*t.members < 1<<16) {
		t.members *= 2
	}
	return t
}

// fold writes a nest of reductions over the same indices.
func (f *function) fold(n *loops.Nest) {
	r := n.Statements[0].Value.Reduction
	total, elements := box(n.Vars), box(r.Vars)
	t := team{1, false}
	if r.Kind != reduction.Count || r.Guard != nil {
		t = teamFor(total, elements, contiguousOf(r, n.Vars))
	}
	if t.members == 1 {
		f.each(n.Vars, n.Statements)
		return
	}
	f.teams(t, total)
	f.foldTeam(n, t)
	f.close()
}

// teams begins a kernel in which teams loop over results. It writes the prologue, and the header of the
// loop.
func (f *function) teams(t team, results int) {
	f.barriers = true
	per := threads / t.members
	f.line("// %d threads share each reduction.", t.members)
	if t.rows {
		f.line("const int member = threadIdx.x %% %d, team = threadIdx.x / %d;", t.members, t.members)
	} else {
		f.line("const int team = threadIdx.x %% %d, member = threadIdx.x / %d;", per, per)
	}
	for _, name := range []string{"member", "team", "space", "active", "first", "result"} {
		f.taken[name] = true
	}
	f.hold("space", fmt.Sprintf("opgen_space<%s> space[%d]", f.real(), threads))
	f.grid = [3]int{blocksFor(results, per), 1, 1}
	f.open("for (long long first = (long long)grid.block.x * %d; first < %d; first += (long long)grid.blocks.x * %d) {", per, results, per)
	f.line("const long long result = first + team;")
	f.line("const bool active = result < %d;", results)
}

// foldTeam writes the reductions of a team, and stores the results.
func (f *function) foldTeam(n *loops.Nest, t team) {
	stride := 1
	if !t.rows {
		stride = threads / t.members
	}
	c := &crew{f, n, t, stride, box(n.Statements[0].Value.Reduction.Vars)}
	values := make([]string, len(n.Statements))
	for i, s := range n.Statements {
		values[i] = c.reduction(s.Value)
	}
	f.open("if (active && member == 0) {")
	f.indices(n.Vars, "result")
	for i, s := range n.Statements {
		f.give(s, values[i])
	}
	f.close()
}

func contiguousOf(r *term.Reduction, vars []*term.Variable) bool {
	if r.Body == nil {
		return true
	}
	return contiguous(r, vars)
}

// crew writes the code of a nest's reductions, each of which a team of threads shares.
type crew struct {
	*function
	nest     *loops.Nest
	team     team
	stride   int // distance of a team's members, in threads
	elements int
}

// pass writes a loop over the member's share of the elements of a reduction. into writes the loop's body.
func (c *crew) pass(r *term.Reduction, into func()) {
	c.open("if (active) {")
	c.indices(c.nest.Vars, "result")
	e := c.unique("element")
	c.open("for (long long %s = member; %s < %d; %s += %d) {", e, e, c.elements, e, c.team.members)
	c.indices(r.Vars, e)
	if r.Guard != nil {
		c.open("if (%s) {", c.condition(r.Guard))
	}
	into()
	if r.Guard != nil {
		c.close()
	}
	c.close()
	c.close()
}

// together writes a tree reduction of the partial results in acc. All members get the result. The members
// are stride threads apart.
func (f *function) together(acc string, how fold, members, stride int) {
	f.line("%s = opgen_together<%d, %d>(space, %s, member, [](%s a, %s b) -> %s { return %s; });", acc, members, stride, acc,
		how.typ, how.typ, how.typ, fmt.Sprintf(how.into, "a", "b"))
}

// sum writes a reduction, with fold how, of the values that x writes. It returns the name of the result.
func (c *crew) sum(r *term.Reduction, name string, how fold, x func() string) string {
	acc := c.unique(name)
	c.typed(acc, how.typ)
	c.line("%s %s = %s;", how.typ, acc, how.first)
	c.pass(r, func() { c.line("%s = %s;", acc, fmt.Sprintf(how.into, acc, x())) })
	c.together(acc, how, c.team.members, c.stride)
	return acc
}

// reduction writes the reduction n, and returns a C expression for its value.
func (c *crew) reduction(n *term.Term) string {
	r := n.Reduction
	count := func() string {
		if r.Guard == nil {
			return fmt.Sprint(c.elements)
		}
		how, _ := c.foldOf(reduction.Count, term.Integer)
		return c.sum(r, "count", how, func() string { return "1" })
	}
	plus, _ := c.foldOf(reduction.Sum, term.Real)
	switch r.Kind {
	case reduction.Mean:
		sum := c.sum(r, "sum", plus, func() string { return c.number(r.Body) })
		return fmt.Sprintf("(%s / %s)", sum, count())
	case reduction.Variance:
		return c.variance(r, count, plus)
	case reduction.LogSumExp:
		top := c.most(r)
		sum := c.sum(r, "sum", plus, func() string { return fmt.Sprintf("opgen_exp(%s)", c.rounded("("+c.number(r.Body)+" - "+top+")")) })
		return c.name("double", "logsumexp", logarithm(top, sum))
	case reduction.ArgMax, reduction.ArgMin:
		return c.extreme(r)
	}
	how, ok := c.foldOf(r.Kind, kindOf(n))
	if !ok {
		c.fail("the reduction "+r.Kind.String(), n)
		return "0"
	}
	return c.sum(r, r.Kind.String(), how, func() string { return c.folded(n) })
}

// most writes the maximum that a logsumexp subtracts: a load if a statement has stored it, and otherwise a
// reduction. It returns the maximum's name.
func (c *crew) most(r *term.Reduction) string {
	if r.At[0].Op != term.Element {
		max, _ := c.foldOf(reduction.Max, term.Real)
		return c.sum(r, "top", max, func() string { return c.rounded(c.number(r.Body)) })
	}
	top := c.unique("top")
	c.typed(top, c.real())
	c.line("%s %s = 0;", c.real(), top)
	c.open("if (active) {")
	c.indices(c.nest.Vars, "result")
	c.line("%s = %s;", top, c.rounded(c.number(r.At[0])))
	c.close()
	return top
}

// variance writes a variance in double, in two passes. The first pass sums differences from one element, so
// that equal elements have variance 0. That element is the first one, or the maximum if a guard may exclude
// the first.
func (c *crew) variance(r *term.Reduction, count func() string, plus fold) string {
	number, first := count(), ""
	if !c.wideBody(r) {
		return c.narrowVariance(r, number, plus)
	}
	if r.Guard == nil {
		first = c.unique("first")
		c.typed(first, "double")
		c.line("double %s = 0;", first)
		c.open("if (active) {")
		c.indices(c.nest.Vars, "result")
		c.indices(r.Vars, "0")
		c.line("%s = %s;", first, c.number(r.Body))
		c.close()
	} else {
		most := fold{"double", "-OPGEN_INF", "opgen_max(%s, %s)"}
		first = c.sum(r, "first", most, func() string { return "(double)" + c.number(r.Body) })
	}
	sum := c.sum(r, "sum", plus, func() string { return fmt.Sprintf("__dsub_rn(%s, %s)", c.number(r.Body), first) })
	mean := c.name("double", "mean", fmt.Sprintf("%s + %s / %s", first, sum, number))
	squares := c.sum(r, "squares", plus, func() string {
		d := c.name("double", "d", fmt.Sprintf("__dsub_rn(%s, %s)", c.number(r.Body), mean))
		return d + " * " + d
	})
	return fmt.Sprintf("(%s / %s)", squares, number)
}

// narrowVariance writes a variance of float elements, in two passes. A mean that a statement has stored is
// loaded.
func (c *crew) narrowVariance(r *term.Reduction, number string, plus fold) string {
	mean := ""
	if len(r.At) > 0 {
		mean = c.unique("mean")
		c.line("double %s = 0;", mean)
		c.open("if (active) {")
		c.indices(c.nest.Vars, "result")
		c.line("%s = %s;", mean, c.number(r.At[0]))
		c.close()
	} else {
		sum := c.sum(r, "sum", plus, func() string { return c.number(r.Body) })
		mean = c.name("double", "mean", sum+" / "+number)
	}
	squares := c.sum(r, "squares", plus, func() string {
		d := c.name("double", "d", c.number(r.Body)+" - "+mean)
		return d + " * " + d
	})
	return fmt.Sprintf("(%s / %s)", squares, number)
}

func (c *crew) extreme(r *term.Reduction) string {
	best, sign := c.unique("best"), ""
	if r.Kind == reduction.ArgMin {
		sign = "-"
	}
	typ := "opgen_extreme<" + c.real() + ">"
	c.line("%s %s = {0, -1, 0};", typ, best)
	place := *r
	place.Part = -1
	c.pass(r, func() {
		c.line("%s = opgen_more(%s, %s{%s%s, (long long)%s, (long long)%s});", best, best, typ, sign, c.rounded(c.number(r.Body)), c.numbered(&place), c.numbered(r))
	})
	c.together(best, fold{typ: typ, into: "opgen_more(%s, %s)"}, c.team.members, c.stride)
	return best + ".at"
}
