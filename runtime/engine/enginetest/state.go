package enginetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// counter is an operator with per-device state: a table that init makes and forward reads.
var counter = opimpl.New(graph.Operator{
	Operator: task.Operator{
		Name: "counter",
		Slots: []task.Slot{
			{Name: "input", Role: task.RoleInput, Type: "f32", Shape: "[N]"},
			{Name: "output", Role: task.RoleOutput, Type: "f32", Shape: "[N]"},
			{Name: "table", Role: task.RoleState},
		},
		Signatures: []*task.Signature{
			{Task: "forward", ID: task.IDOf("counter", "forward"), Kind: task.KindForward, Steps: []task.Step{{}},
				Params: []task.Param{{Slot: 0, Perm: perm.Read}, {Slot: 1, Perm: perm.Write}, {Slot: 2, Perm: perm.Read}}},
			{Task: "init", ID: task.IDOf("counter", "init"), Kind: task.KindInit, Steps: []task.Step{{}},
				Params: []task.Param{{Slot: 2, Perm: perm.Write}}},
			{Task: "cleanup", ID: task.IDOf("counter", "cleanup"), Kind: task.KindCleanup, Steps: []task.Step{{}},
				Params: []task.Param{{Slot: 2, Perm: perm.Read}}},
		},
		DecodeAttrs: func([]byte) (task.Attrs, error) { return probeAttrs{}, nil },
		Resolve: opimpl.Resolve(func(r *opimpl.Resolver[int], _ probeAttrs, _ *struct{}) {
			x, _ := r.Tensor(0).RankAtLeast(0)
			r.Set(1, dtype.F32, x...)
			r.WorkBy(task.IDOf("counter", "forward"), 4, shape.Prod(x))
		}),
	},
})

// table is the state: a value that is added, and whether it is still there.
type table struct {
	number int
	open   bool
}

// tables is what the tasks of counter work on: all states ever made, and what to do wrong.
type tables struct {
	log              []string
	made             []*table
	failInit, noInit int // number of the init, from 1, that fails or panics, or puts nothing
	failCleanup      int // number of the table whose cleanup fails
	failForward      bool
}

var (
	errInit    = errors.New("init failed")
	errCleanup = errors.New("cleanup failed")
)

type bodyFunc func(ctx *op.Ctx, r op.Range) error

func (f bodyFunc) Run(ctx *op.Ctx, r op.Range) error { return f(ctx, r) }

func (s *tables) bind(a *task.Accessor) ([]op.Body, error) {
	b := opimpl.NewBinder[int](a)
	var body bodyFunc
	switch a.Signature.Kind {
	case task.KindInit:
		to := a.State(2)
		body = func(_ *op.Ctx, r op.Range) error {
			n := len(s.made) + 1
			switch {
			case r != op.Range{Lo: 0, Hi: 1}:
				return fmt.Errorf("range %v", r)
			case n == s.failInit:
				return errInit
			case -n == s.failInit:
				panic("init panicked")
			case n == s.noInit:
				return nil
			}
			t := &table{n, true}
			s.made = append(s.made, t)
			s.log = append(s.log, fmt.Sprint("init ", n))
			to.Put(t)
			return nil
		}
	case task.KindCleanup:
		t := opimpl.StateOf[*table](b, 2)
		body = func(*op.Ctx, op.Range) error {
			s.log = append(s.log, fmt.Sprint("cleanup ", t.number))
			if !t.open {
				return errors.New("freed twice")
			}
			t.open = false
			if t.number == s.failCleanup {
				return errCleanup
			}
			return nil
		}
	default:
		t := opimpl.StateOf[*table](b, 2)
		x, y := opimpl.ReadOnly[float32](b, 0), opimpl.WriteOnly[float32](b, 1)
		body = func(_ *op.Ctx, r op.Range) error {
			if s.failForward || !t.open {
				return errKernel
			}
			for i := r.Lo; i < r.Hi; i++ {
				y.Set(i, x.At(i)*10+float32(t.number))
			}
			return nil
		}
	}
	return []op.Body{body}, b.Err()
}

// tables returns a registry of all operators, and of the counter.
func (s *suite) counters(t *testing.T, log *tables) *task.Registry {
	t.Helper()
	r := s.catalogue(t)
	for _, sig := range counter.Signatures {
		if err := r.RegisterTask(sig.ID, sig.Name(), sig, task.Variant{Target: s.target.Name, Kernel: log, Bind: log.bind}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// counters returns a program of n counters, one after the other.
func counters(t *testing.T, n int) *graph.Program { return countersOf(t, n, 8) }

// countersOf does so for tensors of another size.
func countersOf(t *testing.T, n, size int) *graph.Program {
	t.Helper()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, size)
	for range n {
		x = graph.Insert[int](g, 0, counter, probeAttrs{}).Bind(0, x).Node().Tensor(1)
	}
	return inference(t, g, x)
}

// open returns how many states are not freed.
func (s *tables) open() (n int) {
	for _, t := range s.made {
		if t.open {
			n++
		}
	}
	return n
}

func (s *suite) testState(t *testing.T) {
	log := &tables{}
	e := s.start(t, s.counters(t, log), 2, engine.Config{})
	p := counters(t, 3)
	in, other := s.load(t, e, p), s.load(t, e, p)
	for range 2 {
		feed(t, in, "x", make([]float32, 8)...)
		run(t, in)
		if got := fetch[float32](t, in, last(p)); got[0] != 123 || got[7] != 123 {
			t.Errorf("computed %v", got)
		}
	}
	// Plans of an engine share the states of nodes, and those of a failed run are there for the next.
	log.failForward = true
	feed(t, other, "x", make([]float32, 8)...)
	if err := other.Run(t.Context()); !errors.Is(err, errKernel) {
		t.Errorf("%v", err)
	}
	log.failForward = false
	feed(t, other, "x", make([]float32, 8)...)
	run(t, other)
	if got := fetch[float32](t, other, last(p)); got[0] != 123 {
		t.Errorf("computed %v", got)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	wide, third := s.load(t, e, countersOf(t, 1, 9)), s.load(t, e, counters(t, 1))
	if got := len(third.States()); got != 1 || third.States()[0].Node != "counter" {
		t.Errorf("the plan has %d states", got)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(wide.Close(), third.Close()); err != nil {
		t.Error(err)
	}
	// A state lives until the last plan with its node is closed. Another shape is another state.
	want := "init 1 init 2 init 3 init 4 cleanup 4 cleanup 3 cleanup 2 cleanup 1"
	if got := strings.Join(log.log, " "); got != want || log.open() != 0 {
		t.Errorf("%d states are open\n got %s\nwant %s", log.open(), got, want)
	}
}

// testStateErrors lets init and cleanup tasks fail. Whatever was made is freed.
func (s *suite) testStateErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		s     tables
		cause error
		want  string
		log   string
	}{
		"error":    {tables{failInit: 3}, errInit, "plan inference, counter_2: counter.init, range [0, 1): init failed", "init 1 init 2 cleanup 2 cleanup 1"},
		"panic":    {tables{failInit: -3}, nil, "plan inference, counter_2: counter.init, range [0, 1): the kernel panicked: init panicked", "init 1 init 2 cleanup 2 cleanup 1"},
		"none put": {tables{noInit: 2}, nil, "plan inference, counter_1: counter.init, range [0, 1): operator counter, task init, slot table: want an init task that puts a state, got none", "init 1 cleanup 1"},
		"both":     {tables{failInit: 3, failCleanup: 2}, errCleanup, "plan inference, counter_2: counter.init, range [0, 1): init failed\nplan inference, counter_1: counter.cleanup, range [0, 1): cleanup failed", "init 1 init 2 cleanup 2 cleanup 1"},
	} {
		log := &tt.s
		e := s.start(t, s.counters(t, log), 1, engine.Config{})
		in, err := e.Load(s.build(t, counters(t, 3)))
		wantError(t, name, err, tt.want)
		if in != nil || tt.cause != nil && !errors.Is(err, tt.cause) {
			t.Errorf("%s: %v, %v", name, in, err)
		}
		if got := strings.Join(log.log, " "); got != tt.log || log.open() != 0 || e.Memory().Used != 0 {
			t.Errorf("%s: %s; %d states are open, %d bytes in use", name, got, log.open(), e.Memory().Used)
		}
		*log = tables{failCleanup: 2}
		in = s.load(t, e, counters(t, 3))
		wantError(t, name, in.Close(), "plan inference, counter_1: counter.cleanup, range [0, 1): cleanup failed")
		if got := strings.Join(log.log, " "); got != "init 1 init 2 init 3 cleanup 3 cleanup 2 cleanup 1" || e.Memory().Used != 0 {
			t.Errorf("%s: %s; %d bytes in use", name, got, e.Memory().Used)
		}
		if err := e.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A body that needs a state of another type, or one that no task made, is an error of Load.
	log := &tables{}
	e := s.engine(t, s.counters(t, log), 1, engine.Config{})
	p := s.build(t, counters(t, 1))
	p.States = nil
	_, err := e.Load(p)
	wantError(t, "no state", err, "plan inference, counter: counter.forward: operator counter, task forward: want a state of node counter, got none")
	var state task.State
	a := opimpl.NewBinder[int](&task.Accessor{Signature: counter.Signatures[0], State: func(int) *task.State { return &state }})
	state.Put("text")
	if got := opimpl.StateOf[string](a, 2); got != "text" || a.Err() != nil {
		t.Errorf("the state is %q, %v", got, a.Err())
	}
	opimpl.StateOf[int](a, 2)
	wantError(t, "another type", a.Err(), "operator counter, task forward, slot table: want state of type int, made by an init task, got string")
}
