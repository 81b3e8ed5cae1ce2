package target_test

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/task"
)

func TestTarget(t *testing.T) {
	stored := []dtype.Type{dtype.F16, dtype.BF16, dtype.F32, dtype.F64, dtype.I32, dtype.Bool}
	if got := dtype.Format(target.CPU.Types(stored)); got != "f32, f32, f32, f64, i32, bool" {
		t.Errorf("a CPU computes in %s", got)
	}
	other := target.Target{Name: "other"}
	if got := other.Types(stored); !slices.Equal(got, stored) {
		t.Errorf("without Compute, kernels compute in %v", got)
	}
	half := task.Operand{Type: dtype.F16, Shape: []int{2, 3}}
	if cpu, same := target.CPU.Operand(half), other.Operand(half); cpu.String() != "f32[2, 3]" || same.String() != "f16[2, 3]" {
		t.Errorf("kernels see %v and %v", cpu, same)
	}
}

// TestLowering plans a program for two targets. Only the one whose kernels compute in another type needs
// conversions, and only the one that fuses has groups.
func TestLowering(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F16, 4, 6)
	for range 2 {
		x = linear.Apply(g, linear.Defaults(6).WithUseBias(false), x)
	}
	prog, err := graph.Inference(g, x)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		target      target.Target
		conversions int
		tasks       int
	}{
		{target.CPU, 6, 7}, // of inputs, weights and outputs; those between the calls are fused
		{target.Target{Name: "accelerator", Compute: dtype.Type.Host}, 6, 8},
		{target.Target{Name: "cuda", Fuse: true}, 0, 2},
	} {
		p, err := planner.Build(prog, planner.For(tt.target))
		if err != nil {
			t.Fatal(err)
		}
		conversions, groups := 0, 0
		count := func(x *plan.Task) {
			if x.Builtin != nil && x.Builtin.Op == "convert" {
				conversions++
			}
		}
		for i := range p.Tasks {
			count(&p.Tasks[i])
			if p.Tasks[i].Group != nil {
				groups++
				for k := range p.Tasks[i].Group.Parts {
					count(&p.Tasks[i].Group.Parts[k])
				}
			}
		}
		if p.Target != tt.target.Name || conversions != tt.conversions || len(p.Tasks) != tt.tasks || groups > 0 && !tt.target.Fuse {
			t.Errorf("%s: a plan for %s of %d tasks, %d conversions and %d groups", tt.target.Name, p.Target, len(p.Tasks), conversions, groups)
		}
	}
}
