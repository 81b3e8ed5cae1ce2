package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Variant is the implementation of a task for one target and one choice of element types: one type for
// each dtype variable of the operator, in the spec's order.
type Variant struct {
	Target op.Target
	Types  []dtype.Type
	// Kernel is the kernel that the bodies call.
	Kernel any
	// Bind gives the task its arguments and returns one body for each of its steps.
	Bind func(*Accessor) ([]op.Body, error)
	// Contained says that all bodies call nothing but opgen, as op.Contained says of one.
	Contained bool
}

// Registered is a task with its implementations.
type Registered struct {
	ID        ID
	Name      string // for people: "linear forward"
	Signature *Signature
	Variants  []Variant
}

// Variant returns the implementation for a target and the given element types, in which kernels compute.
func (t *Registered) Variant(target op.Target, types []dtype.Type) (Variant, error) {
	var have []string
	for _, v := range t.Variants {
		if v.Target != target {
			continue
		}
		if slices.Equal(v.Types, types) {
			return v, nil
		}
		have = append(have, "("+dtype.Format(v.Types)+")")
	}
	return Variant{}, &op.Error{Operator: t.Signature.Operator.FullName(), Task: t.Signature.Task,
		Want: fmt.Sprintf("a kernel for target %s and element types (%s)", target, dtype.Format(types)), Got: fmt.Sprintf("kernels for %v", have)}
}

// Registry holds the tasks that an engine can run. The zero Registry is empty and ready to use. It
// must not be changed while an engine uses it.
type Registry struct {
	tasks     map[ID]*Registered
	operators []*Operator
	compilers []compiler
	derived   sync.Map // the tasks of derived operators, by ID: *Registered
}

// compiler makes implementations of tasks for a target, from the formulas of their operators.
type compiler struct {
	target   op.Target
	variants func(*Signature) ([]Variant, error)
}

// RegisterCompiler sets the function that implements tasks of operators without a spec from their formulas:
// those of gradients, and Sum. The first compiler for a target counts.
func (r *Registry) RegisterCompiler(target op.Target, variants func(*Signature) ([]Variant, error)) error {
	if r == nil || target == "" || variants == nil {
		return fmt.Errorf("want a registry, a target and a compiler, got %v, %q and %v", r != nil, target, variants != nil)
	}
	if !slices.ContainsFunc(r.compilers, func(c compiler) bool { return c.target == target }) {
		r.compilers = append(r.compilers, compiler{target, variants})
	}
	return nil
}

// RegisterCompilersOf sets the compilers of another registry, each of whose implementations wrap changes.
func (r *Registry) RegisterCompilersOf(other *Registry, wrap func(Variant) Variant) error {
	var errs []error
	for _, c := range other.compilers {
		errs = append(errs, r.RegisterCompiler(c.target, func(s *Signature) ([]Variant, error) {
			variants, err := c.variants(s)
			for i, v := range variants {
				variants[i] = wrap(v)
			}
			return variants, err
		}))
	}
	return errors.Join(errs...)
}

// Find returns the task of an id of the operator of a full name, or nil. It makes the tasks of operators that
// have no spec: those that compute the gradients of an operator that is registered, and Sum. The error says
// why such a task has no implementation.
func (r *Registry) Find(id ID, operator string) (*Registered, error) {
	if t := r.Task(id); t != nil {
		return t, nil
	}
	o, err := r.derive(operator)
	if o == nil {
		return nil, err
	}
	for _, s := range o.Signatures {
		t := &Registered{ID: s.ID, Name: o.FullName() + " " + s.Task, Signature: s}
		for _, c := range r.compilers {
			variants, err := c.variants(s)
			if err != nil {
				return nil, err
			}
			t.Variants = append(t.Variants, variants...)
		}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		r.derived.LoadOrStore(s.ID, t)
	}
	return r.Task(id), nil
}

// derive returns the operator of a full name that has no spec, or nil.
func (r *Registry) derive(operator string) (*Operator, error) {
	orders := strings.Count(operator, gradientPrefix)
	for _, o := range append([]*Operator{Sum}, r.operators...) {
		named := Operator{Name: strings.Repeat(gradientPrefix, orders) + o.Name, Module: o.Module}
		if named.FullName() != operator || o != Sum && orders == 0 {
			continue
		}
		for range orders {
			var err error
			if o, err = GradientOf(o); err != nil {
				return nil, err
			}
		}
		return o, nil
	}
	return nil, nil
}

// RegisterTask adds a task: its id, a name for people, its signature and its implementations. A task that is
// registered may be registered again with the same name and signature, which adds implementations, such as
// those for another target. RegisterTask fails if the signature contradicts itself, if the id does not belong
// to it or is taken by another task, or if the task is registered under another name.
func (r *Registry) RegisterTask(id ID, name string, sig *Signature, variants ...Variant) error {
	if r == nil || sig == nil {
		return fmt.Errorf("task %s: want a registry and a signature, got nil", name)
	}
	fail := func(want, got string) error {
		return &op.Error{Operator: sig.Operator.FullName(), Task: sig.Task, Want: want, Got: got}
	}
	if id != IDOf(sig.Operator.FullName(), sig.Task) || id != sig.ID {
		return fail(fmt.Sprintf("task id %v", IDOf(sig.Operator.FullName(), sig.Task)), id.String())
	}
	other, again := r.tasks[id]
	if again && other.Signature.Name() != sig.Name() {
		return fail("a task id of its own", fmt.Sprintf("the id %v of %s", id, other.Signature.Name()))
	}
	if err := sig.Validate(); err != nil {
		return err
	}
	if again && other.Signature != sig {
		return fail("the signature under which the task is registered", "another")
	}
	if again && other.Name != name {
		return fail(fmt.Sprintf("the name under which the task is registered, %q", other.Name), fmt.Sprintf("%q", name))
	}
	all := variants
	if again {
		all = append(slices.Clip(other.Variants), variants...)
	}
	for i, v := range variants {
		before := all[:len(all)-len(variants)+i]
		if v.Target == "" {
			return fail("a target for each variant", "none")
		}
		if v.Kernel == nil {
			return fail("a kernel for element types ("+dtype.Format(v.Types)+")", "nil")
		}
		if len(v.Types) != len(sig.Operator.Types) {
			return fail(fmt.Sprintf("%d element types for each variant", len(sig.Operator.Types)), fmt.Sprint(len(v.Types)))
		}
		for j, t := range v.Types {
			if tv := sig.Operator.Types[j]; !slices.ContainsFunc(tv.Types, func(s dtype.Type) bool { return t == s || t == s.Host() }) {
				return fail(fmt.Sprintf("%s in %s", tv.Name, dtype.Format(tv.Types)), t.String())
			}
		}
		if !sig.Supports(v.Types) {
			return fail("floating-point element types", dtype.Format(v.Types))
		}
		if slices.ContainsFunc(before, func(w Variant) bool { return w.Target == v.Target && slices.Equal(w.Types, v.Types) }) {
			return fail("one variant for each target and choice of element types", "two for "+string(v.Target)+" ("+dtype.Format(v.Types)+")")
		}
	}
	if r.tasks == nil {
		r.tasks = map[ID]*Registered{}
	}
	r.tasks[id] = &Registered{ID: id, Name: name, Signature: sig, Variants: all}
	if !slices.Contains(r.operators, sig.Operator) {
		r.operators = append(r.operators, sig.Operator)
	}
	return nil
}

// Task returns the task of an id, or nil. Find also makes tasks of operators that have no spec, which Task
// returns from then on.
func (r *Registry) Task(id ID) *Registered {
	if t := r.tasks[id]; t != nil {
		return t
	}
	if t, ok := r.derived.Load(id); ok {
		return t.(*Registered)
	}
	return nil
}

// Operators returns the operators of the registered tasks, in order of registration.
func (r *Registry) Operators() []*Operator { return slices.Clone(r.operators) }
