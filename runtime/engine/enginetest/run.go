package enginetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
)

var errKernel = errors.New("the kernel failed")

// testKernelErrors lets a kernel fail in several ranges. The error names the first of them and its
// task, for any number of workers, and the next run works.
func (s *suite) testKernelErrors(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		var broken atomic.Bool
		e := s.engine(t, s.registry(t, func(ctx *op.Ctx, a *args, r op.Range) error {
			if broken.Load() && a.x.At(r.Lo) > 13 { // of the second task, which adds 1: from 13 on
				return fmt.Errorf("%w at %d", errKernel, r.Lo)
			}
			return increment(ctx, a, r)
		}), workers, engine.Config{})
		in := s.load(t, e, chain(t, 2, 40))
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

// testKernelPanics does the same with panics, of the kernel's own and of a view.
func (s *suite) testKernelPanics(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		var how atomic.Int32
		e := s.engine(t, s.registry(t, func(ctx *op.Ctx, a *args, r op.Range) error {
			if r.Lo >= 7 {
				switch how.Load() {
				case 1:
					panic(fmt.Sprint("no ", r.Lo))
				case 2:
					a.y.Set(40, 0)
				}
			}
			return increment(ctx, a, r)
		}), workers, engine.Config{})
		in := s.load(t, e, chain(t, 1, 40))
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
			if !strings.Contains(string(pe.Stack), "testKernelPanics") {
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

// testCancel cancels a run before it starts, and from within a task.
func (s *suite) testCancel(t *testing.T) {
	ran := 0
	var cancel context.CancelCauseFunc
	e := s.engine(t, s.registry(t, func(ctx *op.Ctx, a *args, r op.Range) error {
		ran++
		if ran == 2 && cancel != nil {
			cancel(errors.New("enough"))
		}
		return increment(ctx, a, r)
	}), 1, engine.Config{})
	in := s.load(t, e, chain(t, 4, 1))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	feed(t, in, "x", float32(1))
	err := in.Run(ctx)
	wantError(t, "canceled before", err, "plan inference stopped: context canceled")
	if !errors.Is(err, context.Canceled) || ran != 0 {
		t.Errorf("%v after %d tasks", err, ran)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	feed(t, in, "x", float32(1))
	wantError(t, "canceled within", in.Run(ctx), "plan inference stopped: enough")
	if ran != 2 {
		t.Errorf("%d tasks ran", ran)
	}
	cancel = nil
	feed(t, in, "x", float32(1))
	run(t, in)
	if got := fetch[float32](t, in, "p3.output"); got[0] != 5 {
		t.Errorf("after a canceled run the plan computes %v", got)
	}
}

// testSteps checks what kernels learn: the number of the run, which failed runs do not count, and the
// worker.
func (s *suite) testSteps(t *testing.T) {
	var step atomic.Uint64
	var fail atomic.Bool
	var e *engine.Engine
	e = s.engine(t, s.registry(t, func(ctx *op.Ctx, a *args, r op.Range) error {
		if ctx.Step != step.Load() || ctx.Worker < 0 || ctx.Worker >= e.Workers() {
			return fmt.Errorf("step %d of worker %d, want step %d", ctx.Step, ctx.Worker, step.Load())
		}
		if fail.Load() {
			return errKernel
		}
		return increment(ctx, a, r)
	}), 3, engine.Config{})
	p := chain(t, 2, 20)
	in, other := s.load(t, e, p), s.load(t, e, p)
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
}

func (s *suite) testTimings(t *testing.T) {
	p := chain(t, 2, 20)
	e := s.engine(t, s.registry(t, increment), 2, engine.Config{Profile: true})
	in := s.load(t, e, p)
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
	plain := s.load(t, s.engine(t, s.registry(t, increment), 1, engine.Config{}), p)
	if plain.Timings() != nil {
		t.Error("an engine that does not profile has timings")
	}
	if plain.Plan().Name != "inference" || !plain.Uses("p0.output") || plain.Uses("p9.output") {
		t.Error("Plan or Uses is wrong")
	}
}
