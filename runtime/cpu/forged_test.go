package cpu_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/reverse"
	"github.com/opgen/opgen/generated/segmentsum"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// build returns a plan of the program that computes what a function builds.
func build(t testing.TB, of func(g *graph.Graph) graph.Tensor, opts ...planner.Option) *plan.Plan {
	t.Helper()
	g := graph.New(1)
	prog, err := graph.Inference(g, of(g))
	if err != nil {
		t.Fatal(err)
	}
	p, err := planner.Build(prog, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// two computes exp(exp(x)), as one fused task.
func two(g *graph.Graph) graph.Tensor {
	return exp(g, exp(g, g.Input("x", dtype.F32, 64)))
}

func exp(g *graph.Graph, x graph.Tensor) graph.Tensor {
	return elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeExp), x)
}

// reversed computes reverse(exp(x)).
func reversed(g *graph.Graph) graph.Tensor {
	return reverse.Apply(g, reverse.Defaults(0), exp(g, g.Input("x", dtype.F32, 64)))
}

// product computes the product of x with a weight.
func product(g *graph.Graph) graph.Tensor {
	return linear.Apply(g, linear.Defaults(4), g.Input("x", dtype.F32, 8, 4))
}

// folded computes sums of segments, which a task folds.
func folded(g *graph.Graph) graph.Tensor {
	return segmentsum.Apply(g, segmentsum.Defaults(3), segmentsum.Data(g.Input("x", dtype.F32, 64, 16)), segmentsum.Segment(g.Input("s", dtype.I32, 64)))
}

// loadTwo loads a plan in a new engine of two workers.
func loadTwo(t testing.TB, reg *task.Registry, p *plan.Plan) error {
	t.Helper()
	e := engine.New(reg, cpu.New(cpu.Config{Workers: 2}), engine.Config{MemoryLimit: 1 << 30})
	defer e.Close()
	_, err := e.Load(p)
	return err
}

// forgery changes a plan so that it must be refused.
type forgery struct {
	name  string
	of    func(*graph.Graph) graph.Tensor
	opts  []planner.Option
	forge func(p *plan.Plan)
}

// callOf returns the call of an operator.
func callOf(p *plan.Plan, operator string) *plan.Call {
	return &p.Calls[slices.IndexFunc(p.Calls, func(c plan.Call) bool { return c.Operator == operator })]
}

// taskOf returns the first task of an operator that is no part of a group.
func taskOf(p *plan.Plan, operator string) *plan.Task {
	return &p.Tasks[slices.IndexFunc(p.Tasks, func(t plan.Task) bool { return t.Call >= 0 && p.Calls[t.Call].Operator == operator })]
}

// forgeries lists those of the audit's section on plans made by hand, and more of their kinds.
var forgeries = []forgery{
	{"step 7", product, nil, func(p *plan.Plan) { p.Tasks[0].Step = 7 }},
	{"attributes that are no JSON", product, nil, func(p *plan.Plan) { p.Calls[0].Attrs = []byte("{") }},
	{"unknown task", product, nil, func(p *plan.Plan) { p.Calls[0].ID++ }},
	{"name of another task", product, nil, func(p *plan.Plan) { p.Calls[0].Task = "backward" }},
	{"name of another operator", product, nil, func(p *plan.Plan) { p.Calls[0].Operator = "conv_2d" }},
	{"no parameters", product, nil, func(p *plan.Plan) { p.Calls[0].Params = nil }},
	{"empty output", product, nil, func(p *plan.Plan) { *output(p) = nil }},
	{"doubled output", product, nil, func(p *plan.Plan) { l := output(p); *l = append(*l, (*l)[0]) }},
	{"no access", product, nil, func(p *plan.Plan) { p.Tasks[0].Access = nil }},
	{"one access more", product, nil, func(p *plan.Plan) {
		p.Tasks[0].Access = append(p.Tasks[0].Access, region.Access{Region: p.Tasks[0].Access[0].Region, Perm: perm.Read})
	}},
	{"accesses swapped", product, nil, func(p *plan.Plan) { a := p.Tasks[0].Access; a[0], a[1] = a[1], a[0] }},
	{"input that is written", product, nil, func(p *plan.Plan) { p.Tasks[0].Access[0].Perm = perm.ReadWrite }},
	{"root of no type", product, nil, func(p *plan.Plan) { p.Roots[0].Type = dtype.Invalid }},
	{"no dependencies", product, nil, func(p *plan.Plan) { p.Deps = schedule.Graph{} }},
	{"After a task before the first", product, nil, func(p *plan.Plan) { p.Tasks[0].After = []int{-1} }},
	{"stray entry of a queue", product, nil, func(p *plan.Plan) { p.Schedule.Queues[0] = append(p.Schedule.Queues[0], 99) }},
	{"one name for all roots", product, nil, func(p *plan.Plan) {
		for i := range p.Roots {
			p.Roots[i].Name = "x"
		}
	}},
	{"a fed tensor with the name of another", reversed, []planner.Option{planner.Plain()}, func(p *plan.Plan) { p.Roots[1].Name = "x" }},
	{"bound shape that overflows", product, nil, func(p *plan.Plan) { p.Calls[0].Params[0][0].Shape = []int{1 << 62, 4} }},
	{"bound shape below 0", product, nil, func(p *plan.Plan) { p.Calls[0].Params[0][0].Shape = []int{-8, -4} }},
	{"over cut to 3", product, nil, func(p *plan.Plan) { p.Tasks[0].Over = 3 }},
	{"over cut to 0", product, nil, func(p *plan.Plan) { p.Tasks[0].Over = 0 }},
	{"over of a part", two, nil, func(p *plan.Plan) { p.Tasks[0].Over = 3; setOver(p, 3) }},
	{"over 1<<40", product, nil, func(p *plan.Plan) { p.Tasks[0].Over = 1 << 40 }},
	{"one dimension more", product, nil, func(p *plan.Plan) { p.Tasks[0].Inner = append(p.Tasks[0].Inner, p.Tasks[0].Grid().Axis) }},
	{"a task that folds in several ranges", folded, nil, func(p *plan.Plan) { taskOf(p, "segment_sum").Grain = 1 }},
	{"a task that folds in tiles", folded, nil, func(p *plan.Plan) { t := taskOf(p, "segment_sum"); t.Tile = 1 }},
	{"another reduction", folded, nil, func(p *plan.Plan) {
		for i := range taskOf(p, "segment_sum").Access {
			if a := &taskOf(p, "segment_sum").Access[i]; a.Perm == perm.Reduce {
				a.Redop = perm.Max
			}
		}
	}},
	{"in place against the signature", reversed, []planner.Option{planner.Plain()}, func(p *plan.Plan) {
		c := callOf(p, "reverse")
		r := c.Params[0][0].Root
		c.Params[1][0].Root, c.InPlace = r, []plan.Pair{{Param: 1, Of: 0}}
		a := taskOf(p, "reverse").Access
		a[1].Root = r
		p.Roots[r].Use, p.Roots[r].Last = plan.Fetched, len(p.Tasks)
	}},
	{"a pair of tensors in place that lie apart", two, []planner.Option{planner.Plain()}, func(p *plan.Plan) { p.Calls[0].InPlace = []plan.Pair{{Param: 1, Of: 0}} }},
	{"a pair of parameters that do not exist", product, nil, func(p *plan.Plan) { p.Calls[0].InPlace = []plan.Pair{{Param: 9, Of: -1}} }},
	{"elementwise against the signature", reversed, []planner.Option{planner.Plain()}, func(p *plan.Plan) { taskOf(p, "reverse").Elementwise = true }},
	{"a chain with a part that is not elementwise", reversed, []planner.Option{planner.Plain()}, func(p *plan.Plan) {
		chain(p)
	}},
	{"output bound to no root", two, nil, func(p *plan.Plan) { p.Calls[0].Params[1][0].Root = plan.NoRoot }},
	{"input bound to no root", product, nil, func(p *plan.Plan) { p.Calls[0].Params[0][0].Root = plan.NoRoot }},
	{"part with step -1", two, nil, func(p *plan.Plan) { p.Tasks[0].Group.Parts[0].Step = -1 }},
	{"access of a part without lo", two, nil, func(p *plan.Plan) { p.Tasks[0].Group.Parts[0].Access[0].Lo = nil }},
	{"access of a part without hi", two, nil, func(p *plan.Plan) { p.Tasks[0].Group.Parts[0].Access[0].Hi = nil }},
	{"part without grain", two, nil, func(p *plan.Plan) { p.Tasks[0].Group.Parts[0].Grain = 0 }},
	{"doubled part", two, nil, func(p *plan.Plan) {
		g := p.Tasks[0].Group
		g.Parts = append(g.Parts, g.Parts[1])
	}},
	{"part left out", two, nil, func(p *plan.Plan) { p.Tasks[0].Group.Parts = p.Tasks[0].Group.Parts[:1] }},
	{"mode for a tensor that is no gradient", product, nil, func(p *plan.Plan) { p.Calls[0].Params[0][0].Mode = tensor.Accumulate }},
	{"seed of a task that draws none", product, nil, func(p *plan.Plan) { p.Calls[0].Seed = 5 }},
	{"given tensors of an unknown slot", product, nil, func(p *plan.Plan) { p.Calls[0].Given["zzz"] = nil }},
	{"request of an unknown slot", product, nil, func(p *plan.Plan) { p.Calls[0].Requested = []string{"zzz"} }},
	{"passed values of no argument", product, nil, func(p *plan.Plan) { p.Calls[0].Passed = map[string]json.RawMessage{"input": json.RawMessage("[]")} }},
	{"types of another use", product, nil, func(p *plan.Plan) { p.Calls[0].Types = []dtype.Type{dtype.F64} }},
	{"slots of another order", product, nil, func(p *plan.Plan) { slices.Reverse(p.Calls[0].Slots) }},
	{"scratch memory that no call needs", product, nil, func(p *plan.Plan) { p.WorkerBytes = 1 << 40 }},
	{"arena beyond its tensors", product, nil, func(p *plan.Plan) { p.ArenaBytes = 1 << 40 }},
	{"state of a node without one", product, nil, func(p *plan.Plan) { p.States = []plan.State{{Node: p.Calls[0].Node, Init: p.Calls[0]}} }},
	{"call that no task runs", product, nil, func(p *plan.Plan) { p.Calls = append(p.Calls, p.Calls[0]) }},
	{"call of another device", product, nil, func(p *plan.Plan) { p.Calls[0].Device = 1 }},
	{"fed tensor that is not live at first", product, nil, func(p *plan.Plan) { p.Roots[0].First = 0 }},
}

// output returns the tensors of the output of the first call.
func output(p *plan.Plan) *[]plan.Bound {
	return &p.Calls[0].Params[slices.Index(p.Calls[0].Slots, "output")]
}

func setOver(p *plan.Plan, n int) {
	for i := range p.Tasks[0].Group.Parts {
		p.Tasks[0].Group.Parts[i].Over = n
	}
}

// chain makes a group of the two tasks of a plan.
func chain(p *plan.Plan) {
	parts := slices.Clone(p.Tasks)
	for i := range parts {
		parts[i].Elementwise, parts[i].Inner, parts[i].Grain = true, nil, 64
	}
	all := slices.Clone(parts[0].Access)
	for _, a := range parts[1].Access {
		if !slices.ContainsFunc(all, func(b region.Access) bool { return a.Root == b.Root }) {
			all = append(all, a)
		}
	}
	p.Tasks = []plan.Task{{Call: -1, Over: 64, Grain: 64, Access: all, Elementwise: true, Group: &plan.Group{Form: plan.Chain, Parts: parts}}}
	for i := range p.Roots {
		if r := &p.Roots[i]; r.Last > 0 {
			r.First, r.Last = min(r.First, 0), min(r.Last, 1)
			if r.Use != plan.Fetched {
				r.Last = 0
			}
		}
	}
	p.Deps = schedule.Graph{Start: []int32{0, 0}}
	p.Schedule = schedule.Schedule{Tasks: 1, Queues: [][]schedule.Op{{0}}}
}

// TestF4Forged loads plans made by hand that must be refused, for the number of workers of the engine and for
// another.
func TestF4Forged(t *testing.T) {
	t.Parallel()
	reg := registry(t)
	for _, f := range forgeries {
		for _, workers := range []int{1, 2} {
			opts := append([]planner.Option{planner.Workers(workers)}, f.opts...)
			if err := loadTwo(t, reg, build(t, f.of, opts...)); err != nil {
				t.Fatalf("%s: the plan itself: %v", f.name, err)
			}
			p := build(t, f.of, opts...)
			f.forge(p)
			remade := workers == 1 && slices.Contains([]string{"no dependencies", "stray entry of a queue"}, f.name)
			if err := loadTwo(t, reg, p); (err == nil) != remade { // the engine makes queues for its workers, and verifies these
				t.Errorf("%s, %d workers: got the error %v, want one unless the engine makes the queues", f.name, workers, err)
			} else if err != nil && strings.Contains(err.Error(), "panic") {
				t.Errorf("%s: %v", f.name, err)
			}
		}
	}
}

// TestF4Variables gives two variables one name, and lets two workers write them.
func TestF4Variables(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 1, 256)
	u := linear.Apply(g, linear.Defaults(256).WithUseBias(false), x, graph.Named("u"))
	v := linear.Apply(g, linear.Defaults(256).WithUseBias(false), x, graph.Named("v"))
	inf, err := graph.Inference(g, u, v)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := graph.Initialization(inf)
	if err != nil {
		t.Fatal(err)
	}
	p, err := planner.Build(prog)
	if err != nil {
		t.Fatal(err)
	}
	p.Roots[1].Name = p.Roots[0].Name
	p.Schedule = schedule.Schedule{Tasks: 2, Queues: [][]schedule.Op{{0}, {1}}}
	if err := loadTwo(t, registry(t), p); err == nil || !strings.Contains(err.Error(), "want a name of its own") {
		t.Errorf("got %v", err)
	}
}

// TestF4Fine loads plans made by hand that are right.
func TestF4Fine(t *testing.T) {
	t.Parallel()
	reg := registry(t)
	for name, change := range map[string]func(p *plan.Plan){
		"three queues": func(p *plan.Plan) {
			q, err := planner.Reschedule(p, planner.Workers(3))
			if err != nil {
				t.Fatal(err)
			}
			*p = *q
		},
		"one range":     func(p *plan.Plan) { p.Tasks[0].Grain = math.MaxInt },
		"no slot names": func(p *plan.Plan) { p.Calls[0].Slots = nil },
		"no types":      func(p *plan.Plan) { p.Calls[0].Types = nil },
	} {
		p := build(t, product)
		change(p)
		if err := loadTwo(t, reg, p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzLoad decodes plans, validates, verifies and loads them, and runs those that an engine accepts. Nothing
// panics or hangs.
func FuzzLoad(f *testing.F) {
	reg := registry(f)
	all := subjects(f, reg)
	for i := range all {
		f.Add(uint8(i), all[i].data)
		data, err := all[i].plan.EncodeBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), data)
	}
	f.Fuzz(func(t *testing.T, of uint8, data []byte) {
		if got := judge(reg, &all[int(of)%len(all)], data); got == "other" {
			t.Errorf("got a plan that is validated, and computes something else")
		}
	})
}
