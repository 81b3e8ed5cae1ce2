package planner_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

// parallel returns a training step on so many devices.
func parallel(t *testing.T, devices int) *graph.Program {
	t.Helper()
	var replicas []graph.Replica
	for d := range devices {
		g := graph.OnDevice(1, d)
		at := linear.Defaults(3)
		y := linear.Apply(g, at, g.Input("x", dtype.F32, 4+d, 5), graph.Named("fc"))
		loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(y), meansquarederror.Label(g.Input("label", dtype.F32, 4+d, 3)))
		replicas = append(replicas, graph.Replica{Loss: loss, Share: graph.Share{Loss: 0.5, Aux: 0.5}})
	}
	p, err := graph.DataParallel(replicas, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDevices plans a training step on two devices: what each computes lies in its own half of the arena, and
// only the sums of gradients cross. A plan for one device does not mention devices.
func TestDevices(t *testing.T) {
	t.Parallel()
	p, err := planner.Build(parallel(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	if err := verify.Plan(p); err != nil {
		t.Fatal(err)
	}
	var crossing []string
	on := map[int]int{} // tasks by device
	for i := range p.Tasks {
		if on[p.Tasks[i].Device]++; p.Tasks[i].Crosses() {
			crossing = append(crossing, p.Label(i))
		}
	}
	want := []string{"all_reduce grad of fc.bias", "all_reduce grad of fc.weight"}
	if p.Devices != 2 || !slices.Equal(crossing, want) || on[0] < 5 || on[1] != on[0]-len(want) {
		t.Errorf("%d devices with %v tasks, of which %q cross", p.Devices, on, crossing)
	}
	one, err := planner.Build(parallel(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := one.Encode(); err != nil || bytes.Contains(data, []byte("device")) {
		t.Errorf("a plan for one device is %s, %v", data, err)
	}
}

// TestEmptyElsewhere plans a copy of a tensor without elements from the second device, beside one with some.
func TestEmptyElsewhere(t *testing.T) {
	t.Parallel()
	here, there := graph.OnDevice(1, 0), graph.OnDevice(1, 1)
	p := &graph.Program{Name: "copies"}
	for name, rows := range map[string]int{"none": 0, "some": 3} {
		from, to := there.Input(name, dtype.F32, rows, 5), here.Input(name, dtype.F32, rows, 5)
		p.Fed, p.Fetched = append(p.Fed, from), append(p.Fetched, to)
		p.Steps = append(p.Steps, graph.Step{Copy: &graph.Copy{To: to, From: from}})
	}
	if pl, err := planner.Build(p); err != nil || pl.Devices != 2 || len(pl.Roots) != 4 {
		t.Errorf("got %+v, %v, want a plan of four tensors on two devices", pl, err)
	}
}

// TestDevicesAreVerified changes a plan for two devices. Each change is refused.
func TestDevicesAreVerified(t *testing.T) {
	t.Parallel()
	task := func(p *plan.Plan, what string) *plan.Task {
		i := slices.IndexFunc(p.Tasks, func(x plan.Task) bool { return strings.Contains(p.LabelOf(&x), what) })
		return &p.Tasks[i]
	}
	root := func(p *plan.Plan, name string) *plan.Root {
		return &p.Roots[slices.IndexFunc(p.Roots, func(r plan.Root) bool { return r.Name == name })]
	}
	for name, tt := range map[string]struct {
		change func(p *plan.Plan)
		want   string
	}{
		"no devices":           {func(p *plan.Plan) { p.Devices = 0 }, "want devices from 0 to 0, got 1"},
		"one device":           {func(p *plan.Plan) { p.Devices = 1 }, "want 0 for one device"},
		"unequal parts":        {func(p *plan.Plan) { p.ArenaBytes++ }, "equal parts of the arena"},
		"three parts":          {func(p *plan.Plan) { p.Devices = 3 }, "want"},
		"root elsewhere":       {func(p *plan.Plan) { root(p, "x@1").Device = 0 }, "want a place within device 0"},
		"root nowhere":         {func(p *plan.Plan) { root(p, "x@1").Device = 2 }, "want devices from 0 to 1, got 2"},
		"variable elsewhere":   {func(p *plan.Plan) { root(p, "fc@1.weight").Device = 0 }, "want tensors on device 1, got one on device 0"},
		"task elsewhere":       {func(p *plan.Plan) { task(p, "fc@1: linear.forward").Device = 0 }, "want calls and parts on device 0"},
		"task nowhere":         {func(p *plan.Plan) { task(p, "fc@1: linear.forward").Device = -1 }, "want devices from 0 to 1, got -1"},
		"call elsewhere":       {func(p *plan.Plan) { p.Calls[task(p, "fc@1: linear.forward").Call].Device = 0 }, "want calls and parts on device 1"},
		"both elsewhere":       {func(p *plan.Plan) { x := task(p, "fc@1: linear.forward"); x.Device, p.Calls[x.Call].Device = 0, 0 }, "want tensors on device 0, got one on device 1"},
		"reduced elsewhere":    {func(p *plan.Plan) { task(p, "all_reduce").Device = 1 }, "the first on device 1"},
		"a sum of one":         {func(p *plan.Plan) { x := task(p, "all_reduce"); x.Access[1] = x.Access[0] }, "want all_reduce of equally many elements"},
		"a sum that only adds": {func(p *plan.Plan) { task(p, "all_reduce").Access[1].Perm = perm.Read }, "want all_reduce of equally many elements"},
		"half a sum":           {func(p *plan.Plan) { task(p, "all_reduce").Over /= 2 }, "want all_reduce of equally many elements"},
		"not a sum":            {func(p *plan.Plan) { task(p, "all_reduce").Builtin.Op = "add" }, "want tensors on device 0, got one on device 1"},
		"not a copy":           {func(p *plan.Plan) { task(p, "all_reduce").Builtin.Op = "copy" }, "want copy of equally many elements"},
		"element by element":   {func(p *plan.Plan) { task(p, "all_reduce").Elementwise = true }, "want all_reduce of equally many elements"},
	} {
		p, err := planner.Build(parallel(t, 2), planner.Plain())
		if err != nil {
			t.Fatal(err)
		}
		tt.change(p)
		if err := verify.Plan(p); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}
