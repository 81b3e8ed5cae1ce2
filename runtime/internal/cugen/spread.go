package cugen

import (
	"fmt"

	"github.com/opgen/opgen/internal/term"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/internal/loops"
)

// Reductions of many elements to few results are spread over blocks: each folds a part of the elements of a result, and a second function
// folds the parts. The parts follow from extents only, so sums have one order.
const (
	leastPart   = 4096 // elements of a part
	spreadUntil = 512  // blocks

	// Where the elements of neighboring results lie side by side, a block folds those of as many results as a warp has threads.
	sideBySide  = 32
	leastColumn = 128  // elements of a part
	columnUntil = 1024 // blocks
)

// partsOf returns into how many parts the elements of each result are divided; 1 if they are not.
func partsOf(results, elements int) int {
	if results == 0 || results > spreadUntil/4 {
		return 1
	}
	return max(1, min(elements/leastPart, spreadUntil/results))
}

// spread writes reductions over the same indices as two functions. It returns false if they are not such reductions.
func (f *function) spread(n *loops.Nest) bool {
	first := n.Statements[0].Value.Reduction
	results, elements := box(n.Vars), box(first.Vars)
	parts, columns := partsOf(results, elements), first.Body != nil && !contiguous(first, n.Vars)
	if columns && results >= sideBySide {
		parts = max(1, min(elements/leastColumn, columnUntil/((results+sideBySide-1)/sideBySide)))
	}
	how := make([]fold, len(n.Statements))
	for i, s := range n.Statements {
		r := s.Value.Reduction
		var ok bool
		if how[i], ok = f.foldOf(r.Kind, kindOf(r)); !ok || r.Kind == "mean" && r.Guard != nil || s.Value.Op != term.Reduce {
			return false
		}
	}
	if parts < 2 {
		return false
	}
	if columns && results >= sideBySide {
		f.foldColumns(n, how, parts, results, elements)
		return true
	}
	spaces := f.foldParts(n, how, parts, results, elements)
	f.finish()
	*f = *f.generator.function(n) // which has the same buffers
	f.foldRest(n, how, parts, results, elements, spaces)
	return true
}

// foldParts writes the function that folds parts, and returns the buffers of statements.
func (f *function) foldParts(n *loops.Nest, how []fold, parts, results, elements int) (spaces []gpu.Arg) {
	f.begin(results * parts)
	f.line("const int member = threadIdx.x;")
	each := (elements + parts - 1) / parts
	f.line("// %d blocks share each reduction.", parts)
	f.line("const long long result = blockIdx.x / %d, from = blockIdx.x %% %d * (long long)%d;", parts, parts, each)
	f.line("const long long to = opgen_smaller(from + %d, %d);", each, elements)
	f.indices(n.Vars, "result")
	for i, s := range n.Statements {
		r := s.Value.Reduction
		acc := f.folds(how[i], "from", "to", func(e string) string {
			f.indices(r.Vars, e)
			if r.Guard != nil {
				f.open("if (%s) {", f.condition(r.Guard))
			}
			return f.folded(r)
		}, r.Guard != nil)
		name := f.room(how[i].typ, int64(results)*int64(parts)*8)
		spaces = append(spaces, f.rooms[len(f.rooms)-1].arg)
		f.line("if (threadIdx.x == 0) %s[blockIdx.x] = %s;", name, acc)
	}
	return spaces
}

// foldRest writes the function that folds what parts gave.
func (f *function) foldRest(n *loops.Nest, how []fold, parts, results, elements int, spaces []gpu.Arg) {
	f.begin(results)
	f.line("const int member = threadIdx.x;")
	f.line("const long long result = blockIdx.x;")
	values := make([]string, len(n.Statements))
	for i, s := range n.Statements {
		name := f.unique("space")
		f.rooms = append(f.rooms, room{how[i].typ + " *" + name, spaces[i]})
		values[i] = f.folds(how[i], "0", fmt.Sprint(parts), func(e string) string { return fmt.Sprintf("%s[result * %d + %s]", name, parts, e) }, false)
		if s.Value.Reduction.Kind == "mean" {
			values[i] = fmt.Sprintf("(%s / %d)", values[i], elements)
		}
	}
	f.open("if (threadIdx.x == 0) {")
	f.indices(n.Vars, "result")
	for i, s := range n.Statements {
		f.give(s, values[i])
	}
	f.close()
}

// begin begins a function of so many blocks, whose threads fold what they have.
func (f *function) begin(blocks int) {
	f.barriers = true
	f.grid = [3]int{blocks, 1, 1}
	for _, name := range []string{"space", "result", "from", "to", "member", "team", "active"} {
		f.taken[name] = true
	}
	f.line("__shared__ opgen_space<%s> space[%d];", f.real(), threads)
}

// folds writes the fold of elements of numbers in a range, which all threads of the block get. guarded says that element opens a block.
func (f *function) folds(how fold, from, to string, element func(e string) string, guarded bool) string {
	acc, e := f.unique("fold"), f.unique("element")
	f.typed(acc, how.typ)
	f.line("%s %s = %s;", how.typ, acc, how.first)
	f.open("for (long long %s = %s + member; %s < %s; %s += %d) {", e, from, e, to, e, threads)
	x := element(e)
	f.line("%s = %s;", acc, fmt.Sprintf(how.into, acc, x))
	if guarded {
		f.close()
	}
	f.close()
	f.together(acc, how, threads, 1)
	return acc
}

// foldColumns writes both functions for reductions whose results lie side by side as their elements do.
func (f *function) foldColumns(n *loops.Nest, how []fold, parts, results, elements int) {
	each := (elements + parts - 1) / parts
	groups := (results + sideBySide - 1) / sideBySide
	f.beginColumns(groups * parts)
	f.line("// %d blocks share %d results.", parts, sideBySide)
	f.line("const long long result = blockIdx.x / %d * %d + team, from = blockIdx.x %% %d * (long long)%d;", parts, sideBySide, parts, each)
	f.line("const long long to = opgen_smaller(from + %d, %d);", each, elements)
	f.line("const bool active = result < %d;", results)
	var spaces []gpu.Arg
	for i, s := range n.Statements {
		r := s.Value.Reduction
		acc := f.columns(how[i], "from", "to", func(e string) string {
			f.indices(n.Vars, "result")
			f.indices(r.Vars, e)
			if r.Guard != nil {
				f.open("if (%s) {", f.condition(r.Guard))
			}
			return f.folded(r)
		}, r.Guard != nil)
		name := f.room(how[i].typ, int64(results)*int64(parts)*8)
		spaces = append(spaces, f.rooms[len(f.rooms)-1].arg)
		f.line("if (active && member == 0) %s[blockIdx.x %% %d * (long long)%d + result] = %s;", name, parts, results, acc)
	}
	f.finish()
	*f = *f.generator.function(n) // which has the same buffers
	f.beginColumns(groups)
	f.line("const long long result = (long long)blockIdx.x * %d + team;", sideBySide)
	f.line("const bool active = result < %d;", results)
	values := make([]string, len(n.Statements))
	for i, s := range n.Statements {
		name := f.unique("space")
		f.rooms = append(f.rooms, room{how[i].typ + " *" + name, spaces[i]})
		values[i] = f.columns(how[i], "0", fmt.Sprint(parts), func(e string) string { return fmt.Sprintf("%s[%s * %d + result]", name, e, results) }, false)
		if s.Value.Reduction.Kind == "mean" {
			values[i] = fmt.Sprintf("(%s / %d)", values[i], elements)
		}
	}
	f.open("if (active && member == 0) {")
	f.indices(n.Vars, "result")
	for i, s := range n.Statements {
		f.give(s, values[i])
	}
	f.close()
}

// beginColumns begins a function of so many blocks. Neighboring threads fold for neighboring results.
func (f *function) beginColumns(blocks int) {
	f.begin(blocks)
	f.line("const int team = threadIdx.x %% %d, member = threadIdx.x / %d;", sideBySide, sideBySide)
}

// columns writes the fold of elements of numbers in a range, which all threads of the result get. guarded says that element opens a block.
func (f *function) columns(how fold, from, to string, element func(e string) string, guarded bool) string {
	acc, e := f.unique("fold"), f.unique("element")
	members := threads / sideBySide
	f.typed(acc, how.typ)
	f.line("%s %s = %s;", how.typ, acc, how.first)
	f.open("if (active) {")
	f.open("for (long long %s = %s + member; %s < %s; %s += %d) {", e, from, e, to, e, members)
	x := element(e)
	f.line("%s = %s;", acc, fmt.Sprintf(how.into, acc, x))
	if guarded {
		f.close()
	}
	f.close()
	f.close()
	f.together(acc, how, members, sideBySide)
	return acc
}
