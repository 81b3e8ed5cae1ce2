package search_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/mesh/search"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/project"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/simulate"
)

// TestRun predicts three messages to one rank, and compares the times with those worked out by hand: one rank
// sends at 0 s and at 10 s, and another at 1 s. Each message takes a second of both links, and half a second
// more. They arrive after 1.5, 2.5 and 11.5 s, whichever number the ranks have.
func TestRun(t *testing.T) {
	t.Parallel()
	const elements = 25
	for twice := range 3 {
		once, to := (twice+1)%3, (twice+2)%3
		p := &plan.Plan{Format: plan.Format, Name: "three messages"}
		var work []simulate.Work
		root := func(device int, use plan.Use) region.Root {
			p.Roots = append(p.Roots, plan.Root{Name: fmt.Sprint("t", len(p.Roots)), Type: dtype.F32, Shape: []int{elements}, Use: use, Device: device})
			return region.Root(len(p.Roots) - 1)
		}
		access := func(r region.Root, p perm.Perm) region.Access {
			return region.Access{Region: region.Whole(r, []int{elements}), Perm: p}
		}
		task := func(op string, device int, seconds float64, accesses ...region.Access) {
			p.Tasks = append(p.Tasks, plan.Task{Call: -1, Builtin: &plan.Builtin{Op: op}, Device: device, Over: elements, Grain: elements, Access: accesses})
			work = append(work, simulate.Work{Flops: seconds})
		}
		var sent []region.Root
		for _, x := range []struct {
			device  int
			seconds float64
		}{{twice, 0}, {once, 1}, {twice, 10}} {
			r := root(x.device, plan.Internal)
			task("fill", x.device, x.seconds, access(r, perm.Write))
			sent = append(sent, r)
		}
		for _, r := range sent {
			task("copy", to, 0, access(root(to, plan.Variable), perm.Write), access(r, perm.Read))
		}
		if err := planner.Complete(p); err != nil {
			t.Fatal(err)
		}
		parts, err := project.Ranks(p, []int{0, 1, 2}, slices.Repeat([]int{1}, 3))
		if err != nil {
			t.Fatal(err)
		}
		m := search.Machine{Rate: 1, Bandwidth: math.Inf(1), Link: 4 * elements, Latency: 0.5}
		got, err := m.Run(p, parts, work)
		if err != nil {
			t.Fatal(err)
		}
		if got.Seconds != 11.5 || got.Wait != 11.5 || got.Work != 11 || got.Messages != 3 || got.Sent[twice] != 8*elements || got.Sent[once] != 4*elements {
			t.Errorf("rank %d sends twice: %+v", twice, *got)
		}
	}
}
