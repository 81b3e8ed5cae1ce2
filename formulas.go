package opgen

import (
	"errors"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// Formulas returns a function for [Open], [Do] and [Register] that registers the given operators, and the
// initializers of their weights, in place of a whole catalogue. Their kernels are their formulas, for CPUs
// and for NVIDIA GPUs. An operator without a formula is an error. What is registered before stays as it is.
//
// A program then has no code of other operators, so it is smaller and is compiled in less time. Kernels by
// hand, which a catalogue registers for some operators, compute the same but may be faster.
func Formulas(operators ...*graph.Operator) func(*task.Registry) error {
	return func(r *task.Registry) error {
		seen := map[*graph.Operator]bool{}
		var list []*task.Operator
		var add func(o *graph.Operator) error
		add = func(o *graph.Operator) error {
			if o == nil {
				return errors.New("opgen: want an operator with a formula, got nil")
			}
			if seen[o] {
				return nil
			}
			seen[o] = true
			if len(o.Signatures) > 0 && r.Task(o.Signatures[0].ID) == nil {
				list = append(list, &o.Operator)
			}
			for i := range o.Slots { // in order, unlike the map
				if init := o.Initializers[i]; init != nil {
					if err := add(init); err != nil {
						return err
					}
				}
			}
			return nil
		}
		for _, o := range operators {
			if err := add(o); err != nil {
				return err
			}
		}
		return formula.RegisterAll(r, list...)
	}
}
