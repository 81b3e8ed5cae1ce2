package apart_test

import (
	"testing"

	_ "github.com/opgen/opgen/formula" // finds tiles
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	attention "github.com/opgen/opgen/generated/multiheadattention"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/apart"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// TestProgram rewrites a training: tasks of products and of normalizations become two, the first layer's,
// whose input has no gradient, and that of an attention, whose gradients have almost all values in common,
// stay. Each gradient is computed once, and the plan in tiles is one of the program.
func TestProgram(t *testing.T) {
	const d = 256
	g := graph.New(1)
	h := linear.Apply(g, linear.Defaults(d), g.Input("x", dtype.F32, 2, 16, d), graph.Named("first"))
	h = attention.Apply(g, attention.Defaults(d, 4), attention.Query(h), attention.Key(h), attention.Value(h), graph.Named("mixed"))
	h = layernorm.Apply(g, layernorm.Defaults(attr.ListOf(2)), h, graph.Named("norm"))
	h = linear.Apply(g, linear.Defaults(d), h, graph.Named("last"))
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(h), mse.Label(g.Input("label", dtype.F32, 2, 16, d)))
	p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		t.Fatal(err)
	}
	q := apart.Program(p)
	if err := q.Validate(); err != nil {
		t.Fatal(err)
	}
	gradients := func(p *graph.Program) (of map[string]int, tasks map[string]int) {
		of, tasks = map[string]int{}, map[string]int{}
		for _, s := range p.Steps {
			if s.Invocation == nil || s.Invocation.Signature.Kind != task.KindBackward {
				continue
			}
			tasks[s.Invocation.Node.Name]++
			for i, x := range s.Invocation.Signature.Params {
				for _, y := range s.Invocation.Operands[i] {
					if x.Grad && x.Perm.Writes() && y.Valid() {
						of[s.Invocation.Node.Name+"."+s.Invocation.Signature.ParamName(i)]++
					}
				}
			}
		}
		return of, tasks
	}
	want, whole := gradients(p)
	got, tasks := gradients(q)
	for name, n := range want {
		if got[name] != n || n != 1 {
			t.Errorf("%s is computed %d times, and %d times before", name, got[name], n)
		}
	}
	for name, n := range map[string]int{"first": 1, "mixed": 1, "norm": 2, "last": 2} {
		if whole[name] != 1 || tasks[name] != n {
			t.Errorf("backward of %s is %d tasks, want %d", name, tasks[name], n)
		}
	}
	plan, err := planner.Build(q, planner.Tiled())
	if err != nil {
		t.Fatal(err)
	}
	if err := verify.Plan(plan); err != nil {
		t.Error(err)
	}
	if err := validate.Plan(plan, q); err != nil {
		t.Error(err)
	}
	if err := validate.Plan(plan, p); err == nil {
		t.Error("the plan is accepted for the program before")
	}
	uncut := map[string]int{}
	for i := range plan.Tasks {
		if x := &plan.Tasks[i]; x.Call >= 0 && x.Tile == 0 && plan.Calls[x.Call].Phase == "backward" {
			uncut[plan.Calls[x.Call].Node]++
		}
	}
	if uncut["norm"] > 0 || uncut["last"] > 0 || uncut["first"] > 0 || uncut["mixed"] != 1 {
		t.Errorf("tasks of backward that are not cut: %v", uncut)
	}
}
