package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
)

// testLoadErrors loads plans that the engine cannot run.
func (s *suite) testLoadErrors(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	at := linear.Defaults(2)
	y := linear.Apply(g, at, x, graph.Named("fc"))
	seed := g.Input("seed", dtype.F32, 2, 2)
	again := linear.Apply(g, at, y, graph.Named("again"))
	program, _, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed, again: seed}, []graph.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	p := s.build(t, program, planner.Plain())
	fill := slices.IndexFunc(p.Tasks, func(t plan.Task) bool { return t.Builtin != nil })
	group := func(form plan.Form, parts ...plan.Task) func(*plan.Plan) {
		return func(p *plan.Plan) {
			p.Tasks[fill].Builtin, p.Tasks[fill].Group = nil, &plan.Group{Form: form, Parts: parts}
		}
	}
	add := plan.Task{Call: -1, Builtin: &plan.Builtin{Op: "add"}, Access: p.Tasks[fill].Access}
	tests := []struct {
		name   string
		change func(*plan.Plan)
		want   string
	}{
		{"unknown task", func(p *plan.Plan) { p.Calls[0].ID = 5 }, "plan gradients, fc: linear.forward: want a registered task linear.forward, got none of id 0000000000000005; call Register of the catalogue that opgen generates with linear"},
		{"another target", func(p *plan.Plan) { p.Target = "other" }, fmt.Sprintf("engine: plan gradients: want a plan for target %q, got one for %q", s.target.Name, "other")},
		{"wrong attributes", func(p *plan.Plan) { p.Calls[0].Attrs = []byte(`{"out_channels": 0}`) }, "plan gradients, fc: linear.forward: operator linear: attribute out_channels: want at least 1, got 0"},
		{"other attributes", func(p *plan.Plan) { p.Calls[0].Attrs = []byte(`{"out_channels": 5}`) }, "plan gradients, fc: linear.forward: operator linear, task forward, slot weight: want f32[5, 3], got fc.weight f32[2, 3]"},
		{"too many tensors", func(p *plan.Plan) { p.Calls[0].Params[0] = append(p.Calls[0].Params[0], p.Calls[0].Params[0]...) }, "plan gradients, fc: linear.forward: operator linear, task forward, slot input: want 1 tensor, got 2"},
		{"wrong inputs", func(p *plan.Plan) { p.Calls[0].Given = nil }, "plan gradients, fc: linear.forward: operator linear, slot input: want a tensor, got none"},
		{"no parameters", func(p *plan.Plan) { p.Calls[0].Params = nil }, "plan gradients, fc: linear.forward: operator linear, task forward: want 6 parameters, got 0"},
		{"no input", func(p *plan.Plan) { p.Calls[0].Params[0] = nil }, "plan gradients, fc: linear.forward: operator linear, task forward, slot input: want 1 tensor, got 0"},
		{"no such step", func(p *plan.Plan) { p.Tasks[0].Step = 7 }, "plan gradients, fc: linear.forward: want step 0 of 1, got step 7"},
		{"outside the arena", func(p *plan.Plan) { p.Roots[0].Place.Off = p.ArenaBytes }, "engine: plan gradients: want a place within the 256 bytes of the arena, got 24 bytes at 256: x"},
		{"not aligned", func(p *plan.Plan) { p.Roots[0].Place.Off = 2 }, "engine: plan gradients: want an offset that is a multiple of 64, got 2: x"},
		{"wrong size", func(p *plan.Plan) { p.Roots[0].Place.Bytes = 20 }, "engine: plan gradients: want 24 bytes, got 20: x"},
		{"secret reader", func(p *plan.Plan) { p.Tasks[0].Access = p.Tasks[0].Access[1:] }, "plan gradients, fc: linear.forward: operator linear, task forward, slot input: want an access to all of x that permits to read, got none"},
		{"no such root", func(p *plan.Plan) { p.Calls[0].Params[0][0].Root = 99 }, "engine: plan gradients: want roots from 0 to"},
		{"unknown operation", func(p *plan.Plan) { p.Tasks[fill].Builtin.Op = "sub" }, `plan gradients, sub grad of fc.output: unknown built-in operation "sub"`},
		{"operation on integers", func(p *plan.Plan) { p.Roots[p.Tasks[fill].Access[0].Root].Type = dtype.I32 }, "plan gradients, fill grad of fc.output: want fill of "},
		{"unknown group", group("ring"), `engine: plan gradients, : : want a chain or a batch of tasks, got "ring" of 0`},
		{"group in a group", group(plan.Chain, plan.Task{Call: -1, Group: &plan.Group{Form: plan.Chain, Parts: []plan.Task{add}}}), "engine: plan gradients, grad of fc.output: add: want calls and built-in operations as parts, got something else as part 0"},
	}
	reg := s.registry(t, increment)
	for _, tt := range tests {
		e := s.engine(t, reg, 1, engine.Config{})
		bad := copyOf(t, p)
		tt.change(bad)
		in, err := e.Load(bad)
		switch {
		case err == nil || in != nil:
			t.Errorf("%s: loaded", tt.name)
		case !strings.HasPrefix(err.Error(), tt.want):
			t.Errorf("%s: got %v\nwant %s", tt.name, err, tt.want)
		}
		if m := e.Memory(); m.Used != 0 {
			t.Errorf("%s: %d bytes are still in use", tt.name, m.Used)
		}
		if in, err := e.Load(p); err != nil {
			t.Errorf("%s: the right plan does not load afterwards: %v", tt.name, err)
		} else {
			in.Close()
		}
	}
}
