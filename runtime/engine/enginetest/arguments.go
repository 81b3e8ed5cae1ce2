package enginetest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/profile"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// The slots of listener, which takes arguments of every source that engines serve.
const (
	listenInput = iota
	listenOutput
	listenState
	listenProfiling
	listenHandle
	listenMemory
	listenFactor
	listenTerms
	listenTried
)

// factor is a caller's value with parts.
type factor struct {
	By    float64
	Terms []float32
}

// listener computes input * factor.By + the sum of terms, with two states of its init: a table, and how many
// elements that tried.
var listener = opimpl.New(graph.Operator{
	Operator: task.Operator{
		Name: "listener",
		Slots: []task.Slot{
			{Name: "input", Role: task.RoleInput, Type: "f32", Shape: "[N]"},
			{Name: "output", Role: task.RoleOutput, Type: "f32", Shape: "[N]"},
			{Name: "table", Role: task.RoleState},
			{Name: "profiling", Role: task.RoleArgument},
			{Name: "handle", Role: task.RoleArgument},
			{Name: "memory", Role: task.RoleArgument},
			{Name: "factor", Role: task.RoleArgument},
			{Name: "terms", Role: task.RoleArgument, Variadic: true, Max: task.Unbounded},
			{Name: "tried", Role: task.RoleState},
		},
		Signatures: []*task.Signature{
			{Task: "forward", ID: task.IDOf("listener", "forward"), Kind: task.KindForward,
				Params: []task.Param{{Slot: listenInput, Perm: perm.Read}, {Slot: listenOutput, Perm: perm.Write}, {Slot: listenState, Perm: perm.Read}, {Slot: listenTried, Perm: perm.Read}},
				Args: []task.Arg{
					{Slot: listenProfiling, Type: reflect.TypeFor[task.Profiling](), From: task.FromProfiling},
					{Slot: listenFactor, Type: reflect.TypeFor[factor](), From: task.FromCall},
					{Slot: listenTerms, Type: reflect.TypeFor[float64](), From: task.FromCall},
				}},
			{Task: "init", ID: task.IDOf("listener", "init"), Kind: task.KindInit,
				Params: []task.Param{{Slot: listenInput, Perm: perm.Scratch}, {Slot: listenState, Perm: perm.Write}, {Slot: listenTried, Perm: perm.Write}}, Returns: []int{listenState, listenTried},
				Args: []task.Arg{
					{Slot: listenHandle, Type: reflect.TypeFor[task.Handle](), From: task.FromHandle, Unchecked: true},
					{Slot: listenMemory, Type: reflect.TypeFor[*task.Memory](), From: task.FromMemory, Unchecked: true},
				}},
			{Task: "cleanup", ID: task.IDOf("listener", "cleanup"), Kind: task.KindCleanup,
				Params: []task.Param{{Slot: listenState, Perm: perm.Read}, {Slot: listenTried, Perm: perm.Read}},
				Args:   []task.Arg{{Slot: listenMemory, Type: reflect.TypeFor[*task.Memory](), From: task.FromMemory, Unchecked: true}}},
		},
		DecodeAttrs: func([]byte) (task.Attrs, error) { return probeAttrs{}, nil },
		Resolve: opimpl.Resolve(func(r *opimpl.Resolver[int], _ probeAttrs, _ *struct{}) {
			x, _ := r.Tensor(0).RankAtLeast(0)
			r.Set(listenOutput, dtype.F32, x...)
			r.WorkBy(task.IDOf("listener", "forward"), 4, shape.Prod(x))
		}),
	},
})

// heard is what the tasks of listener were given, and how init behaves.
type heard struct {
	profiling task.Profiling
	devices   []int
	elements  int // of the table that init allocates
	fail      bool
	freeTwice bool
	memory    *task.Memory
	tried     int // elements of the tensor to try algorithms on
}

func (h *heard) bind(a *task.Accessor) ([]op.Body, error) {
	b := opimpl.NewBinder[int](a)
	switch a.Signature.Kind {
	case task.KindInit:
		m, x := opimpl.Argument[*task.Memory](b, listenMemory), opimpl.ReadWrite[float32](b, listenInput)
		h.devices = append(h.devices, opimpl.Argument[task.Handle](b, listenHandle).Device)
		h.memory = m
		return []op.Body{bodyFunc(func(*op.Ctx, op.Range) error {
			table, err := h.init(m, x.Len())
			if err == nil {
				a.State(listenState).Put(table)
				a.State(listenTried).Put(x.Len())
			}
			return err
		})}, b.Err()
	case task.KindCleanup:
		m, table := opimpl.Argument[*task.Memory](b, listenMemory), opimpl.StateOf[[]float64](b, listenState)
		return []op.Body{bodyFunc(func(*op.Ctx, op.Range) error {
			if !h.freeTwice {
				return nil // the engine frees it
			}
			return errors.Join(task.Free(m, table), task.Free(m, table))
		})}, b.Err()
	}
	if got := opimpl.StateOf[int](b, listenTried); got != h.tried && b.Err() == nil {
		return nil, fmt.Errorf("forward has the state %d, init made %d", got, h.tried)
	}
	h.profiling = opimpl.Argument[task.Profiling](b, listenProfiling)
	args := &struct {
		factor factor
		terms  []float64
	}{}
	opimpl.Follow(b, listenFactor, &args.factor)
	opimpl.FollowAll(b, listenTerms, &args.terms)
	x, y := opimpl.ReadOnly[float32](b, listenInput), opimpl.WriteOnly[float32](b, listenOutput)
	return []op.Body{bodyFunc(func(_ *op.Ctx, r op.Range) error {
		sum := 0.0
		for _, v := range args.terms {
			sum += v
		}
		for _, v := range args.factor.Terms {
			sum += float64(v)
		}
		for i := r.Lo; i < r.Hi; i++ {
			y.Set(i, float32(float64(x.At(i))*args.factor.By+sum))
		}
		return nil
	})}, b.Err()
}

func (h *heard) init(m *task.Memory, tried int) ([]float64, error) {
	h.tried = tried
	spare, err := task.Alloc[float32](m, 16)
	if err != nil {
		return nil, err
	}
	table, err := task.Alloc[float64](m, h.elements)
	if err != nil {
		return nil, err
	}
	if h.fail {
		return nil, errInit
	}
	return table, task.Free(m, spare)
}

// listening returns a registry of the catalogue and of listener.
func (s *suite) listening(t *testing.T, h *heard) *task.Registry {
	t.Helper()
	r := s.catalogue(t)
	for _, sig := range listener.Signatures {
		if err := r.RegisterTask(sig.ID, sig.Name(), sig, task.Variant{Target: s.target.Name, Kernel: h, Bind: h.bind}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// listen returns a program of one listener on a device.
func listen(t *testing.T, device int, f factor, terms ...float64) *graph.Program {
	t.Helper()
	g := graph.OnDevice(1, device)
	x := g.Input("x", dtype.F32, 8)
	y := graph.Insert[int](g, 0, listener, probeAttrs{}).Bind(0, x).BindArg(listenFactor, f).BindArg(listenTerms, opimpl.Values(terms)...).Node()
	return inference(t, g, y.Tensor(listenOutput))
}

// testArguments checks what tasks get as profiling and as the handle of their device.
func (s *suite) testArguments(t *testing.T) {
	for _, c := range []struct {
		config engine.Config
		want   task.Profiling
	}{
		{engine.Config{}, task.Profiling{}},
		{engine.Config{Profile: true}, task.Profiling{On: true}},
		{engine.Config{Observer: &witness{}}, task.Profiling{On: true}},
		{engine.Config{Observer: profile.New(profile.Config{Warmup: 2, Runs: 3})}, task.Profiling{On: true, Warmup: 2, Measure: 3}},
		{engine.Config{Profile: true, Observer: profile.New(profile.Config{Warmup: 2, Runs: 3})}, task.Profiling{On: true}},
	} {
		h := &heard{}
		e := s.engine(t, s.listening(t, h), 1, c.config)
		s.load(t, e, listen(t, 0, factor{}))
		s.load(t, e, listen(t, 1, factor{}))
		if h.profiling != c.want {
			t.Errorf("profiling is %+v, want %+v", h.profiling, c.want)
		}
		if len(h.devices) != 2 || h.devices[0] != 0 || h.devices[1] != 1 {
			t.Errorf("init ran on devices %v, want 0 and 1", h.devices)
		}
		if h.tried != 8 {
			t.Errorf("init tries algorithms on %d elements, want 8", h.tried)
		}
	}
}

// testSetArg sets values that the caller passes between runs. The plan keeps those with which it begins.
func (s *suite) testSetArg(t *testing.T) {
	e := s.engine(t, s.listening(t, &heard{}), 2, engine.Config{})
	p := s.build(t, listen(t, 0, factor{By: 2}, 10, 20))
	before, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	in, err := e.Load(p)
	if err != nil {
		t.Fatal(err)
	}
	check := func(in *engine.Instance, want float32) {
		t.Helper()
		feed(t, in, "x", []float32{1, 2, 3, 4, 5, 6, 7, 8}...)
		run(t, in)
		if got := fetch[float32](t, in, "listener.output")[7]; got != want && (got == got || want == want) {
			t.Errorf("computed %v, want %v", got, want)
		}
	}
	set := func(slot string, values ...any) {
		t.Helper()
		if err := in.SetArg("listener", slot, values...); err != nil {
			t.Fatal(err)
		}
	}
	check(in, 46)
	check(in, 46)
	list := []float32{100}
	set("factor", factor{By: 3, Terms: list})
	list[0] = 0 // the value was copied
	check(in, 154)
	set("terms", 1.0, 2.0)
	check(in, 127)
	set("terms", math.Inf(-1), 2.0)
	check(in, float32(math.Inf(-1)))
	set("terms", 1.0, math.NaN())
	check(in, float32(math.NaN()))
	if got, err := in.Arg("listener", "factor"); err != nil || !reflect.DeepEqual(got, []any{factor{3, []float32{100}}}) {
		t.Errorf("the factor is %v, %v", got, err)
	}
	if after, err := p.Encode(); err != nil || string(after) != string(before) {
		t.Errorf("the plan changed: %v", err)
	}
	other, err := e.Load(p)
	if err != nil {
		t.Fatal(err)
	}
	check(other, 46)
	const node = "engine: plan inference, node listener: operator listener, "
	for want, err := range map[string]error{
		node + "task forward, slot factor: want a value of type enginetest.factor, got float64":  in.SetArg("listener", "factor", 1.5),
		node + "task forward, slot factor: want 1 values, got 0":                                 in.SetArg("listener", "factor"),
		node + "task forward, slot terms: want 2 values, as in the plan, got 3":                  in.SetArg("listener", "terms", 1.0, 2.0, 3.0),
		node + "slot term: want an argument that the caller passes, got none of this name":       in.SetArg("listener", "term", 1.0),
		node + "slot profiling: want an argument that the caller passes, got one from profiling": in.SetArg("listener", "profiling", 1.0),
		node + "slot input: want an argument that the caller passes, got a slot of role input":   in.SetArg("listener", "input", 1.0),
		`engine: plan inference has no node listen (did you mean "listener"?)`:                   in.SetArg("listen", "terms", 1.0),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	check(in, float32(math.NaN())) // errors change nothing
}

// testStateMemory checks that the limit counts what init allocates, and that all of it is freed.
func (s *suite) testStateMemory(t *testing.T) {
	const table = 1000 * 8
	h := &heard{elements: 1000}
	e := s.start(t, s.listening(t, h), 1, engine.Config{})
	in := s.load(t, e, listen(t, 1, factor{}))
	plain := in.Plan().ArenaBytes
	if got := e.Memory().Used; got != plain+table {
		t.Errorf("%d bytes are in use, want %d", got, plain+table)
	}
	if got := in.States(); len(got) != 1 || got[0].Bytes != table || got[0].Init <= 0 {
		t.Errorf("the states take %+v", got)
	}
	_, err := task.Alloc[float64](h.memory, 1)
	wantError(t, "late", err, "state of node listener@1: want an allocation by init or cleanup, got one by another task")
	wantError(t, "late", task.Free(h.memory, make([]float64, 1)), "state of node listener@1: want to free a block that it holds, got 8 bytes that are not")
	if err := in.Close(); err != nil || e.Memory().Used != 0 {
		t.Errorf("%v; %d bytes are in use", err, e.Memory().Used)
	}
	peak := e.Memory().Peak
	if err := e.Close(); err != nil {
		t.Error(err)
	}

	// Exactly what is needed at most suffices: arena, table, the spare block and the tensor to try algorithms
	// on.
	for missing := range int64(2) {
		e := s.start(t, s.listening(t, h), 1, engine.Config{MemoryLimit: peak - missing})
		_, err := e.Load(s.build(t, listen(t, 1, factor{})))
		if missing == 0 && err != nil {
			t.Error(err)
		}
		var oom *engine.OutOfMemoryError
		if missing == 1 && (!errors.As(err, &oom) || oom.Owner != "state of node listener@1" || oom.Requested != table || e.Memory().Used != 0) {
			t.Errorf("%v; %d bytes are in use", err, e.Memory().Used)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}

	for _, h := range []*heard{{elements: 1000, fail: true}, {elements: 1000, freeTwice: true}} {
		e := s.start(t, s.listening(t, h), 1, engine.Config{})
		in, err := e.Load(s.build(t, listen(t, 0, factor{})))
		if h.fail != errors.Is(err, errInit) {
			t.Error(err)
		}
		if in != nil {
			wantError(t, "twice", in.Close(), "plan inference, listener: listener.cleanup, range [0, 1): state of node listener: want to free a block that it holds, got 8000 bytes that are not")
		}
		if got := e.Memory().Used; got != 0 {
			t.Errorf("%d bytes are in use", got)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
