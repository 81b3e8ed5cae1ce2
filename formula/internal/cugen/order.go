package cugen

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// A short argsort is a rank by counting: the position of an element is the number of smaller elements. For
// longer rows, a block runs a bitonic sort.

// leastSort and mostSort are the shortest and the longest rows that a block sorts.
const (
	leastSort = 64
	mostSort  = 1 << 29
)

// order writes a statement whose value is an argsort or a rank.
func (f *function) order(n *loops.Nest) {
	s, r := n.Statements[0], n.Statements[0].Value.Reduction
	if r.Kind != reduction.ArgSort || len(n.Statements) > 1 || s.Guard != nil || !foldable(r) {
		f.each(n.Vars, n.Statements)
		return
	}
	at := r.At[0]
	i := slices.IndexFunc(n.Vars, func(v *term.Variable) bool { return at.Op == term.Index && at.Var == v && !r.Body.Uses(v) })
	if i < 0 {
		f.each(n.Vars, n.Statements)
		return
	}
	if m := box(r.Vars); m >= leastSort && m <= mostSort {
		f.sort(n, i)
		return
	}
	// A thread computes the rank of an element, and scatters the element's number to that position.
	v := n.Vars[i]
	vars := slices.Concat(n.Vars[:i], n.Vars[i+1:], r.Vars)
	total := box(vars)
	f.grid = [3]int{blocksFor(total, threads), 1, 1}
	t := f.unique("thread")
	f.open("for (long long %s = opgen_thread(grid); %s < %d; %s += opgen_threads(grid)) {", t, t, total, t)
	f.indices(vars, t)
	name := f.name("long long", "element", f.numbered(r))
	f.names[v] = f.rank(r)
	f.open("if (%s < %d) {", f.names[v], rewrite.Extent(v))
	f.give(s, name)
	f.close()
	f.close()
}

// sort writes an argsort of rows by bitonic sort: a block sorts a row, padded to a power of 2. The padding
// compares greater than all elements. n.Vars[place] is the position in the sorted row.
func (f *function) sort(n *loops.Nest, place int) {
	s, r := n.Statements[0], n.Statements[0].Value.Reduction
	v := n.Vars[place]
	others := slices.Concat(n.Vars[:place], n.Vars[place+1:])
	rows, have := box(others), box(r.Vars)
	size := 1
	for size < have {
		size *= 2
	}
	typ, write, before := f.real(), f.number, "opgen_before"
	if r.Body.Kind == term.Integer {
		typ, write = "long long", f.integer
	}
	if r.Descending {
		before = "opgen_behind"
	}
	blocks := min(blocksFor(rows, 1), mostRooms)
	keys, ids := f.room(typ, int64(blocks)*int64(size)*8), f.room("int", int64(blocks)*int64(size)*4)
	for _, name := range []string{"row", "keys", "ids", "e", "width", "distance", "i", "a", "b", "forth", "back", "key", "id", "chosen"} {
		f.taken[name] = true
	}
	f.barriers = true
	f.grid = [3]int{blocks, 1, 1}
	f.line("// A block sorts a row.")
	f.line("%s *keys = %s + (long long)grid.block.x * %d;", typ, keys, size)
	f.line("int *ids = %s + (long long)grid.block.x * %d;", ids, size)
	f.open("for (long long row = grid.block.x; row < %d; row += grid.blocks.x) {", rows)
	f.indices(others, "row")
	f.open("for (int e = threadIdx.x; e < %d; e += %d) {", size, threads)
	f.line("ids[e] = e;")
	f.open("if (e < %d) {", have)
	f.indices(r.Vars, "e")
	f.line("keys[e] = %s;", write(r.Body))
	f.close()
	f.close()
	f.line("__syncthreads();")
	f.open("for (int width = 2; width <= %d; width *= 2) {", size)
	f.open("for (int distance = width / 2; distance > 0; distance /= 2) {")
	f.open("for (int i = threadIdx.x; i < %d; i += %d) {", size/2, threads)
	f.line("const int a = 2 * i - (i & (distance - 1)), b = a + distance;")
	f.line("const bool forth = ids[a] < %d && (ids[b] >= %d || %s(keys[a], keys[b], ids[a] < ids[b]));", have, have, before)
	f.line("const bool back = ids[b] < %d && (ids[a] >= %d || %s(keys[b], keys[a], ids[b] < ids[a]));", have, have, before)
	f.open("if ((a & width) == 0 ? back : forth) {")
	f.line("const %s key = keys[a];", typ)
	f.line("const int id = ids[a];")
	f.line("keys[a] = keys[b], ids[a] = ids[b];")
	f.line("keys[b] = key, ids[b] = id;")
	f.close()
	f.close()
	f.line("__syncthreads();")
	f.close()
	f.close()
	at := f.unique(v.Name)
	f.names[v] = at
	f.open("for (int %s = threadIdx.x; %s < %d; %s += %d) {", at, at, min(have, rewrite.Extent(v)), at, threads)
	f.line("const int chosen = ids[%s];", at)
	f.indices(r.Vars, "chosen")
	f.give(s, f.name("long long", "element", f.numbered(r)))
	f.close()
	f.line("__syncthreads();")
	f.close()
}

// rank writes the rank of the element at the current indices of r: the number of elements that sort before
// it. It returns the rank's name.
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

// sorted writes an argsort or a rank that is an operand of a larger expression, one result a thread. It
// returns the name of the result.
func (f *function) sorted(n *term.Term) string {
	r := n.Reduction
	if r.Kind == reduction.Rank {
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
