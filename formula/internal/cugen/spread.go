package cugen

import (
	"fmt"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/gpu"
)

// Reductions of many elements to few results, and of columns, are split over blocks (split-K): a first
// kernel reduces parts of the elements of a result, and a second kernel reduces the partial results. The
// parts depend on extents only, so the order of reduction is fixed.
const (
	leastPart   = 4096 // elements of a part
	spreadUntil = 512  // maximum blocks

	// For columns, neighboring results have neighboring elements. A block then reduces one warp of results,
	// so that loads are coalesced.
	sideBySide  = 32
	leastColumn = 128  // elements of a part
	columnUntil = 1024 // maximum blocks
)

// spreading describes how blocks share reductions.
type spreading struct {
	results, elements int // the number of results, and of elements of each
	parts             int // parts into which the elements of a result are divided
	side              int // results that a block reduces
}

// spreadingOf returns how blocks share the reductions of a nest.
func spreadingOf(n *loops.Nest) spreading {
	r := n.Statements[0].Value.Reduction
	s := spreading{box(n.Vars), box(r.Vars), 1, 1}
	switch {
	case s.results >= sideBySide && r.Body != nil && !contiguous(r, n.Vars):
		s.side = sideBySide
		s.parts = min(s.elements/leastColumn, columnUntil/s.groups())
	case s.results > 0 && s.results <= spreadUntil/4:
		s.parts = min(s.elements/leastPart, spreadUntil/s.results)
	}
	return s
}

// groups returns the number of groups of side results, each of which is reduced by parts blocks.
func (s *spreading) groups() int { return (s.results + s.side - 1) / s.side }

// spread writes the reductions of a nest as two kernels (split-K). It returns false, and writes nothing, if
// one kernel suffices.
func (f *function) spread(n *loops.Nest) bool {
	s := spreadingOf(n)
	how := make([]fold, len(n.Statements))
	for i, x := range n.Statements {
		r := x.Value.Reduction
		var ok bool
		if how[i], ok = f.foldOf(r.Kind, kindOf(x.Value)); !ok || r.Kind == reduction.Mean && r.Guard != nil || x.Value.Op != term.Reduce {
			return false
		}
	}
	if s.parts < 2 {
		return false
	}
	spaces := f.foldParts(n, how, &s)
	f.finish()
	*f = *f.generator.function(n) // keeps the scratch buffers
	f.foldRest(n, how, &s, spaces)
	return true
}

// foldParts writes the kernel that reduces each part of a result's elements. It returns the scratch buffers
// of the partial results, by statement.
func (f *function) foldParts(n *loops.Nest, how []fold, s *spreading) (spaces []gpu.Arg) {
	f.share(s, s.parts)
	each := (s.elements + s.parts - 1) / s.parts
	f.line("const long long part = grid.block.x %% %d, from = part * %d;", s.parts, each)
	f.line("const long long to = opgen_smaller(from + %d, %d);", each, s.elements)
	if s.side == 1 {
		f.indices(n.Vars, "result")
	}
	for i, x := range n.Statements {
		r := x.Value.Reduction
		acc := f.folds(how[i], s, "from", "to", func(e string) string {
			if s.side > 1 {
				f.indices(n.Vars, "result")
			}
			f.indices(r.Vars, e)
			if r.Guard != nil {
				f.open("if (%s) {", f.condition(r.Guard))
			}
			return f.folded(x.Value)
		}, r.Guard != nil)
		name := f.room(how[i].typ, int64(s.results)*int64(s.parts)*8)
		spaces = append(spaces, f.rooms[len(f.rooms)-1].arg)
		f.line("if (%s) %s[part * %d + result] = %s;", s.first(), name, s.results, acc)
	}
	return spaces
}

// foldRest writes the kernel that reduces the partial results in spaces, and stores the results.
func (f *function) foldRest(n *loops.Nest, how []fold, s *spreading, spaces []gpu.Arg) {
	f.share(s, 1)
	values := make([]string, len(n.Statements))
	for i, x := range n.Statements {
		name := f.unique("space")
		f.rooms = append(f.rooms, room{how[i].typ + " *", name, spaces[i]})
		values[i] = f.folds(how[i], s, "0", fmt.Sprint(s.parts), func(e string) string { return fmt.Sprintf("%s[%s * %d + result]", name, e, s.results) }, false)
		if x.Value.Reduction.Kind == reduction.Mean {
			values[i] = fmt.Sprintf("(%s / %d)", values[i], s.elements)
		}
	}
	f.open("if (%s) {", s.first())
	f.indices(n.Vars, "result")
	for i, x := range n.Statements {
		f.give(x, values[i])
	}
	f.close()
}

// first returns the C condition by which one thread of a result stores it.
func (s *spreading) first() string {
	if s.side == 1 {
		return "member == 0"
	}
	return "active && member == 0"
}

// share begins a kernel in which blocks blocks work on each group of results. It declares the thread's
// result, and its member number in the team of that result.
func (f *function) share(s *spreading, blocks int) {
	f.barriers = true
	f.grid = [3]int{s.groups() * blocks, 1, 1}
	for _, name := range []string{"space", "result", "part", "from", "to", "member", "team", "active"} {
		f.taken[name] = true
	}
	if blocks > 1 {
		f.line("// %d blocks share %d results.", blocks, s.side)
	}
	f.hold("space", fmt.Sprintf("opgen_space<%s> space[%d]", f.real(), threads))
	if s.side == 1 {
		f.line("const int member = threadIdx.x;")
		f.line("const long long result = grid.block.x / %d;", blocks)
		return
	}
	f.line("const int team = threadIdx.x %% %d, member = threadIdx.x / %d;", s.side, s.side)
	f.line("const long long result = (long long)(grid.block.x / %d) * %d + team;", blocks, s.side)
	f.line("const bool active = result < %d;", s.results)
}

// folds writes a reduction, by a team, of the elements numbered from to to-1. All members get the result,
// whose name folds returns. element writes an element. guarded says that element opens a block, which folds
// closes.
func (f *function) folds(how fold, s *spreading, from, to string, element func(e string) string, guarded bool) string {
	acc, e := f.unique("fold"), f.unique("element")
	members := threads / s.side
	f.typed(acc, how.typ)
	f.line("%s %s = %s;", how.typ, acc, how.first)
	if s.side > 1 {
		f.open("if (active) {")
	}
	f.open("for (long long %s = %s + member; %s < %s; %s += %d) {", e, from, e, to, e, members)
	x := element(e)
	f.line("%s = %s;", acc, fmt.Sprintf(how.into, acc, x))
	if guarded {
		f.close()
	}
	f.close()
	if s.side > 1 {
		f.close()
	}
	f.together(acc, how, members, s.side)
	return acc
}
