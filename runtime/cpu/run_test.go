package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/tensor"
)

var errKernel = errors.New("the kernel failed")

// TestKernelErrors lets a kernel fail in several ranges. The error names the first of them and its
// task, whatever the number of workers, and the next run works.
func TestKernelErrors(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		var broken atomic.Bool
		e := newEngine(t, registry(t, func(ctx *op.Ctx, x tensor.RO[float32], y tensor.WO[float32], r op.Range) error {
			if broken.Load() && x.At(r.Lo) > 13 { // of the second task, which adds 1: from 13 on
				return fmt.Errorf("%w at %d", errKernel, r.Lo)
			}
			return increment(ctx, x, y, r)
		}), workers, engine.Config{})
		in := load(t, e, chain(t, 2, 40))
		data := make([]float32, 40)
		for i := range data {
			data[i] = min(float32(i), 13)
		}
		for range 20 {
			broken.Store(true)
			feed(t, in, "x", data...)
			err := in.Run(t.Context())
			var te *engine.TaskError
			if !errors.As(err, &te) || !errors.Is(err, errKernel) {
				t.Fatalf("%d workers: %v", workers, err)
			}
			if te.Plan != "inference" || te.Label != "p1: probe.forward" || te.Range != (op.Range{Lo: 13, Hi: 14}) {
				t.Errorf("%d workers: %+v", workers, te)
			}
			wantError(t, "the error", err, "plan inference, p1: probe.forward, range [13, 14): the kernel failed at 13")
			broken.Store(false)
			feed(t, in, "x", data...)
			run(t, in)
			if got := fetch[float32](t, in, "p1.output"); got[0] != 2 || got[39] != 15 {
				t.Fatalf("%d workers: after an error the plan computes %v", workers, got)
			}
		}
	}
}

// TestKernelPanics does the same with panics, of the kernel's own and of a view.
func TestKernelPanics(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		var how atomic.Int32
		e := newEngine(t, registry(t, func(ctx *op.Ctx, x tensor.RO[float32], y tensor.WO[float32], r op.Range) error {
			if r.Lo >= 7 {
				switch how.Load() {
				case 1:
					panic(fmt.Sprint("no ", r.Lo))
				case 2:
					y.Set(40, 0)
				}
			}
			return increment(ctx, x, y, r)
		}), workers, engine.Config{})
		in := load(t, e, chain(t, 1, 40))
		data := make([]float32, 40)
		for mode, want := range map[int32]string{
			1: "plan inference, p0: probe.forward, range [7, 8): the kernel panicked: no 7",
			2: "plan inference, p0: probe.forward, range [7, 8): the kernel panicked: runtime error: index out of range [40] with length 40",
		} {
			how.Store(mode)
			feed(t, in, "x", data...)
			err := in.Run(t.Context())
			wantError(t, fmt.Sprintf("%d workers", workers), err, want)
			var pe *engine.PanicError
			var te *engine.TaskError
			if !errors.As(err, &pe) || !errors.As(err, &te) || te.Err != error(pe) {
				t.Fatalf("%v", err)
			}
			if !contains(string(pe.Stack), "TestKernelPanics", "run_test.go") {
				t.Errorf("the stack does not show the kernel:\n%s", pe.Stack)
			}
			if mode == 2 {
				if _, ok := pe.Value.(interface{ RuntimeError() }); !ok {
					t.Errorf("the value is %v", pe.Value)
				}
			}
			how.Store(0)
			feed(t, in, "x", data...)
			run(t, in)
			if got := fetch[float32](t, in, "p0.output"); got[39] != 1 {
				t.Fatalf("after a panic the plan computes %v", got)
			}
		}
	}
}

// TestCancel cancels a run before it starts, and from within a task.
func TestCancel(t *testing.T) {
	ran := 0
	var cancel context.CancelCauseFunc
	e := newEngine(t, registry(t, func(ctx *op.Ctx, x tensor.RO[float32], y tensor.WO[float32], r op.Range) error {
		ran++
		if ran == 2 && cancel != nil {
			cancel(errors.New("enough"))
		}
		return increment(ctx, x, y, r)
	}), 1, engine.Config{})
	in := load(t, e, chain(t, 4, 1))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	feed(t, in, "x", float32(1))
	err := in.Run(ctx)
	wantError(t, "cancelled before", err, "plan inference stopped: context canceled")
	if !errors.Is(err, context.Canceled) || ran != 0 {
		t.Errorf("%v after %d tasks", err, ran)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	feed(t, in, "x", float32(1))
	wantError(t, "cancelled within", in.Run(ctx), "plan inference stopped: enough")
	if ran != 2 {
		t.Errorf("%d tasks ran", ran)
	}
	cancel = nil
	feed(t, in, "x", float32(1))
	run(t, in)
	if got := fetch[float32](t, in, "p3.output"); got[0] != 5 {
		t.Errorf("after a cancelled run the plan computes %v", got)
	}
}

// TestSteps checks what kernels learn: the number of the run, which failed runs do not count, and the
// worker.
func TestSteps(t *testing.T) {
	var step atomic.Uint64
	var fail atomic.Bool
	const workers = 3
	e := newEngine(t, registry(t, func(ctx *op.Ctx, x tensor.RO[float32], y tensor.WO[float32], r op.Range) error {
		if ctx.Step != step.Load() || ctx.Worker < 0 || ctx.Worker >= workers {
			return fmt.Errorf("step %d of worker %d, want step %d", ctx.Step, ctx.Worker, step.Load())
		}
		if fail.Load() {
			return errKernel
		}
		return nil
	}), workers, engine.Config{})
	p := chain(t, 2, 20)
	in, other := load(t, e, p), load(t, e, p)
	try := func(in *engine.Instance, at uint64) {
		t.Helper()
		step.Store(at)
		feed(t, in, "x", make([]float32, 20)...)
		run(t, in)
	}
	try(in, 0)
	try(in, 1)
	fail.Store(true)
	step.Store(2)
	feed(t, in, "x", make([]float32, 20)...)
	if err := in.Run(t.Context()); !errors.Is(err, errKernel) {
		t.Fatal(err)
	}
	fail.Store(false)
	try(in, 2)
	try(other, 0) // each instance counts its own runs
	try(in, 3)
	if e.Workers() != workers {
		t.Errorf("%d workers", e.Workers())
	}
}

func TestTimings(t *testing.T) {
	p := chain(t, 2, 20)
	e := newEngine(t, registry(t, increment), 2, engine.Config{Profile: true})
	in := load(t, e, p)
	for range 3 {
		feed(t, in, "x", make([]float32, 20)...)
		run(t, in)
	}
	times := in.Timings()
	if len(times) != 2 {
		t.Fatalf("%d timings", len(times))
	}
	for i, x := range times {
		if x.Label != fmt.Sprintf("p%d: probe.forward", i) || x.Runs != 3 || x.Shortest <= 0 || x.Shortest > x.Longest || x.Total < x.Longest+2*x.Shortest || x.Total > 3*x.Longest {
			t.Errorf("%+v", x)
		}
	}
	times[0].Runs = 99
	if in.Timings()[0].Runs != 3 {
		t.Error("Timings hands out the instance's own")
	}
	plain := load(t, newEngine(t, registry(t, increment), 1, engine.Config{}), p)
	if plain.Timings() != nil {
		t.Error("an engine that does not profile has timings")
	}
	if plain.Plan().Name != "inference" || !plain.Uses("p0.output") || plain.Uses("p9.output") {
		t.Error("Plan or Uses is wrong")
	}
}

// TestLoadErrors loads plans that the engine cannot run.
func TestLoadErrors(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	at := linear.Defaults()
	at.OutChannels = 2
	y := linear.Apply(g, at, x, graph.Named("fc"))
	seed := g.Input("seed", dtype.F32, 2, 2)
	again := linear.Apply(g, at, y, graph.Named("again"))
	program, _, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed, again: seed}, []graph.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	p, err := planner.Build(program, planner.Plain())
	if err != nil {
		t.Fatal(err)
	}
	fill := slices.IndexFunc(p.Tasks, func(t plan.Task) bool { return t.Builtin != nil })
	group := func(form plan.Form, parts ...plan.Task) func(*plan.Plan) {
		return func(p *plan.Plan) {
			p.Tasks[fill].Builtin, p.Tasks[fill].Group = nil, &plan.Group{Form: form, Parts: parts}
		}
	}
	add := plan.Task{Call: -1, Builtin: &plan.Builtin{Op: "add"}, Access: p.Tasks[fill].Access}
	tests := []struct {
		name   string
		change func(*plan.Plan)
		want   string
	}{
		{"unknown task", func(p *plan.Plan) { p.Calls[0].ID = 5 }, "plan gradients, fc: linear.forward: want a registered task linear.forward, got none of id 0000000000000005"},
		{"another target", func(p *plan.Plan) { p.Target = "cuda" }, `engine: plan gradients: want a plan for target "cpu", got one for "cuda"`},
		{"wrong attributes", func(p *plan.Plan) { p.Calls[0].Attrs = []byte(`{"out_channels": 0}`) }, "plan gradients, fc: linear.forward: operator linear: attribute out_channels: want at least 1, got 0"},
		{"other attributes", func(p *plan.Plan) { p.Calls[0].Attrs = []byte(`{"out_channels": 5}`) }, "plan gradients, fc: linear.forward: operator linear, task forward, slot weight: want f32[5, 3], got fc.weight f32[2, 3]"},
		{"too many tensors", func(p *plan.Plan) { p.Calls[0].Params[0] = append(p.Calls[0].Params[0], p.Calls[0].Params[0]...) }, "plan gradients, fc: linear.forward: operator linear, task forward, slot input: want 1 tensors, got 2"},
		{"wrong inputs", func(p *plan.Plan) { p.Calls[0].Given = nil }, "plan gradients, fc: linear.forward: operator linear, slot input: want a tensor, got none"},
		{"no parameters", func(p *plan.Plan) { p.Calls[0].Params = nil }, "plan gradients, fc: linear.forward: operator linear, task forward: want 6 parameters, got 0"},
		{"no input", func(p *plan.Plan) { p.Calls[0].Params[0] = nil }, "plan gradients, fc: linear.forward: operator linear, task forward, slot input: want one tensor, got 0"},
		{"no such step", func(p *plan.Plan) { p.Tasks[0].Step = 7 }, "plan gradients, fc: linear.forward: want step 7, the task has 2"},
		{"outside the arena", func(p *plan.Plan) { p.Roots[0].Place.Off = p.ArenaBytes }, "engine: plan gradients: want a place within the 256 bytes of the arena, got 24 bytes at 256: x"},
		{"not aligned", func(p *plan.Plan) { p.Roots[0].Place.Off = 2 }, "engine: plan gradients: want an offset that is a multiple of 64, got 2: x"},
		{"wrong size", func(p *plan.Plan) { p.Roots[0].Place.Bytes = 20 }, "engine: plan gradients: want 24 bytes, got 20: x"},
		{"secret reader", func(p *plan.Plan) { p.Tasks[0].Access = p.Tasks[0].Access[1:] }, "plan gradients, fc: linear.forward: operator linear, task forward, slot input: want an access to all of x that permits to read, got none"},
		{"no such root", func(p *plan.Plan) { p.Calls[0].Params[0][0].Root = 99 }, "engine: plan gradients: want roots from 0 to"},
		{"unknown operation", func(p *plan.Plan) { p.Tasks[fill].Builtin.Op = "sub" }, `plan gradients, sub grad of fc.output: unknown built-in operation "sub"`},
		{"operation on integers", func(p *plan.Plan) { p.Roots[p.Tasks[fill].Access[0].Root].Type = dtype.I32 }, "plan gradients, fill grad of fc.output: want fill of f32, f64, f16 or bf16, got i32"},
		{"unknown group", group("ring"), `engine: plan gradients, : : want a chain or a batch of tasks, got "ring" of 0`},
		{"group in a group", group(plan.Chain, plan.Task{Call: -1, Group: &plan.Group{Form: plan.Chain, Parts: []plan.Task{add}}}), "engine: plan gradients, grad of fc.output: add: want calls and built-in operations as parts, got something else as part 0"},
	}
	reg := registry(t, increment)
	for _, tt := range tests {
		e := newEngine(t, reg, 1, engine.Config{})
		bad := copyOf(t, p)
		tt.change(bad)
		in, err := e.Load(bad)
		switch {
		case err == nil || in != nil:
			t.Errorf("%s: loaded", tt.name)
		case !strings.HasPrefix(err.Error(), tt.want):
			t.Errorf("%s: got %v\nwant %s", tt.name, err, tt.want)
		}
		if m := e.Memory(); m.Used != 0 {
			t.Errorf("%s: %d bytes are still in use", tt.name, m.Used)
		}
		if in, err := e.Load(p); err != nil {
			t.Errorf("%s: the right plan does not load afterwards: %v", tt.name, err)
		} else {
			in.Close()
		}
	}
}
