package schedule_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/schedule"
)

// The queue of a worker: it runs task 3, waits for what the first wait of the schedule names, and takes a
// share of task 5.
func ExampleOp() {
	for _, entry := range []schedule.Op{3, schedule.WaitOf(0), schedule.ShareOf(5)} {
		kind, number := entry.Decode()
		fmt.Println(kind == schedule.Run, kind == schedule.Share, number)
	}
	// Output:
	// true false 3
	// false false 0
	// false true 5
}

// A graph lists the predecessors of each task: here, task 2 needs the results of tasks 0 and 1.
func ExampleGraph() {
	g := schedule.Graph{Start: []int32{0, 0, 0, 2}, Pred: []int32{0, 1}}
	fmt.Println(g.Len(), g.Edges(), g.Preds(2))
	// Output: 3 2 [0 1]
}
