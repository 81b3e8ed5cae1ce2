package kernels_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Most tests of this package name no operator. They apply every operator of the catalogue as the examples of
// its spec say, and check what must hold for all operators.

// registry returns a registry of the catalogue's tasks.
var registry = sync.OnceValue(func() *task.Registry {
	var r task.Registry
	if err := catalogue.Register(&r); err != nil {
		panic(err)
	}
	return &r
})

// sample is an operator applied as one of its examples says.
type sample struct {
	op     *graph.Operator
	attrs  task.Attrs
	types  []dtype.Type     // of the operator's dtype variables
	shapes map[string][]int // of inputs
	passed map[int][]any    // what the caller passes, by slot
	counts map[string]int   // how many tensors the caller asks for of outputs whose number it decides
	all    bool             // request all outputs that are made on request
	shared bool             // bind one tensor to all trainable inputs of the same type and shape
}

// forEachSample runs f for every operator, example and choice of element types. Where outputs are made on
// request, it runs f both with and without them.
func forEachSample(t *testing.T, f func(t *testing.T, s sample)) {
	for _, op := range catalogue.Operators() {
		if len(op.Examples) == 0 {
			t.Errorf("operator %s: want an example, as tests apply operators to their examples, got none", op.Name)
		}
		for i := range op.Examples {
			samples, err := samplesOf(op, i)
			if err != nil {
				t.Errorf("%s, example %d: %v", op.Name, i, err)
			}
			for _, s := range samples {
				name := fmt.Sprintf("%s/%d/%s", op.Name, i, dtype.Format(s.types))
				if s.all {
					name += "/requested"
				}
				t.Run(name, func(t *testing.T) { f(t, s) })
			}
		}
	}
}

// samplesOf lists the samples of one example. The error says why there is none.
func samplesOf(op *graph.Operator, example int) ([]sample, error) {
	attrs, err := op.DecodeAttrs([]byte(op.Examples[example].Attrs))
	if err != nil {
		return nil, err
	}
	passed, err := op.Examples[example].Passed(&op.Operator)
	if err != nil {
		return nil, err
	}
	request := []bool{false}
	if slices.ContainsFunc(op.Slots, func(s task.Slot) bool { return s.OnRequest && !s.Asked() }) {
		request = append(request, true)
	}
	var out []sample
	var refused error
	for _, v := range registry().Task(op.Signatures[0].ID).Variants {
		for _, all := range request {
			s := sample{op: op, attrs: attrs, types: v.Types, shapes: op.Examples[example].Shapes, passed: passed, counts: op.Examples[example].Counts, all: all}
			if _, err := newFixture(s, domains[0]); err != nil {
				refused = err // an attribute may ask for another type
				continue
			}
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, refused
	}
	return out, nil
}

// double reports whether all floating-point variables stand for f64.
func (s sample) double() bool { return !slices.Contains(s.types, dtype.F32) }

// operands returns the types and shapes that the example gives for a slot. The slot is an input, or the tensor
// that an initializer fills.
func (s sample) operands(slot int) []task.Operand {
	sl := &s.op.Slots[slot]
	if sl.Role != task.RoleInput && !sl.Provided {
		return nil
	}
	typ, err := dtype.Parse(sl.Type)
	if err != nil {
		typ = s.types[slices.IndexFunc(s.op.Types, func(v task.TypeVar) bool { return v.Name == sl.Type })]
	}
	var out []task.Operand
	if dims, ok := s.shapes[sl.Name]; ok {
		out = append(out, task.Operand{Type: typ, Shape: dims})
	}
	for k := 0; ; k++ {
		dims, ok := s.shapes[fmt.Sprintf("%s.%d", sl.Name, k)]
		if !ok {
			return out
		}
		out = append(out, task.Operand{Type: typ, Shape: dims})
	}
}

// apply inserts the operator into g. Its inputs come from the function input.
func (s sample) apply(g *graph.Graph, name string, input func(slot, k int, o task.Operand) graph.Tensor) *graph.Node {
	opts := []graph.Option{graph.Named(name)}
	for i := range s.op.Slots {
		if s.all && s.op.Slots[i].OnRequest && !s.op.Slots[i].Asked() {
			opts = append(opts, graph.Request(i))
		}
	}
	in := graph.Insert[int](g, 0, s.op, s.attrs, opts...)
	for slot := range s.op.Slots {
		if n, ok := s.counts[s.op.Slots[slot].Name]; ok {
			in.Ask(slot, n)
		}
		for k, o := range s.operands(slot) {
			in.Bind(slot, input(slot, k, o))
		}
		if values, ok := s.passed[slot]; ok {
			in.BindArg(slot, values...)
		}
	}
	return in.Node()
}

// draws reports whether what the operator computes depends on the name of its node, by random numbers.
func (s sample) draws() bool {
	given, err := task.AttrObject(s.attrs)
	if err != nil {
		return false
	}
	seed, ok := given["seed"]
	return (!ok || string(seed) == "null") && slices.ContainsFunc(s.op.Main().Args, func(a task.Arg) bool { return a.From == task.FromSeed })
}

// fixture is a sample in a separate graph, with values for all tensors that are fed.
type fixture struct {
	sample
	g       *graph.Graph
	node    *graph.Node
	inputs  map[string]graph.Tensor       // by type and shape if they are shared, otherwise by slot
	results []graph.Tensor                // outputs, and tensors that the operator changes in place
	wrt     []graph.Tensor                // the tensors that have gradients
	seeds   map[graph.Tensor]graph.Tensor // of floating-point outputs
	values  values
}

// values holds the elements of tensors by name. Integers and booleans are kept as float64 too: those that the
// tests use are exact in it.
type values map[string][]float64

// newFixture applies a sample and draws values from a domain.
func newFixture(s sample, d domain) (*fixture, error) {
	f := &fixture{sample: s, g: graph.New(1), inputs: map[string]graph.Tensor{}, seeds: map[graph.Tensor]graph.Tensor{}}
	draw := &drawing{domain: d, rng: rand.New(rand.NewPCG(7, 11+d.seed)), drawn: values{}}
	f.node = s.apply(f.g, "node", func(slot, k int, o task.Operand) graph.Tensor {
		name := fmt.Sprintf("%s.%d", s.op.Slots[slot].Name, k)
		key := name
		if s.shared && s.op.Slots[slot].Trainable && o.Type.IsFloat() {
			key = o.String()
		}
		if _, ok := f.inputs[key]; !ok {
			f.inputs[key] = f.g.Input(name, o.Type, o.Shape...)
		}
		return f.inputs[key]
	})
	if err := f.g.Err(); err != nil {
		return nil, err
	}
	if got := f.node.Resolved.Types; !slices.Equal(got, s.types) {
		return nil, fmt.Errorf("want the element types %s, but attributes give %s", dtype.Format(s.types), dtype.Format(got))
	}
	for i := range s.op.Slots {
		slot := &s.op.Slots[i]
		for _, x := range f.node.Tensors(i) {
			if slot.Role == task.RoleOutput || s.changes(i) {
				f.results = append(f.results, x)
			}
			switch {
			case slot.Role == task.RoleInput:
				draw.tensor(x, f.node.Resolved, i)
			case slot.Role == task.RoleWeight && slot.Trainable:
				draw.tensor(x, nil, i)
			case slot.Role == task.RoleOutput && x.Type().IsFloat():
				f.seeds[x] = f.g.Input("seed of "+x.Name(), x.Type(), x.Shape()...)
				draw.tensor(f.seeds[x], nil, i)
			}
			if slot.Trainable && x.Type().IsFloat() && !slices.Contains(f.wrt, x) {
				f.wrt = append(f.wrt, x)
			}
		}
	}
	f.values = draw.values()
	return f, nil
}

// changes reports whether the operator changes an input or a weight in place.
func (s sample) changes(slot int) bool {
	role := s.op.Slots[slot].Role
	return (role == task.RoleInput || role == task.RoleWeight) &&
		slices.ContainsFunc(s.op.Signatures[0].Params, func(p task.Param) bool { return p.Slot == slot && p.Perm.Writes() })
}

// mustFixture draws values from the first domain in which the operator has finite values.
func mustFixture(t *testing.T, s sample) *fixture {
	t.Helper()
	for _, d := range domains {
		f, err := newFixture(s, d)
		if err != nil {
			t.Fatal(err)
		}
		v, err := run(f.forward(t), f.values, execution{}) // no check, so it is not recorded for docs/tests.md
		if err != nil {
			t.Fatal(err)
		}
		if f.finite(v) {
			return f
		}
	}
	t.Fatal("want finite results on values from one of the domains, got none")
	return nil
}

// finite reports whether all results are finite.
func (f *fixture) finite(v values) bool {
	for _, r := range f.results {
		for _, x := range v[r.Name()] {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return false
			}
		}
	}
	return true
}

// forward returns the program that computes the results.
func (f *fixture) forward(t *testing.T) *graph.Program {
	t.Helper()
	p, err := graph.Whole(f.g, f.results...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// differentiable reports whether there is anything to differentiate.
func (f *fixture) differentiable() bool {
	return f.op.Signature(task.KindBackward) != nil && len(f.wrt) > 0 && len(f.seeds) > 0
}

// backward returns the program that computes the results, and the gradients of wrt from the gradients of
// outputs in seeds. It also returns the gradients by tensor.
func (f *fixture) backward(t *testing.T, seeds map[graph.Tensor]graph.Tensor, wrt []graph.Tensor) (*graph.Program, map[graph.Tensor]graph.Tensor) {
	t.Helper()
	p, grads, err := graph.Gradients(f.g, seeds, wrt, f.results...)
	if err != nil {
		t.Fatal(err)
	}
	return p, grads
}

// everything returns the program that computes the results and, if there are any, all gradients.
func (f *fixture) everything(t *testing.T) *graph.Program {
	t.Helper()
	if !f.differentiable() {
		return f.forward(t)
	}
	p, _ := f.backward(t, f.seeds, f.wrt)
	return p
}

// execution says how to run a program.
type execution struct {
	workers int                      // 0: one
	runs    int                      // 0: one
	grain   int                      // indices in a range; 0: as the plan says
	spread  bool                     // spread each task over all workers, in ranges of one index
	garbage func(dtype.Type) float64 // the value of all elements in memory before each run; nil: zeros
	tasks   *task.Registry           // nil: those of the catalogue
	checked bool                     // check what kernels do
}

// run runs a program in a new engine, and returns the tensors that it fetches after the last run.
func run(p *graph.Program, fed values, x execution) (values, error) {
	reg := cmp.Or(x.tasks, registry())
	if x.spread {
		reg, x.grain = spreading(x.workers), math.MaxInt
	}
	var backend engine.Backend = cpu.New(cpu.Config{Workers: max(x.workers, 1)})
	if x.checked {
		backend = checked.New(cpu.Config{})
	}
	e := engine.New(reg, backend, engine.Config{})
	defer e.Close()
	if len(p.Variables) > 0 {
		init, err := graph.Initialization(p)
		if err != nil {
			return nil, err
		}
		if _, err := runIn(e, init, nil, execution{}); err != nil {
			return nil, err
		}
	}
	return runIn(e, p, fed, x)
}

// runIn does the same in an engine that may have variables already.
func runIn(e *engine.Engine, p *graph.Program, fed values, x execution) (values, error) {
	pl, err := planner.Build(p)
	if err != nil {
		return nil, err
	}
	var filled []*plan.Root
	for i := range pl.Roots {
		// The test can fill a root before the run only if it is fed, and if no other root uses its memory. So the
		// root becomes a fed one, and moves to the end of the arena.
		if r := &pl.Roots[i]; x.garbage != nil && (r.Use == plan.Internal || r.Use == plan.Fetched) && r.First <= r.Last {
			r.Use, r.First = plan.Fed, -1
			r.Place.Off = pl.ArenaBytes
			pl.ArenaBytes += (r.Place.Bytes + plan.Align - 1) / plan.Align * plan.Align
			filled = append(filled, r)
		}
	}
	for i := range pl.Tasks {
		if x.grain > 0 && !slices.ContainsFunc(pl.Tasks[i].Access, func(a region.Access) bool { return a.Least != nil }) {
			pl.Tasks[i].Grain = x.grain
		}
	}
	in, err := e.Load(pl)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	for range max(x.runs, 1) {
		for _, r := range filled {
			g := make([]float64, shape.Prod(r.Shape))
			for i := range g {
				g[i] = x.garbage(r.Type)
			}
			if err := feed(in, r.Name, r.Type, g); err != nil {
				return nil, err
			}
		}
		for _, t := range slices.Concat(p.Fed, p.Variables) {
			if v, ok := fed[t.Name()]; ok {
				if err := feed(in, t.Name(), t.Type(), v); err != nil {
					return nil, err
				}
			}
		}
		if err := in.Run(context.Background()); err != nil {
			return nil, err
		}
	}
	out := values{}
	for _, t := range p.Fetched {
		if out[t.Name()], err = fetch(in, t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func mustRun(t *testing.T, p *graph.Program, fed values, x execution) values {
	t.Helper()
	x.tasks = observed(t)
	v, err := run(p, fed, x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
