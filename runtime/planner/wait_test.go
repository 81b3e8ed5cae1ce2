package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// falseWaits returns a dependency of a plan that neither data nor memory asks for: neither of the two tasks
// touches bytes that the other one writes, nor is there a path of such pairs from one to the other. It
// compares all pairs of tasks, byte by byte.
func falseWaits(p *plan.Plan) error {
	must := planner.BrutePairs(p)
	before := make([]map[int]bool, len(p.Tasks)) // per task: what must be over before it
	for t := range before {
		before[t] = map[int]bool{}
	}
	for _, pair := range must { // in the order of the second task
		before[pair[1]][pair[0]] = true
	}
	for t := range before {
		for s := t - 1; s >= 0; s-- {
			if before[t][s] {
				for r := range before[s] {
					before[t][r] = true
				}
			}
		}
	}
	for t := range p.Tasks {
		for _, s := range p.Deps.Preds(t) {
			if !before[t][int(s)] {
				return fmt.Errorf("%s waits for %s (tasks %d and %d) without a reason", p.Label(t), p.Label(int(s)), t, s)
			}
		}
	}
	return nil
}

// depth returns how many tasks the longest chain of dependencies has, and the largest number of predecessors.
func depth(p *plan.Plan) (chain, widest int) {
	at := make([]int, len(p.Tasks))
	for t := range p.Tasks {
		preds := p.Deps.Preds(t)
		widest = max(widest, len(preds))
		for _, s := range preds {
			at[t] = max(at[t], at[s])
		}
		at[t]++
		chain = max(chain, at[t])
	}
	return chain, widest
}

// TestFalseWaits makes plans of random chains of pooling operators, most of which use memory again: their
// tiles wait only for what touches the same bytes, and no chain is longer than the layers are.
func TestFalseWaits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	again := 0
	for n := range 40 {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 1, 1+r.IntN(2), 24+r.IntN(9), 3+r.IntN(3))
		layers := 3 + r.IntN(3)
		for range layers {
			at := pool2d.Defaults(1+r.IntN(3), 1)
			at.PaddingH = r.IntN(at.KernelH)
			if r.IntN(4) == 0 {
				at.StrideH = 2
			}
			x = pool2d.Apply(g, at, x)
		}
		prog, err := graph.Inference(g, x)
		if err != nil {
			t.Fatal(err)
		}
		p, err := planner.Build(prog, planner.Tiled(), planner.Workers(1+r.IntN(4)))
		if err != nil {
			t.Fatal(err)
		}
		if err := falseWaits(p); err != nil {
			t.Errorf("chain %d: %v", n, err)
		}
		if chain, _ := depth(p); chain > layers {
			t.Errorf("chain %d: %d tasks wait for each other, want at most %d", n, chain, layers)
		}
		var sum int64
		for i := range p.Roots {
			sum += p.Roots[i].Place.Bytes
		}
		if sum > p.ArenaBytes {
			again++
		}
	}
	if again < 5 {
		t.Errorf("%d plans use memory again", again)
	}
}

// TestManyBefore uses memory again, of which each of many tiles reads all: most tiles wait for one that waits
// for all of them.
func TestManyBefore(t *testing.T) {
	const tiles = 300
	p := &plan.Plan{Format: plan.Format, Name: "many", ArenaBytes: 4 * (64 + tiles*16), Calls: []plan.Call{{Node: "write"}, {Node: "read"}, {Node: "again"}}, Roots: []plan.Root{
		{Name: "a", Type: dtype.F32, Shape: []int{tiles, 16}, Place: region.Place{Off: 256, Bytes: 64 * tiles}, Last: tiles},
		{Name: "b", Type: dtype.F32, Shape: []int{tiles, 1}, Place: region.Place{Off: 256 + 64*tiles, Bytes: 4 * tiles}, First: 1, Last: tiles},
		{Name: "c", Type: dtype.F32, Shape: []int{8, tiles * 2}, Place: region.Place{Off: 256, Bytes: 64 * tiles}, First: tiles + 1, Last: 3 * tiles},
	}}
	p.ArenaBytes = 256 + 68*tiles
	whole := func(r region.Root, as perm.Perm) region.Access {
		return region.Access{Region: region.Whole(r, p.Roots[r].Shape), Perm: as}
	}
	moved := func(r region.Root, as perm.Perm, axis int) region.Access {
		a := whole(r, as)
		a.Footprint = make(region.Footprint, 2)
		a.Footprint[axis] = region.Along(0, 1, 0, 1)
		return a
	}
	p.Tasks = append(p.Tasks, plan.Task{Call: 0, Over: 1, Grain: 1, Access: []region.Access{whole(0, perm.Write)}})
	for k := range tiles {
		p.Tasks = append(p.Tasks, plan.Task{Call: 1, Over: tiles, Grain: 1, Tile: k + 1, Access: []region.Access{whole(0, perm.Read), moved(1, perm.Write, 0)}})
	}
	for k := range 2 * tiles {
		p.Tasks = append(p.Tasks, plan.Task{Call: 2, Over: 2 * tiles, Grain: 1, Tile: k + 1, Access: []region.Access{moved(2, perm.Write, 1)}})
	}
	for workers := range 3 {
		q, err := planner.Reschedule(p, planner.Workers(1+workers))
		if err != nil {
			t.Fatal(err)
		}
		if err := verify.Plan(q); err != nil {
			t.Fatal(err)
		}
		if n := q.Deps.Edges(); n < 3*tiles || n > 6*tiles {
			t.Errorf("%d dependencies of %d tasks", n, len(q.Tasks))
		}
		q.Deps.Start, q.Deps.Pred = make([]int32, len(q.Tasks)+1), nil
		for w := range q.Schedule.Queues {
			q.Schedule.Queues[w] = slices.DeleteFunc(q.Schedule.Queues[w], func(op schedule.Op) bool {
				kind, _ := op.Decode()
				return kind == schedule.WaitFor
			})
		}
		if err := verify.Plan(q); workers > 0 && (err == nil || !strings.Contains(err.Error(), "begins")) {
			t.Errorf("%d workers: a plan without waits is accepted: %v", workers+1, err)
		}
	}
}
