package kernels_test

import (
	"testing"

	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/task"
)

// TestCosts measures every operator by itself, as tools do. What specs say about floating-point operations and bytes
// makes sense, and backward has been measured exactly if there is one.
func TestCosts(t *testing.T) {
	backend := func() engine.Backend { return cpu.New(cpu.Config{Workers: 2}) }
	meter := cost.NewMeter(observed(t), cost.Config{Backend: backend, Runs: 1, Machine: cost.Machine{F32: 1e9, F64: 1e9, Bandwidth: 1e9}})
	forEachSample(t, func(t *testing.T, s sample) {
		f, err := newFixture(s, domains[0])
		if err != nil {
			t.Fatal(err)
		}
		got, err := meter.MeasureCost(t.Context(), f.node)
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range map[string]cost.Phase{"the first task": got.Forward, "backward": got.Backward} {
			if p.Known && (p.Flops < 0 || p.Flops > 1e6 || p.Bytes <= 0 || p.Bytes > 1e6 || p.Roofline <= 0) {
				t.Errorf("%s of an example: %+v", name, p)
			}
			if !p.Known && p != (cost.Phase{Time: p.Time}) {
				t.Errorf("%s, whose cost the spec does not say: %+v", name, p)
			}
		}
		if want := s.op.Signature(task.KindBackward) != nil && len(f.wrt) > 0 && len(f.seeds) > 0; want != (got.Backward.Time.Runs > 0) {
			t.Errorf("backward ran %d times", got.Backward.Time.Runs)
		}
		if sum := got.Memory.Inputs + got.Memory.Weights + got.Memory.Outputs; sum <= 0 {
			t.Errorf("memory %+v", got.Memory)
		}
		if hasGrads := s.op.Signature(task.KindBackward) != nil; hasGrads != (got.Memory.Gradients > 0) {
			t.Errorf("%d bytes of gradients", got.Memory.Gradients)
		}
	})
}
