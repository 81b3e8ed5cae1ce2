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
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
)

var errFault = errors.New("injected fault")

// faults makes one task fail: the step of the call that was bound at a number.
type faults struct {
	// bound numbers the calls that were bound since the last reset, by what is passed to them, of which each
	// has its own. A backend may bind a call several times.
	bound  map[*task.Passed]int64
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
func (s *suite) faulty(t *testing.T, f *faults) *task.Registry {
	t.Helper()
	f.call.Store(-1)
	f.bound = map[*task.Passed]int64{}
	all := s.catalogue(t)
	var r task.Registry
	for _, o := range all.Operators() {
		for _, sig := range o.Signatures {
			reg := all.Task(sig.ID)
			if reg == nil {
				continue
			}
			variants := append([]task.Variant{}, reg.Variants...)
			for i := range variants {
				bind := variants[i].Bind
				variants[i].Kernel = f // rather than device code, which does not run what Bind gives
				variants[i].Bind = func(a *task.Accessor) ([]op.Body, error) {
					bodies, err := bind(a)
					if _, ok := f.bound[a.Passed]; !ok {
						f.bound[a.Passed] = int64(len(f.bound))
					}
					for step, b := range bodies {
						bodies[step] = &faultyBody{b, f, f.bound[a.Passed], int64(step)}
					}
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

// testAllocationFaults lets, one after the other, every allocation that a training step needs fail: the
// backend has no memory, or the caller does not admit the allocation. The error says whose memory it was.
// Nothing is left in use but what was before, and the next attempt succeeds.
func (s *suite) testAllocationFaults(t *testing.T) {
	t.Parallel()
	x := s.reference(t, s.catalogue(t))
	each := 1
	if testing.Short() {
		each = 5 // odd, so that both ways to fail are tried
	}
	for refused := 1; ; refused += each {
		owner, count := "", 0
		backend := s.open(t, 3)
		admit := func(o string, bytes int64) error {
			if bytes > 0 {
				count++
			}
			if count != refused || bytes == 0 {
				return nil
			}
			owner = o
			if refused%2 == 0 {
				return errFault
			}
			return nil // and the backend fails
		}
		if refused%2 == 1 {
			backend.refuse = refused
		}
		e := engine.New(s.catalogue(t), backend, engine.Config{Admit: admit})
		err := x.begin(e)
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
		// Variables that the initialization made stay; all else is gone.
		var variables int64
		for _, v := range x.program.Variables {
			if data, _, err := engine.Variable[float32](e, v.Name()); err == nil {
				variables += int64(4 * len(data))
			}
		}
		if got := e.Memory().Used; got != variables {
			t.Errorf("%s: %d bytes are in use, of which %d by variables", what, got, variables)
		}
		if err := x.begin(e); err != nil {
			t.Fatalf("%s: the next attempt: %v", what, err)
		}
		x.check(t, what)
		if err := e.Close(); err != nil || e.Memory().Used != 0 {
			t.Errorf("%s: closed: %v, %+v", what, err, e.Memory())
		}
	}
}

// testTaskFaults lets every task of a training step fail, with an error and with a panic.
func (s *suite) testTaskFaults(t *testing.T) {
	t.Parallel()
	var f faults
	e := s.start(t, s.faulty(t, &f), 3, engine.Config{})
	x := s.besideOf(t, s.faulty(t, &faults{}), e) // which runs bodies, too: device code has other bits
	p := x.in.Plan()
	clear(f.bound)
	in, err := e.Load(p) // bound again, so that numbers begin at 0
	if err != nil {
		t.Fatal(err)
	}
	if err := x.in.Close(); err != nil {
		t.Fatal(err)
	}
	x.in = in
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
	for _, at := range all {
		if _, ok := number[at.Call]; !ok && at.Builtin == nil {
			number[at.Call] = int64(len(number))
		}
	}
	for i, at := range all {
		if at.Builtin != nil || testing.Short() && i%4 > 0 {
			continue
		}
		for _, panics := range []bool{false, true} {
			f.panics.Store(panics)
			f.step.Store(int64(at.Step))
			f.call.Store(number[at.Call])
			err := x.step(t.Context())
			f.call.Store(-1)
			c := &p.Calls[at.Call]
			var te *engine.TaskError
			var pe *engine.PanicError
			if !errors.As(err, &te) || errors.As(err, &pe) != panics {
				t.Fatalf("task %d, panic %v: %v", i, panics, err)
			}
			slot := "input"
			if panics {
				slot = ""
			}
			if te.Plan != p.Name || te.Label != p.LabelOf(at) || te.Node != c.Node || te.Operator != c.Operator || te.Task != c.Task || te.Slot != slot ||
				te.Range.Lo < 0 || te.Range.Hi > at.Over || te.Range.Lo >= te.Range.Hi || te.Range.Lo%at.Grain != 0 || !strings.Contains(err.Error(), errFault.Error()) {
				t.Errorf("task %d, %s, panic %v: %+v", i, p.LabelOf(at), panics, te)
			}
			if got := e.Memory().Used; got != used {
				t.Errorf("task %d: %d bytes in use, want %d", i, got, used)
			}
			x.check(t, p.LabelOf(at))
		}
	}
	if err := e.Close(); err != nil || e.Memory().Used != 0 {
		t.Errorf("closed: %v, %+v", err, e.Memory())
	}
}

// canceler is an observer that cancels a run after some ranges.
type canceler struct {
	left   atomic.Int64
	cancel context.CancelCauseFunc
}

// Observe returns the function that counts.
func (c *canceler) Observe(*plan.Plan, int) func(engine.Event) {
	return func(engine.Event) {
		if c.left.Add(-1) == 0 {
			c.cancel(errFault)
		}
	}
}

// testCancelAnywhere cancels training steps after so many ranges.
func (s *suite) testCancelAnywhere(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 2, 5} {
		var c canceler
		e := s.start(t, s.catalogue(t), workers, engine.Config{Observer: &c})
		x := s.beside(t, e)
		stopped := 0
		for ranges := int64(1); ; ranges = 2*ranges + 1 {
			ctx, cancel := context.WithCancelCause(t.Context())
			c.cancel = cancel
			c.left.Store(ranges)
			err := x.step(ctx)
			over := c.left.Load() > 0 // all ranges ran before
			cancel(nil)
			c.left.Store(0)
			what := fmt.Sprintf("%d workers, canceled after %d ranges", workers, ranges)
			switch {
			case err == nil:
				x.compare(t, what)
			case !errors.Is(err, errFault) || err.Error() != "plan training stopped: injected fault":
				t.Errorf("%s: %v", what, err)
			default:
				stopped++
				x.check(t, what)
			}
			if over {
				break
			}
		}
		if stopped == 0 {
			t.Errorf("%d workers: no step was stopped", workers)
		}
		if err := e.Close(); err != nil || e.Memory().Used != 0 {
			t.Errorf("%d workers: closed: %v, %+v", workers, err, e.Memory())
		}
	}
}
