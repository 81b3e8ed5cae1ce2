package cugen

import (
	"fmt"

	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/internal/loops"
)

// Where the elements of neighboring results lie side by side, as those of columns do, a block folds those of as many results as a warp has threads, so
// that neighboring threads read neighboring elements. Several blocks share the elements of long columns.
const (
	sideBySide  = 32
	leastColumn = 128  // elements of a part
	columnUntil = 1024 // blocks
)

// columnsOf reports whether the reductions of a nest, of so many results, are those of columns.
func columnsOf(n *loops.Nest, results int) bool {
	r := n.Statements[0].Value.Reduction
	return results >= sideBySide && r.Body != nil && !contiguous(r, n.Vars)
}

// columnParts returns into how many parts the elements of columns are divided.
func columnParts(results, elements int) int {
	groups := (results + sideBySide - 1) / sideBySide
	return max(1, min(elements/leastColumn, columnUntil/groups))
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
