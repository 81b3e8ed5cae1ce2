//go:build cuda

package cuda_test

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

type noAttrs struct{}

// unary is an operator from f32 numbers to as many.
func unary(name string) *graph.Operator {
	forward := task.IDOf(name, "forward")
	return opimpl.New(graph.Operator{Operator: task.Operator{
		Name: name,
		Slots: []task.Slot{
			{Name: "input", Role: task.RoleInput, Type: "f32", Shape: "[N...]"},
			{Name: "output", Role: task.RoleOutput, Type: "f32", Shape: "[N...]"},
		},
		Signatures: []*task.Signature{{
			Task: "forward", ID: forward, Kind: task.KindForward, Steps: []task.Step{{}},
			Params: []task.Param{{Slot: 0, Perm: perm.Read}, {Slot: 1, Perm: perm.Write}},
		}},
		DecodeAttrs: func(data []byte) (task.Attrs, error) {
			var a noAttrs
			return a, attr.Decode(name, data, &a)
		},
		Resolve: opimpl.Resolve(func(r *opimpl.Resolver[int], _ noAttrs, _ *struct{}) {
			x, _ := r.Tensor(0).RankAtLeast(0)
			r.Set(1, dtype.F32, x...)
			r.Work(forward, 1)
		}),
	}})
}

// code is the device code of a unary operator.
type code struct {
	source   string
	launches []gpu.Launch
	scratch  []int64
	fault    func(gpu.Record) error
}

func (c *code) Lower(*task.Accessor) (*gpu.Unit, error) {
	return &gpu.Unit{Source: c.source, Steps: [][]gpu.Launch{c.launches}, Scratch: c.scratch, Fault: c.fault}, nil
}

// bind is never called: a backend for GPUs lowers the kernel.
func (c *code) bind(*task.Accessor) ([]op.Body, error) {
	return nil, fmt.Errorf("want Lower, got Bind")
}

// in and out are the tensors of a unary operator.
var in, out = gpu.Arg{Kind: gpu.Tensor, Index: 0}, gpu.Arg{Kind: gpu.Tensor, Index: 1}

// wide returns a launch of n threads in blocks of 128.
func wide(entry string, n int, args ...gpu.Arg) gpu.Launch {
	return gpu.Launch{Entry: entry, Grid: [3]int{(n + 127) / 128, 1, 1}, Block: [3]int{128, 1, 1}, Args: args}
}

// load returns an instance of chains of unary operators, each from an input of its own, x0, x1 and so on, to
// a result, y0, y1 and so on.
func load(t *testing.T, c *code, queues, chains, length, n int) (*engine.Engine, *engine.Instance, error) {
	t.Helper()
	return loadOn(t, cuda.Config{Queues: queues}, c, chains, length, n)
}

// loadOn is load for any backend.
func loadOn(t *testing.T, config cuda.Config, c *code, chains, length, n int) (*engine.Engine, *engine.Instance, error) {
	t.Helper()
	b, err := cuda.New(config)
	if err != nil {
		t.Fatal(err)
	}
	o := unary("unary")
	var r task.Registry
	sig := o.Signatures[0]
	if err := r.RegisterTask(sig.ID, "unary forward", sig, task.Variant{Target: gpu.CUDA, Kernel: c, Bind: c.bind}); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&r, b, engine.Config{})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	g := graph.New(1)
	var results []graph.Tensor
	for k := range chains {
		x := g.Input(fmt.Sprint("x", k), dtype.F32, n)
		for i := range length {
			x = graph.Insert[int](g, 0, o, noAttrs{}, graph.Named(name(k, i, length))).Bind(0, x).Node().Tensor(1)
		}
		results = append(results, x)
	}
	p, err := graph.Inference(g, results...)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := planner.Build(p, e.Options()...)
	if err != nil {
		t.Fatal(err)
	}
	x, err := e.Load(pl)
	if err != nil {
		return e, nil, err
	}
	for k := range chains {
		if err := engine.Feed(x, fmt.Sprint("x", k), ramp(n)); err != nil {
			t.Fatal(err)
		}
	}
	return e, x, nil
}

// result returns the name of the result of a chain.
func result(chain int) string { return fmt.Sprintf("last%d.output", chain) }

// name returns the name of node i of a chain.
func name(chain, i, length int) string {
	if i == length-1 {
		return fmt.Sprint("last", chain)
	}
	return fmt.Sprintf("n%d.%d", chain, i)
}

func feed(t *testing.T, x *engine.Instance, values []float32) {
	t.Helper()
	if err := engine.Feed(x, "x0", values); err != nil {
		t.Fatal(err)
	}
}

// fetch returns the result of a chain.
func fetch(t *testing.T, x *engine.Instance, chain int) []float32 {
	t.Helper()
	v, err := engine.Fetch[float32](x, result(chain))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ramp returns 0, 1, 2 and so on.
func ramp(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}
