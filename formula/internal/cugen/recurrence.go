package cugen

import (
	"fmt"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
)

// A recurrence is one kernel that goes over all values of its index. Rows, which are the values of those
// indices at which the statements read only their own, are independent. If the statements have no other
// indices, a thread computes a row. Otherwise a block does: at each value of the index, its threads share the
// elements of a statement, and wait for each other before the next one.

// lane is the size of a block whose threads compute a row each. It is small, so that few rows spread over
// many multiprocessors. mostOfRow is the maximum size of a block that computes a row.
const (
	lane      = 64
	mostOfRow = 512
)

// recurrence compiles a part whose nests run in sequence at each value of part.Over, as one kernel.
func (g *generator) recurrence(part *loops.Part) error {
	all, inner := &loops.Nest{}, 1
	given := map[int]bool{}
	for _, n := range part.Nests {
		all.Statements = append(all.Statements, n.Statements...)
		inner = max(inner, box(n.Vars))
		for _, s := range n.Statements {
			given[s.Target] = true
			if s.Add || g.tensors[s.Target].Add {
				return fmt.Errorf("there is no device code for a recurrence that adds to %s", g.p.Tensors[s.Target].Name)
			}
		}
	}
	rows, steps := box(part.Rows), rewrite.Extent(part.Over)
	if rows == 0 || steps == 0 {
		return nil
	}
	f := g.function(all)
	w := &walk{function: f, inner: inner}
	f.taken["row"] = true
	instances := 0
	if w.alone() {
		f.block[0] = lane
		f.grid[0] = blocksFor(rows, lane)
		instances = f.grid[0] * lane
	} else {
		f.barriers = true
		f.block[0] = min((inner+31)/32*32, mostOfRow)
		f.grid[0] = min(rows, mostRooms)
		instances = f.grid[0]
	}
	for _, t := range part.Own {
		if given[t] {
			if err := w.own(t, instances); err != nil {
				return err
			}
		}
	}
	if w.alone() {
		f.line("// A thread computes a row.")
		f.open("for (long long row = opgen_thread(grid); row < %d; row += opgen_threads(grid)) {", rows)
	} else {
		f.line("// A block computes a row.")
		f.open("for (long long row = grid.block.x; row < %d; row += grid.blocks.x) {", rows)
	}
	f.indices(part.Rows, "row")
	at := f.unique(part.Over.Name)
	f.names[part.Over] = at
	if part.Down {
		f.open("for (int %s = %d; %s >= 0; %s--) {", at, steps-1, at, at)
	} else {
		f.open("for (int %s = 0; %s < %d; %s++) {", at, at, steps, at)
	}
	for _, n := range part.Nests {
		w.nest(n)
	}
	f.close()
	f.close()
	if f.err != nil {
		return f.err
	}
	f.finish()
	return nil
}

// walk writes the kernel of a recurrence.
type walk struct {
	*function
	inner int // the most elements that a statement computes at one value of the index, in a row
}

// alone reports whether one thread computes a row. Otherwise a block does.
func (w *walk) alone() bool { return w.inner == 1 }

// own allocates a copy of temporary t, with its elements at one value of the index, for each of instances
// threads or blocks. It declares the pointer to the copy of the thread or block that runs.
func (w *walk) own(t, instances int) error {
	x := w.tensors[t]
	if x.Memory != t {
		return fmt.Errorf("there is no device code for a recurrence in shared memory")
	}
	n, typ := w.elements(t), ctypes[x.Type]
	space := w.room(typ, int64(instances)*int64(n)*int64(x.Type.Size()))
	who := "grid.block.x"
	if w.alone() {
		who = "opgen_thread(grid)"
	}
	name := w.unique(w.p.Tensors[t].Name)
	w.line("%s *%s = %s + (long long)%s * %d;", typ, name, space, who, n)
	if w.placed == nil {
		w.placed = map[int]string{}
	}
	w.placed[t] = name
	return nil
}

// nest writes the statements of a nest at one value of the recurrence's index.
func (w *walk) nest(n *loops.Nest) {
	size := box(n.Vars)
	if size == 0 {
		return
	}
	w.lenient = false
	for _, s := range n.Statements {
		w.lenient = w.lenient || s.Lenient
	}
	if w.alone() {
		for _, v := range n.Vars {
			w.names[v] = "0"
		}
		w.statements(nil, n.Statements)
		return
	}
	e := w.unique("element")
	w.open("for (int %s = threadIdx.x; %s < %d; %s += %d) {", e, e, size, e, w.block[0])
	w.indices(n.Vars, e)
	w.statements(nil, n.Statements)
	w.close()
	w.line("__syncthreads();")
}
