package conform

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// graph runs a case of several operators: forward and, if the case gives gradients of outputs, backward. All
// that the case compares with is computed in one program, so the planner sees operators beside each other.
func (x *execution) graph(ctx context.Context) (map[string]safetensors.Tensor, error) {
	x.g = graph.New(0)
	tensors := map[string]graph.Tensor{}
	var inputs []string
	for _, full := range slices.Sorted(maps.Keys(x.c.Tensors)) {
		if name, ok := strings.CutPrefix(full, "in."); ok {
			t := x.c.Tensors[full]
			tensors[name] = x.input(name, x.runner.storage(t.Type), t)
			inputs = append(inputs, name)
		}
	}
	for i := range x.c.Graph {
		if err := x.insert(&x.c.Graph[i], tensors); err != nil {
			return nil, fmt.Errorf("node %d of the case: %w", i, err)
		}
	}
	want := map[string]graph.Tensor{}
	seeds := map[graph.Tensor]graph.Tensor{}
	for _, full := range slices.Sorted(maps.Keys(x.c.Tensors)) {
		kind, name, _ := strings.Cut(full, ".")
		if kind != "out" && kind != "grad_out" {
			continue
		}
		t, ok := tensors[name]
		if !ok {
			return nil, fmt.Errorf("want a tensor of the case for %s, got none", full)
		}
		if kind == "out" {
			want[full] = t
		} else {
			seeds[t] = x.input("gradient of "+name, t.Type(), x.c.Tensors[full])
		}
	}
	program, err := x.graphProgram(want, seeds, inputs, tensors)
	if err != nil {
		return nil, err
	}
	in, err := x.load(ctx, program)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if err := in.Run(ctx); err != nil {
		return nil, err
	}
	computed := map[string]safetensors.Tensor{}
	for name, t := range want {
		if computed[name], err = fetch(in, t); err != nil {
			return nil, err
		}
	}
	in.worked = true
	return computed, nil
}

// insert adds a node to the graph, and its outputs to tensors.
func (x *execution) insert(n *Node, tensors map[string]graph.Tensor) error {
	op, attrs, err := x.runner.operator(n.Op, n.Attrs)
	if err != nil {
		return err
	}
	slots := func(names map[string][]string, role task.Role, each func(slot int, names []string) error) error {
		for _, slot := range slices.Sorted(maps.Keys(names)) {
			i := op.SlotNamed(slot)
			if i < 0 || op.Slots[i].Role != role {
				return fmt.Errorf("operator %s: want a slot of role %v, got %q", op.FullName(), role, slot)
			}
			if err := each(i, names[slot]); err != nil {
				return err
			}
		}
		return nil
	}
	in := graph.Insert[int](x.g, 0, op, attrs)
	err = slots(n.In, task.RoleInput, func(slot int, names []string) error {
		for _, name := range names {
			t, ok := tensors[name]
			if !ok {
				return fmt.Errorf("operator %s: want a tensor that the case gives, or an output of an earlier node, got %q", op.FullName(), name)
			}
			in.Bind(slot, t)
		}
		return nil
	})
	if err != nil {
		return err
	}
	node := in.Node()
	if err := x.g.Err(); err != nil {
		return unsupported{err}
	}
	return slots(n.Out, task.RoleOutput, func(slot int, names []string) error {
		ts := node.Tensors(slot)
		if len(ts) != len(names) {
			return fmt.Errorf("operator %s: want names for %d tensors, got %d", op.FullName(), len(ts), len(names))
		}
		for k, name := range names {
			tensors[name] = ts[k]
		}
		return nil
	})
}

// graphProgram returns the program that computes what is wanted, and adds to that the gradients of inputs
// that the case compares with. A tensor on which no output depends has a gradient of zeros, which no program
// computes.
func (x *execution) graphProgram(want map[string]graph.Tensor, seeds map[graph.Tensor]graph.Tensor, inputs []string, tensors map[string]graph.Tensor) (*graph.Program, error) {
	var outputs []graph.Tensor
	for _, name := range slices.Sorted(maps.Keys(want)) {
		outputs = append(outputs, want[name])
	}
	if len(seeds) == 0 {
		return graph.Inference(x.g, outputs...)
	}
	var wrt []graph.Tensor
	for _, name := range inputs {
		if _, ok := x.c.Tensors["grad_in."+name]; ok {
			wrt = append(wrt, tensors[name])
		}
	}
	p, grads, err := graph.Gradients(x.g, seeds, wrt, outputs...)
	if err != nil {
		return nil, err
	}
	for _, name := range inputs {
		if g, ok := grads[tensors[name]]; ok {
			want["grad_in."+name] = g
		}
	}
	return p, nil
}
