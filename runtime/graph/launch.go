package graph

import (
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Launch returns the launch of an invocation: its tensors as stores, its constraints, and the arguments of
// the call. A partition.Checker partitions it for a machine.
func (inv *Invocation) Launch() (*partition.Launch, error) {
	return inv.Signature.Launch(inv.Node.Resolved, inv.stores(), inv.Passed, inv.Added)
}

// Limits checks the invocation against the constraints of its task and the added ones. It returns their
// lower bounds on tiles; nil if there are no constraints.
func (inv *Invocation) Limits() (*partition.Limits, error) {
	if len(inv.Signature.Constraints.List) == 0 && len(inv.Added) == 0 {
		return nil, nil
	}
	var limiter *task.Limiter
	if g := inv.Node.graph; g != nil {
		limiter = &g.limiter
	}
	return limiter.Limits(inv.Signature, inv.Node.Resolved, inv.stores(), inv.Passed, inv.Added)
}

// stores returns the tensors of each parameter as stores, without unused gradients.
func (inv *Invocation) stores() [][]*partition.Store {
	out := make([][]*partition.Store, len(inv.Operands))
	known := map[*info]*partition.Store{}
	for i := range inv.Signature.Params {
		if inv.Signature.Params[i].Perm == perm.Scratch {
			continue
		}
		for _, t := range inv.Operands[i] {
			if !t.Valid() {
				continue
			}
			s := known[t.info]
			if s == nil {
				s = task.Store(t.name, t.operand)
				known[t.info] = s
			}
			out[i] = append(out[i], s)
		}
	}
	return out
}

// Constrain adds a constraint on how the tensors of a task of the node are partitioned. Terms name slots or
// groups. Programs that invoke the task return an error if the tensors do not fit, or if the task declares
// its constraints.
func Constrain(kind task.Kind, c partition.Constraint) Option {
	return func(o *options) {
		if o.constraints == nil {
			o.constraints = map[task.Kind][]partition.Constraint{}
		}
		o.constraints[kind] = append(o.constraints[kind], c)
	}
}

// checkConstraints returns an error for a constraint on a task that the operator does not have, or a
// malformed one.
func (in *insertion) checkConstraints() error {
	for _, kind := range sorted(in.opts.constraints) {
		sig := in.op.Signature(kind)
		if sig == nil {
			return &op.Error{Operator: in.op.FullName(), Want: "a constraint on a task of the operator", Got: "one on " + kind.String()}
		}
		for _, c := range in.opts.constraints[kind] {
			if err := sig.CheckAdded(c); err != nil {
				return err
			}
		}
	}
	return nil
}
