// Package single makes programs of one operator, and feeds them, so that the operator is measured.
package single

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/rng"
	"github.com/opgen/opgen/runtime/task"
)

// Program runs one operator by itself.
type Program struct {
	*graph.Program
	Backward bool              // whether it computes gradients
	below    map[string]int    // bounds of integers that are fed, by name
	data     map[string][]byte // what is fed
}

// New returns a program with the operator of a node: its first task and, if backward is true and it has a
// gradient, backward, with all gradients that there can be.
func New(n *graph.Node, backward bool) (*Program, error) {
	x := &Program{below: map[string]int{}, data: map[string][]byte{}}
	g := graph.New(0)
	given := n.Resolved.Given()
	var opts []graph.Option
	for i := range n.Op.Slots {
		if given.Requested[i] > 0 && !n.Op.Slots[i].Asked() {
			opts = append(opts, graph.Request(i))
		}
	}
	in := graph.Insert[int](g, 0, n.Op, n.Attrs, opts...)
	for i := range n.Op.Slots {
		if given.Requested[i] > 0 && n.Op.Slots[i].Asked() {
			in.Ask(i, given.Requested[i])
		}
		if values := n.Passed(i); len(values) > 0 {
			in.BindArg(i, values...)
		}
	}
	var wrt []graph.Tensor
	for i := range n.Op.Slots {
		var list []graph.Tensor
		for k, o := range given.Operands[i] {
			name := n.Op.Slots[i].Name
			if n.Op.Slots[i].Variadic {
				name = fmt.Sprintf("%s.%d", name, k)
			}
			t := g.Input(name, o.Type, o.Shape...)
			if bound, ok := n.Resolved.Bound(i); ok {
				x.below[t.Name()] = bound.Below
			}
			if n.Op.Slots[i].Trainable && o.Type.IsFloat() {
				wrt = append(wrt, t)
			}
			list = append(list, t)
		}
		if list != nil {
			in.Bind(i, graph.Placed(list, given.Places[i])...)
		}
	}
	node := in.Node()
	if err := g.Err(); err != nil {
		return nil, err
	}
	seeds := map[graph.Tensor]graph.Tensor{}
	var outputs []graph.Tensor
	for i := range n.Op.Slots {
		for _, t := range node.Tensors(i) {
			switch {
			case n.Op.Slots[i].Role == task.RoleWeight && n.Op.Slots[i].Trainable:
				wrt = append(wrt, t)
			case n.Op.Slots[i].Role == task.RoleOutput:
				outputs = append(outputs, t)
				if t.Type().IsFloat() {
					seeds[t] = g.Input("gradient of "+t.Name(), t.Type(), t.Shape()...)
				}
			}
		}
	}
	var err error
	if backward && n.Op.Signature(task.KindBackward) != nil && len(seeds) > 0 && len(wrt) > 0 {
		x.Backward = true
		x.Program, _, err = graph.Gradients(g, seeds, wrt, outputs...)
	} else {
		x.Program, err = graph.Whole(g, outputs...)
	}
	return x, err
}

// Feed feeds an input with values that any operator takes: reals between 0.5 and 1.5, and integers
// between 0 and their bound. Integers without a bound are 1, since they may be divisors.
func (x *Program) Feed(in *engine.Instance, t graph.Tensor, stream uint64) error {
	if x.data[t.Name()] == nil {
		typ := t.Type()
		if typ.GoType() == "" {
			return fmt.Errorf("input %s: want an element type that engines store, got %v", t.Name(), typ)
		}
		x.data[t.Name()] = drawn(t.Operand(), float64(x.below[t.Name()]), rng.New(1, stream))
	}
	return in.FeedBytes(t.Name(), x.data[t.Name()])
}

// drawn returns the elements of a tensor. bound is that of integers, or 0.
func drawn(o task.Operand, bound float64, source rng.Source) []byte {
	typ := o.Type
	data := make([]byte, o.Bytes())
	for i := 0; i < len(data)/typ.Size(); i++ {
		v := source.Uniform(uint64(i))
		switch {
		case typ.IsFloat():
			v += 0.5
		case typ == dtype.Bool:
			v = math.Round(v)
		case bound > 0:
			v *= bound
		default:
			v = 1
		}
		typ.PutFloat64(data[i*typ.Size():], v)
	}
	return data
}
