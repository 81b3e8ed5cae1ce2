package onekernel_test

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/onekernel"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// Three tasks are launches of one kernel: the last one reads what the first one writes.
func Example() {
	root := func(name string, off int64) plan.Root {
		return plan.Root{Name: name, Type: dtype.F32, Shape: []int{4}, Place: region.Place{Off: off, Bytes: 16}}
	}
	p := &plan.Plan{Name: "three", Roots: []plan.Root{root("x", 0), root("y", 16), root("z", 32)}}
	access := func(r region.Root, with perm.Perm) region.Access {
		return region.Access{Region: region.Whole(r, []int{4}), Perm: with}
	}
	p.Tasks = []plan.Task{
		{Call: -1, Access: []region.Access{access(0, perm.Write)}},
		{Call: -1, Access: []region.Access{access(1, perm.Write)}},
		{Call: -1, Access: []region.Access{access(0, perm.Read), access(2, perm.Write)}},
	}
	var items []onekernel.Item
	for t := range p.Tasks {
		items = append(items, onekernel.Item{Task: t, Blocks: [3]uint32{1, 1, 1}, Args: []uint64{1}})
	}
	onekernel.Order(p, items)
	table, args := onekernel.Encode(items)
	fmt.Println("needs:", items[0].Need, items[1].Need, items[2].Need)
	fmt.Println("proved:", onekernel.Check(p, 1, items, table, args) == nil)
	table[2*onekernel.ItemBytes+16] = 0xff // the low byte of what the last one needs
	fmt.Println("forged:", onekernel.Check(p, 1, items, table, args) == nil)
	source := onekernel.Source([]onekernel.Body{{Name: "fill_on", Memory: "fill_memory"}})
	fmt.Println(strings.Contains(source, "case 0: fill_on(grid, args);"), strings.Contains(source, fmt.Sprintf("__launch_bounds__(%d) %s(", onekernel.Threads, onekernel.Entry)))
	// Output:
	// needs: -1 -1 0
	// proved: true
	// forged: false
	// true true
}
