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

// ordered holds, for each task of a plan, the tasks that must be over before it begins: those that touch
// bytes which it writes, or that write bytes which it touches, and what must be over before them.
type ordered [][]uint64

// has reports whether task s must be over before task t begins.
func (o ordered) has(t, s int) bool { return o[t][s/64]>>(s%64)&1 != 0 }

// inOrder compares all pairs of tasks, byte by byte.
func inOrder(p *plan.Plan) ordered {
	o := make(ordered, len(p.Tasks))
	for t := range o {
		o[t] = make([]uint64, len(p.Tasks)/64+1)
	}
	for _, pair := range planner.BrutePairs(p) { // in the order of the second task
		s, t := pair[0], pair[1]
		o[t][s/64] |= 1 << (s % 64)
		for i, bits := range o[s] {
			o[t][i] |= bits
		}
	}
	return o
}

// falseWaits returns a dependency of a plan that neither data nor memory asks for: neither of the two tasks
// touches bytes that the other one writes, nor is there a path of such pairs from one to the other.
func falseWaits(p *plan.Plan, o ordered) error {
	for t := range p.Tasks {
		for _, s := range p.Deps.Preds(t) {
			if !o.has(t, int(s)) {
				return fmt.Errorf("%s waits for %s (tasks %d and %d) without a reason", p.Label(t), p.Label(int(s)), t, s)
			}
		}
	}
	return nil
}

// falseQueues makes queues for a number of workers and tasks of some microseconds, and returns how many waits
// there are. It is an error if a worker waits for a task that must not be over before any of its own tasks
// that come then.
func falseQueues(p *plan.Plan, o ordered, workers int) (waits int, err error) {
	times := make([]float64, len(p.Tasks))
	for i := range times {
		times[i] = 3000
	}
	p, err = planner.Reschedule(p, planner.Workers(workers), planner.Times(times))
	if err != nil {
		return 0, err
	}
	q := &p.Schedule
	for w, queue := range q.Queues {
		for i, op := range queue {
			kind, n := op.Decode()
			if kind != schedule.WaitFor {
				continue
			}
			waits++
			v := q.Waits[n]
			last := -1 // the task that the other worker signals
			for _, op := range q.Queues[v.Worker][:v.Position] {
				if kind, t := op.Decode(); kind == schedule.Run {
					last = t
				}
			}
			needed := false
			for _, op := range queue[i:] {
				kind, t := op.Decode()
				needed = needed || (kind == schedule.Run || kind == schedule.Share) && o.has(t, last)
			}
			if !needed {
				return waits, fmt.Errorf("worker %d waits for %s (task %d) of worker %d, which none of its tasks needs", w, p.Label(last), last, v.Worker)
			}
		}
	}
	return waits, nil
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
		if err := falseWaits(p, inOrder(p)); err != nil {
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
