package engine

import (
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// checkConstraints checks the tensors of a call against the constraints of its task and those that were added
// to it, and returns what these demand from tiles. A tensor that lies in the memory of another is still one
// of its own.
func (in *Instance) checkConstraints(c *plan.Call, sig *task.Signature, res *task.Resolution, passed *task.Passed) (*partition.Limits, error) {
	if len(sig.Constraints.List) == 0 && len(c.Added) == 0 {
		return nil, nil
	}
	stores := make([][]*partition.Store, len(sig.Params))
	type tensor struct {
		root  region.Root
		group partition.Group
	}
	known := map[tensor]*partition.Store{}
	for i, bound := range c.Params {
		if sig.Params[i].Perm == perm.Scratch {
			continue
		}
		for k, b := range bound {
			if b.Root == plan.NoRoot {
				continue
			}
			group, _ := task.GroupOf(sig.Params[i].Perm)
			s := known[tensor{b.Root, group}]
			if s == nil || b.Shape != nil {
				s = task.Store(in.plan.Roots[b.Root].Name, res.Operands(sig.Params[i].Slot)[k])
				known[tensor{b.Root, group}] = s
			}
			stores[i] = append(stores[i], s)
		}
	}
	return in.loading.limits(sig, res, stores, passed, c.Added)
}
