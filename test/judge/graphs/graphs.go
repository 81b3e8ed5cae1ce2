package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/oracle"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// mostSteps bounds the operations of the oracle for one operator.
const mostSteps = 3 << 18

// network is a random graph of the catalogue, in which elementwise operators meet those that repeat or reduce
// tensors.
type network struct {
	*rand.Rand
	g       *graph.Graph
	typ     dtype.Type
	inputs  []graph.Tensor
	tensors []graph.Tensor
	seed    []graph.Tensor // the gradient of the last tensor, once it is there
	text    []string       // what was applied to what
}

// operatorNamed returns an operator of the catalogue.
func operatorNamed(name string) *graph.Operator {
	list := catalogue.Operators()
	return list[slices.IndexFunc(list, func(o *graph.Operator) bool { return o.Name == name })]
}

// newNetwork draws a graph.
func newNetwork(seed, number uint64) (*network, error) {
	n := &network{Rand: rand.New(rand.NewPCG(seed, number)), g: graph.New(seed), typ: []dtype.Type{dtype.F32, dtype.F64}[number%2]}
	dims := [][]int{{2, 3}, {200, 30}, {300, 17}, {64, 100}, {50, 133}, {1, 5}, {5, 1000}, {4, 33, 17}, {7, 1}, {1100, 7}, {3, 4, 5}, {128, 33}, {4097}, {0, 3}}[n.IntN(14)]
	n.input(dims)
	for range 2 + n.IntN(9) {
		if err := n.add(); err != nil {
			return nil, err
		}
	}
	return n, n.g.Err()
}

func (n *network) input(dims []int) graph.Tensor {
	x := n.g.Input(fmt.Sprintf("x%d", len(n.inputs)), n.typ, dims...)
	n.inputs, n.tensors = append(n.inputs, x), append(n.tensors, x)
	return x
}

// add adds an operator.
func (n *network) add() error {
	x := n.tensors[len(n.tensors)-1-n.IntN(min(len(n.tensors), 3))]
	rank := len(x.Shape())
	switch k := n.IntN(12); {
	case k < 4:
		f := []string{"TANH", "SIGMOID", "RELU", "GELU", "SIN", "SILU", "ELU"}[n.IntN(7)]
		return n.apply("element_unary", fmt.Sprintf(`{"op_type": %q}`, f), x)
	case k < 8:
		f := []string{"EW_ADD", "EW_SUB", "EW_MUL", "EW_DIV", "EW_MAX", "EW_MIN", "EW_SUB", "EW_DIV"}[n.IntN(8)]
		y := n.beside(x, f == "EW_DIV")
		if n.IntN(4) == 0 && f != "EW_DIV" {
			x, y = y, x
		}
		return n.apply("element_binary", fmt.Sprintf(`{"type": %q}`, f), x, y)
	case rank == 0 || x.Elements() == 0:
		return nil
	case k == 8:
		f := []string{"REDUCE_SUM", "REDUCE_MEAN", "REDUCE_MAX"}[n.IntN(3)]
		return n.apply("reduce", fmt.Sprintf(`{"op_type": %q, "axes": [%d], "keepdims": true}`, f, n.IntN(rank)), x)
	case k == 9:
		return n.apply([]string{"softmax", "log_softmax"}[n.IntN(2)], fmt.Sprintf(`{"dim": %d}`, n.IntN(rank)), x)
	case k == 10:
		return n.apply([]string{"layer_norm", "rms_norm"}[n.IntN(2)], fmt.Sprintf(`{"axes": [%d], "elementwise_affine": false, "eps": 0.1}`, n.IntN(rank)), x)
	}
	if rank < 2 || shape.Prod(x.Shape()) > 8000 {
		return nil
	}
	other := slices.Clone(x.Shape())
	other[rank-2], other[rank-1] = other[rank-1], 1+n.IntN(5)
	return n.apply("batch_matmul", `{}`, x, n.input(other))
}

// beside returns a tensor whose shape is repeated to that of x: one that is there, or a new input. A divisor
// is a new one, since it must not be near 0.
func (n *network) beside(x graph.Tensor, divisor bool) graph.Tensor {
	fits := func(y graph.Tensor) bool {
		s, ok := shape.Broadcast(x.Shape(), y.Shape())
		return ok && shape.Equal(s, x.Shape())
	}
	var fit []graph.Tensor
	for _, y := range n.tensors {
		if fits(y) && y != x && !divisor {
			fit = append(fit, y)
		}
	}
	if len(fit) > 0 && n.IntN(3) > 0 {
		return fit[n.IntN(len(fit))]
	}
	dims := slices.Clone(x.Shape())
	for d := range dims {
		if n.IntN(2) == 0 {
			dims[d] = 1
		}
	}
	return n.input(dims[n.IntN(len(dims)+1)*n.IntN(2):])
}

// apply applies an operator to tensors.
func (n *network) apply(name, attrs string, tensors ...graph.Tensor) error {
	o := operatorNamed(name)
	a, err := o.DecodeAttrs([]byte(attrs))
	if err != nil {
		return err
	}
	in := graph.Insert[int](n.g, 0, o, a)
	names := []string{}
	for i, x := range tensors {
		in = in.Bind(i, x)
		names = append(names, fmt.Sprintf("%s%v", x.Name(), x.Shape()))
	}
	y := in.Node().Tensor(slices.IndexFunc(o.Slots, func(s task.Slot) bool { return s.Role == task.RoleOutput }))
	if err := n.g.Err(); err != nil {
		return err
	}
	n.tensors = append(n.tensors, y)
	n.text = append(n.text, fmt.Sprintf("%s%v = %s(%s) %s", y.Name(), y.Shape(), name, strings.Join(names, ", "), attrs))
	return nil
}

// run runs the graph and returns what it fetches, by name, and the names of gradients by tensor.
func (n *network) run(fed map[string][]float64, kernels func(*task.Registry) error, workers int, everything bool) (map[string][]float64, map[graph.Tensor]string, error) {
	last := n.tensors[len(n.tensors)-1]
	fetch, wrt := []graph.Tensor{last}, n.inputs
	if everything {
		fetch, wrt = nil, slices.Clone(n.tensors)
		for _, x := range n.tensors {
			if x.Node() != nil {
				fetch = append(fetch, x)
			}
		}
		wrt = slices.DeleteFunc(wrt, func(x graph.Tensor) bool { return x == last })
	}
	seed := graph.Tensor{}
	for _, x := range n.seeds() {
		seed = x
	}
	p, grads, err := graph.Gradients(n.g, map[graph.Tensor]graph.Tensor{last: seed}, wrt, fetch...)
	if err != nil {
		return nil, nil, err
	}
	pl, err := planner.Build(p)
	if err != nil {
		return nil, nil, err
	}
	var tasks task.Registry
	if err := kernels(&tasks); err != nil {
		return nil, nil, err
	}
	e := engine.New(&tasks, cpu.New(cpu.Config{Workers: workers}), engine.Config{})
	defer e.Close()
	in, err := e.Load(pl)
	if err != nil {
		return nil, nil, err
	}
	for _, x := range p.Fed {
		if err := in.FeedBytes(x.Name(), encode(x.Type(), fed[x.Name()])); err != nil {
			return nil, nil, err
		}
	}
	if err := in.Run(context.Background()); err != nil {
		return nil, nil, err
	}
	out, names := map[string][]float64{}, map[graph.Tensor]string{}
	for _, x := range p.Fetched {
		data, err := in.FetchBytes(x.Name())
		if err != nil {
			return nil, nil, err
		}
		out[x.Name()] = decode(x.Type(), data)
	}
	for x, g := range grads {
		names[x] = g.Name()
	}
	return out, names, nil
}

// seeds returns the input that holds the gradient of the last tensor, which it adds at first.
func (n *network) seeds() []graph.Tensor {
	if n.seed == nil {
		last := n.tensors[len(n.tensors)-1]
		n.seed = append(n.seed, n.g.Input("seed", n.typ, last.Shape()...))
	}
	return n.seed
}

// feed draws the elements of inputs. They are not near 0, since some divide.
func (n *network) feed() map[string][]float64 {
	fed := map[string][]float64{}
	for _, x := range append(slices.Clone(n.inputs), n.seeds()...) {
		for range shape.Prod(x.Shape()) {
			v := float64(float32(0.3 + n.Float64()))
			if n.IntN(3) == 0 {
				v = -v
			}
			fed[x.Name()] = append(fed[x.Name()], v)
		}
	}
	return fed
}

// loops registers the formulas of the catalogue, without kernels by hand.
func loops(r *task.Registry) error {
	var list []*task.Operator
	for _, o := range catalogue.Operators() {
		if len(o.Formula) > 0 {
			list = append(list, &o.Operator)
		}
	}
	return formula.Register(r, op.CPU, list...)
}

// encode returns real numbers as tensors hold them.
func encode(t dtype.Type, list []float64) []byte {
	out := make([]byte, t.Size()*len(list))
	for i, v := range list {
		t.PutFloat64(out[i*t.Size():], v)
	}
	return out
}

// decode returns the real numbers of a tensor.
func decode(t dtype.Type, data []byte) []float64 {
	out := make([]float64, len(data)/t.Size())
	for i := range out {
		out[i] = t.Float64(data[i*t.Size():])
	}
	return out
}

// judgeNetwork runs a random graph by kernels and by formulas. Each operator must give, of the tensors that
// the graph gave it, what its formula means, and the gradient of each tensor must be the sum of what the
// oracle says that its readers give. What is fetched alone must be the same.
func judgeNetwork(seed, number uint64) (text string, compared int, err error) {
	n, err := newNetwork(seed, number)
	if err != nil {
		return "", 0, err
	}
	text = strings.Join(n.text, "\n    ")
	if n.tensors[len(n.tensors)-1].Node() == nil {
		return text, 0, nil
	}
	kernels := catalogue.Register
	if number/2%2 == 1 {
		kernels = loops
	}
	compared, err = n.judge(kernels, 1+int(number%3))
	return text, compared, err
}

// judge runs the graph twice: it fetches all, and then only outputs and gradients of inputs, which must be
// the same.
func (n *network) judge(kernels func(*task.Registry) error, workers int) (compared int, err error) {
	fed := n.feed()
	all, names, err := n.run(fed, kernels, 1, true)
	if err != nil {
		return 0, err
	}
	some, few, err := n.run(fed, kernels, workers, false)
	if err != nil {
		return 0, fmt.Errorf("not all fetched: %w", err)
	}
	for _, x := range append(slices.Clone(n.inputs), n.tensors[len(n.tensors)-1]) {
		a, b := all[x.Name()], some[x.Name()]
		if x.Node() == nil {
			a, b = all[names[x]], some[few[x]]
		}
		for i := range b {
			if i < len(a) && !alike(a[i], b[i], n.typ) {
				return 0, fmt.Errorf("%s, element %d: %v if only inputs and outputs are fetched, %v if all is", x.Name(), i, b[i], a[i])
			}
		}
	}
	for name, v := range fed {
		all[name] = v
	}
	return n.compare(all, names)
}

// alike reports whether two numbers differ by rounding only: fusions may round otherwise where less is
// fetched.
func alike(a, b float64, t dtype.Type) bool {
	tolerance := 1e-9
	if t == dtype.F32 {
		tolerance = 2e-3
	}
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= tolerance*max(1, math.Abs(a))
}

// compare judges each operator of a graph by the tensors that it was given.
func (n *network) compare(have map[string][]float64, names map[graph.Tensor]string) (compared int, err error) {
	last := n.tensors[len(n.tensors)-1]
	places := map[graph.Tensor][]int{}
	want := map[graph.Tensor][]oracle.Element{}
	for _, x := range n.tensors {
		size := shape.Prod(x.Shape())
		for _, i := range []int{4096 + n.IntN(14), size - 1, n.IntN(max(size, 1)), n.IntN(max(size, 1))} {
			if i >= 0 && i < size && !slices.Contains(places[x], i) {
				places[x] = append(places[x], i)
			}
		}
		want[x] = make([]oracle.Element, len(places[x]))
	}
	unknown := map[graph.Tensor]bool{}
	for _, y := range n.tensors {
		node := y.Node()
		if node == nil {
			continue
		}
		u, err := oracle.Of(&node.Op.Operator, node.Attrs, node.Resolved, 0, nil)
		if err != nil {
			return compared, err
		}
		u.MaxSteps, u.Type = mostSteps, n.typ
		seed := have["seed"]
		if y != last {
			seed = have[names[y]]
		}
		q := oracle.Question{Seeds: map[string][][]float64{}}
		var inputs []graph.Tensor
		for slot := range node.Op.Slots {
			s := &node.Op.Slots[slot]
			for _, x := range node.Tensors(slot) {
				switch s.Role {
				case task.RoleInput:
					u.Slot(s.Name).Tensors[0].Real = append([]float64{}, have[x.Name()]...)
					for _, i := range places[x] {
						q.Places = append(q.Places, oracle.Place{Slot: s.Name, Number: i})
					}
					inputs = append(inputs, x)
				case task.RoleOutput:
					q.Seeds[s.Name] = [][]float64{seed}
				}
			}
		}
		a, err := u.Answer(q)
		if errors.Is(err, oracle.ErrTooLong) || errors.Is(err, oracle.ErrAmbiguous) {
			for _, x := range inputs {
				unknown[x] = true
			}
			continue
		}
		if err != nil {
			return compared, fmt.Errorf("%s: %w", node.Op.Name, err)
		}
		for slot := range node.Op.Slots {
			if s := &node.Op.Slots[slot]; s.Role == task.RoleOutput && len(node.Tensors(slot)) > 0 {
				for i, w := range a.Results[s.Name][0].Elements {
					if g := have[y.Name()][i]; !widened(w, n.typ).Allows(g, n.typ) {
						return compared, fmt.Errorf("%s, element %d of %s: got %v, want %v within %.2g", y.Name(), i, s.Name, g, w.Real, w.Bound)
					}
					compared++
				}
			}
		}
		at := 0
		for _, x := range inputs {
			for i := range places[x] {
				want[x][i].Real += a.Gradients[at].Real
				want[x][i].Bound += a.Gradients[at].Bound
				at++
			}
		}
	}
	for _, x := range n.tensors {
		g, ok := names[x]
		if !ok || unknown[x] || x == last {
			continue
		}
		for i, p := range places[x] {
			w := widened(want[x][i], n.typ)
			if got := have[g][p]; !math.IsNaN(w.Real) && !w.Allows(got, n.typ) {
				return compared, fmt.Errorf("gradient of %s, element %d: got %v, want %v within %.2g", x.Name(), p, got, w.Real, w.Bound)
			}
			compared++
		}
	}
	return compared, nil
}

// widened returns an element with a bound for kernels by hand, which may compute in another way than the
// formula.
func widened(w oracle.Element, t dtype.Type) oracle.Element {
	u := 0x1p-53
	if t == dtype.F32 {
		u = 0x1p-24
	}
	w.Bound = 4*w.Bound + 64*u*(1+math.Abs(w.Real))
	return w
}
