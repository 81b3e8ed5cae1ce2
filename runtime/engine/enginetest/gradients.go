package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// testGradients applies every operator that has a gradient as the examples of its spec say, in float64. It
// compares the derivative along a random direction with a difference quotient.
func (s *suite) testGradients(t *testing.T) {
	t.Parallel()
	r := s.catalogue(t)
	for _, o := range catalogue.Operators() {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			s.differentiate(t, s.engine(t, r, 2, engine.Config{}), r, o) // an engine loads one plan at a time
		})
	}
}

// differentiate compares gradients of an operator. At least one example must have a gradient in float64.
func (s *suite) differentiate(t *testing.T, e *engine.Engine, r *task.Registry, o *graph.Operator) {
	compared := o.Signature(task.KindBackward) == nil
	for i := range o.Examples {
		for _, v := range r.Task(o.Signatures[0].ID).Variants {
			if v.Target != s.target.Name || slices.ContainsFunc(v.Types, imprecise) {
				continue
			}
			x, err := newSample(fmt.Sprint(o.Name, i, v.Types), o, &o.Examples[i], v.Types)
			if err != nil || o.Signature(task.KindBackward) == nil || len(x.wrt) == 0 || len(x.seeds) == 0 || testing.Short() && compared {
				continue // an attribute asks for another type, or there is nothing to differentiate, or one example suffices
			}
			compared = true
			err = x.compare(e)
			if errors.Is(err, errNoNumber) { // a function that is defined from 1 on, such as acosh
				x.move(1)
				err = x.compare(e)
			}
			if err != nil {
				t.Errorf("example %d, (%s): %v", i, dtype.Format(v.Types), err)
			}
		}
	}
	if !compared {
		t.Error("no example has a gradient in float64")
	}
}

// imprecise reports whether a type is one of floating-point numbers that is too short for difference
// quotients.
func imprecise(t dtype.Type) bool { return t.IsFloat() && t != dtype.F64 }

// sample is an operator in a graph of its own, with values for what is fed.
type sample struct {
	g      *graph.Graph
	node   *graph.Node
	seeds  map[graph.Tensor]graph.Tensor // of floating-point outputs
	wrt    []graph.Tensor                // what has gradients
	values map[graph.Tensor][]float64
	rng    *rand.Rand
}

// newSample applies an operator to make a node of this name. It fails if the example does not suit the types.
func newSample(name string, o *graph.Operator, example *task.Example, types []dtype.Type) (*sample, error) {
	attrs, err := o.DecodeAttrs([]byte(example.Attrs))
	if err != nil {
		return nil, err
	}
	x := &sample{g: graph.New(1), seeds: map[graph.Tensor]graph.Tensor{}, values: map[graph.Tensor][]float64{}, rng: rand.New(rand.NewPCG(3, 5))}
	in := graph.Insert[int](x.g, 0, o, attrs, graph.Named(name))
	for i := range o.Slots {
		slot := &o.Slots[i]
		if n, ok := example.Counts[slot.Name]; ok {
			in.Ask(i, n)
		}
		typ, err := dtype.Parse(slot.Type)
		if k := slices.IndexFunc(o.Types, func(v task.TypeVar) bool { return v.Name == slot.Type }); err != nil && k >= 0 {
			typ = types[k]
		}
		if slot.Role != task.RoleInput && !slot.Provided {
			continue
		}
		dims, ok := example.Shapes[slot.Name]
		for k := 0; ok || k == 0; k++ {
			if ok {
				in.Bind(i, x.g.Input(fmt.Sprintf("%s.%d", slot.Name, k), typ, dims...))
			}
			dims, ok = example.Shapes[fmt.Sprintf("%s.%d", slot.Name, k)]
		}
	}
	passed, err := example.Passed(&o.Operator)
	if err != nil {
		return nil, err
	}
	for slot, values := range passed {
		in.BindArg(slot, values...)
	}
	x.node = in.Node()
	if err := x.g.Err(); err != nil {
		return nil, err
	}
	if !slices.Equal(x.node.Resolved.Types, types) {
		return nil, fmt.Errorf("want the types %s, got %s", dtype.Format(types), dtype.Format(x.node.Resolved.Types))
	}
	for i := range o.Slots {
		slot := &o.Slots[i]
		for _, y := range x.node.Tensors(i) {
			switch {
			case slot.Role == task.RoleInput || slot.Role == task.RoleWeight && slot.Trainable:
				x.draw(y, i)
			case slot.Role == task.RoleOutput && y.Type().IsFloat():
				x.seeds[y] = x.g.Input("seed of "+y.Name(), y.Type(), y.Shape()...)
				x.draw(x.seeds[y], i)
			}
			if slot.Trainable && y.Type().IsFloat() {
				x.wrt = append(x.wrt, y)
			}
		}
	}
	return x, nil
}

// draw draws values for a tensor of a slot. Floating-point numbers lie between 0.1 and 0.9.
func (x *sample) draw(y graph.Tensor, slot int) {
	v := make([]float64, shape.Prod(y.Shape()))
	bound, bounded := x.node.Resolved.Bound(slot)
	for i := range v {
		switch {
		case y.Type().IsFloat():
			v[i] = 0.1 + 0.8*x.rng.Float64()
		case y.Type() == dtype.Bool:
			v[i] = float64(x.rng.IntN(2))
		case bounded:
			v[i] = float64(bound.Draw(x.rng.IntN))
		default:
			v[i] = float64(1 + x.rng.IntN(4)) // a divisor, or an exponent
		}
	}
	x.values[y] = v
}

// errNoNumber is the error of a sample of which the derivative and the difference quotient are NaN.
var errNoNumber = errors.New("the derivative and a difference quotient are NaN")

// move adds a number to all elements with a gradient.
func (x *sample) move(by float64) {
	for _, w := range x.wrt {
		for i := range x.values[w] {
			x.values[w][i] += by
		}
	}
}

// compare compares the derivative of the sum of the outputs, weighted by the seeds, with a difference
// quotient.
func (x *sample) compare(e *engine.Engine) error {
	var outputs []graph.Tensor
	for y := range x.seeds {
		outputs = append(outputs, y)
	}
	backward, grads, err := graph.Gradients(x.g, x.seeds, x.wrt)
	if err != nil {
		return err
	}
	forward, err := graph.Whole(x.g, outputs...)
	if err != nil {
		return err
	}
	computed, err := x.run(e, backward)
	if err != nil {
		return err
	}
	const step = 1e-5
	direction := map[graph.Tensor][]float64{}
	var slope, scale float64 // along the direction, and of all derivatives
	for _, w := range x.wrt {
		d := make([]float64, len(x.values[w]))
		for i := range d {
			d[i] = float64(2*x.rng.IntN(2) - 1)
			if g, ok := grads[w]; ok { // otherwise zeros
				slope += d[i] * computed[g.Name()][i]
				scale += math.Abs(computed[g.Name()][i])
			}
		}
		direction[w] = d
	}
	sum := func(move float64) (total float64, err error) {
		for w, d := range direction {
			for i := range d {
				x.values[w][i] += move * d[i]
			}
		}
		v, err := x.run(e, forward)
		for _, y := range outputs {
			for i, weight := range x.values[x.seeds[y]] {
				if err == nil {
					total += weight * v[y.Name()][i]
				}
			}
		}
		return total, err
	}
	above, err := sum(step)
	if err != nil {
		return err
	}
	below, err := sum(-2 * step)
	if err != nil {
		return err
	}
	want, rounding := (above-below)/(2*step), 0x1p-50*(math.Abs(above)+math.Abs(below))/step
	if math.IsNaN(slope) && math.IsNaN(want) {
		return errNoNumber
	}
	if d := math.Abs(slope - want); !(d <= 1e-6*scale+1e-8+rounding) {
		return fmt.Errorf("the derivative is %g, a difference quotient %g", slope, want)
	}
	return nil
}

// run runs a program with the values of the sample, as its first step, and returns what it fetches.
func (x *sample) run(e *engine.Engine, p *graph.Program) (map[string][]float64, error) {
	fed := slices.Clone(p.Fed)
	if len(p.Variables) > 0 {
		init, err := graph.Initialization(p)
		if err != nil {
			return nil, err
		}
		if _, err := x.runAs(e, init, nil); err != nil {
			return nil, err
		}
		for _, v := range p.Variables {
			if _, ok := x.values[v]; ok {
				fed = append(fed, v)
			}
		}
	}
	return x.runAs(e, p, fed)
}

func (x *sample) runAs(e *engine.Engine, p *graph.Program, fed []graph.Tensor) (out map[string][]float64, err error) {
	pl, err := planner.Build(p, e.Options()...)
	if err != nil {
		return nil, err
	}
	in, err := e.Load(pl)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	for _, y := range fed {
		size := y.Type().Size()
		data := make([]byte, len(x.values[y])*size)
		for i, v := range x.values[y] {
			y.Type().PutFloat64(data[i*size:], v)
		}
		if err := in.FeedBytes(y.Name(), data); err != nil {
			return nil, err
		}
	}
	if err := in.Run(context.Background()); err != nil {
		return nil, err
	}
	out = map[string][]float64{}
	for _, y := range p.Fetched {
		data, err := in.FetchBytes(y.Name())
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(data); i += y.Type().Size() {
			out[y.Name()] = append(out[y.Name()], y.Type().Float64(data[i:]))
		}
	}
	return out, nil
}
