package task

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
)

// Variant is the implementation of a task for one choice of element types: one type for each dtype
// variable of the operator, in the spec's order.
type Variant struct {
	Types []dtype.Type
	// Kernel is the kernel that the bodies call.
	Kernel any
	// Bind gives the task its arguments and returns one body for each of its steps.
	Bind func(*Accessor) ([]Body, error)
}

// Registered is a task with its implementations.
type Registered struct {
	ID        ID
	Name      string // for people: "linear forward"
	Signature *Signature
	Variants  []Variant
}

// Variant returns the implementation for the given element types, or for those in which kernels compute
// with them.
func (t *Registered) Variant(types []dtype.Type) (Variant, error) {
	types = dtype.ComputeTypes(types)
	for _, v := range t.Variants {
		if slices.Equal(v.Types, types) {
			return v, nil
		}
	}
	var have []string
	for _, v := range t.Variants {
		have = append(have, "("+dtype.Format(v.Types)+")")
	}
	return Variant{}, &Error{Operator: t.Signature.Operator.Name, Task: t.Signature.Task,
		Want: fmt.Sprintf("a kernel for element types (%s)", dtype.Format(types)), Got: fmt.Sprintf("kernels for %v", have)}
}

// Registry holds the tasks that an engine can run. The zero Registry is empty and ready to use. It
// must not be changed while an engine uses it.
type Registry struct {
	tasks     map[ID]*Registered
	operators []*Operator
}

// RegisterTask adds a task: its id, a name for people, its signature and its implementations. It
// fails if the id does not belong to the signature, or is taken by another task.
func (r *Registry) RegisterTask(id ID, name string, sig *Signature, variants ...Variant) error {
	fail := func(want, got string) error {
		return &Error{Operator: sig.Operator.Name, Task: sig.Task, Want: want, Got: got}
	}
	if id != IDOf(sig.Operator.Name, sig.Task) || id != sig.ID {
		return fail(fmt.Sprintf("task id %v", IDOf(sig.Operator.Name, sig.Task)), id.String())
	}
	if other, ok := r.tasks[id]; ok {
		if other.Signature.Name() == sig.Name() {
			return fail("a task that is not registered yet", "one that is")
		}
		return fail("a task id of its own", fmt.Sprintf("the id %v of %s", id, other.Signature.Name()))
	}
	for i, v := range variants {
		if v.Kernel == nil {
			return fail("a kernel for element types ("+dtype.Format(v.Types)+")", "nil")
		}
		if len(v.Types) != len(sig.Operator.Types) {
			return fail(fmt.Sprintf("%d element types for each variant", len(sig.Operator.Types)), fmt.Sprint(len(v.Types)))
		}
		for j, t := range v.Types {
			if tv := sig.Operator.Types[j]; !dtype.Contains(dtype.ComputeTypes(tv.Types), t) {
				return fail(fmt.Sprintf("%s in %s", tv.Name, dtype.Format(tv.Types)), t.String())
			}
		}
		if !sig.Supports(v.Types) {
			return fail("floating-point element types", dtype.Format(v.Types))
		}
		if slices.ContainsFunc(variants[:i], func(w Variant) bool { return slices.Equal(w.Types, v.Types) }) {
			return fail("one variant for each choice of element types", "two for ("+dtype.Format(v.Types)+")")
		}
	}
	if r.tasks == nil {
		r.tasks = map[ID]*Registered{}
	}
	r.tasks[id] = &Registered{ID: id, Name: name, Signature: sig, Variants: variants}
	if !slices.Contains(r.operators, sig.Operator) {
		r.operators = append(r.operators, sig.Operator)
	}
	return nil
}

// Task returns the task of an id, or nil.
func (r *Registry) Task(id ID) *Registered { return r.tasks[id] }

// Operators returns the operators of the registered tasks, in order of registration.
func (r *Registry) Operators() []*Operator { return slices.Clone(r.operators) }

// Operator returns the registered operator of a name, or nil.
func (r *Registry) Operator(name string) *Operator {
	for _, op := range r.operators {
		if op.Name == name {
			return op
		}
	}
	return nil
}
