package use

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"example.com/attention/device"
	"example.com/attention/generated/attention"
	"example.com/attention/generated/catalogue"

	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// layer is an attention that runs task by task, with memory of its own for each slot.
type layer struct {
	registry  task.Registry
	resolved  *task.Resolution
	attrs     attention.Attrs
	values    map[int][]float64
	grads     map[int][]float64
	perDevice task.State
}

func newLayer(t *testing.T) *layer {
	t.Helper()
	l := &layer{values: map[int][]float64{}, grads: map[int][]float64{},
		attrs: attention.Defaults(3, 2, 2, 3)}
	if err := catalogue.Register(&l.registry); err != nil {
		t.Fatal(err)
	}
	given := task.NoneGiven(&attention.Operator.Operator)
	for slot, dims := range map[attention.Slot][]int{attention.SlotQuery: {2, 3, 4}, attention.SlotKey: {2, 5, 3}, attention.SlotValue: {2, 5, 2}} {
		given.Operands[slot] = []task.Operand{{Type: dtype.F64, Shape: dims}}
	}
	var err error
	if l.resolved, err = task.Resolve(&attention.Operator.Operator, l.attrs, given); err != nil {
		t.Fatal(err)
	}
	for i, slot := range attention.Operator.Slots {
		for _, o := range l.resolved.Operands(i) {
			l.values[i], l.grads[i] = make([]float64, o.Bytes()/8), make([]float64, o.Bytes()/8)
			if slot.Role != task.RoleOutput {
				for k := range l.values[i] {
					l.values[i][k] = math.Sin(float64(7*i + 3*k))
				}
			}
		}
	}
	return l
}

// run binds a task and runs all of its steps.
func (l *layer) run(t *testing.T, id task.ID) {
	t.Helper()
	registered := l.registry.Task(id)
	variant, err := registered.Variant(op.CPU, l.resolved.Types)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := variant.Bind(&task.Accessor{
		Signature: registered.Signature, Attrs: l.attrs, Resolved: l.resolved,
		Memory: func(slot int, grad bool) []task.Buffer {
			data := l.values[slot]
			if grad {
				data = l.grads[slot]
			}
			bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*8)
			return []task.Buffer{{Operand: l.resolved.Operands(slot)[0], Bytes: bytes, Mode: tensor.Store}}
		},
		State:  func(int) *task.State { return &l.perDevice },
		Handle: task.Handle{Device: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	number := slices.Index(attention.Operator.Signatures, registered.Signature)
	for step, b := range bodies {
		r := op.Range{Hi: 1}
		if k := registered.Signature.Kind; k != task.KindInit && k != task.KindCleanup {
			r.Hi = l.resolved.Work(number, step).Over
		}
		if err := b.Run(&op.Ctx{}, r); err != nil {
			t.Fatal(err)
		}
	}
}

// state returns the state that init made.
func (l *layer) state(t *testing.T) *device.MHAPerDeviceState {
	t.Helper()
	binder := opimpl.NewBinder[attention.Slot](&task.Accessor{Signature: attention.Operator.Signature(task.KindForward), State: func(int) *task.State { return &l.perDevice }})
	s := opimpl.StateOf[*device.MHAPerDeviceState](binder, attention.SlotPerDeviceState)
	if binder.Err() != nil {
		t.Fatal(binder.Err())
	}
	return s
}

// TestTasks runs init, forward, backward and cleanup. Gradients are checked against differences.
func TestTasks(t *testing.T) {
	l := newLayer(t)
	l.run(t, attention.InitTask)
	if got, want := *l.state(t), (device.MHAPerDeviceState{Device: 3, QSize: 4, KSize: 3, VSize: 2, QProj: 2, KProj: 2, VProj: 3, O: 3, Heads: 2, Scale: device.ScaleOf(2)}); got != want {
		t.Fatalf("init made %+v, want %+v", got, want)
	}
	out := int(attention.SlotOutput)
	for i := range l.grads[out] {
		l.grads[out][i] = math.Cos(float64(i))
	}
	loss := func() (sum float64) {
		l.run(t, attention.ForwardTask)
		for i, v := range l.values[out] {
			sum += v * l.grads[out][i]
		}
		return sum
	}
	if loss() == 0 {
		t.Error("forward computes nothing")
	}
	l.run(t, attention.BackwardTask)
	for _, slot := range []attention.Slot{attention.SlotQuery, attention.SlotKey, attention.SlotValue, attention.SlotWeights} {
		x := l.values[int(slot)]
		for i, v := range x {
			const h = 1e-5
			x[i] = v + h
			above := loss()
			x[i] = v - h
			below := loss()
			x[i] = v
			if got, want := l.grads[int(slot)][i], (above-below)/(2*h); !(math.Abs(got-want) <= 1e-7) {
				t.Errorf("gradient of %v, element %d: got %v, want %v", slot, i, got, want)
			}
		}
	}
	l.run(t, attention.CleanupTask)
	if !l.state(t).Freed {
		t.Error("cleanup frees nothing")
	}
}

// TestNoState checks that a task with state does not run without an init.
func TestNoState(t *testing.T) {
	l := newLayer(t)
	f := l.registry.Task(attention.ForwardTask)
	v, err := f.Variant(op.CPU, l.resolved.Types)
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.Bind(&task.Accessor{Signature: f.Signature, Attrs: l.attrs, Resolved: l.resolved, Memory: func(slot int, _ bool) []task.Buffer {
		o := l.resolved.Operands(slot)[0]
		return []task.Buffer{{Operand: o, Bytes: make([]byte, o.Bytes())}}
	}, State: func(int) *task.State { return &l.perDevice }})
	if want := "operator example.com/attention.attention, task forward, slot per_device_state: want state"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s...", err, want)
	}
}

// TestEngine runs a layer in the engine for CPUs, which makes its state when it loads the plan.
func TestEngine(t *testing.T) {
	l := newLayer(t)
	g := graph.New(1)
	q, k, v := g.Input("q", dtype.F64, 2, 3, 4), g.Input("k", dtype.F64, 2, 5, 3), g.Input("v", dtype.F64, 2, 5, 2)
	out := attention.Apply(g, l.attrs, attention.Query(q), attention.Key(k), attention.Value(v))
	p, err := graph.Inference(g, out)
	if err != nil {
		t.Fatal(err)
	}
	start, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(&l.registry, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
	defer e.Close()
	var in *engine.Instance
	for _, p := range []*graph.Program{start, p} {
		built, err := planner.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		if in, err = e.Load(built); err != nil {
			t.Fatal(err)
		}
		if p == start {
			if err := in.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for slot, x := range map[attention.Slot]graph.Tensor{attention.SlotQuery: q, attention.SlotKey: k, attention.SlotValue: v} {
		if err := engine.Feed(in, x.Name(), l.values[int(slot)]); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	got, err := engine.Fetch[float64](in, out.Name())
	if err != nil {
		t.Fatal(err)
	}
	weights, err := engine.Fetch[float64](in, out.Node().Tensor(int(attention.SlotWeights)).Name())
	if err != nil {
		t.Fatal(err)
	}
	copy(l.values[int(attention.SlotWeights)], weights)
	l.run(t, attention.InitTask)
	l.run(t, attention.ForwardTask)
	if want := l.values[int(attention.SlotOutput)]; !slices.Equal(got, want) {
		t.Errorf("the engine computes %v, want %v", got, want)
	}
}

// TestSlots checks the sixteen slots.
func TestSlots(t *testing.T) {
	var names []string
	for i := range attention.Operator.Slots {
		names = append(names, attention.Slot(i).String())
	}
	slices.Sort(names)
	want := []string{"attrs", "handle", "key", "key_parallel_tensor_shape", "kprojsize", "oprojsize", "output", "per_device_state", "profiling",
		"qprojsize", "query", "query_parallel_tensor_shape", "value", "value_parallel_tensor_shape", "vprojsize", "weights"}
	if !slices.Equal(names, want) {
		t.Errorf("slots are %v, want %v", names, want)
	}
}

// TestLaunch divides forward among four processors: by elements of the batch, with all of the weights for
// each.
func TestLaunch(t *testing.T) {
	g := graph.New(1)
	q, k, v := g.Input("q", dtype.F32, 8, 3, 4), g.Input("k", dtype.F32, 8, 5, 3), g.Input("v", dtype.F32, 8, 5, 2)
	out := attention.Apply(g, attention.Defaults(3, 2, 2, 3), attention.Query(q), attention.Key(k), attention.Value(v))
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	n := out.Node()
	w := n.Tensor(int(attention.SlotWeights))
	inv, err := attention.ForwardTensors{Query: q, Key: k, Value: v, Weights: w, Output: out}.Invoke(n)
	if err != nil {
		t.Fatal(err)
	}
	l, err := inv.Launch()
	if err != nil {
		t.Fatal(err)
	}
	p, err := partition.NewChecker(inv.Signature.Declaration(), partition.Machine{Kind: "gpu", Procs: 4, Threshold: 1}).Launch(l)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Domain, []int{4}) {
		t.Errorf("the launch has the shape %v, want [4]", p.Domain)
	}
	for i, want := range []partition.Partition{
		{Extents: []int{8, 3, 4}, Degrees: []int{4, 1, 1}},
		{Extents: []int{8, 5, 3}, Degrees: []int{4, 1, 1}},
		{Extents: []int{8, 5, 2}, Degrees: []int{4, 1, 1}},
		{Extents: []int{2, 29}, Degrees: []int{1, 1}, Replicas: 4},
		{Extents: []int{8, 3, 3}, Degrees: []int{4, 1, 1}},
	} {
		if got := p.Argument(i).Partition; !got.Equal(want) {
			t.Errorf("argument %d is divided as %v, want %v", i, got, want)
		}
	}
	// A launch cannot add to declared constraints. Backward declares none.
	c := partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.Whole("query")}}
	_, err = graph.NewBinding[int](n, task.KindForward).AddConstraint(c).Invocation()
	var e *op.Error
	if !errors.As(err, &e) || e.Code != partition.ConstraintsLocked {
		t.Errorf("got %v, want an error of the code %s", err, partition.ConstraintsLocked)
	}
	back, err := attention.BackwardTensors{Query: q, Key: k, Value: v, Weights: w, GradOutput: graph.Gradient(out)}.Invoke(n)
	if err != nil {
		t.Fatal(err)
	}
	if err := back.AddConstraint(c); err != nil {
		t.Error(err)
	}
	if err := back.AddConstraint(partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.Whole("quarry")}}); !errors.As(err, &e) || e.Code != partition.BadOperand {
		t.Errorf("got %v, want an error of the code %s", err, partition.BadOperand)
	}
}
