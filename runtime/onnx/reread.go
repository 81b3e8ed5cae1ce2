package onnx

import (
	"fmt"
	"maps"
	"slices"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// reader reads nodes again, in a graph of their own.
type reader struct {
	*builder
	s      *saver
	values map[string]*value
}

func (s *saver) reader() *reader {
	m := &Model{catalogue: s.catalogue, opsets: map[string]int{"": s.opset}}
	r := &reader{s: s, values: map[string]*value{}, builder: newBuilder(newFolder(m), graph.New(0))}
	r.variables = map[string]safetensors.Tensor{}
	return r
}

// value returns the value of a name: a constant, or an input of the reader's graph.
func (r *reader) value(name string) (*value, error) {
	if v := r.values[name]; v != nil || name == "" {
		return v, nil
	}
	known := r.s.tensors[name]
	if known == nil {
		return nil, fmt.Errorf("want a node in front that computes %s", name)
	}
	v := known
	if known.data == nil {
		v = r.bound(r.g.Input(name, known.tensor.Type(), known.tensor.Shape()...))
	} else {
		v = constant(name, *known.data)
	}
	r.values[name] = v
	return v, r.g.Err()
}

// call returns a node with the values of its inputs.
func (r *reader) callOf(n *onnxpb.NodeProto) (*call, error) {
	c := &call{node: n, scope: newScope(nil, r.m.opsets), domain: domain(n.GetDomain()), version: r.s.opset}
	if c.domain != "" {
		c.version = 1
	}
	for _, name := range n.GetInput() {
		v, err := r.value(name)
		if err != nil {
			return nil, err
		}
		c.inputs = append(c.inputs, v)
	}
	return c, nil
}

// verify reads a node again, and returns an error unless it gives the use that it stands for.
func (s *saver) verify(a *applied, e *mapping.Entry, n *onnxpb.NodeProto) error {
	r := s.reader()
	r.entries = true // a definition in front of them computes the same in less time
	defer r.fold.close()
	c, err := r.callOf(n)
	if err != nil {
		return err
	}
	outs, err := r.mapped(c)
	if err != nil {
		return err
	}
	var node *graph.Node
	for i, v := range outs {
		if i < len(n.Output) && n.Output[i] != "" && (v == nil || !v.tensor.Valid() || v.tensor.Node() == nil || node != nil && v.tensor.Node() != node) {
			return fmt.Errorf("it is read as other nodes")
		} else if i < len(n.Output) && n.Output[i] != "" {
			node = v.tensor.Node()
		}
	}
	if node == nil || node.Op != a.op {
		return fmt.Errorf("it is read as another operator")
	}
	attrs, err := valuesOf(node)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if !mapping.Alike(attrs[name], a.attrs[name]) {
			return fmt.Errorf("it has no way to say that %s is %v", name, show(a.attrs[name]))
		}
	}
	for slot := range a.op.Slots {
		got, role := node.Tensors(slot), a.op.Slots[slot].Role
		if role == task.RoleOutput {
			for k, t := range got {
				if k < len(a.slots[slot]) && (t.Type() != a.slots[slot][k].kind || !t.ShapeIs(a.slots[slot][k].shape)) {
					return fmt.Errorf("it gives %v as %s, and not %v%v", t, a.op.Slots[slot].Name, a.slots[slot][k].kind, a.slots[slot][k].shape)
				}
			}
		}
		if role != task.RoleInput && role != task.RoleWeight {
			continue
		}
		if len(got) != len(a.slots[slot]) {
			return fmt.Errorf("it takes %d tensors as %s, and not %d", len(got), a.op.Slots[slot].Name, len(a.slots[slot]))
		}
		for k, t := range got {
			want, err := r.tensorOf(r.values[a.slots[slot][k].name])
			if err != nil {
				return err
			}
			if t != want && t != weightOf(want) {
				return fmt.Errorf("it takes another tensor as %s than %s", a.op.Slots[slot].Name, a.slots[slot][k].name)
			}
		}
	}
	return nil
}

func show(v any) any {
	if v == nil {
		return "absent"
	}
	return v
}
