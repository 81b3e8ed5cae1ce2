package onekernel

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// ItemBytes is the size of an item in the memory of a device.
const ItemBytes = 40

// Encode returns the table of items, as the kernel reads it: the items, and their arguments.
func Encode(items []Item) (table, args []byte) {
	n := 0
	for i := range items {
		x := &items[i]
		for _, v := range []uint64{uint64(x.Body), uint64(n), uint64(int64(x.Need))} {
			table = binary.LittleEndian.AppendUint64(table, v)
		}
		for _, v := range append(x.Blocks[:], x.Blocks[0]*x.Blocks[1]*x.Blocks[2]) {
			table = binary.LittleEndian.AppendUint32(table, v)
		}
		for _, v := range x.Args {
			args = binary.LittleEndian.AppendUint64(args, v)
		}
		n += len(x.Args)
	}
	return table, args
}

// Check proves that a table that a device holds runs items, in an order that a plan permits. It reads the
// bytes of the table, and takes conflicts between tasks from the plan: two items conflict if their tasks
// access a byte in common, of the elements that they access, and one of them writes it. The error names the
// task and what is wrong.
func Check(p *plan.Plan, bodies int, items []Item, table, args []byte) error {
	if len(table) != len(items)*ItemBytes {
		return fmt.Errorf("want a table of %d items, got %d bytes", len(items), len(table))
	}
	over := -1 // what each worker has waited for
	n := uint64(0)
	for k := range items {
		x := &items[k]
		b := table[k*ItemBytes:]
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
		fail := func(what string, want, got any) error {
			return p.TaskErrorf(x.Task, "item %d of the kernel: want %s %v, got %v", k, what, want, got)
		}
		if word(0) != uint64(x.Body) || x.Body < 0 || x.Body >= bodies {
			return fail("function", x.Body, word(0))
		}
		if word(1) != n || uint64(len(args)) < 8*(n+uint64(len(x.Args))) {
			return fail("its first argument at", n, word(1))
		}
		for i, v := range x.Args {
			if got := binary.LittleEndian.Uint64(args[8*(n+uint64(i)):]); got != v && !slices.Contains(x.Steps, i) {
				return fail(fmt.Sprintf("argument %d to be", i), v, got)
			}
		}
		n += uint64(len(x.Args))
		blocks := [4]uint32{}
		for i := range blocks {
			blocks[i] = binary.LittleEndian.Uint32(b[24+4*i:])
		}
		if want := [4]uint32{x.Blocks[0], x.Blocks[1], x.Blocks[2], x.Blocks[0] * x.Blocks[1] * x.Blocks[2]}; blocks != want {
			return fail("blocks", want, blocks)
		}
		need := int64(word(2))
		if need >= int64(k) || need < -1 {
			return fail("to need an earlier item, before", k, need)
		}
		over = max(over, int(need))
		for i := k - 1; i > over; i-- {
			switch before := items[i].Task; {
			case before == x.Task:
				return fail("to need item", i, over)
			case slices.Contains(p.Tasks[x.Task].After, before), conflict(p, before, x.Task):
				return fail(fmt.Sprintf("to need item %d, of %s, got", i, p.Label(before)), i, over)
			}
		}
	}
	return nil
}

// conflict reports whether two tasks must not run at the same time.
func conflict(p *plan.Plan, t, u int) bool {
	var a, b region.Box
	for i := range p.Tasks[t].Access {
		x := &p.Tasks[t].Access[i]
		p.Tasks[t].On(i, &a)
		if x.Perm == perm.None || a.Empty() {
			continue
		}
		for k := range p.Tasks[u].Access {
			y := &p.Tasks[u].Access[k]
			if y.Perm == perm.None || !x.Perm.Writes() && !y.Perm.Writes() {
				continue
			}
			p.Tasks[u].On(k, &b)
			if b.Empty() {
				continue
			}
			if x.Root == y.Root || p.Roots[x.Root].Place.Overlaps(p.Roots[y.Root].Place) {
				if layout(&p.Roots[x.Root]).Meets(&a, layout(&p.Roots[y.Root]), &b) {
					return true
				}
			}
		}
	}
	return false
}

// layout says where the elements of a root lie.
func layout(r *plan.Root) *region.Layout {
	return &region.Layout{Off: r.Place.Off, Elem: r.Type.Size(), Shape: r.Shape}
}
