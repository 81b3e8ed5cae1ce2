//go:build cuda

package cuda_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/graph"
)

const graphsVariable = "OPGEN_CUDA_GRAPHS"

// stepped is device code that adds the number of the training step and a number of the host.
func stepped(add []byte) *code {
	c := &code{source: `
extern "C" __global__ void stepped(const float *in, float *out, const i64 *add, u64 step) {
	i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < 1000) out[i] = in[i] + (float)step + (float)*add;
}`}
	c.launches = []gpu.Launch{wide("stepped", 1000, in, out, gpu.Arg{Kind: gpu.Host, Bytes: add}, gpu.Arg{Kind: gpu.Step})}
	return c
}

// TestGraphs runs chains on one stream and on several. From the second run on, a graph runs them, with the
// values of the run, in any order that its edges permit.
func TestGraphs(t *testing.T) {
	control := controls(t)
	defer control.Order.Store(0)
	for _, queues := range []int{1, 3} {
		add := make([]byte, 8)
		_, x, err := load(t, stepped(add), queues, 3, 4, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for run := range 5 {
			add[0] = byte(10 * run)
			control.Order.Store([]int64{0, 1, 2, 7, 8}[run])
			for k, name := range []string{"x0", "x1", "x2"} {
				values := ramp(1000)
				values[0] = float32(k)
				if err := engine.Feed(x, name, values); err != nil {
					t.Fatal(err)
				}
			}
			replays, launches := control.Replays.Load(), control.Launches.Load()
			x.SetStep(uint64(100 * run))
			if err := x.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := control.Replays.Load() - replays; got != int64(min(run, 1)) {
				t.Errorf("%d queues, run %d: %d graphs ran", queues, run, got)
			}
			if got := control.Launches.Load() - launches; (got == 0) != (run > 1) {
				t.Errorf("%d queues, run %d: %d launches", queues, run, got)
			}
			for k := range 3 {
				want := ramp(1000)
				want[0] = float32(k)
				for i := range want {
					want[i] += float32(4 * (110 * run))
				}
				if got := fetch(t, x, k); !slices.Equal(got, want) {
					t.Errorf("%d queues, run %d, chain %d: got %v", queues, run, k, got[:3])
				}
			}
		}
	}
}

// trained takes some steps of a training with dropout and Adam, which use the number of the step, and returns
// all losses.
func trained(t *testing.T, opts ...opgen.Option) (losses []float32) {
	t.Helper()
	err := opgen.Do(catalogue.RegisterCUDA, func(s *opgen.Session) error {
		g := graph.New(1)
		x, y := g.Input("x", dtype.F32, 16, 8), g.Input("y", dtype.F32, 16, 1)
		hidden := dropout.Apply(g, dropout.Defaults(0.3), linear.Apply(g, linear.Defaults(32).WithActivation(activation.Tanh), x))
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(linear.Apply(g, linear.Defaults(1), hidden)), mse.Label(y))
		step, err := s.Training(t.Context(), g, loss, adam.Optimizer(adam.Defaults()), loss)
		if err != nil {
			return err
		}
		for k := range 6 {
			values := ramp(128)
			for i := range values {
				values[i] = float32((i*i+k)%17) / 17
			}
			if err := step.Run(t.Context(), opgen.With(x, values), opgen.With(y, values[:16])); err != nil {
				return err
			}
			l, err := opgen.Fetch[float32](step, loss)
			if err != nil {
				return err
			}
			losses = append(losses, l...)
		}
		return nil
	}, append(opts, opgen.Backend(open(t)(2)))...)
	if err != nil {
		t.Fatal(err)
	}
	return losses
}

// TestGraphsGiveSameBits compares trainings with graphs with those without. Runs that are observed have no
// graphs.
func TestGraphsGiveSameBits(t *testing.T) {
	control := controls(t)
	replays := func() int64 { return control.Replays.Swap(0) }
	replays()
	with := trained(t)
	if got := replays(); got != 5 {
		t.Errorf("%d graphs ran in 6 steps, want 5", got)
	}
	observed := trained(t, opgen.Profile())
	if got := replays(); got != 0 {
		t.Errorf("%d graphs ran in observed steps", got)
	}
	t.Setenv(graphsVariable, "none")
	without := trained(t)
	if got := replays(); got != 0 {
		t.Errorf("%d graphs ran without graphs", got)
	}
	if !slices.Equal(with, without) || !slices.Equal(observed, without) || len(with) != 6 {
		t.Errorf("losses %v with graphs, %v observed, %v without", with, observed, without)
	}
}

// TestGraphFailures makes each call of a graph fail. A driver that captures nothing launches tasks one by
// one, as the driver does with tasks of the host. A graph that does not start, and one with a task at fault,
// are errors.
func TestGraphFailures(t *testing.T) {
	control := controls(t)
	before := control.Alive()
	defer control.Fail(0, "", 0)
	for _, tt := range []struct {
		call  string
		fails bool
	}{
		{"cuStreamBeginCapture_v2", false}, {"cuStreamGetCaptureInfo_v2", false}, {"cuStreamEndCapture", false}, {"cuGraphInstantiateWithFlags", false},
		{"cuGraphLaunch", true}, {"cuGraphExecKernelNodeSetParams", true},
	} {
		e, x, err := load(t, stepped(make([]byte, 8)), 2, 2, 3, 1000)
		if err != nil {
			t.Fatal(err)
		}
		control.Replays.Store(0)
		steps := 0 // of runs that succeeded
		for run := range 3 {
			feed(t, x, ramp(1000))
			if err := engine.Feed(x, "x1", ramp(1000)); err != nil {
				t.Fatal(err)
			}
			if run == 1 {
				control.Fail(1, tt.call, 34)
			}
			err := x.Run(t.Context())
			control.Fail(0, "", 0)
			if failed := run == 1 && tt.fails; (err != nil) != failed || failed && !strings.Contains(err.Error(), "(CUDA error 34)") {
				t.Fatalf("%s, run %d: got %v", tt.call, run, err)
			}
			want := ramp(1000)
			for i := range want {
				want[i] += 3 * float32(steps)
			}
			if err != nil {
				continue
			}
			if got := fetch(t, x, 1); !slices.Equal(got, want) {
				t.Errorf("%s, run %d: got %v, want %v", tt.call, run, got[:3], want[:3])
			}
			steps++
		}
		if got := control.Replays.Load(); (got > 0) != tt.fails {
			t.Errorf("%s: %d graphs ran", tt.call, got)
		}
		if err := e.Close(); err != nil || control.Alive() != before {
			t.Errorf("%s: closed: %v, alive are %s, want %s", tt.call, err, control.Alive(), before)
		}
	}
}

// TestGraphFault runs a graph in which device code writes where nothing is.
func TestGraphFault(t *testing.T) {
	c := &code{source: `
extern "C" __global__ void wild(const float *in, float *out) {
	if (in[0] == 7) out[4000000000] = 1;
	out[threadIdx.x] = in[threadIdx.x];
}`, launches: []gpu.Launch{wide("wild", 128, in, out)}}
	_, x, err := load(t, c, 1, 1, 2, 128)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		feed(t, x, ramp(128))
		if err := x.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	feed(t, x, slices.Repeat([]float32{7}, 128))
	err = x.Run(t.Context())
	if te := (*engine.TaskError)(nil); err == nil || errors.As(err, &te) || !strings.Contains(err.Error(), "kernel wild") || !strings.Contains(err.Error(), "OPGEN_CUDA_GRAPHS=none") {
		t.Errorf("got %v", err)
	}
}
