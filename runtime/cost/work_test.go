package cost_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
)

// layers returns a program of two linear layers.
func layers(t *testing.T) *graph.Program {
	t.Helper()
	g := graph.New(1)
	h := linear.Apply(g, linear.Defaults(256).WithActivation(activation.Relu), g.Input("x", dtype.F32, 256, 128), graph.Named("wide"))
	p, err := graph.Inference(g, linear.Apply(g, linear.Defaults(64).WithUseBias(false), h, graph.Named("narrow")))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWork compares what the tasks of a plan take with products counted by hand, of whole tasks and of tiles:
// tiles of a layer have its operations together, and each the bytes that it touches.
func TestWork(t *testing.T) {
	t.Parallel()
	prog := layers(t)
	products := map[string]float64{"wide": 2 * 256 * 256 * 128, "narrow": 2 * 256 * 64 * 256}
	const narrowBytes = 4 * (256*256 + 64*256 + 256*64)
	for _, opts := range [][]planner.Option{{planner.Plain()}, {planner.Plain(), planner.Tiled()}} {
		p, err := planner.Build(prog, opts...)
		if err != nil {
			t.Fatal(err)
		}
		work, err := cost.Work(prog, p)
		if err != nil {
			t.Fatal(err)
		}
		flops, tiles, bytes := map[string]float64{}, 0, 0.0
		for i, w := range work {
			node, _, _ := strings.Cut(p.Label(i), ":")
			flops[node] += w.Flops
			if w.Bytes <= 0 || w.Seconds != 0 {
				t.Errorf("%s takes %+v", p.Label(i), w)
			}
			if node == "narrow" {
				bytes += w.Bytes
			}
			if p.Tasks[i].Tile > 0 {
				tiles++
			}
		}
		for node, want := range products { // and a bias and an activation
			if got := flops[node]; got < want || got > 1.03*want {
				t.Errorf("%s takes %v operations, want about %v", node, got, want)
			}
		}
		if len(opts) == 1 && (tiles > 0 || bytes != narrowBytes) {
			t.Errorf("the whole plan has %d tiles, and the second layer moves %v bytes, want %v", tiles, bytes, narrowBytes)
		}
		if len(opts) == 2 && (tiles < 4 || bytes <= narrowBytes) {
			t.Errorf("the plan has %d tiles, and those of the second layer move %v bytes, want more than %v", tiles, bytes, narrowBytes)
		}
		other, err := planner.Build(prog, opts...)
		if err != nil {
			t.Fatal(err)
		}
		other.Calls[1].Node = "other"
		if _, err := cost.Work(prog, other); err == nil || !strings.Contains(err.Error(), "want a call of the program, got forward of node other") {
			t.Errorf("a plan of another program: %v", err)
		}
	}
}

// TestWorkOfSteps adds up what the steps of each call of a training take: it is what the spec says of the
// call.
func TestWorkOfSteps(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	c := conv2d.Apply(g, conv2d.Defaults(4, 3, 3).WithPaddingH(1).WithPaddingW(1), g.Input("x", dtype.F32, 8, 2, 16, 16), graph.Named("conv"))
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(c), mse.Label(g.Input("label", dtype.F32, c.Shape()...)))
	prog, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range [][]planner.Option{{planner.Plain()}, {planner.Plain(), planner.Tiled()}} {
		p, err := planner.Build(prog, opts...)
		if err != nil {
			t.Fatal(err)
		}
		work, err := cost.Work(prog, p)
		if err != nil {
			t.Fatal(err)
		}
		got, steps := make([]float64, len(p.Calls)), make([]int, len(p.Calls))
		for i := range p.Tasks {
			if n := p.Tasks[i].Call; n >= 0 {
				got[n] += work[i].Flops
				steps[n] = max(steps[n], p.Tasks[i].Step+1)
			}
		}
		call := 0
		for _, s := range prog.Steps {
			inv := s.Invocation
			if inv == nil {
				continue
			}
			want := inv.Node.Resolved.Cost(slices.Index(inv.Signature.Operator.Signatures, inv.Signature)).Flops
			if !(math.Abs(got[call]-want) <= 1e-6*want) {
				t.Errorf("%s.%s of %d steps takes %v operations, want %v", inv.Node.Name, inv.Signature.Task, steps[call], got[call], want)
			}
			call++
		}
		if slices.Max(steps) < 2 {
			t.Errorf("no call has several steps: %v", steps)
		}
	}
}

// TestModel measures the model of this machine: rates and times are positive, and those of empty tasks are
// short.
func TestModel(t *testing.T) {
	for _, workers := range []int{1, 2} {
		m, err := cost.MeasureModel(workers)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]float64{"Range": m.Range, "Signal": m.Signal, "Wait": m.Wait} {
			if !(v > 0 && v < 1e-5) {
				t.Errorf("%d workers: %s takes %v s", workers, name, v)
			}
		}
		if m.Rate < 1e7 || m.EachBandwidth < 1e7 || m.Bandwidth < m.EachBandwidth || math.IsInf(m.Rate+m.Bandwidth, 0) {
			t.Errorf("%d workers: rates %+v", workers, m)
		}
		if alone := m.Latency == 0 && m.Start == 0; alone != (workers == 1) {
			t.Errorf("%d workers: latency %v, start %v", workers, m.Latency, m.Start)
		}
	}
}
