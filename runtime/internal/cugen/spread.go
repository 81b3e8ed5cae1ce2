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
	parts, columns := partsOf(results, elements), columnsOf(n, results)
	if columns {
		parts = columnParts(results, elements)
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
	if columns {
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
