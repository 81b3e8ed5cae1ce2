package cugen

import (
	"slices"

	"github.com/opgen/opgen/internal/term"
	"github.com/opgen/opgen/runtime/internal/loops"
)

// An order is found by counting: the place of an element is the number of those before it.

// order writes a statement whose value is an order.
func (f *function) order(n *loops.Nest) {
	s, r := n.Statements[0], n.Statements[0].Value.Reduction
	if r.Kind != "argsort" || len(n.Statements) > 1 || s.Guard != nil || !foldable(r) {
		f.each(n.Vars, n.Statements)
		return
	}
	at := r.At[0]
	i := slices.IndexFunc(n.Vars, func(v *term.Variable) bool { return at.Op == term.Index && at.Var == v && !r.Body.Uses(v) })
	if i < 0 {
		f.each(n.Vars, n.Statements)
		return
	}
	// A thread finds the place of an element and gives the element's name there.
	v := n.Vars[i]
	vars := slices.Concat(n.Vars[:i], n.Vars[i+1:], r.Vars)
	total := box(vars)
	f.grid = [3]int{blocksFor(total, threads), 1, 1}
	t := f.unique("thread")
	f.open("for (long long %s = opgen_thread(); %s < %d; %s += opgen_threads()) {", t, t, total, t)
	f.indices(vars, t)
	name := f.name("long long", "element", f.numbered(r))
	f.names[v] = f.rank(r)
	f.open("if (%s < %d) {", f.names[v], loops.Extent(v))
	f.give(s, name)
	f.close()
	f.close()
}

// rank writes the place of the element at the present indices of an order.
func (f *function) rank(r *term.Reduction) string {
	all := *r
	all.Part = -1
	typ, write := f.real(), f.number
	if r.Body.Kind == term.Integer {
		typ, write = "long long", f.integer
	}
	own := f.name(typ, "key", write(r.Body))
	place := f.name("long long", "own", f.numbered(&all))
	was := map[*term.Variable]string{}
	for _, v := range r.Vars {
		was[v] = f.names[v]
	}
	out := f.unique("place")
	f.line("long long %s = 0;", out)
	for _, v := range r.Vars {
		f.loop(v)
	}
	other := f.name(typ, "other", write(r.Body))
	before := "opgen_before"
	if r.Descending {
		before = "opgen_behind"
	}
	f.line("%s += %s(%s, %s, %s < %s);", out, before, other, own, f.numbered(&all), place)
	for range r.Vars {
		f.close()
	}
	for v, name := range was {
		f.names[v] = name
	}
	return out
}

// sorted writes an order that is part of a value.
func (f *function) sorted(n *term.Term) string {
	r := n.Reduction
	if r.Kind == "rank" {
		for i, v := range r.Vars {
			at := f.name("long long", v.Name, f.integer(r.At[i]))
			lo, hi := f.integer(v.Lo), f.integer(v.Hi)
			f.faulty = true
			code := f.fault(Fault{Name: "rank", Extents: []int{box([]*term.Variable{v})}, Rank: 1})
			f.open("if (%s < %s || %s >= %s) {", at, lo, at, hi)
			f.line("opgen_fault(fault, %d, %s, 0, 0);", code, at)
			f.close()
			f.names[v] = at
		}
		return f.rank(r)
	}
	at := f.name("long long", "at", f.integer(r.At[0]))
	out := f.unique("element")
	f.line("long long %s = -1;", out)
	for _, v := range r.Vars {
		f.loop(v)
	}
	name := f.name("long long", "candidate", f.numbered(r))
	f.line("if (%s == %s) %s = %s;", f.rank(r), at, out, name)
	for range r.Vars {
		f.close()
	}
	f.faulty = true
	code := f.fault(Fault{Name: "argsort", Extents: []int{box(r.Vars)}, Rank: 1})
	f.line("if (%s < 0) opgen_fault(fault, %d, %s, 0, 0);", out, code, at)
	return out
}
