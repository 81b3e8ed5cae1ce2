package timeline_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/timeline"
)

// Two workers of which the second waits for the first between its tasks. The times of ranges are measured,
// and the wait follows from the queue of the worker.
func Example() {
	fill := plan.Task{Call: -1, Over: 4, Grain: 4, Builtin: &plan.Builtin{Op: "fill"}}
	p := &plan.Plan{Name: "example", Tasks: []plan.Task{fill, fill, fill}, Schedule: schedule.Schedule{Tasks: 3,
		Queues: [][]schedule.Op{{0, schedule.Signaling}, {1, schedule.WaitOf(0), 2}}, Waits: []schedule.Wait{{Worker: 0, Position: 2}}}}
	all := op.Range{Hi: 4}
	t := &timeline.Timeline{Name: "plan example", Plan: p, Workers: [][]timeline.Span{
		{{Task: 0, Range: all, Begin: 0, End: 3e-6}},
		{{Task: 1, Range: all, Begin: 0, End: 1e-6}, {Task: 2, Range: all, Begin: 3.5e-6, End: 4e-6}},
	}}
	t.AddWaits()
	wait := t.Longest(1, timeline.Wait)
	fmt.Printf("%.1f of %.1f us: worker 1 %s\n", wait.Seconds()*1e6, t.Seconds()*1e6, t.Describe(wait))
	var trace bytes.Buffer
	if err := timeline.WriteTrace(&trace, t); err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(trace.String()) {
		if strings.Contains(line, `"cat":"wait"`) {
			_, what, _ := strings.Cut(line, `"ph":`)
			fmt.Println(strings.TrimSuffix(strings.TrimSpace(what), ","))
		}
	}
	fmt.Println("lines of the trace:", strings.Count(trace.String(), "\n"))
	// Output:
	// 2.5 of 4.0 us: worker 1 waits for worker 0: task 0
	// "X","ts":1,"dur":2.5,"pid":0,"tid":1,"cname":"terrible","args":{"run":0,"task":0,"worker":0}}
	// lines of the trace: 9
}
