//go:build cuda

package cuda_test

import (
	"context"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// train takes two steps of a small training, and returns what the network answers.
func train(ctx context.Context) (answers []float32, err error) {
	b, err := cuda.New(cuda.Config{Queues: 2})
	if err != nil {
		return nil, err
	}
	err = opgen.Do(catalogue.RegisterCUDA, func(s *opgen.Session) error {
		g := graph.New(1)
		x, y := g.Input("x", dtype.F32, 4, 2), g.Input("y", dtype.F32, 4, 1)
		hidden := linear.Apply(g, linear.Defaults(8).WithActivation(activation.Tanh), x)
		z := linear.Apply(g, linear.Defaults(1), hidden)
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
		step, err := s.Training(ctx, g, loss, sgd.Optimizer(sgd.Defaults(0.2)), z)
		if err != nil {
			return err
		}
		for range 2 {
			if err := step.Run(ctx, opgen.With(x, []float32{0, 0, 0, 1, 1, 0, 1, 1}), opgen.With(y, []float32{0, 1, 1, 0})); err != nil {
				return err
			}
		}
		answers, err = opgen.Fetch[float32](step, z)
		return err
	}, opgen.Backend(b))
	return answers, err
}

// TestFailures makes each call of the driver fail, one at a time, with a code after which the device works
// on. The training ends with an error that names the call, or is not disturbed, and leaves nothing behind.
func TestFailures(t *testing.T) {
	control := controls(t)
	before := control.Alive()
	control.Fail(0, "", 0)
	want, err := train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	calls := control.Calls.Load()
	defer control.Fail(0, "", 0)
	failed := 0
	for n := int64(1); n <= calls; n++ {
		control.Fail(n, "", 999)
		got, err := train(t.Context())
		control.Fail(0, "", 0)
		switch {
		case err == nil:
			for i := range want {
				if len(got) != len(want) || got[i] != want[i] {
					t.Fatalf("call %d: got %v, want %v", n, got, want)
				}
			}
		case !strings.Contains(err.Error(), " error 999)"):
			t.Errorf("call %d: got %v", n, err)
		default:
			failed++
		}
		if after := control.Alive(); after != before {
			t.Fatalf("call %d: %v\nleft %s\nwant %s", n, err, after, before)
		}
	}
	if failed < int(calls)/2 {
		t.Errorf("%d of %d failures led to an error", failed, calls)
	}
}
