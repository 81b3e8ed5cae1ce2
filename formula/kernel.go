package formula

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Register registers the tasks of operators with kernels that compute their formulas, for all element types
// that the target stores: loops over strips of elements, in the operator's types. An operator without a
// formula is an error.
func Register(r *task.Registry, target op.Target, operators ...*task.Operator) error {
	return register(r, target, operators, func(s *task.Signature) binder { return loopKernel{s, &uses{}} })
}

// RegisterReference does so with kernels that compute element by element, in float64. They are slow, and what
// other kernels are compared with.
func RegisterReference(r *task.Registry, target op.Target, operators ...*task.Operator) error {
	return register(r, target, operators, func(s *task.Signature) binder { return kernel{s} })
}

// hasByHand reports whether a task has device code by hand for the element types of a variant. It wins over
// that of formulas.
func hasByHand(r *task.Registry, s *task.Signature, v task.Variant) bool {
	if v.Target != gpu.CUDA || r == nil {
		return false
	}
	t := r.Task(s.ID)
	return t != nil && slices.ContainsFunc(t.Variants, func(o task.Variant) bool {
		return o.Target == v.Target && slices.Equal(o.Types, v.Types)
	})
}

// binder is a kernel of a task.
type binder interface {
	bind(a *task.Accessor) ([]op.Body, error)
}

func register(r *task.Registry, target op.Target, operators []*task.Operator, of func(*task.Signature) binder) error {
	return registerFor(r, target, operators, hosts, func(s *task.Signature) binder { return folded(s, of(s)) })
}

// registerFor registers tasks for the element types that types chooses of those of a variable.
func registerFor(r *task.Registry, target op.Target, operators []*task.Operator, types func([]dtype.Type) []dtype.Type, of func(*task.Signature) binder) error {
	var errs []error
	for _, o := range operators {
		for _, s := range o.Signatures {
			variants, err := variantsOf(target, s, types, of(s))
			variants = slices.DeleteFunc(variants, func(v task.Variant) bool { return hasByHand(r, s, v) })
			if err == nil {
				err = r.RegisterTask(s.ID, o.FullName()+" "+s.Task, s, variants...)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// variantsOf returns a task's variants for all choices of element types.
func variantsOf(target op.Target, s *task.Signature, typesOf func([]dtype.Type) []dtype.Type, k binder) ([]task.Variant, error) {
	o := s.Operator
	if len(o.Formula) == 0 {
		return nil, mistake(o.FullName(), "want one, got none")
	}
	switch s.Kind {
	case task.KindForward, task.KindUpdate, task.KindBackward:
	case task.KindInit, task.KindCleanup:
		k = stateless{s}
	default:
		return nil, mistake(o.FullName(), fmt.Sprintf("a formula does not compute the task %s", s.Task))
	}
	choices := [][]dtype.Type{nil}
	for _, v := range o.Types {
		var longer [][]dtype.Type
		for _, c := range choices {
			for _, t := range typesOf(v.Types) {
				longer = append(longer, append(slices.Clip(c), t))
			}
		}
		choices = longer
	}
	var out []task.Variant
	for _, types := range choices {
		if s.Supports(types) {
			out = append(out, task.Variant{Target: target, Types: types, Kernel: k, Bind: k.bind})
		}
	}
	return out, nil
}

// hosts lists the types in which kernels compute, without repetitions.
func hosts(types []dtype.Type) []dtype.Type {
	var out []dtype.Type
	for _, t := range types {
		if h := t.Host(); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// stateless is an init or a cleanup task. Formulas need no state, so it makes one that holds nothing.
type stateless struct{ signature *task.Signature }

func (k stateless) bind(a *task.Accessor) ([]op.Body, error) {
	if k.signature.Kind == task.KindInit {
		for _, slot := range k.signature.Returns {
			a.State(slot).Put(struct{}{})
		}
	}
	return []op.Body{nothing{}}, nil
}

// nothing is a step whose work an earlier one does.
type nothing struct{}

func (nothing) Run(*op.Ctx, op.Range) error { return nil }

// Contained returns true.
func (nothing) Contained() bool { return true }
