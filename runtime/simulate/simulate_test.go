package simulate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/internal/sched"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/timeline"
)

// random returns a small plan without tensors: tasks of several ranges, with random dependencies, and queues
// for a number of workers. Times are whole numbers. bytes says whether tasks move bytes, too.
func random(t *testing.T, r *rand.Rand, workers int, bytes bool) (*plan.Plan, []simulate.Work) {
	t.Helper()
	n := 1 + r.IntN(12)
	p := &plan.Plan{Name: "random", Deps: schedule.Graph{Start: []int32{0}}}
	work := make([]simulate.Work, n)
	costs := sched.Costs{Time: make([]float64, n), Ranges: make([]int, n), Latency: 1e-3}
	for i := range n {
		ranges := 1 + r.IntN(4)*r.IntN(2)
		task := plan.Task{Call: -1, Over: ranges, Grain: 1, Builtin: &plan.Builtin{Op: "fill"}}
		if r.IntN(3) == 0 { // one tile of a step
			task.Tile = 1 + r.IntN(ranges)
		}
		p.Tasks = append(p.Tasks, task)
		costs.Ranges[i] = p.Tasks[i].Ranges()
		work[i].Seconds = float64(r.IntN(8) * costs.Ranges[i])
		if bytes {
			work[i].Bytes = float64(r.IntN(8) * costs.Ranges[i])
		}
		for range r.IntN(4) * r.IntN(2) {
			var phase []float64
			for range costs.Ranges[i] {
				phase = append(phase, float64(r.IntN(5)))
			}
			work[i].Ranges = append(work[i].Ranges, phase)
		}
		costs.Time[i] = float64(1+r.IntN(4)) * 1e3 // so that the scheduler divides them
		for v := range i {
			if r.IntN(4) == 0 {
				p.Deps.Pred = append(p.Deps.Pred, int32(v))
			}
		}
		p.Deps.Start = append(p.Deps.Start, int32(len(p.Deps.Pred)))
	}
	s, err := sched.New(&p.Deps, workers, costs)
	if err != nil {
		t.Fatal(err)
	}
	p.Schedule = *s
	return p, work
}

// ticking runs queues tick after tick. It shares nothing with the simulator: a worker does one thing for a
// number of ticks, and all that move bytes in a tick have equal parts of the bandwidth.
func ticking(p *plan.Plan, work []simulate.Work, m simulate.Machine, ticks float64) float64 {
	s := p.Schedule
	W := len(s.Queues)
	type state struct {
		entry, tile int
		left        int     // ticks of what the worker does
		bytes       float64 // that are left of it
		then        func()  // at its end
		taken       int     // the range of a shared task that it has taken, from 1
		ready       bool    // whether that may begin
	}
	of := make([]state, W)
	set := make([]map[int]int, W) // worker -> position -> tick of its signal
	for w := range set {
		set[w] = map[int]int{}
	}
	whole := func(seconds float64) int { return int(math.Round(seconds * ticks)) }
	taken, done := map[int]int{}, map[int]int{}
	over := map[[2]int][2]int{} // task and phase -> tick, and the last worker
	phases := func(n int) int { return max(len(work[n].Ranges), 1) }
	now := 0
	// began reports whether a worker may begin what comes after some phases of a task.
	began := func(w, n, phases int) bool {
		at := over[[2]int{n, phases - 1}]
		return done[n] >= phases*p.Tasks[n].Ranges() && (at[1] == w || now >= at[0]+whole(m.Latency))
	}
	if m.Start > 0 {
		for w := 1; w < W; w++ {
			if len(s.Queues[w]) > 0 {
				of[w].left, of[w].then = whole(m.Start), func() {}
			}
		}
	}
	for ; now < 1<<22; now++ {
		// All that ends or begins at this tick, in the order of workers, until nothing changes.
		for again := true; again; {
			again = false
			for w := range of {
				for {
					k := &of[w]
					if k.left > 0 || k.bytes > 1e-9 {
						break
					}
					if k.then != nil {
						then := k.then
						k.then = nil
						then()
						again = true
						continue
					}
					if k.entry == len(s.Queues[w]) {
						break
					}
					kind, n := s.Queues[w][k.entry].Decode()
					if kind == schedule.Signal {
						k.left = whole(m.Signal)
						k.then = func() { of[w].entry++; set[w][of[w].entry] = now }
						again = true
						continue
					}
					if kind == schedule.WaitFor || kind == schedule.WaitShared {
						ok := kind == schedule.WaitShared && began(w, n, phases(n))
						if kind == schedule.WaitFor {
							for position, when := range set[s.Waits[n].Worker] {
								ok = ok || position >= int(s.Waits[n].Position) && now >= when+whole(m.Latency)
							}
						}
						if !ok {
							break
						}
						k.left = whole(m.Wait)
						k.then = func() { of[w].entry++ }
						again = true
						continue
					}
					all, times := p.Tasks[n].Ranges(), 1
					if kind == schedule.Share {
						times = phases(n)
					}
					if kind == schedule.Share && taken[n] == all*times && k.taken == 0 || kind == schedule.Run && k.tile == all {
						k.tile = 0
						k.entry++
						again = true
						continue
					}
					took := work[n].Seconds / float64(all)
					if kind == schedule.Share {
						if k.taken == 0 {
							taken[n]++
							k.taken = taken[n]
						}
						phase := (k.taken - 1) / all
						if phase > 0 && !k.ready {
							if !began(w, n, phase) {
								break
							}
							k.left, k.then, again = whole(m.Wait), func() { k.ready = true }, true
							continue
						}
						if work[n].Ranges != nil {
							took = work[n].Ranges[phase][(k.taken-1)%all]
						}
						k.taken, k.ready = 0, false
					} else {
						k.tile++
					}
					again = true
					k.left = whole(m.Range + took)
					k.bytes = work[n].Bytes / float64(all*times)
					if m.Bandwidth == 0 {
						k.bytes = 0
					}
					k.then = func() {
						if done[n]++; done[n]%all == 0 {
							over[[2]int{n, done[n]/all - 1}] = [2]int{now, w}
						}
					}
				}
			}
		}
		moving, busy := 0, false
		for w := range of {
			if of[w].bytes > 1e-9 {
				moving++
			}
			busy = busy || of[w].entry < len(s.Queues[w])
		}
		if !busy {
			return float64(now) / ticks
		}
		for w := range of {
			of[w].left = max(of[w].left-1, 0)
			if of[w].bytes > 1e-9 {
				of[w].bytes -= min(m.Bandwidth/float64(moving), m.EachBandwidth) / ticks
			}
		}
	}
	return math.NaN()
}

// TestBruteForce compares makespans of random plans with those of a clock that ticks. Without bytes both are
// equal; with bytes, a part of a tick is lost at each change of the number of workers that move some.
func TestBruteForce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var shared, phased, waits, slower int
	for i := range 3000 {
		bytes := i%3 == 0
		p, work := random(t, r, 1+r.IntN(4), bytes)
		m := simulate.Machine{Range: float64(r.IntN(3)), Signal: float64(r.IntN(2)), Wait: float64(r.IntN(3)), Latency: float64(r.IntN(4)), Start: float64(r.IntN(4))}
		ticks, slack := 1.0, 0.0
		if bytes {
			m.Bandwidth, m.EachBandwidth = 1.5, 1
			ticks = 200
			for t := range p.Tasks {
				slack += 4 * float64(p.Tasks[t].Ranges()*max(len(work[t].Ranges), 1)) / ticks
			}
		}
		got, err := simulate.Plan(p, work, m)
		if err != nil {
			t.Fatal(err)
		}
		want := ticking(p, work, m, ticks)
		if !(math.Abs(got.Seconds-want) <= slack) {
			t.Fatalf("plan %d: predicted %v s, a clock gives %v\n%+v\n%+v\nqueues %v, waits %v", i, got.Seconds, want, work, m, p.Schedule.Queues, p.Schedule.Waits)
		}
		shared += len(p.Schedule.Shared)
		for _, task := range p.Schedule.Shared {
			if len(work[task].Ranges) > 1 {
				phased++
			}
		}
		waits += len(p.Schedule.Waits)
		free := m
		free.Bandwidth, free.EachBandwidth = 0, 0
		if alone, err := simulate.Plan(p, work, free); err != nil {
			t.Fatal(err)
		} else if alone.Seconds < got.Seconds {
			slower++
		}
	}
	if shared < 100 || waits < 100 || slower < 100 || phased < 100 {
		t.Errorf("the plans have %d shared tasks, %d with phases, and %d waits, and %d are bounded by bandwidth: too few to judge", shared, phased, waits, slower)
	}
}

// TestBounds checks random plans: no prediction is below the critical path, or below all work divided by the
// workers; one worker takes the sum; tasks begin after those on which they depend have ended, and spans of a
// worker do not overlap.
func TestBounds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 2000 {
		workers := 1 + r.IntN(4)
		p, work := random(t, r, workers, true)
		m := simulate.Machine{Range: r.Float64(), Signal: r.Float64(), Wait: r.Float64(), Latency: r.Float64(), Bandwidth: 0.5 + r.Float64(), EachBandwidth: 0.5 + r.Float64()}
		if i%4 == 0 {
			m.Rate = 2
			for k := range work {
				work[k].Flops = float64(r.IntN(9))
			}
		}
		got, err := simulate.Plan(p, work, m)
		if err != nil {
			t.Fatal(err)
		}
		const few = 1e-9
		if path := got.CriticalPath; got.Seconds < path-few {
			t.Fatalf("plan %d: predicted %v s, and the critical path takes %v", i, got.Seconds, path)
		}
		var alone, bytes, sum float64
		inTimeline := 0
		for k := range p.Tasks {
			n := float64(p.Tasks[k].Ranges())
			seconds := work[k].Seconds
			if phases := work[k].Ranges; phases != nil && slices.Contains(p.Schedule.Shared, int32(k)) {
				n, seconds = n*float64(len(phases)), 0
				for _, phase := range phases {
					for _, v := range phase {
						seconds += v
					}
				}
			}
			inTimeline += int(n)
			if m.Rate > 0 {
				seconds += work[k].Flops / m.Rate
			}
			alone += n*m.Range + seconds
			bytes += work[k].Bytes
			sum += max(n*m.Range+seconds, work[k].Bytes/min(m.Bandwidth, m.EachBandwidth))
			for _, v := range p.Deps.Preds(k) {
				if got.Tasks[v].End > got.Tasks[k].Begin+few {
					t.Errorf("plan %d: task %d begins at %v, and task %d before it ends at %v", i, k, got.Tasks[k].Begin, v, got.Tasks[v].End)
				}
			}
		}
		if got.Seconds < alone/float64(workers)-few || got.Seconds < bytes/m.Bandwidth-few {
			t.Errorf("plan %d: predicted %v s for %v s of work on %d workers, and %v bytes at %v a second", i, got.Seconds, alone, workers, bytes, m.Bandwidth)
		}
		if workers == 1 && !(math.Abs(got.Seconds-sum) <= few) {
			t.Errorf("plan %d: predicted %v s for one worker, and the sum is %v", i, got.Seconds, sum)
		}
		ranges := 0
		for w, spans := range got.Timeline.Workers {
			end, waiting := 0.0, 0.0
			for _, s := range spans {
				if s.Begin < end-few || s.End < s.Begin {
					t.Errorf("plan %d, worker %d: span %+v begins before %v", i, w, s, end)
				}
				if end = s.End; s.Kind == timeline.Run {
					ranges++
				}
				if s.Kind == timeline.Wait {
					waiting += s.End - s.Begin
				}
			}
			if !(math.Abs(waiting-got.Waiting(w)) <= few) {
				t.Errorf("plan %d: worker %d waits for %v s, its spans say %v", i, w, got.Waiting(w), waiting)
			}
		}
		if ranges != inTimeline {
			t.Errorf("plan %d: the timeline has %d ranges, want %d", i, ranges, inTimeline)
		}
	}
}

// TestWaits predicts a plan of two workers whose times can be added by hand: worker 1 waits for task 0 on
// worker 0.
func TestWaits(t *testing.T) {
	t.Parallel()
	one := plan.Task{Call: -1, Over: 1, Grain: 1}
	p := &plan.Plan{Name: "by hand", Tasks: []plan.Task{one, one, one}, Deps: schedule.Graph{Start: []int32{0, 0, 1, 1}, Pred: []int32{0}}, Schedule: schedule.Schedule{Tasks: 3,
		Queues: [][]schedule.Op{{0, schedule.Signaling, 2}, {schedule.WaitOf(0), 1}}, Waits: []schedule.Wait{{Worker: 0, Position: 2}}}}
	m := simulate.Machine{Range: 1, Signal: 2, Wait: 3, Latency: 4, Start: 5, Rate: 2}
	got, err := simulate.Plan(p, []simulate.Work{{Seconds: 10}, {Flops: 40}, {Seconds: 7}}, m)
	if err != nil {
		t.Fatal(err)
	}
	// Task 0 ends at 11 and is signaled at 13. Worker 1 comes at 5, learns it at 17, and runs task 1 from 20
	// to 41.
	if want := (simulate.Task{Begin: 20, End: 41, Worker: 1}); got.Tasks[1] != want || got.Seconds != 41 {
		t.Errorf("task 1 is %+v of %v s, want %+v of 41", got.Tasks[1], got.Seconds, want)
	}
	if want := (simulate.Task{Begin: 13, End: 21, Worker: 0}); got.Tasks[2] != want {
		t.Errorf("task 2 is %+v, want %+v", got.Tasks[2], want)
	}
	if w := got.Timeline.Workers[1][0]; w.Kind != timeline.Wait || w.For != 0 || w.Task != 0 || w.Begin != 5 || w.End != 20 || got.Waiting(1) != 15 {
		t.Errorf("the wait is %+v, %v s in all", w, got.Waiting(1))
	}
}

// TestMeasuredWaits takes the waits out of predictions, so that ranges are left, as a profile has them.
// AddWaits finds the waits again: all time that a worker waits between two ranges, for the same task.
func TestMeasuredWaits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	found := 0
	for i := range 500 {
		p, work := random(t, r, 2+r.IntN(3), false)
		for k := range work {
			work[k].Ranges = nil // AddWaits knows no phases
		}
		got, err := simulate.Plan(p, work, simulate.Machine{Range: 1, Latency: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		line := timeline.Timeline{Plan: p}
		want := make([][]timeline.Span, p.Schedule.Workers()) // merged, after the first range and before the last
		for w, spans := range got.Timeline.Workers {
			var ranges, waits, pending []timeline.Span
			for _, s := range spans {
				switch {
				case s.Kind == timeline.Run:
					ranges, waits, pending = append(ranges, s), append(waits, pending...), nil
				case s.Kind == timeline.Wait && len(ranges) > 0 && s.Seconds() > 0 && len(pending) > 0:
					pending[0] = timeline.Span{Kind: s.Kind, Task: s.Task, For: s.For, Begin: pending[0].Begin, End: s.End}
				case s.Kind == timeline.Wait && len(ranges) > 0 && s.Seconds() > 0:
					pending = append(pending, s)
				}
			}
			line.Workers, want[w] = append(line.Workers, ranges), waits
		}
		line.AddWaits()
		for w, spans := range line.Workers {
			k := 0
			for _, s := range spans {
				if s.Kind != timeline.Wait {
					continue
				}
				found++
				if k == len(want[w]) || s != want[w][k] {
					t.Fatalf("plan %d, worker %d: wait %+v, want %+v\nqueues %v", i, w, s, want[w], p.Schedule.Queues)
				}
				k++
			}
			if k != len(want[w]) {
				t.Errorf("plan %d, worker %d: %d waits, want %+v", i, w, k, want[w])
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d waits: too few to judge", found)
	}
}

// TestRefused gives the simulator numbers and queues that are wrong: the error says which.
func TestRefused(t *testing.T) {
	t.Parallel()
	one := plan.Task{Call: -1, Over: 1, Grain: 1}
	queues := func(q ...[]schedule.Op) *plan.Plan {
		return &plan.Plan{Name: "bad", Tasks: []plan.Task{one, one}, Deps: schedule.Graph{Start: []int32{0, 0, 0}}, Schedule: schedule.Schedule{Tasks: 2, Queues: q, Waits: []schedule.Wait{{Worker: 1, Position: 1}, {Worker: 7}}}}
	}
	good := make([]simulate.Work, 2)
	loose, after := queues([]schedule.Op{0, 1}), queues([]schedule.Op{0, 1})
	loose.Deps.Start = []int32{0}
	after.Deps = schedule.Graph{Start: []int32{0, 1, 1}, Pred: []int32{1}}
	cut := queues([]schedule.Op{0, 1})
	cut.Tasks[1].Grain = 0
	tile := queues([]schedule.Op{0, 1})
	tile.Tasks[1].Tile = 5
	for _, c := range []struct {
		plan    *plan.Plan
		work    []simulate.Work
		machine simulate.Machine
		want    string
	}{
		{nil, nil, simulate.Machine{}, "want a plan, got nil"},
		{queues([]schedule.Op{0, 1}), good[:1], simulate.Machine{}, "want work and queues of 2 tasks, got 1 and 2"},
		{queues(), good, simulate.Machine{}, "want queues of workers, got none"},
		{queues([]schedule.Op{0, 1}), good, simulate.Machine{Wait: -1}, "machine, Wait: want a number of at least 0, got -1"},
		{queues([]schedule.Op{0, 1}), []simulate.Work{{}, {Bytes: math.NaN()}}, simulate.Machine{}, "task 1, task 1: want seconds, operations and bytes of at least 0, got 0, 0, NaN"},
		{queues([]schedule.Op{0, 1}), []simulate.Work{{}, {Ranges: [][]float64{{1}, {1, 2}}}}, simulate.Machine{}, "task 1, task 1: want seconds of 1 ranges in each phase, got [1 2]"},
		{queues([]schedule.Op{0, 1}), []simulate.Work{{}, {Ranges: [][]float64{{math.Inf(1)}}}}, simulate.Machine{}, "task 1, task 1: want seconds of 1 ranges in each phase, got [+Inf]"},
		{queues([]schedule.Op{0, 2}), good, simulate.Machine{}, "worker 0, entry 1 of its queue: want a task of the plan or a wait for a worker, got number 2"},
		{queues([]schedule.Op{schedule.WaitOf(1)}), good, simulate.Machine{}, "worker 0, entry 0 of its queue"},
		{loose, good, simulate.Machine{}, "want predecessors of 2 tasks, got those of 0"},
		{after, good, simulate.Machine{}, "task 0, task 0: want predecessors before it, got task 1"},
		{cut, good, simulate.Machine{}, "grains of 1 or more"},
		{tile, good, simulate.Machine{}, "task 1, task 1: want tile 1 to 1, got 5"},
		{queues([]schedule.Op{schedule.WaitOf(0), 0}, []schedule.Op{schedule.WaitSharedOf(0), 1, schedule.Signaling}), good, simulate.Machine{},
			"no worker can go on: worker 0 waits at entry 0 for worker 1 to signal position 1; worker 1 waits at entry 0 for the end of task 0, task 0"},
	} {
		if _, err := simulate.Plan(c.plan, c.work, c.machine); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A prediction of three tasks on two workers. The second worker waits for the first.
func ExamplePlan() {
	one := plan.Task{Call: -1, Over: 1, Grain: 1}
	p := &plan.Plan{Name: "example", Tasks: []plan.Task{one, one, one}, Deps: schedule.Graph{Start: []int32{0, 0, 1, 1}, Pred: []int32{0}}, Schedule: schedule.Schedule{Tasks: 3,
		Queues: [][]schedule.Op{{0, schedule.Signaling, 2}, {schedule.WaitOf(0), 1}}, Waits: []schedule.Wait{{Worker: 0, Position: 2}}}}
	work := []simulate.Work{{Flops: 2e6}, {Flops: 1e6}, {Bytes: 4e6}}
	machine := simulate.Machine{Latency: 1e-6, Rate: 1e9, Bandwidth: 1e9}
	got, err := simulate.Plan(p, work, machine)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f ms, task 1 from %.3f to %.3f ms\n", got.Seconds*1e3, got.Tasks[1].Begin*1e3, got.Tasks[1].End*1e3)
	fmt.Printf("the critical path takes %.3f ms\n", got.CriticalPath*1e3)
	fmt.Printf("worker 1 waits for %.3f ms\n", got.Waiting(1)*1e3)
	for w, spans := range got.Timeline.Workers {
		for i := range spans {
			if s := &spans[i]; s.Kind == timeline.Wait {
				fmt.Printf("worker %d %s, %.3f ms\n", w, got.Timeline.Describe(s), s.Seconds()*1e3)
			}
		}
	}
	// Output:
	// 6.000 ms, task 1 from 2.001 to 3.001 ms
	// the critical path takes 4.000 ms
	// worker 1 waits for 2.001 ms
	// worker 1 waits for worker 0: task 0, 2.001 ms
}
