// Package replicas makes programs for several devices, for tests of what divides plans among ranks.
package replicas

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// rows and columns are the extents of the tensors of random programs.
const rows, columns = 3, 5

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
			x = linear.Apply(d.graph, linear.Defaults(columns), x)
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

// Chain returns a training step of replicas of a network of equal layers.
func Chain(depth, devices int) (*graph.Program, error) {
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
