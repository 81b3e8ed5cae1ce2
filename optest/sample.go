package optest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// sample is an operator applied as one of its examples says.
type sample struct {
	kit     *Kit
	check   string // the check that applies it
	example int
	op      *graph.Operator
	attrs   task.Attrs
	types   []dtype.Type     // of the operator's dtype variables
	shapes  map[string][]int // of inputs
	passed  map[int][]any    // what the caller passes, by slot
	counts  map[string]int   // how many tensors the caller asks for of outputs whose number it decides
	all     bool             // request all outputs that are made on request
	resized bool             // the shapes are not those of the example
	large   bool             // the shapes have many elements
	shared  bool             // bind one tensor to all trainable inputs of the same type and shape
}

// samplesOf lists the samples of one example. The error says why there is none.
func (k *Kit) samplesOf(op *graph.Operator, example int) ([]sample, error) {
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
	for _, v := range k.variants(op) {
		for _, all := range request {
			s := sample{kit: k, example: example, op: op, attrs: attrs, types: v.Types, shapes: op.Examples[example].Shapes, passed: passed, counts: op.Examples[example].Counts, all: all}
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

// variants lists the kernels of an operator for this machine, one for each choice of element types.
func (k *Kit) variants(o *graph.Operator) []task.Variant {
	return slices.DeleteFunc(slices.Clone(k.tasks.Task(o.Signatures[0].ID).Variants), func(v task.Variant) bool { return v.Target != op.CPU })
}

// what names the sample in messages.
func (s sample) what() string {
	name := fmt.Sprintf("operator %s, example %d", s.title(), s.example)
	if len(s.types) > 0 {
		name += ", " + dtype.Format(s.types)
	}
	if s.resized {
		name += ", with the shapes " + formatShapes(s.shapes)
	}
	return name
}

func (s sample) errorf(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Errorf("%s: %s", s.what(), fmt.Sprintf(format, args...))
}

func (s sample) fatalf(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Fatalf("%s: %s", s.what(), fmt.Sprintf(format, args...))
}

// formatShapes writes shapes in the order of their names.
func formatShapes(shapes map[string][]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		out = append(out, fmt.Sprintf("%s %v", name, shapes[name]))
	}
	return strings.Join(out, ", ")
}

// double reports whether all floating-point tensors of the operator have the type f64.
func (s sample) double() bool {
	floats := slices.Clone(s.types)
	for _, sl := range s.op.Slots {
		if t, err := dtype.Parse(sl.Type); err == nil {
			floats = append(floats, t)
		}
	}
	return !slices.ContainsFunc(floats, func(t dtype.Type) bool { return t.IsFloat() && t != dtype.F64 })
}

// operands returns the types and shapes that the example gives for a slot. The slot is an input, or the
// tensor that an initializer fills.
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
		var list []graph.Tensor
		for k, o := range s.operands(slot) {
			list = append(list, input(slot, k, o))
		}
		if list != nil {
			in.Bind(slot, graph.Placed(list, s.op.Examples[s.example].Places[s.op.Slots[slot].Name])...)
		}
		if values, ok := s.passed[slot]; ok {
			in.BindArg(slot, values...)
		}
	}
	return in.Node()
}

// fixture is a sample in a separate graph, with values for all tensors that are fed.
type fixture struct {
	sample
	domain  domain // from which values are drawn
	g       *graph.Graph
	node    *graph.Node
	inputs  map[string]graph.Tensor       // by type and shape if they are shared, otherwise by slot
	results []graph.Tensor                // outputs, and tensors that the operator changes in place
	wrt     []graph.Tensor                // the tensors that have gradients
	seeds   map[graph.Tensor]graph.Tensor // of floating-point outputs
	values  values

	forwardOnly, whole *graph.Program                // what forward and everything return
	grads              map[graph.Tensor]graph.Tensor // the gradients that whole computes
	plans              plans
}

// values holds the elements of tensors by name. Integers and booleans are kept as float64 too: those that the
// tests use are exact in it.
type values map[string][]float64

// newFixture applies a sample and draws values from a domain.
func newFixture(s sample, d domain) (*fixture, error) {
	f := &fixture{sample: s, domain: d, g: graph.New(1), inputs: map[string]graph.Tensor{}, seeds: map[graph.Tensor]graph.Tensor{}, plans: plans{}}
	draw := &drawing{sample: s, domain: d, rng: rand.New(rand.NewPCG(7, 11+d.seed)), drawn: values{}}
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
			case slot.Role == task.RoleWeight && (slot.Trainable || !s.changes(i) || s.kit.config.values[slotName{s.title(), slot.Name}] != nil):
				// What forward changes begins as its initializer says. A weight that is only read is not
				// zeros where it matters.
				draw.tensor(x, nil, i)
			case slot.Role == task.RoleOutput && x.Type().IsFloat():
				f.seeds[x] = f.g.Input("seed of "+x.Name(), x.Type(), x.Shape()...)
				draw.tensor(f.seeds[x], nil, -1)
			}
			if slot.Trainable && x.Type().IsFloat() && !slices.Contains(f.wrt, x) {
				f.wrt = append(f.wrt, x)
			}
		}
	}
	f.values = draw.values()
	return f, draw.err
}

// changes reports whether the operator changes an input or a weight in place.
func (s sample) changes(slot int) bool {
	role := s.op.Slots[slot].Role
	return (role == task.RoleInput || role == task.RoleWeight) &&
		slices.ContainsFunc(s.op.Signatures[0].Params, func(p task.Param) bool { return p.Slot == slot && p.Perm.Writes() })
}

// fixture draws values from the first domain in which all results of the operator are finite. If there is
// none, and a formula or a reference says what the results are, it draws from the one in which most results
// are finite.
func (s sample) fixture(t *testing.T) *fixture {
	t.Helper()
	key := fmt.Sprint(s.what(), s.all, s.shared)
	if d, ok := s.kit.domains.Load(key); ok {
		f, err := newFixture(s, d.(domain))
		if err != nil {
			s.fatalf(t, "%v", err)
		}
		return f
	}
	var best *fixture
	fewest := 0 // of the results that are not finite
	for _, d := range domains {
		f, err := newFixture(s, d)
		if err != nil {
			s.fatalf(t, "%v", err)
		}
		v, err := s.kit.run(f.forward(t), f.values, Execution{plans: f.plans}) // no check, so it is not recorded
		if err != nil {
			s.fatalf(t, "%v", err)
		}
		if n := f.unbounded(v); best == nil || n < fewest {
			best, fewest = f, n
		}
		if fewest == 0 {
			break
		}
	}
	if fewest > 0 && !s.told() {
		s.fatalf(t, "want finite results, got NaN or infinities on all values that were drawn: on numbers of both signs, and on positive ones; "+
			"the option optest.Values gives others, and optest.Reference says what the results are")
	}
	s.kit.domains.Store(key, best.domain)
	return best
}

// forward returns the program that computes the results.
func (f *fixture) forward(t *testing.T) *graph.Program {
	t.Helper()
	if f.forwardOnly == nil {
		var err error
		if f.forwardOnly, err = graph.Whole(f.g, f.results...); err != nil {
			f.fatalf(t, "%v", err)
		}
	}
	return f.forwardOnly
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
		f.fatalf(t, "%v", err)
	}
	return p, grads
}

// everything returns the program that computes the results and, if there are any, all gradients.
func (f *fixture) everything(t *testing.T) *graph.Program {
	t.Helper()
	if !f.differentiable() {
		return f.forward(t)
	}
	if f.whole == nil {
		f.whole, f.grads = f.backward(t, f.seeds, f.wrt)
	}
	return f.whole
}

// run runs a program of the fixture, which is planned once, and records which tasks ran.
func (f *fixture) run(t *testing.T, p *graph.Program, fed values, x Execution) values {
	t.Helper()
	x.plans = f.plans
	return f.sample.run(t, p, fed, x)
}

// load loads a program of the fixture, which is planned once.
func (f *fixture) load(t *testing.T, p *graph.Program, x Execution) *loaded {
	t.Helper()
	x.plans = f.plans
	return f.sample.load(t, p, x)
}
