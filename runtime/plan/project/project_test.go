package project_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/project"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/test/replicas"
)

// divided is a plan and its parts.
type divided struct {
	whole *plan.Plan
	owner []int
	parts []*plan.Part
}

// random returns a plan for two to five devices and its parts on two ranks or more, for one to three workers.
func random(t *testing.T, seed uint64) *divided {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	devices := 2 + r.IntN(4)
	ranks := 2 + r.IntN(devices-1)
	prog, err := replicas.Random(seed, devices)
	if err != nil {
		t.Fatal(err)
	}
	var opts []planner.Option
	if r.IntN(3) == 0 {
		opts = append(opts, planner.Tiled())
	}
	d := &divided{}
	if d.whole, err = planner.Build(prog, opts...); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if d.owner, err = project.Owners(devices, ranks); err != nil {
		t.Fatal(err)
	}
	if r.IntN(3) == 0 {
		ask(t, r, d.whole)
	}
	if r.IntN(3) == 0 {
		r.Shuffle(devices, func(i, k int) { d.owner[i], d.owner[k] = d.owner[k], d.owner[i] })
	}
	workers := make([]int, ranks)
	for i := range workers {
		workers[i] = 1 + r.IntN(3)
	}
	if d.parts, err = project.Ranks(d.whole, d.owner, workers); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for i, p := range d.parts {
		if p.Plan, err = planner.Reschedule(p.Plan, planner.Workers(workers[i]), times(r, p.Plan)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// ask asks tasks of a plan to come after others, with which they need have no tensor in common.
func ask(t *testing.T, r *rand.Rand, p *plan.Plan) {
	for range 1 + r.IntN(4) {
		if n := len(p.Tasks); n > 1 {
			i := 1 + r.IntN(n-1)
			p.Tasks[i].After = append(p.Tasks[i].After, r.IntN(i))
		}
	}
	if err := planner.Complete(p); err != nil {
		t.Fatal(err)
	}
}

// times makes tasks seem to take so long that several workers run them.
func times(r *rand.Rand, p *plan.Plan) planner.Option {
	ns := make([]float64, len(p.Tasks))
	for k := range ns {
		ns[k] = []float64{1e3, 1e5, 20}[r.IntN(3)]
	}
	return planner.Times(ns)
}

// TestRanks proves the parts of random plans.
func TestRanks(t *testing.T) {
	messages := 0
	for seed := range uint64(150) {
		d := random(t, seed)
		if err := verify.Ranks(d.whole, d.owner, d.parts); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for rank, p := range d.parts {
			for i := range p.Plan.Tasks {
				if p.Plan.Tasks[i].Talks() {
					messages++
				}
			}
			for i := range p.Plan.Roots {
				of := &d.whole.Roots[p.Roots[i]]
				if use := p.Plan.Roots[i].Use; d.owner[of.Device] != rank && (use == plan.Variable || use == plan.Fed) {
					t.Errorf("seed %d: rank %d has %s of device %d", seed, rank, of.Name, of.Device)
				}
			}
		}
	}
	if messages < 1000 {
		t.Errorf("only %d messages", messages)
	}
}

// TestBalance checks that collectives of equal tensors are spread over all ranks, and that no rank moves more
// bytes than a ring of them would.
func TestBalance(t *testing.T) {
	const devices = 4
	prog, err := replicas.Chain(12, 5, devices)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := planner.Build(prog)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := project.Owners(devices, devices)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := project.Ranks(whole, owner, []int{1, 1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	var reduced int64 // bytes of a device that are reduced
	for i := range whole.Tasks {
		if task := &whole.Tasks[i]; task.Builtin != nil && task.Builtin.Op == "all_reduce" {
			reduced += whole.Roots[task.Access[0].Root].Place.Bytes
		}
	}
	for _, p := range parts {
		n, sent := 0, int64(0)
		for i := range p.Plan.Tasks {
			switch task := &p.Plan.Tasks[i]; {
			case task.Builtin == nil:
			case task.Builtin.Op == "all_reduce":
				n++
			case task.Builtin.Op == "send" && p.Plan.Roots[task.Access[0].Root].Use != plan.Fetched:
				sent += p.Plan.Roots[task.Access[0].Root].Place.Bytes
			}
		}
		if n == 0 {
			t.Errorf("rank %d runs no collectives", p.Rank)
		}
		if ring := 2 * reduced * (devices - 1) / devices; sent > ring*11/10 {
			t.Errorf("rank %d sends %d bytes, in a ring it would be %d", p.Rank, sent, ring)
		}
	}
}

// TestSlices checks that all ranks add a part of each large tensor, that none moves more bytes than a ring
// would and has no more memory than the tensor and the terms of its part take.
func TestSlices(t *testing.T) {
	const devices, extent = 4, 256
	var all []graph.Tensor
	prog := &graph.Program{Name: "sum"}
	for i := range devices {
		x := graph.OnDevice(1, i).Input("x", dtype.F32, extent, extent)
		all = append(all, x)
	}
	prog.Fed, prog.Fetched = all, all[:1]
	prog.Steps = []graph.Step{{AllReduce: &graph.AllReduce{Tensors: all}}}
	whole, err := planner.Build(prog)
	if err != nil {
		t.Fatal(err)
	}
	for ranks := 2; ranks <= devices; ranks++ {
		owner, err := project.Owners(devices, ranks)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := project.Ranks(whole, owner, slices.Repeat([]int{1}, ranks))
		if err != nil {
			t.Fatal(err)
		}
		if err := verify.Ranks(whole, owner, parts); err != nil {
			t.Fatal(err)
		}
		bytes := int64(extent * extent * 4)
		for rank, p := range parts {
			added, sent := 0, int64(0)
			for i := range p.Plan.Tasks {
				switch task := &p.Plan.Tasks[i]; task.Builtin.Op {
				case "all_reduce":
					added += task.Over
				case "send":
					if task.Over < extent*extent { // the result goes to all ranks as a whole
						sent += int64(task.Over) * 4
					}
				}
			}
			own := int64(0)
			for _, device := range owner {
				if device == rank {
					own++
				}
			}
			// Each rank sends slices of its tensors to the others, and its sums to each tensor of theirs.
			n, slice := int64(ranks), bytes/int64(ranks)+4*extent
			if most := own*(n-1)*slice + (devices-own)*slice; sent > most {
				t.Errorf("rank %d of %d sends %d bytes, want at most %d", rank, ranks, sent, most)
			}
			if want := extent * extent / ranks; added < want-extent || added > want+extent {
				t.Errorf("rank %d of %d adds %d elements, want about %d", rank, ranks, added, want)
			}
			if most := own*bytes + (devices-own)*slice + bytes; p.Plan.DeviceBytes() > most {
				t.Errorf("rank %d of %d has %d bytes, want at most %d", rank, ranks, p.Plan.DeviceBytes(), most)
			}
		}
	}
}

// chain returns a plan in which each of two devices fills a tensor for each layer, and the tensors of a layer
// are then added, with its parts on two ranks.
func chain(t *testing.T, layers int) *divided {
	t.Helper()
	const extent = 256
	whole := &plan.Plan{Format: plan.Format, Name: "chain"}
	grads := make([][]region.Root, 2)
	for device := range grads {
		for layer := range layers {
			r := region.Root(len(whole.Roots))
			whole.Roots = append(whole.Roots, plan.Root{Name: fmt.Sprintf("grad %d of %d", layer, device), Type: dtype.F32, Shape: []int{extent, extent}, Use: plan.Fetched, Device: device})
			grads[device] = append(grads[device], r)
		}
	}
	add := func(b plan.Builtin, p perm.Perm, roots ...region.Root) {
		task := plan.Task{Call: -1, Builtin: &b, Device: whole.Roots[roots[0]].Device, Over: extent * extent, Grain: extent * extent}
		for _, r := range roots {
			task.Access = append(task.Access, region.Access{Region: region.Whole(r, []int{extent, extent}), Perm: p})
		}
		whole.Tasks = append(whole.Tasks, task)
	}
	for device := range grads {
		for _, r := range grads[device] {
			add(plan.Builtin{Op: "fill", Value: float64(r)}, perm.Write, r)
		}
	}
	for layer := range layers {
		add(plan.Builtin{Op: "all_reduce"}, perm.ReadWrite, grads[0][layer], grads[1][layer])
	}
	if err := planner.Complete(whole); err != nil {
		t.Fatal(err)
	}
	d := &divided{whole: whole, owner: []int{0, 1}}
	var err error
	if d.parts, err = project.Ranks(whole, d.owner, []int{1, 1}); err != nil {
		t.Fatal(err)
	}
	if err := verify.Ranks(whole, d.owner, d.parts); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEarly divides a chain: each rank sends a gradient right after the task that writes it, and comes to a
// receive after its last such task.
func TestEarly(t *testing.T) {
	const layers = 5
	for rank, p := range chain(t, layers).parts {
		var ops []string
		for i := range p.Plan.Tasks {
			ops = append(ops, p.Plan.Tasks[i].Builtin.Op)
		}
		want := slices.Concat(slices.Repeat([]string{"fill", "send"}, layers), slices.Repeat([]string{"receive", "all_reduce", "send"}, layers))
		if len(ops) < len(want) || !slices.Equal(ops[:len(want)], want) {
			t.Errorf("rank %d: got %v\nwant %v", rank, ops, want)
		}
	}
}

// TestWaitForEachOther lets the queues of both ranks begin with a receive, in front of the send for which the
// other rank waits. The tasks stay in their order.
func TestWaitForEachOther(t *testing.T) {
	d := chain(t, 1)
	for _, p := range d.parts {
		queue := p.Plan.Schedule.Queues[0]
		i := slices.IndexFunc(queue, func(o schedule.Op) bool {
			kind, n := o.Decode()
			return kind == schedule.Run && p.Plan.Tasks[n].Builtin.Op == "receive"
		})
		receive := queue[i]
		copy(queue[1:], queue[:i])
		queue[0] = receive
	}
	if err := verify.Ranks(d.whole, d.owner, d.parts); err == nil || !strings.Contains(err.Error(), "want queues that come to their ends") {
		t.Errorf("got %v", err)
	}
}

// TestAfterSlices asks a task to come after a sum in slices, and another sum to come after that task. Neither
// has a tensor in common with what it comes after.
func TestAfterSlices(t *testing.T) {
	const devices, extent = 4, 256
	whole := &plan.Plan{Format: plan.Format, Name: "after"}
	add := func(b plan.Builtin, p perm.Perm, roots []region.Root, after ...int) {
		task := plan.Task{Call: -1, Builtin: &b, Device: whole.Roots[roots[0]].Device, Over: extent * extent, Grain: extent * extent, After: after}
		for _, r := range roots {
			task.Access = append(task.Access, region.Access{Region: region.Whole(r, []int{extent, extent}), Perm: p})
		}
		whole.Tasks = append(whole.Tasks, task)
	}
	tensor := func(device int) region.Root {
		r := region.Root(len(whole.Roots))
		whole.Roots = append(whole.Roots, plan.Root{Name: fmt.Sprint("t", r), Type: dtype.F32, Shape: []int{extent, extent}, Use: plan.Fetched, Device: device})
		add(plan.Builtin{Op: "fill", Value: float64(r)}, perm.Write, []region.Root{r})
		return r
	}
	var first, second []region.Root
	for device := range devices - 1 {
		first, second = append(first, tensor(device)), append(second, tensor(device+1))
	}
	last := tensor(devices - 1)
	n := len(whole.Tasks)
	add(plan.Builtin{Op: "all_reduce"}, perm.ReadWrite, first)
	add(plan.Builtin{Op: "fill", Value: 7}, perm.Write, []region.Root{last}, n)
	add(plan.Builtin{Op: "all_reduce"}, perm.ReadWrite, second, n+1)
	if err := planner.Complete(whole); err != nil {
		t.Fatal(err)
	}
	for ranks := 2; ranks <= devices; ranks++ {
		d := &divided{whole: whole}
		var err error
		if d.owner, err = project.Owners(devices, ranks); err != nil {
			t.Fatal(err)
		}
		if d.parts, err = project.Ranks(whole, d.owner, slices.Repeat([]int{2}, ranks)); err != nil {
			t.Fatal(err)
		}
		if err := verify.Ranks(whole, d.owner, d.parts); err != nil {
			t.Fatal(err)
		}
		if d.slice(0) == nil {
			t.Errorf("%d ranks: want sums in slices, got whole ones", ranks)
		}
		if !d.right(rand.New(rand.NewPCG(1, 1))) {
			t.Errorf("%d ranks: the parts compute something else, or in another order", ranks)
		}
		for _, p := range d.parts { // the order is not one that the tasks have anyway
			for i, of := range p.Tasks {
				if of > n {
					p.Plan.Tasks[i].After = nil
				}
			}
		}
		if err := verify.Ranks(whole, d.owner, d.parts); err == nil || !strings.Contains(err.Error(), "want it after the task that is asked for") {
			t.Errorf("%d ranks: got %v", ranks, err)
		}
	}
}

// TestErrors lists divisions that are refused.
func TestErrors(t *testing.T) {
	d := random(t, 2)
	devices := d.whole.DeviceCount()
	for name, tt := range map[string]struct {
		plan    *plan.Plan
		owner   []int
		workers []int
		want    string
	}{
		"no plan":       {nil, nil, []int{1}, "project: want a plan, got nil"},
		"devices":       {d.whole, make([]int, devices-1), []int{1}, fmt.Sprintf("want the ranks of at least %d devices, got those of %d", devices, devices-1)},
		"an empty rank": {d.whole, make([]int, devices), []int{1, 1}, "want a device for each of 2 ranks, got none for rank 1"},
		"no such rank":  {d.whole, slices.Repeat([]int{0, 3}, devices)[:devices], []int{1}, "want devices on ranks from 0 to 0, got [0 3"},
	} {
		if _, err := project.Ranks(tt.plan, tt.owner, tt.workers); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
	empty := &plan.Plan{Format: plan.Format, Name: "empty"}
	for i := range 2 {
		empty.Roots = append(empty.Roots, plan.Root{Name: fmt.Sprint("x", i), Type: dtype.F32, Shape: []int{0}, Device: i})
		empty.Tasks = append(empty.Tasks, plan.Task{Call: -1, Builtin: &plan.Builtin{Op: "fill"}, Device: i, Grain: 1, Access: []region.Access{{Region: region.Whole(region.Root(i), []int{0}), Perm: perm.Write}}})
	}
	empty.Tasks[1].After = []int{0}
	if err := planner.Complete(empty); err != nil {
		t.Fatal(err)
	}
	if _, err := project.Ranks(empty, []int{0, 1}, []int{1, 1}); err == nil || !strings.Contains(err.Error(), "want it after a task that touches an element on rank 0, so that rank 1 learns of its end, got none") {
		t.Errorf("got %v", err)
	}
	if _, err := project.Owners(2, 3); err == nil || err.Error() != "project: want at least one device for each rank, got 2 devices for 3 ranks" {
		t.Errorf("got %v", err)
	}
}
