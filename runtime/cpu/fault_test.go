package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

var errFault = errors.New("injected fault")

// faults makes one task fail: the step of the call that was bound at a number.
type faults struct {
	bound  int // calls bound since the last reset
	call   atomic.Int64
	step   atomic.Int64
	panics atomic.Bool
}

type faultyBody struct {
	op.Body
	*faults
	call, step int64
}

func (b *faultyBody) Run(ctx *op.Ctx, r op.Range) error {
	if b.faults.call.Load() == b.call && b.faults.step.Load() == b.step {
		if b.panics.Load() {
			panic(errFault)
		}
		return &op.Error{Operator: "op", Slot: "input", Want: "none", Got: errFault.Error()}
	}
	return b.Body.Run(ctx, r)
}

// registry returns all operators, whose bodies fail when told to.
func (f *faults) registry(t *testing.T) *task.Registry {
	t.Helper()
	f.call.Store(-1)
	var all, r task.Registry
	if err := catalogue.Register(&all); err != nil {
		t.Fatal(err)
	}
	for _, o := range all.Operators() {
		for _, sig := range o.Signatures {
			reg := all.Task(sig.ID)
			if reg == nil {
				continue
			}
			variants := append([]task.Variant{}, reg.Variants...)
			for i := range variants {
				bind := variants[i].Bind
				variants[i].Bind = func(a *task.Accessor) ([]op.Body, error) {
					bodies, err := bind(a)
					for step, b := range bodies {
						bodies[step] = &faultyBody{b, f, int64(f.bound), int64(step)}
					}
					f.bound++
					return bodies, err
				}
			}
			if err := r.RegisterTask(sig.ID, reg.Name, sig, variants...); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &r
}

// training is a training step of a small classifier in an engine, and what it should compute.
type training struct {
	program     *graph.Program
	engine      *engine.Engine
	in          *engine.Instance
	start       map[string][]float32 // variables before the step
	want        map[string][]float32 // and after its first run, with the loss
	undisturbed *training            // runs as many steps on one worker; nil for itself
}

const (
	faultBatch    = 2
	cancellations = 20 // for each number of workers
)

// begin loads and runs the initialisation, and loads the step.
func (s *training) begin(e *engine.Engine) error {
	init, err := graph.Initialization(s.program)
	if err != nil {
		return err
	}
	for _, p := range []*graph.Program{init, s.program} {
		pl, err := planner.Build(p)
		if err != nil {
			return err
		}
		in, err := e.Load(pl)
		if err != nil {
			return err
		}
		s.in = in
		if p == init {
			if err := in.Run(context.Background()); err != nil {
				return err
			}
			if err := in.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// step sets all variables as they were at first, feeds the inputs and runs.
func (s *training) step(ctx context.Context) error {
	for name, v := range s.start {
		if err := engine.Feed(s.in, name, v); err != nil {
			return err
		}
	}
	images, labels := make([]float32, faultBatch*64), make([]int32, faultBatch)
	for i := range images {
		images[i] = float32(i*7%17) / 16
		labels[i/64] = int32(i / 64 % 10)
	}
	if err := errors.Join(engine.Feed(s.in, "image", images), engine.Feed(s.in, "label", labels)); err != nil {
		return err
	}
	return s.in.Run(ctx)
}

// read returns the variables, and the loss if a step has run.
func (s *training) read(t *testing.T, loss bool) map[string][]float32 {
	t.Helper()
	out := map[string][]float32{}
	for _, v := range s.program.Variables {
		if v.Type() != dtype.F32 {
			t.Fatalf("variable %v", v)
		}
		out[v.Name()] = fetch[float32](t, s.in, v.Name())
	}
	if loss {
		out[last(s.program)] = fetch[float32](t, s.in, last(s.program))
	}
	return out
}

// check runs a step, which must compute what it should.
func (s *training) check(t *testing.T, what string) {
	t.Helper()
	if err := s.step(t.Context()); err != nil {
		t.Fatalf("%s: the next step: %v", what, err)
	}
	s.compare(t, what)
}

// compare compares what a step computed with what it should have, which depends on how many went before:
// random numbers and the optimiser's rate do.
func (s *training) compare(t *testing.T, what string) {
	t.Helper()
	if s.undisturbed != nil {
		if err := s.undisturbed.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.want = s.undisturbed.read(t, true)
	}
	got := s.read(t, true)
	for _, name := range slices.Sorted(maps.Keys(s.want)) {
		if !slices.Equal(got[name], s.want[name]) {
			t.Fatalf("%s: %s becomes\n%v\nwant\n%v", what, name, got[name], s.want[name])
		}
	}
}

// reference runs the step once, undisturbed and on one worker.
func reference(t *testing.T) *training {
	t.Helper()
	s := &training{program: digits(t, faultBatch), engine: newEngine(t, registry(t, increment), 1, engine.Config{})}
	if err := s.begin(s.engine); err != nil {
		t.Fatal(err)
	}
	s.start = s.read(t, false)
	if err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.want = s.read(t, true)
	return s
}

// beside returns a training that is to be run in another engine, and compared with a reference of its
// own after each step.
func beside(t *testing.T, e *engine.Engine) *training {
	t.Helper()
	ref := reference(t)
	if err := ref.begin(ref.engine); err != nil { // from the first step on
		t.Fatal(err)
	}
	s := &training{program: ref.program, start: ref.start, undisturbed: ref}
	if err := s.begin(e); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAllocationFaults refuses, one after the other, every allocation that a training step needs. The
// error says whose it was; nothing is left in use but what was before; and the next attempt succeeds.
func TestAllocationFaults(t *testing.T) {
	t.Parallel()
	s := reference(t)
	reg := registry(t, increment)
	for refused := 0; ; refused++ {
		count, owner := 0, ""
		var e *engine.Engine
		var before int64
		e = engine.New(reg, cpu.New(cpu.Config{Workers: 3}), engine.Config{Admit: func(o string, _ int64) error {
			count++
			if count-1 == refused {
				owner = o
				return errFault
			}
			return nil
		}})
		err := s.begin(e)
		if owner == "" {
			if err != nil || refused < 10 {
				t.Errorf("after %d allocations: %v", refused, err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			break
		}
		what := fmt.Sprintf("allocation %d, for %s", refused, owner)
		if !errors.Is(err, errFault) || !strings.HasPrefix(err.Error(), owner+": ") {
			t.Errorf("%s: %v", what, err)
		}
		// Variables that the initialisation made stay; all else is gone.
		for _, v := range s.program.Variables {
			if data, _, err := engine.Variable[float32](e, v.Name()); err == nil {
				before += int64(4 * len(data))
			}
		}
		if got := e.Memory().Used; got != before {
			t.Errorf("%s: %d bytes are in use, of which %d by variables", what, got, before)
		}
		if err := s.begin(e); err != nil {
			t.Fatalf("%s: the next attempt: %v", what, err)
		}
		s.check(t, what)
		if err := e.Close(); err != nil || e.Memory().Used != 0 {
			t.Errorf("%s: closed: %v, %+v", what, err, e.Memory())
		}
	}
}

// TestTaskFaults lets every task of a training step fail, with an error and with a panic.
func TestTaskFaults(t *testing.T) {
	t.Parallel()
	var f faults
	e := engine.New(f.registry(t), cpu.New(cpu.Config{Workers: 3}), engine.Config{})
	s := beside(t, e)
	p := s.in.Plan()
	f.bound = 0
	in, err := e.Load(p) // bound anew, so that numbers begin at 0
	if err != nil {
		t.Fatal(err)
	}
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	s.in = in
	used := e.Memory().Used
	number := map[int]int64{} // of each call: when it was bound
	var all []*plan.Task      // with the parts of groups
	for i := range p.Tasks {
		if g := p.Tasks[i].Group; g != nil {
			for k := range g.Parts {
				all = append(all, &g.Parts[k])
			}
			continue
		}
		all = append(all, &p.Tasks[i])
	}
	for i, x := range all {
		if x.Builtin != nil {
			continue
		}
		if _, ok := number[x.Call]; !ok {
			number[x.Call] = int64(len(number))
		}
		for _, panics := range []bool{false, true} {
			f.panics.Store(panics)
			f.step.Store(int64(x.Step))
			f.call.Store(number[x.Call])
			err := s.step(t.Context())
			f.call.Store(-1)
			c := &p.Calls[x.Call]
			var te *engine.TaskError
			var pe *engine.PanicError
			if !errors.As(err, &te) || errors.As(err, &pe) != panics {
				t.Fatalf("task %d, panic %v: %v", i, panics, err)
			}
			slot := "input"
			if panics {
				slot = ""
			}
			if te.Plan != p.Name || te.Label != p.LabelOf(x) || te.Node != c.Node || te.Operator != c.Operator || te.Task != c.Task || te.Slot != slot ||
				te.Range.Lo < 0 || te.Range.Hi > x.Over || te.Range.Lo >= te.Range.Hi || te.Range.Lo%x.Grain != 0 || !strings.Contains(err.Error(), errFault.Error()) {
				t.Errorf("task %d, %s, panic %v: %+v", i, p.LabelOf(x), panics, te)
			}
			if got := e.Memory().Used; got != used {
				t.Errorf("task %d: %d bytes in use, want %d", i, got, used)
			}
			s.check(t, p.LabelOf(x))
		}
	}
	if err := e.Close(); err != nil || e.Memory().Used != 0 {
		t.Errorf("closed: %v, %+v", err, e.Memory())
	}
}

// TestCancelAnywhere cancels training steps at random times.
func TestCancelAnywhere(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	stopped := 0
	for _, workers := range []int{1, 2, 5} {
		e := engine.New(registry(t, increment), cpu.New(cpu.Config{Workers: workers}), engine.Config{})
		s := beside(t, e)
		start := time.Now()
		s.check(t, "before any")
		took := time.Since(start)
		for i := range cancellations {
			ctx, cancel := context.WithCancelCause(t.Context())
			timer := time.AfterFunc(time.Duration(r.Int64N(int64(took)+1)), func() { cancel(errFault) })
			err := s.step(ctx)
			timer.Stop()
			cancel(nil)
			what := fmt.Sprintf("%d workers, cancellation %d", workers, i)
			switch {
			case err == nil:
				s.compare(t, what)
			case !errors.Is(err, errFault) || err.Error() != "plan training stopped: injected fault":
				t.Errorf("%s: %v", what, err)
			default:
				stopped++
				s.check(t, what)
			}
		}
		if err := e.Close(); err != nil || e.Memory().Used != 0 {
			t.Errorf("%d workers: closed: %v, %+v", workers, err, e.Memory())
		}
	}
	if stopped == 0 {
		t.Error("no step was stopped")
	}
}
