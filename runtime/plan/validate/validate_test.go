package validate_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/einsum"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/generated/sgd"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

// step returns a training step in which one tensor has two consumers and one node explicitly runs after
// another.
func step(t *testing.T) *graph.Program {
	t.Helper()
	g := graph.New(1)
	x := linear.Apply(g, linear.Defaults(4).WithUseBias(false), g.Input("x", dtype.F32, 2, 3), graph.Named("a"))
	y := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeSin), linear.Apply(g, linear.Defaults(4).WithUseBias(false), x, graph.Named("b")), graph.Named("sin"))
	z := linear.Apply(g, linear.Defaults(4).WithUseBias(false), x, graph.Named("c"))
	z.Node().After(y.Node())
	first := scce.Apply(g, scce.Defaults(), scce.Logit(y), scce.Label(g.Input("label", dtype.I32, 2, 1)), graph.Named("loss"))
	product := einsum.Apply(g, einsum.Defaults("ab,cb,cd->ad"), []graph.Tensor{x, x, x}, graph.Named("product"))
	p, err := graph.Training(g, first, sgd.Optimizer(sgd.Defaults(0.5)), z, product)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlan changes plans so that they are not those of the program.
func TestPlan(t *testing.T) {
	t.Parallel()
	prog := step(t)
	task := func(p *plan.Plan, label string) int {
		i := slices.IndexFunc(p.Tasks, func(x plan.Task) bool { return p.LabelOf(&x) == label })
		if i < 0 {
			t.Fatalf("found no task %s", label)
		}
		return i
	}
	call := func(p *plan.Plan, label string) *plan.Call { return &p.Calls[p.Tasks[task(p, label)].Call] }
	root := func(p *plan.Plan, name string) *plan.Root {
		return &p.Roots[slices.IndexFunc(p.Roots, func(r plan.Root) bool { return r.Name == name })]
	}
	for _, tt := range []struct {
		name  string
		spoil func(p *plan.Plan)
		want  string
	}{
		{"as it is", func(*plan.Plan) {}, ""},
		{"a missing task", func(p *plan.Plan) {
			i := task(p, "b.weight.sgd: sgd.update")
			p.Tasks = slices.Delete(p.Tasks, i, i+1)
		}, "want a plan that computes what its program says, got other elements: b.weight"},
		{"a step twice", func(p *plan.Plan) {
			i := task(p, "sin: element_unary.forward")
			p.Tasks = slices.Insert(p.Tasks, i, p.Tasks[i])
		}, "want a fetched tensor to live until"},
		{"a missing step", func(p *plan.Plan) {
			i := task(p, "product: einsum.forward")
			p.Tasks = slices.Delete(p.Tasks, i+1, i+2)
		}, "want step 1 of call"},
		{"attributes", func(p *plan.Plan) {
			c := call(p, "sin: element_unary.forward")
			c.Attrs = json.RawMessage(strings.Replace(string(c.Attrs), "SIN", "COS", 1))
		}, "want the attributes and tensors that the program gives it, got others"},
		{"a seed", func(p *plan.Plan) { call(p, "sin: element_unary.forward").Seed = 1 }, "want the attributes and tensors that the program gives it, got others"},
		{"a request", func(p *plan.Plan) {
			c := call(p, "loss: sparse_categorical_crossentropy.forward")
			c.Requested = append(slices.Clone(c.Requested), "probs")
		}, "want the attributes and tensors that the program gives it, got others"},
		{"another node", func(p *plan.Plan) { call(p, "sin: element_unary.forward").Node = "cos" }, "want a call of the program, got another"},
		{"another weight", func(p *plan.Plan) {
			a, b := call(p, "b: linear.forward"), call(p, "c: linear.forward")
			a.Params, b.Params = b.Params, a.Params
			i, k := task(p, "b: linear.forward"), task(p, "c: linear.forward")
			p.Tasks[i].Access, p.Tasks[k].Access = p.Tasks[k].Access, p.Tasks[i].Access
		}, "want a plan that computes what its program says, got other elements"},
		{"a fill with another value", func(p *plan.Plan) { p.Tasks[task(p, "fill grad of loss.loss")].Builtin.Value = 2 }, "got other elements: a.weight"},
		{"fewer indices", func(p *plan.Plan) { p.Tasks[task(p, "c: linear.forward")].Over-- }, "want a step over 16"},
		{"a weaker access", func(p *plan.Plan) {
			i := task(p, "c: linear.forward")
			p.Tasks[i].Access = slices.Clone(p.Tasks[i].Access)
			p.Tasks[i].Access[1].Perm = perm.Write
		}, "want an access to all of a tensor that permits to read, got none"},
		{"a lost access", func(p *plan.Plan) {
			i := task(p, "c: linear.forward")
			p.Tasks[i].Access = p.Tasks[i].Access[:1]
		}, "want an access to all of a tensor that permits to read, got none"},
		{"a lost order", func(p *plan.Plan) { p.Tasks[task(p, "c: linear.forward")].After = nil }, "want it to run explicitly after sin: element_unary.forward, got no such order"},
		{"elementwise", func(p *plan.Plan) { p.Tasks[task(p, "c: linear.forward")].Elementwise = true }, "elementwise: false"},
		{"a lost tensor", func(p *plan.Plan) {
			c := call(p, "c: linear.forward")
			c.Params = slices.Clone(c.Params)
			c.Params[1] = nil
		}, "want 1 tensors for slot weight, got 0"},
		{"a lost name", func(p *plan.Plan) { root(p, "x").Name = "y" }, "want a tensor (fed) for x"},
		{"another use", func(p *plan.Plan) { root(p, "c.output").Use = plan.Internal }, "for c.output f32[2, 4] of the program, got none"},
		{"an early end", func(p *plan.Plan) { root(p, "c.output").Last-- }, "want a fetched tensor to live until"},
		{"one name twice", func(p *plan.Plan) { root(p, "label").Name = "x" }, "want a name of its own for each tensor that the caller sees, got two"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := planner.Build(prog, planner.Plain())
			if err != nil {
				t.Fatal(err)
			}
			tt.spoil(p)
			err = validate.Plan(p, prog)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

// TestOnlyHere checks what validation is for: a plan whose loss has another gradient is right by itself.
func TestOnlyHere(t *testing.T) {
	t.Parallel()
	prog := step(t)
	p, err := planner.Build(prog, planner.Plain())
	if err != nil {
		t.Fatal(err)
	}
	p.Tasks[slices.IndexFunc(p.Tasks, func(x plan.Task) bool { return x.Builtin != nil && x.Builtin.Op == "fill" })].Builtin.Value = 2
	if err := verify.Plan(p); err != nil {
		t.Fatal(err)
	}
	if err := validate.Plan(p, prog); err == nil || !strings.Contains(err.Error(), "got other elements") {
		t.Errorf("got %v", err)
	}
}

// TestTiles makes a task of each tile of a step.
func TestTiles(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	y := pool2d.Apply(g, pool2d.Defaults(1, 1), g.Input("x", dtype.F32, 1, 1, 8, 2), graph.Named("a"))
	prog, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tiles []int
		want  string
	}{
		{[]int{1, 2}, ""},
		{[]int{2, 1}, "want tile 1 of step 0 of call 0, got tile 2"},
		{[]int{1, 3}, "want tile 2 of step 0 of call 0, got tile 3"},
	} {
		p, err := planner.Build(prog, planner.Plain())
		if err != nil {
			t.Fatal(err)
		}
		if label := p.Label(0); label != "a: pool_2d.forward" {
			t.Fatalf("the first task is %s", label)
		}
		for d := range p.Tasks[0].Inner {
			p.Tasks[0].Inner[d].Grain = 1
		}
		p.Tasks = slices.Insert(p.Tasks, 0, p.Tasks[0])
		for i, tile := range tt.tiles {
			p.Tasks[i].Tile = tile
		}
		for i := range p.Tasks {
			for k := range p.Tasks[i].After {
				p.Tasks[i].After[k]++
			}
		}
		for i := range p.Roots {
			if p.Roots[i].Use == plan.Fetched {
				p.Roots[i].Last++
			}
		}
		err = validate.Plan(p, prog)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got %v\nwant %s", tt.tiles, err, tt.want)
		}
	}
}
