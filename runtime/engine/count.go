package engine

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// counted is a tensor of which a kernel decides how many rows count. It is planned with the most that there
// can be.
type counted struct {
	call     int
	slot, by string      // the slots of the tensor and of the count
	count    region.Root // holds the count
}

// findCounted notes the tensors of the plan of which kernels decide how many rows count.
func (in *Instance) findCounted() error {
	in.counted = map[region.Root]counted{}
	for c := range in.plan.Calls {
		call := &in.plan.Calls[c]
		t := in.engine.registry.Task(call.ID)
		if t == nil || t.Signature.Kind != task.KindForward {
			continue
		}
		for _, s := range t.Signature.Operator.Slots {
			if s.CountedBy == "" {
				continue
			}
			of, here := boundTo(call, t.Signature, s.Name)
			count, known := boundTo(call, t.Signature, s.CountedBy)
			if !here {
				continue
			}
			if !known || in.plan.Roots[count].Last < len(in.plan.Tasks) {
				return fmt.Errorf("engine: plan %s, %s: want a plan that keeps %s, the number of rows of %s that count", in.plan.Name, call.Node, s.CountedBy, s.Name)
			}
			for _, root := range in.heldBy(of) {
				in.counted[root] = counted{c, s.Name, s.CountedBy, count}
			}
		}
	}
	return nil
}

// heldBy lists the roots that hold what a call writes to a root: that one, and the one of another type to
// which the elements are converted.
func (in *Instance) heldBy(root region.Root) []region.Root {
	out := []region.Root{root}
	for i := range in.plan.Tasks {
		t := &in.plan.Tasks[i]
		if t.Builtin != nil && t.Builtin.Op == "convert" && len(t.Access) == 2 && t.Access[1].Root == root {
			out = append(out, t.Access[0].Root)
		}
	}
	return out
}

// boundTo returns the root of the one tensor of a slot.
func boundTo(call *plan.Call, sig *task.Signature, slot string) (region.Root, bool) {
	p := slices.IndexFunc(sig.Params, func(p task.Param) bool { return !p.Grad && sig.Operator.Slots[p.Slot].Name == slot })
	if p < 0 || len(call.Params[p]) != 1 {
		return 0, false
	}
	return call.Params[p][0].Root, true
}

// checkCounts checks the counts after a run: each lies between 0 and what was planned.
func (in *Instance) checkCounts() error {
	for r, c := range in.counted {
		n, err := in.count(c)
		if err != nil {
			return err
		}
		if bound := in.plan.Roots[r].Shape[0]; n < 0 || n > int64(bound) {
			call := &in.plan.Calls[c.call]
			return fmt.Errorf("plan %s, %s: %w", in.plan.Name, call.Node, &op.Error{Operator: call.Operator, Task: call.Task, Slot: c.by,
				Want: fmt.Sprintf("a number of rows of %s from 0 to %d", c.slot, bound), Got: fmt.Sprint(n)})
		}
	}
	return nil
}

// count reads a count.
func (in *Instance) count(c counted) (int64, error) {
	data, err := read(in.engine.backend, in.data[c.count])
	if err != nil {
		return 0, err
	}
	return int64(binary.NativeEndian.Uint64(data)), nil
}

// Shape returns the shape of the tensor that Fetch returns. It is the tensor's shape unless a kernel decides
// how many rows count.
func (in *Instance) Shape(name string) ([]int, error) {
	if err := in.lock(); err != nil {
		return nil, err
	}
	defer in.engine.mu.Unlock()
	r, root, err := in.root(name)
	if err != nil {
		return nil, err
	}
	if in.data == nil {
		return nil, errInstanceClosed
	}
	if _, ok := in.counted[r]; ok {
		if err := in.holds(r, root); err != nil {
			return nil, err
		}
	}
	return in.shape(r, root)
}

// shape is Shape for a caller that holds the engine's lock.
func (in *Instance) shape(r region.Root, root *plan.Root) ([]int, error) {
	s := slices.Clone(root.Shape)
	if c, ok := in.counted[r]; ok {
		n, err := in.count(c)
		if err != nil {
			return nil, err
		}
		s[0] = min(max(int(n), 0), s[0])
	}
	return s, nil
}
