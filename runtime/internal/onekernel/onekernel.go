// Package onekernel makes one kernel of the launches of a plan: its source, the table that it walks, and the
// proof that the table keeps the order of the plan.
//
// The kernel's blocks are workers. All of them are resident at the same time, and stay until the plan is
// done. Each walks the same items, which are launches, in the same order, and computes its share of the
// blocks of each. Behind an item, a worker stores in a word of its own how far it is. In front of an item
// that needs earlier ones, it waits until the words of all workers say that they are past these. So launches
// that are independent overlap, no launch goes through the host, and words are never reset: a run goes on
// counting where the one before ended.
//
// Items need earlier items only, and workers are resident, so the worker that is furthest behind never waits:
// the kernel ends if all bodies do.
package onekernel

import (
	_ "embed"
	"fmt"
	"strings"
)

// Threads is the number of threads of a worker, and of the blocks of items.
const Threads = 256

// Item is a launch.
type Item struct {
	Body   int       // number of the function that computes a block, among those of the kernel
	Task   int       // of the plan
	Blocks [3]uint32 // of its grid
	Args   []uint64
	Steps  []int // numbers of arguments that are the number of the training step
	Need   int   // all items up to this one must be over; -1 for none
}

// Body is a function that computes a block of a launch: see gpu.Launch.
type Body struct{ Name, Memory string }

//go:embed kernel.cuh
var kernel string

// Entry is the name of the kernel.
const Entry = "opgen_one_kernel"

// Source returns the CUDA C++ of the kernel. It follows the prelude of package gpu and the source of the
// bodies.
func Source(bodies []Body) string {
	var memories, cases strings.Builder
	seen := map[string]bool{}
	for i, b := range bodies {
		if !seen[b.Memory] {
			seen[b.Memory] = true
			fmt.Fprintf(&memories, "\t%s m%d;\n", b.Memory, i)
		}
		fmt.Fprintf(&cases, "\tcase %d: %s(grid, args); break;\n", i, b.Name)
	}
	return strings.NewReplacer("\t@memories@\n", memories.String(), "\t@bodies@\n", cases.String()).Replace(kernel)
}
