package gpu

import (
	"errors"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// RegisterHost registers the kernels that tasks of operators have for the CPU for the target CUDA, too: the backend then runs
// them on the host. They serve all element types that specs name, since the backend converts what the host does not compute with.
// It is for operators that have neither a formula nor device code.
func RegisterHost(r *task.Registry, operators ...*task.Operator) error {
	var errs []error
	for _, o := range operators {
		for _, s := range o.Signatures {
			t := r.Task(s.ID)
			if t == nil {
				errs = append(errs, &op.Error{Operator: o.Name, Task: s.Task, Want: "a kernel for the target cpu", Got: "none"})
				continue
			}
			var variants []task.Variant
			for _, types := range stored(o) {
				if i := slices.IndexFunc(t.Variants, func(v task.Variant) bool { return v.Target == op.CPU && slices.Equal(v.Types, hosts(types)) }); i >= 0 && s.Supports(types) {
					v := t.Variants[i]
					v.Target, v.Types = CUDA, types
					variants = append(variants, v)
				}
			}
			errs = append(errs, r.RegisterTask(s.ID, t.Name, s, variants...))
		}
	}
	return errors.Join(errs...)
}

// stored returns all choices of the element types of an operator.
func stored(o *task.Operator) [][]dtype.Type {
	choices := [][]dtype.Type{nil}
	for _, v := range o.Types {
		var longer [][]dtype.Type
		for _, c := range choices {
			for _, t := range v.Types {
				longer = append(longer, append(slices.Clip(c), t))
			}
		}
		choices = longer
	}
	return choices
}

// hosts returns the types in which the host computes.
func hosts(types []dtype.Type) []dtype.Type {
	out := make([]dtype.Type, len(types))
	for i, t := range types {
		out[i] = t.Host()
	}
	return out
}
