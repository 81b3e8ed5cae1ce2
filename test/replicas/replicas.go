// Package replicas makes programs for several devices and runs them, for tests of what divides plans among
// ranks.
package replicas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/ranks"
)

// rows and columns are the extents of the tensors of random programs, and wide those of columns so large that
// weights are added in slices.
const rows, columns, wide = 3, 5, 256

// Random returns a program for some devices that a seed decides: a training step of replicas, or layers of
// operators on each device between which tensors are copied and added among devices.
func Random(seed uint64, devices int) (*graph.Program, error) {
	r := rand.New(rand.NewPCG(seed, 140))
	if r.IntN(3) == 0 {
		return training(r, devices)
	}
	return layers(r, devices)
}

// types are the element types of random programs.
var types = []dtype.Type{dtype.F32, dtype.F32, dtype.F64, dtype.F16}

// device is what a random program has on one device.
type device struct {
	graph   *graph.Graph
	tensors []graph.Tensor // of which operators may take the last ones
	layer   map[*graph.Node]int
}

// grow applies one to three operators, whose nodes belong to a layer.
func (d *device) grow(r *rand.Rand, layer int) {
	before := len(d.graph.Nodes())
	for range 1 + r.IntN(3) {
		x := d.tensors[len(d.tensors)-1-r.IntN(min(len(d.tensors), 3))]
		switch r.IntN(3) {
		case 0:
			x = linear.Apply(d.graph, linear.Defaults(x.Shape()[1]), x)
		case 1:
			x = elementunary.Apply(d.graph, elementunary.Defaults([]elementunary.OpType{elementunary.OpTypeTanh, elementunary.OpTypeSigmoid}[r.IntN(2)]), x)
		default:
			y := d.tensors[r.IntN(len(d.tensors))]
			x = elementbinary.Apply(d.graph, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x), elementbinary.RhsInput(y))
		}
		d.tensors = append(d.tensors, x)
	}
	for _, n := range d.graph.Nodes()[before:] {
		d.layer[n] = layer
	}
}

// layers returns a program of layers of operators on each device. After each layer, tensors are copied
// between devices, and some are added.
func layers(r *rand.Rand, devices int) (*graph.Program, error) {
	typ := types[r.IntN(len(types))]
	rows, columns := rows, columns
	switch r.IntN(8) {
	case 0:
		rows, columns = wide/2, wide
	case 1:
		rows = 0
	}
	var on []*device
	for i := range devices {
		d := &device{graph: graph.OnDevice(1, i), layer: map[*graph.Node]int{}}
		d.tensors = []graph.Tensor{d.graph.Input("x", typ, rows, columns)}
		on = append(on, d)
	}
	moves := make([][]graph.Step, 1+r.IntN(4)) // per layer
	copies := map[graph.Tensor]bool{}
	for layer := range moves {
		for _, d := range on {
			d.grow(r, layer)
		}
		last := func(i int) graph.Tensor { return on[i].tensors[len(on[i].tensors)-1] }
		for range r.IntN(2 * devices) {
			from, to := r.IntN(devices), r.IntN(devices)
			c := on[to].graph.Input(fmt.Sprint("copy", len(copies)), typ, rows, columns)
			copies[c] = true
			moves[layer] = append(moves[layer], graph.Step{Phase: graph.Forward, Copy: &graph.Copy{To: c, From: last(from)}})
			on[to].tensors = append(on[to].tensors, c)
		}
		if r.IntN(2) == 0 {
			var sum []graph.Tensor
			for _, i := range r.Perm(devices)[:1+r.IntN(devices)] {
				sum = append(sum, last(i))
			}
			moves[layer] = append(moves[layer], graph.Step{Phase: graph.Forward, AllReduce: &graph.AllReduce{Tensors: sum}})
		}
	}
	p := &graph.Program{Name: "layers"}
	steps := make([][]graph.Step, len(moves))
	for _, d := range on {
		whole, err := graph.Whole(d.graph, d.tensors[len(d.tensors)-1])
		if err != nil {
			return nil, err
		}
		for _, s := range whole.Steps {
			layer := d.layer[s.Invocation.Node]
			steps[layer] = append(steps[layer], s)
		}
		p.Fed = append(p.Fed, slices.DeleteFunc(whole.Fed, func(t graph.Tensor) bool { return copies[t] })...)
		p.Fetched, p.Variables = append(p.Fetched, whole.Fetched...), append(p.Variables, whole.Variables...)
	}
	for layer := range moves {
		p.Steps = append(append(p.Steps, steps[layer]...), moves[layer]...)
	}
	return p, nil
}

// training returns a training step of replicas of a network, which have unequal parts of the batch.
func training(r *rand.Rand, devices int) (*graph.Program, error) {
	typ := types[r.IntN(2)]
	columns := []int{columns, columns, wide}[r.IntN(3)]
	depth, seed := 1+r.IntN(3), r.Uint64()
	var replicas []graph.Replica
	for i := range devices {
		n := 1 + r.IntN(3)
		d := &device{graph: graph.OnDevice(seed, i), layer: map[*graph.Node]int{}}
		d.tensors = []graph.Tensor{d.graph.Input("x", typ, n, columns)}
		alike := rand.New(rand.NewPCG(seed, 1)) // all replicas have the same nodes
		for layer := range depth {
			d.grow(alike, layer)
		}
		mean := meansquarederror.Defaults()
		mean.Reduction = meansquarederror.ReductionMean
		y := linear.Apply(d.graph, linear.Defaults(2), d.tensors[len(d.tensors)-1])
		loss := meansquarederror.Apply(d.graph, mean, meansquarederror.Logit(y), meansquarederror.Label(d.graph.Input("label", typ, n, 2)))
		share := float64(n) / float64(3*devices)
		replicas = append(replicas, graph.Replica{Loss: loss, Share: graph.Share{Loss: share, Aux: share}})
	}
	return graph.DataParallel(replicas, adam.Optimizer(adam.Defaults()))
}

// Chain returns a training step of replicas of a network of equal layers with some features.
func Chain(depth, columns, devices int) (*graph.Program, error) {
	var replicas []graph.Replica
	for i := range devices {
		g := graph.OnDevice(1, i)
		x := g.Input("x", dtype.F32, rows, columns)
		for range depth {
			x = linear.Apply(g, linear.Defaults(columns), x)
		}
		loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(x), meansquarederror.Label(g.Input("label", dtype.F32, rows, columns)))
		share := 1 / float64(devices)
		replicas = append(replicas, graph.Replica{Loss: loss, Share: graph.Share{Loss: share, Aux: share}})
	}
	return graph.DataParallel(replicas, adam.Optimizer(adam.Defaults()))
}

// Steps is how many steps Trail takes.
const Steps = 3

// Inputs returns values for the inputs of a program in a step.
func Inputs(p *graph.Program, step int) (values []opgen.Value) {
	for i, t := range p.Fed {
		elements := make([]float64, t.Elements())
		for k := range elements {
			elements[k] = float64((i*5+k*7+step*3)%13)/13 - 0.5
		}
		if t.Type() == dtype.F64 {
			values = append(values, opgen.With(t, elements))
			continue
		}
		small := make([]float32, len(elements))
		for k, v := range elements {
			small[k] = float32(v)
		}
		values = append(values, opgen.With(t, small))
	}
	return values
}

// elements returns what a program has in a tensor, as text that tells all bits.
func elements(p *opgen.Program, t graph.Tensor) (string, error) {
	if t.Type() == dtype.F64 {
		v, err := opgen.Fetch[float64](p, t)
		return fmt.Sprintf("%s %x", t.Name(), v), err
	}
	v, err := opgen.Fetch[float32](p, t)
	return fmt.Sprintf("%s %x", t.Name(), v), err
}

// Trail runs a program some steps, and returns its results of each step, and at the end the variables. A
// variable on another rank than this one, which here does not have, is none, and must be an error to fetch.
func Trail(s *opgen.Session, prog *graph.Program, here func(device int) bool) (results, variables []string, err error) {
	ctx := context.Background()
	p, err := s.Load(ctx, prog)
	if err != nil {
		return nil, nil, err
	}
	for step := range Steps {
		if err := p.Run(ctx, Inputs(prog, step)...); err != nil {
			return nil, nil, err
		}
		for _, t := range prog.Fetched {
			text, err := elements(p, t)
			if err != nil {
				return nil, nil, err
			}
			results = append(results, text)
		}
	}
	for _, v := range prog.Variables {
		text, err := elements(p, v)
		if !here(v.Device()) {
			if err == nil || !strings.Contains(err.Error(), "want a tensor of rank") {
				return nil, nil, fmt.Errorf("variable %v of another rank: %v", v, err)
			}
			text, err = "", nil
		}
		if err != nil {
			return nil, nil, err
		}
		variables = append(variables, text)
	}
	return results, variables, nil
}

// Compare runs the random program of a seed on this rank of several, and by itself, and returns an error
// unless both have the same bits.
func Compare(seed uint64, devices int, t ranks.Transport, opts ...opgen.Option) error {
	prog, err := Random(seed, devices)
	if err != nil {
		return err
	}
	opts = append(opts, opgen.Devices(devices))
	run := func(here func(device int) bool, opts ...opgen.Option) (results, variables []string, err error) {
		err = opgen.Do(catalogue.Register, func(s *opgen.Session) (err error) {
			results, variables, err = Trail(s, prog, here)
			return err
		}, opts...)
		return results, variables, err
	}
	rank, n := t.Rank(), t.Ranks()
	got, values, err := run(func(device int) bool { return device*n/devices == rank }, append(slices.Clone(opts), opgen.Ranks(t))...)
	if err != nil {
		return err
	}
	want, all, err := run(func(int) bool { return true }, opts...)
	if err != nil {
		return err
	}
	for i, text := range all {
		if values[i] != "" && values[i] != text {
			return fmt.Errorf("rank %d of %d has the variable %s, want %s", rank, n, values[i], text)
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("rank %d of %d has\n%s\nwant\n%s", rank, n, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return nil
}
