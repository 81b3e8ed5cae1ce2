// Package opimpl is for generated code only: operators' packages register their tasks, work out shapes and
// bind views with it. It may change with every release, together with what opgen generates.
package opimpl

import (
	"errors"
	"reflect"
	"strings"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// The generations of generated code that this package supports. Generated code is of one generation, g, and
// contains
//
//	const _ = opimpl.EnforceVersion(g-opimpl.MinVersion) + opimpl.EnforceVersion(opimpl.MaxVersion-g)
//
// of which one term is negative, and does not compile, if the generation is not supported.
const (
	MinVersion = 4
	MaxVersion = 4
)

// EnforceVersion is a type whose constants are not negative.
type EnforceVersion uint

// New completes an operator: its signatures refer to it, and a task that lists no steps has one.
func New(o graph.Operator) *graph.Operator {
	for _, s := range o.Signatures {
		s.Operator = &o.Operator
		if len(s.Steps) == 0 {
			s.Steps = make([]task.Step, 1)
		}
	}
	return &o
}

// SlotName returns the name of a slot in the spec.
func SlotName[S ~int](o *graph.Operator, slot S) string { return o.SlotName(int(slot)) }

// DecodeAttrs returns a function that reads attributes of an operator from a JSON object on top of the
// defaults and validates them. The object must have the required ones.
func DecodeAttrs[A task.Attrs](operator string, defaults A, required ...string) func([]byte) (task.Attrs, error) {
	return func(data []byte) (task.Attrs, error) {
		a := defaults
		if err := attr.Decode(operator, data, &a, required...); err != nil {
			return nil, err
		}
		return a, task.Validate(a)
	}
}

// BindFunc binds a task to memory. It returns one body for each of the task's steps.
type BindFunc = func(*task.Accessor) ([]op.Body, error)

// Bind returns the function with which an engine binds a task whose tensors and arguments code by hand asks
// for. Generated code binds tasks with Steps.
func Bind[K any, S ~int](kernel K, bind func(K, *Binder[S]) []op.Body) BindFunc {
	return func(acc *task.Accessor) ([]op.Body, error) {
		b := NewBinder[S](acc)
		return bind(kernel, b), b.Err()
	}
}

// Variant is a kernel for one choice of element types.
type Variant struct {
	Kernel any
	Types  []dtype.Type         // of the operator's dtype variables
	Tasks  map[task.ID]BindFunc // the tasks that the kernel implements
}

// NewVariant returns a kernel for a choice of types of the operator's dtype variables, with the tasks that it
// implements.
func NewVariant(kernel any, types []dtype.Type, tasks ...Binding) Variant {
	v := Variant{kernel, types, map[task.ID]BindFunc{}}
	for _, b := range tasks {
		v.Tasks[b.id] = b.on
	}
	return v
}

// catalogue is the package of the kernels that opgen has, which call nothing else.
var catalogue = strings.TrimSuffix(reflect.TypeFor[Variant]().PkgPath(), "runtime/opimpl") + "kernels"

// ours reports whether a kernel is one of opgen's. One that embeds it is not.
func ours(kernel any) bool {
	t := reflect.TypeOf(kernel)
	return t != nil && t.PkgPath() == catalogue
}

// Register registers the tasks of an operator with the kernels of a target. It fails if a kernel is nil.
func Register(r *task.Registry, o *graph.Operator, target op.Target, variants ...Variant) error {
	var errs []error
	for _, s := range o.Signatures {
		var all []task.Variant
		for _, v := range variants {
			if bind := v.Tasks[s.ID]; bind != nil {
				all = append(all, task.Variant{Target: target, Types: v.Types, Kernel: v.Kernel, Bind: bind, Contained: ours(v.Kernel)})
			}
		}
		errs = append(errs, r.RegisterTask(s.ID, o.FullName()+" "+s.Task, s, all...))
	}
	return errors.Join(errs...)
}
