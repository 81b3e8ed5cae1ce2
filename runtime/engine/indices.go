package engine

import (
	"fmt"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// indices is a tensor that the caller feeds, and whose elements a task takes as indices within a bound.
type indices struct {
	root  region.Root
	call  int
	slot  string
	bound task.Bound
}

// noteIndices notes the fed tensors that a call takes as indices, if the engine is to test them.
func (in *Instance) noteIndices(number int, c *Call) {
	if !in.engine.config.Indices {
		return
	}
	call := &in.plan.Calls[number]
	for i, p := range c.Signature.Params {
		bound, ok := c.Resolved.Bound(p.Slot)
		if !ok || p.Grad {
			continue
		}
		for _, b := range call.Params[i] {
			if in.plan.Roots[b.Root].Use == plan.Fed {
				in.indices = append(in.indices, indices{b.Root, number, slotName(c.Signature, i), bound})
			}
		}
	}
}

// checkIndices tests the elements of fed tensors that tasks take as indices.
func (in *Instance) checkIndices() error {
	for _, x := range in.indices {
		root := &in.plan.Roots[x.root]
		data, err := read(in.engine.backend, in.data[x.root])
		if err != nil {
			return err
		}
		size := root.Type.Size()
		for i := range shape.Prod(root.Shape) {
			v := int(root.Type.Float64(data[i*size:]))
			if x.bound.Holds(v) {
				continue
			}
			call := &in.plan.Calls[x.call]
			return fmt.Errorf("plan %s, %s: %w", in.plan.Name, call.Node, &op.Error{Operator: call.Operator, Task: call.Task,
				Slot: fmt.Sprintf("%s, element %s", x.slot, shape.Format(shape.Index(i, root.Shape))),
				Want: x.bound.String(), Got: fmt.Sprint(v)})
		}
	}
	return nil
}
