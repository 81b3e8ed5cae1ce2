package optest

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Costs measures every operator by itself with a cost meter. The numbers of floating-point operations and
// bytes from the spec are plausible. Backward is measured if and only if the operator has one.
func (k *Kit) Costs(t *testing.T) {
	const limit = 1e6 // of operations and bytes: the tensors of examples are small
	backend := func() engine.Backend { return cpu.New(cpu.Config{Workers: 2}) }
	meter := cost.NewMeter(k.observed(t, "Costs"), cost.Config{Backend: backend, Runs: 1, Machine: cost.Machine{F32: 1e9, F64: 1e9, Bandwidth: 1e9}})
	k.forEachSample(t, "Costs", func(t *testing.T, s sample) {
		f, err := newFixture(s, domains[0])
		if err != nil {
			s.fatalf(t, "%v", err)
		}
		got, err := meter.MeasureCost(t.Context(), f.node)
		if err != nil {
			s.fatalf(t, "%v", err)
		}
		first := f.node.Resolved.Work(0, 0)
		for name, p := range map[string]cost.Phase{"the first task": got.Forward, "backward": got.Backward} {
			idle := name == "the first task" && first.Tiles() == 0 || name == "backward" && !slices.ContainsFunc(f.wrt, func(x graph.Tensor) bool { return shape.Prod(x.Shape()) > 0 })
			if p.Known && (p.Flops < 0 || p.Flops > limit || p.Bytes > limit || !idle && (p.Bytes <= 0 || p.Roofline <= 0)) {
				s.errorf(t, "%s: want operations from 0 and bytes from 1, at most %.0f, and a positive roofline, got %+v", name, limit, p)
			}
			if !p.Known && p != (cost.Phase{Time: p.Time}) {
				s.errorf(t, "%s: want the time alone, as the spec gives no cost, got %+v", name, p)
			}
		}
		if want := s.op.Signature(task.KindBackward) != nil && len(f.wrt) > 0 && len(f.seeds) > 0; want != (got.Backward.Time.Runs > 0) {
			s.errorf(t, "backward ran %d times, want a run: %v", got.Backward.Time.Runs, want)
		}
		if sum := got.Memory.Inputs + got.Memory.Weights + got.Memory.Outputs; sum <= 0 {
			s.errorf(t, "got memory %+v, want bytes of inputs, weights or outputs", got.Memory)
		}
		if keeps := stateful(&s.op.Operator); keeps != (got.Init > 0) || keeps != (got.Memory.State > 0) {
			s.errorf(t, "init took %v and state %d bytes, want some: %v", got.Init, got.Memory.State, keeps)
		}
		if hasGrads := s.op.Signature(task.KindBackward) != nil; hasGrads != (got.Memory.Gradients > 0) {
			s.errorf(t, "got %d bytes of gradients, want gradients: %v", got.Memory.Gradients, hasGrads)
		}
	})
}
