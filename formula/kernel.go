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

// Register registers kernels that are compiled from the formulas of operators: vectorized loops, for all
// element types that the target stores. An operator without a formula is an error.
func Register(r *task.Registry, target op.Target, operators ...*task.Operator) error {
	return register(r, target, operators, func(s *task.Signature) binder { return loopKernel{s, &compiledUses} })
}

// RegisterReference registers the float64 interpreter in place of compiled loops. It is slow, and the oracle
// of tests.
func RegisterReference(r *task.Registry, target op.Target, operators ...*task.Operator) error {
	return register(r, target, operators, func(s *task.Signature) binder { return kernel{s} })
}

// hasByHand reports whether a hand-written CUDA kernel is registered for the types of variant v. Such a
// kernel has priority over the formula.
func hasByHand(r *task.Registry, s *task.Signature, v task.Variant) bool {
	if v.Target != gpu.CUDA || r == nil {
		return false
	}
	t := r.Task(s.ID)
	return t != nil && slices.ContainsFunc(t.Variants, func(o task.Variant) bool {
		return o.Target == v.Target && slices.Equal(o.Types, v.Types)
	})
}

// binder binds a kernel to the tensors of a task. It returns one body for each step of the task.
type binder interface {
	bind(a *task.Accessor) ([]op.Body, error)
}

func register(r *task.Registry, target op.Target, operators []*task.Operator, of func(*task.Signature) binder) error {
	return registerFor(r, target, operators, hosts, func(s *task.Signature) binder { return folded(s, of(s)) })
}

// registerFor registers kernels for the element types that function types selects among those of each dtype
// variable.
func registerFor(r *task.Registry, target op.Target, operators []*task.Operator, types func([]dtype.Type) []dtype.Type, of func(*task.Signature) binder) error {
	errs := []error{r.RegisterCompiler(target, func(s *task.Signature) ([]task.Variant, error) { return variantsOf(target, s, types, of(s)) })}
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

// variantsOf returns one variant of a task for each supported combination of element types.
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

// hosts maps storage types to the types in which host kernels compute, without duplicates.
func hosts(types []dtype.Type) []dtype.Type {
	var out []dtype.Type
	for _, t := range types {
		if h := t.Host(); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// stateless is an init or cleanup task. Formulas have no state, so init stores an empty one.
type stateless struct{ signature *task.Signature }

func (k stateless) bind(a *task.Accessor) ([]op.Body, error) {
	if k.signature.Kind == task.KindInit {
		for _, slot := range k.signature.Returns {
			a.State(slot).Put(struct{}{})
		}
	}
	return []op.Body{nothing{}}, nil
}

// nothing is the body of a step without work, since an earlier step does all of it.
type nothing struct{}

func (nothing) Run(*op.Ctx, op.Range) error { return nil }

// Contained returns true.
func (nothing) Contained() bool { return true }
