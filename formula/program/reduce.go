package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// reduction lowers a reduction. A reduction without indices, as over an empty run, is lowered to its body.
func (b *builder) reduction(n *expr.Reduce, sc *scope) (*term.Term, error) {
	inner := sc.inner()
	r := &term.Reduction{Kind: n.Kind, Part: -1}
	number := term.Number(0)
	for _, binder := range n.Binders {
		vars, err := b.binder(binder, inner)
		if err != nil {
			return nil, err
		}
		for _, v := range vars {
			if slices.Contains(inner.bound, v) {
				return nil, fmt.Errorf("%s is in use: write %s'", v.Name, v.Name)
			}
			inner.bound = append(inner.bound, v)
			r.Vars = append(r.Vars, v)
			lo, size := b.dimensionOf(v)
			number = term.Sum(term.Arithmetic(term.Multiply, number, size), term.Difference(v.Term(), lo))
		}
	}
	var err error
	if n.If != nil {
		if r.Guard, err = b.eval(n.If, inner, false); err != nil {
			return nil, err
		}
		if holds, known := r.Guard.Truth(); known && holds {
			r.Guard = nil
		}
	}
	inner.partly = inner.partly || r.Guard != nil
	if n.X != nil {
		if r.Body, err = b.eval(n.X, inner, false); err != nil {
			return nil, err
		}
	}
	if n.Kind.Is(reduction.Order) {
		r.Descending = n.Descending
		if r.At, err = b.items(n.At, sc); err != nil {
			return nil, err
		}
		want := 1
		if n.Kind == reduction.Rank {
			want = len(r.Vars)
		}
		if len(r.At) != want {
			return nil, fmt.Errorf("%s: want %d indices behind it, got %d", n.Kind, want, len(r.At))
		}
	}
	k := term.Real
	switch {
	case n.Kind.Is(reduction.Argument|reduction.Order) || n.Kind == reduction.Count:
		k = term.Integer
	case n.Kind.Is(reduction.Truth):
		k = term.Boolean
	case n.Kind.Is(reduction.Same):
		k = r.Body.Kind
	}
	write := written[n.Kind]
	if len(r.Vars) == 0 && r.Guard == nil && write == nil {
		switch n.Kind {
		case reduction.Count:
			return term.Number(1), nil
		case reduction.ArgMax, reduction.ArgMin, reduction.ArgSort, reduction.Rank:
			return term.Number(0), nil
		case reduction.Variance:
			return term.RealNumber(0), nil
		}
		return r.Body, nil
	}
	if argument := n.Kind.Is(reduction.Argument) && !n.Kind.Is(reduction.Order); argument && len(r.Vars) == 1 {
		r.Number = b.standsFor(r.Vars[0])
	} else if argument {
		r.Number = number
	}
	if write != nil && !inner.partly {
		r.Body = b.apart(r.Body, inner.bound)
	}
	out := &term.Term{Op: term.Reduce, Kind: k, Reduction: r}
	if write == nil {
		return out, nil
	}
	if out.Larger(maxTerms) { // lowering duplicates the body
		return nil, errTooLarge
	}
	return write(out), nil
}

// dimensionOf returns the start and the extent of the dimension that v is named after, or of the range of v
// if there is none.
func (b *builder) dimensionOf(v *term.Variable) (lo, size *term.Term) {
	if n := b.env.values[b.env.dims[strings.TrimRight(v.Name, "'")]].node; n != nil {
		return term.Number(0), n
	}
	return v.Lo, term.Difference(v.Hi, v.Lo)
}

// binder returns the variables that a binder of a reduction declares: one, or several for a run of indices.
func (b *builder) binder(n *expr.Binder, sc *scope) ([]*term.Variable, error) {
	if n.Hi == nil {
		items, err := b.items([]expr.Node{n.X}, sc)
		if err != nil {
			return nil, err
		}
		var vars []*term.Variable
		for _, i := range items {
			if i.Op != term.Index {
				return nil, fmt.Errorf("a reduction goes over indices")
			}
			vars = append(vars, i.Var)
		}
		return vars, nil
	}
	name := nameOf(n.X)
	lo, hi, err := b.rangeOf(n, sc)
	if err != nil {
		return nil, err
	}
	if v := sc.vars[name]; v != nil && slices.Contains(sc.bound, v) {
		return nil, fmt.Errorf("%s is in use: write %s'", name, name)
	}
	base := strings.TrimRight(name, "'")
	_, a := lo.Known()
	_, c := hi.Known()
	if _, known := b.ranges[base]; !known && b.env.dims[base] == "" && a && c {
		b.ranges[base] = extent{[]*term.Term{lo}, []*term.Term{hi}, false} // for the rest of the formula
	}
	v := &term.Variable{Name: name, Lo: lo, Hi: hi}
	if b.env.values[b.env.dims[base]].node == nil && term.Share(lo, hi) { // an end may wrap around, and the distance does not
		v.Lo, v.Hi = term.Number(0), term.Norm(term.Difference(hi, lo))
		if b.first == nil {
			b.first = map[*term.Variable]*term.Term{}
		}
		b.first[v] = lo
	}
	sc.vars[name] = v
	return []*term.Variable{v}, nil
}

// hoist moves three kinds of reductions into temporaries: those invariant in an enclosing index
// (loop-invariant code motion), orders and scans inside of an expression, which one pass computes for all
// indices, and the parts of a logsumexp, which its gradient reads again. Reductions under a condition stay,
// since the condition may keep their loads in bounds. A temporary spans enclosing indices with empty ranges,
// too, so that it is empty where its value must not be computed. part says that n is a subexpression.
func (b *builder) hoist(n *term.Term, around []*term.Variable, part bool) *term.Term {
	switch n.Op {
	case term.Constant, term.Index, term.Step, term.Choose:
		return n
	case term.Element:
		r := *n.Read
		r.Idx = nil
		for _, i := range n.Read.Idx {
			r.Idx = append(r.Idx, b.hoist(i, around, true))
		}
		return &term.Term{Op: term.Element, Kind: n.Kind, Read: &r}
	case term.Reduce:
		r := *n.Reduction
		inner := append(slices.Clip(around), r.Vars...)
		if r.Body != nil && r.Guard == nil {
			r.Body = b.hoist(r.Body, inner, true)
		}
		if r.Relative() {
			r.At = []*term.Term{b.hoist(r.At[0], around, true)}
		}
		out := &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &r}
		vars := b.needed(out, around)
		onePass := r.IsOrder() || r.Scan() != nil
		if !(part && (onePass || r.Detached || r.Relative())) && (len(vars) == len(around) || len(vars) == 0 && len(around) == 0) {
			return out
		}
		return b.temporaryOnce(out, vars)
	}
	if detached(n) && n.Op == term.Apply { // the scale of a norm
		return b.temporaryOnce(n, b.needed(n, around))
	}
	out := *n
	out.Args = nil
	for _, a := range n.Args {
		out.Args = append(out.Args, b.hoist(a, around, true))
	}
	return &out
}

// needed returns the indices of the temporary that holds n: the free variables of n, and enclosing indices
// with empty ranges.
func (b *builder) needed(n *term.Term, around []*term.Variable) []*term.Variable {
	vars := n.Free()
	for _, v := range around {
		if empty(v) && !slices.Contains(vars, v) {
			vars = append(vars, v)
		}
	}
	return vars
}

// detached reports whether n is a detached reduction (without gradient), or a function of one.
func detached(n *term.Term) bool {
	if n.Op == term.Apply {
		return len(n.Args) == 1 && detached(n.Args[0])
	}
	return n.Op == term.Reduce && n.Reduction.Detached
}

// empty reports whether the range of v is known to be empty.
func empty(v *term.Variable) bool {
	lo, hi, err := bounds(v)
	return err == nil && hi == lo
}

// temporary defines a tensor over vars that holds n, and returns its element. It returns n itself if a range
// is not constant.
func (b *builder) temporary(n *term.Term, vars []*term.Variable) *term.Term {
	id := len(b.program.Tensors)
	name := "t"
	if r := n.Reduction; r != nil && r.Detached {
		name = "top"
	} else if r != nil && r.Relative() {
		name = "rest"
	}
	l := &Local{Name: b.fresh(name), Kind: n.Kind, Unsigned: b.program.Unsigned(n), Old: -1, Shape: []*term.Term{}}
	there, here := &term.Read{Tensor: id, Count: 1, Text: l.Name}, &term.Read{Tensor: id, Count: 1, Text: l.Name, Binade: n.IsBinade()}
	fresh := map[*term.Variable]*term.Variable{}
	var left []*term.Variable
	for _, v := range vars {
		lo, _, err := bounds(v)
		if err != nil || lo != 0 {
			return n
		}
		l.Shape = append(l.Shape, v.Hi)
		w := &term.Variable{Name: v.Name, Lo: v.Lo, Hi: v.Hi}
		fresh[v] = w
		left = append(left, w)
		there.Idx = append(there.Idx, &term.Term{Op: term.Index, Kind: term.Integer, Var: w})
		here.Idx = append(here.Idx, &term.Term{Op: term.Index, Kind: term.Integer, Var: v})
	}
	there.Ext, here.Ext = l.Shape, l.Shape
	b.program.Add(l)
	b.program.Statements = append(b.program.Statements, &Statement{Target: id, Left: there, Vars: left, Value: renamed(n, fresh)})
	return &term.Term{Op: term.Element, Kind: n.Kind, Read: here}
}

// fresh returns a name that no tensor has, by a number behind base. Saved slots are matched to intermediate
// tensors by name, so it also avoids the names that later statements define.
func (b *builder) fresh(base string) string {
	b.names.add(b.program.Tensors)
	for i := b.names.first(base); ; i++ {
		name := numbered(base, i)
		if _, taken := b.byName[name]; !taken && !b.assigned[name] && b.slots[name] == nil && !b.names.taken[name] {
			return name
		}
	}
}

// numbered returns base for number 1, and base followed by the number otherwise.
func numbered(base string, i int) string {
	if i == 1 {
		return base
	}
	return fmt.Sprintf("%s%d", base, i)
}

// names is the set of names of a program's tensors. It remembers the next free number of each base, since
// programs with inlined operators have thousands of tensors, most of them with one base.
type names struct {
	taken map[string]bool
	of    int            // number of tensors added so far
	next  map[string]int // base -> the least number that may be free
}

func newNames() *names { return &names{taken: map[string]bool{}, next: map[string]int{}} }

// add adds the names of the tensors that were declared since the last call.
func (n *names) add(tensors []*Local) {
	for _, l := range tensors[n.of:] {
		n.taken[l.Name] = true
	}
	n.of = len(tensors)
}

// first returns the least number >= 1 for which numbered(base, number) is no name of a tensor.
func (n *names) first(base string) int {
	i := max(n.next[base], 1)
	for n.taken[numbered(base, i)] {
		i++
	}
	n.next[base] = i
	return i
}

// renamed returns n with variable to[v] in place of each v, and with fresh variables in reductions.
func renamed(n *term.Term, to map[*term.Variable]*term.Variable) *term.Term {
	if n == nil {
		return nil
	}
	out := *n
	if w := to[n.Var]; w != nil {
		out.Var = w
	}
	out.Args = nil
	for _, a := range n.Args {
		out.Args = append(out.Args, renamed(a, to))
	}
	if n.Read != nil {
		r := *n.Read
		r.Which, r.Else, r.Idx = renamed(r.Which, to), renamed(r.Else, to), nil
		for _, i := range n.Read.Idx {
			r.Idx = append(r.Idx, renamed(i, to))
		}
		out.Read = &r
	}
	if n.Reduction != nil {
		r := *n.Reduction
		r.Vars = nil
		inner := map[*term.Variable]*term.Variable{}
		for v, w := range to {
			inner[v] = w
		}
		for _, v := range n.Reduction.Vars {
			w := &term.Variable{Name: v.Name, Lo: renamed(v.Lo, inner), Hi: renamed(v.Hi, inner)}
			inner[v] = w
			r.Vars = append(r.Vars, w)
		}
		r.Guard, r.Body, r.Number, r.At = renamed(r.Guard, inner), renamed(r.Body, inner), renamed(r.Number, inner), nil
		for _, i := range n.Reduction.At {
			r.At = append(r.At, renamed(i, to))
		}
		out.Reduction = &r
	}
	return &out
}
