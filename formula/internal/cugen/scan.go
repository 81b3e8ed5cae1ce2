package cugen

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/gpu"
)

// leastScan is the length of the shortest scan that a block shares. Shorter ones are sequential, one thread
// per result.
const leastScan = 32

// scan writes a prefix or suffix reduction. A block scans a row in chunks of one element per thread
// (Hillis-Steele), combines each chunk with the total of those before, and stores all prefixes. A result then
// is a load of the prefix at its bound. scan returns false if the nest is no such scan.
func (f *function) scan(n *loops.Nest) bool {
	s := n.Statements[0]
	r := s.Value.Reduction
	t := r.Scan()
	if t == nil || t.Where == term.Others || len(n.Statements) > 1 || s.Guard != nil {
		return false
	}
	how, ok := f.foldOf(r.Kind, kindOf(s.Value))
	least, _, known := rewrite.Bounds(t.Lo)
	_, most, ends := rewrite.Bounds(t.Hi)
	at := slices.Index(n.Vars, t.Present)
	if !ok || !known || !ends || at < 0 || r.Kind == reduction.Mean || min(most-least, rewrite.Extent(t.Present)) < leastScan {
		return false
	}
	others := slices.Concat(n.Vars[:at], n.Vars[at+1:])
	rows, size := box(others), most-least+1
	if int64(rows) > 1<<40/int64(size) {
		return false
	}
	f.barriers = true
	blocks := min(blocksFor(rows, 1), mostRooms)
	f.grid = [3]int{blocks, 1, 1}
	space := f.room(how.typ, int64(blocks)*int64(size)*8)
	for _, name := range []string{"row", "part", "folds", "begin", "end", "carry", "first", "number", "element", "own", "before", "distance", "has"} {
		f.taken[name] = true
	}
	into := func(x, y string) string { return fmt.Sprintf(how.into, x, y) }
	f.line("// A block scans a row.")
	f.hold("part", fmt.Sprintf("%s part[%d]", how.typ, threads))
	f.line("%s *folds = %s + (long long)grid.block.x * %d;", how.typ, space, size)
	f.open("for (long long row = grid.block.x; row < %d; row += grid.blocks.x) {", rows)
	f.indices(others, "row")
	f.names[t.Present] = "0" // the bounds are monotonic in this index
	if t.Where == term.Before {
		f.names[t.Present] = fmt.Sprint(rewrite.Extent(t.Present) - 1)
	}
	f.line("const long long begin = %s;", f.integer(t.Lo))
	f.line("const long long end = %s;", f.integer(t.Hi))
	f.line("%s carry = %s;", how.typ, how.first)
	f.line("if (threadIdx.x == 0) folds[0] = carry;")
	f.open("for (long long first = 0; first < end - begin; first += %d) {", threads)
	f.line("const long long number = first + threadIdx.x;")
	f.line("%s own = %s;", how.typ, how.first)
	f.typed("own", how.typ)
	f.open("if (number < end - begin) {")
	if t.Where == term.Before {
		f.line("const long long element = begin + number;")
	} else {
		f.line("const long long element = end - 1 - number;")
	}
	f.names[t.Over] = "element"
	if t.Guard != nil {
		f.open("if (%s) {", f.condition(t.Guard))
	}
	f.line("own = %s;", f.folded(s.Value))
	if t.Guard != nil {
		f.close()
	}
	f.close()
	f.line("part[threadIdx.x] = own;")
	f.line("__syncthreads();")
	f.open("for (int distance = 1; distance < %d; distance *= 2) {", threads)
	f.line("const bool has = (int)threadIdx.x >= distance;")
	f.line("const %s before = has ? part[threadIdx.x - distance] : own;", how.typ)
	f.line("__syncthreads();")
	f.line("if (has) part[threadIdx.x] = own = %s;", into("before", "own"))
	f.line("__syncthreads();")
	f.close()
	f.line("if (number < end - begin) folds[number + 1] = %s;", into("carry", "own"))
	f.line("carry = %s;", into("carry", fmt.Sprintf("part[%d]", threads-1)))
	f.line("__syncthreads();")
	f.close()
	f.line("__syncthreads();")
	v := f.unique(t.Present.Name)
	f.names[t.Present] = v
	f.open("for (int %s = threadIdx.x; %s < %d; %s += %d) {", v, v, rewrite.Extent(t.Present), v, threads)
	count := f.integer(t.Hi) + " - begin"
	if t.Where == term.After {
		count = "end - " + f.integer(t.Lo)
	}
	f.give(s, f.name(how.typ, "scan", fmt.Sprintf("folds[opgen_greater(%s, 0)]", count)))
	f.close()
	f.line("__syncthreads();")
	f.close()
	return true
}

// mostRooms is the maximum number of blocks of a kernel that has a scratch buffer for each block. Further
// rows are iterations of a loop.
const mostRooms = 1 << 12

// room allocates a scratch buffer of bytes bytes. It returns the name of the parameter, of type typ *, that
// points to it.
func (f *function) room(typ string, bytes int64) string {
	name := f.unique("space")
	f.rooms = append(f.rooms, room{typ + " *", name, gpu.Arg{Kind: gpu.Scratch, Index: len(f.code.Scratch)}})
	f.code.Scratch = append(f.code.Scratch, bytes)
	return name
}

// room is a parameter that points to a scratch buffer.
type room struct {
	typ, name string
	arg       gpu.Arg
}
