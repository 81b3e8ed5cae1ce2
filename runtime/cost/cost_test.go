package cost_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opgen/opgen/generated/accuracy"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/fft"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/pool2d"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// workers returns a function that makes backends of so many workers.
func workers(n int) func() engine.Backend {
	return func() engine.Backend { return cpu.New(cpu.Config{Workers: n}) }
}

func registry(t testing.TB) *task.Registry {
	t.Helper()
	var r task.Registry
	if err := catalogue.Register(&r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func measure(t *testing.T, m *cost.Meter, n *graph.Node) cost.Metrics {
	t.Helper()
	got, err := m.MeasureCost(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// dense returns a node of linear from 6 to 5 numbers, for 4 rows.
func dense(t *testing.T, g *graph.Graph, x graph.Tensor) *graph.Node {
	t.Helper()
	at := linear.Defaults(5)
	at.Activation = activation.Gelu
	n := linear.Apply(g, at, x).Node()
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBytesOfSpec measures an operator whose spec says how many bytes it moves: embedding reads the rows that
// it looks up.
func TestBytesOfSpec(t *testing.T) {
	t.Parallel()
	m := cost.NewMeter(registry(t), cost.Config{Backend: workers(1), Runs: 1})
	g := graph.New(1)
	x := g.Input("x", dtype.I32, 3)
	got := measure(t, m, embedding.Apply(g, embedding.Defaults(1000, 5), x).Node())
	// Forward reads 3 indices and 3 rows, and writes 3 rows. Backward reads 3 rows and adds 3 to the
	// gradient.
	if f, b := got.Forward.Bytes, got.Backward.Bytes; f != 4*(3+15+15) || b != 4*(3+15+2*15) {
		t.Errorf("forward moves %v bytes, backward %v", f, b)
	}
}

// TestLinear checks all that is no time to the letter.
func TestLinear(t *testing.T) {
	t.Parallel()
	m := cost.NewMeter(registry(t), cost.Config{Backend: workers(1), Warmup: 1, Runs: 3, Devices: 4, Bandwidth: 1000,
		Machine: cost.Machine{F32: 1e9, F64: 1e6, Bandwidth: 1e9}})
	g := graph.New(1)
	got := measure(t, m, dense(t, g, g.Input("x", dtype.F32, 4, 6)))
	if want := (cost.Memory{Inputs: 4 * 24, Weights: 4 * (30 + 5), Outputs: 4 * 20, Saved: 4 * 20, Scratch: 4 * 20, Gradients: 4 * (24 + 30 + 5 + 20)}); got.Memory != want {
		t.Errorf("memory %+v, want %+v", got.Memory, want)
	}
	// 4 devices exchange 2 * 3/4 of the bytes of 35 numbers, at 1000 bytes a second.
	if got.Sync != 210*time.Millisecond {
		t.Errorf("sync takes %v", got.Sync)
	}
	f, b := got.Forward, got.Backward
	// Forward reads 24 + 30 + 5 numbers and writes 20 and 20.
	if !f.Known || f.Flops != 2*4*6*5 || f.Bytes != 4*(24+30+5+20+20) || f.Roofline != time.Duration(f.Bytes) {
		t.Errorf("forward %+v", f)
	}
	// Backward reads 24 + 30 + 20 + 20 numbers and writes the gradients of 24 + 30 + 5.
	if !b.Known || b.Flops != 4*4*6*5 || b.Bytes != 4*(24+30+20+20+24+30+5) || b.Roofline != time.Duration(b.Bytes) {
		t.Errorf("backward %+v", b)
	}
	for name, p := range map[string]cost.Phase{"forward": f, "backward": b} {
		if p.Time.Runs != 3 || p.Time.Mean <= 0 || p.Time.Shortest > p.Time.Mean || p.Time.Mean > p.Time.Longest {
			t.Errorf("%s: times %+v", name, p.Time)
		}
		if want := p.Roofline.Seconds() / p.Time.Mean.Seconds(); p.Share != want {
			t.Errorf("%s: a share of %v, want %v", name, p.Share, want)
		}
	}
	// Of doubles, computing takes longer than moving.
	g = graph.New(1)
	if got := measure(t, m, dense(t, g, g.Input("x", dtype.F64, 4, 6))).Forward.Roofline; got != 240*time.Microsecond {
		t.Errorf("the roofline of doubles is %v", got)
	}
	// Without a machine and without other devices nothing is estimated.
	plain := measure(t, cost.NewMeter(registry(t), cost.Config{Backend: workers(1)}), dense(t, g, g.Input("single", dtype.F32, 4, 6)))
	if plain.Sync != 0 || plain.Forward.Roofline != 0 || plain.Forward.Share != 0 || plain.Forward.Flops != 240 || plain.Forward.Time.Runs != 5 {
		t.Errorf("without a machine: %+v", plain)
	}
}

// TestOperators measures operators of other kinds: with indices, without a gradient, an optimizer, and one
// whose gradients are scattered into.
func TestOperators(t *testing.T) {
	t.Parallel()
	m := cost.NewMeter(registry(t), cost.Config{Backend: workers(2), Warmup: 1, Runs: 2})
	g := graph.New(1)
	logit, label := g.Input("logit", dtype.F64, 7, 3), g.Input("label", dtype.I64, 7, 1)
	image := g.Input("image", dtype.F32, 2, 3, 6, 6)
	weight, grad := g.Input("weight", dtype.F32, 10), g.Input("grad", dtype.F32, 10)
	pool := pool2d.Defaults(2, 2)
	conv := conv2d.Defaults(4, 2, 2)
	update := graph.Insert[adam.Slot](g, 0, adam.Operator, adam.Defaults()).Bind(adam.SlotWeight, weight).Bind(adam.SlotGrad, grad).Node()
	for _, tt := range []struct {
		node               *graph.Node
		forward, backward  float64 // operations
		backwardRuns       int
		gradients, scratch int64
	}{
		{scce.Apply(g, scce.Defaults(), scce.Logit(logit), scce.Label(label), graph.Request(scce.SlotProbs)).Node(), 84, 84, 2, 8 * (1 + 21 + 21), 0},
		{accuracy.Apply(g, accuracy.Defaults(), accuracy.Logit(logit), accuracy.Label(label)).Node(), 21, 0, 0, 0, 0},
		{linear.Apply(g, linear.Defaults(2).WithUseBias(false).WithActivation(activation.Relu), logit).Node(), 84, 168, 2,
			8 * (21 + 6 + 14), 8 * 14},
		{pool2d.Apply(g, pool, image).Node(), 600, 150, 2, 4 * (216 + 150), 0},
		{conv2d.Apply(g, conv, image).Node(), 2 * 2 * 4 * 25 * 12, 4 * 2 * 4 * 25 * 12, 2, 4 * (216 + 48 + 4 + 200), 4 * (2*12*25 + 2*4*12)},
		{update, 150, 0, 0, 0, 0},
	} {
		if err := g.Err(); err != nil {
			t.Fatal(err)
		}
		got := measure(t, m, tt.node)
		if got.Forward.Flops != tt.forward || got.Backward.Flops != tt.backward || got.Forward.Time.Runs != 2 || got.Backward.Time.Runs != tt.backwardRuns ||
			got.Memory.Gradients != tt.gradients || got.Memory.Scratch != tt.scratch {
			t.Errorf("%s: got %+v, want %+v", tt.node.Name, got, tt)
		}
	}
}

// TestCache measures the same operator again: the result is the same to the nanosecond. Other attributes,
// shapes or types are measured again.
func TestCache(t *testing.T) {
	t.Parallel()
	m := cost.NewMeter(registry(t), cost.Config{Backend: workers(1), Runs: 4})
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 4, 6)
	first := measure(t, m, dense(t, g, x))
	var wait sync.WaitGroup
	for range 4 {
		g := graph.New(2)
		node := dense(t, g, g.Input("another", dtype.F32, 4, 6))
		wait.Go(func() {
			if got, err := m.MeasureCost(context.Background(), node); err != nil || got != first {
				t.Errorf("an equal node: %+v, %v; want %+v", got, err, first)
			}
		})
	}
	wait.Wait()
	at := linear.Defaults(5)
	for name, n := range map[string]*graph.Node{
		"attributes": linear.Apply(g, at, x).Node(),
		"a shape":    dense(t, g, g.Input("wide", dtype.F32, 4, 7)),
		"a type":     dense(t, g, g.Input("exact", dtype.F64, 4, 6)),
	} {
		if got := measure(t, m, n); got.Memory == first.Memory {
			t.Errorf("other %s, but the same memory", name)
		}
	}
}

// TestApart trains twice, once with measurements of the graph's nodes between the steps: the losses and the
// weights are the same, bit for bit, and the engine's memory is untouched.
func TestApart(t *testing.T) {
	t.Parallel()
	r := registry(t)
	train := func(between func(*graph.Graph)) string {
		g := graph.New(1)
		x, label := g.Input("x", dtype.F32, 4, 6), g.Input("label", dtype.I32, 4, 1)
		loss := scce.Apply(g, scce.Defaults(), scce.Logit(dense(t, g, x).Tensor(int(linear.SlotOutput))), scce.Label(label), graph.Named("loss"))
		p, err := graph.Training(g, loss, adam.Optimizer(adam.Defaults()))
		if err != nil {
			t.Fatal(err)
		}
		init, err := graph.Initialization(p)
		if err != nil {
			t.Fatal(err)
		}
		e := engine.New(r, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
		defer e.Close()
		var in *engine.Instance
		for _, program := range []*graph.Program{init, p} {
			pl, err := planner.Build(program)
			if err == nil {
				in, err = e.Load(pl)
			}
			if err != nil {
				t.Fatal(err)
			}
			if program == init {
				if err := in.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		before := e.Memory()
		out := ""
		for step := range 3 {
			data := make([]float32, 24)
			for i := range data {
				data[i] = float32((i*5+step)%11) / 8
			}
			if err := errors.Join(engine.Feed(in, "x", data), engine.Feed(in, "label", []int32{0, 1, 2, 3}), in.Run(t.Context())); err != nil {
				t.Fatal(err)
			}
			between(g)
			for _, name := range []string{"loss.loss", "linear.weight", "linear.weight.adam.adam_v"} {
				v, err := engine.Fetch[float32](in, name)
				if err != nil {
					t.Fatal(err)
				}
				out += fmt.Sprintf("%s %x\n", name, v)
			}
		}
		if after := e.Memory(); after != before {
			t.Errorf("the engine's memory was %+v, and is %+v", before, after)
		}
		return out
	}
	want := train(func(*graph.Graph) {})
	m := cost.NewMeter(r, cost.Config{Backend: workers(1), Runs: 1})
	if got := train(func(g *graph.Graph) {
		for _, n := range g.Nodes() {
			measure(t, m, n)
		}
	}); got != want {
		t.Errorf("with measurements between the steps:\n%swant\n%s", got, want)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	node := dense(t, g, g.Input("x", dtype.F32, 4, 6))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for want, f := range map[string]func() error{
		"cost: want a node, got none": func() error {
			_, err := cost.NewMeter(registry(t), cost.Config{Backend: workers(1)}).MeasureCost(t.Context(), nil)
			return err
		},
		"cost of operator linear: ": func() error {
			_, err := cost.NewMeter(&task.Registry{}, cost.Config{Backend: workers(1)}).MeasureCost(t.Context(), node)
			return err
		},
		"context canceled": func() error {
			_, err := cost.NewMeter(registry(t), cost.Config{Backend: workers(1)}).MeasureCost(stopped, node)
			return err
		},
		"linear": func() error {
			_, err := cost.NewMeter(registry(t), cost.Config{Backend: workers(1), MemoryLimit: 100}).MeasureCost(t.Context(), node)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestMeasureMachine(t *testing.T) {
	t.Parallel()
	m := cost.MeasureMachine(1)
	t.Logf("%.1f and %.1f GFLOP/s, %.1f GB/s", m.F32/1e9, m.F64/1e9, m.Bandwidth/1e9)
	if m.F32 < 1e7 || m.F64 < 1e7 || m.Bandwidth < 1e7 || m.F32 > 1e15 || m.Bandwidth > 1e15 {
		t.Errorf("no machine does %+v", m)
	}
}

// TestState counts the per-device state of an operator: the time of init, and the tables that it allocates.
// Longer lanes have larger tables.
func TestState(t *testing.T) {
	t.Parallel()
	m := cost.NewMeter(registry(t), cost.Config{Backend: workers(1), Runs: 1})
	var last cost.Metrics
	for _, n := range []int{8, 512, 509} { // 509 is a prime, for which numbers are padded
		g := graph.New(1)
		out := fft.Apply(g, fft.Defaults(), g.Input("x", dtype.F32, 2, n))
		got := measure(t, m, out.Real.Node())
		if least := int64(2 * 8 * n); got.Init <= 0 || got.Memory.State < least || got.Memory.State <= last.Memory.State {
			t.Errorf("%d numbers: init took %v, and the state %d bytes; want %d or more, and more than the %d of a shorter lane", n, got.Init, got.Memory.State, least, last.Memory.State)
		}
		last = got
	}
	g := graph.New(1)
	if got := measure(t, m, dense(t, g, g.Input("x", dtype.F32, 4, 6))); got.Init != 0 || got.Memory.State != 0 {
		t.Errorf("linear keeps no state, but init took %v, and the state %d bytes", got.Init, got.Memory.State)
	}
}
