package local

import (
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

func (in *Instance) root(name string) (region.Root, *plan.Root, error) {
	r, ok := in.roots[name]
	if !ok {
		return 0, nil, fmt.Errorf("local: plan %s has no tensor %s", in.plan.Name, name)
	}
	return r, &in.plan.Roots[r], nil
}

// Feed writes a fed tensor or a variable.
func Feed[T dtype.Element](in *Instance, name string, data []T) error {
	in.engine.mu.Lock()
	defer in.engine.mu.Unlock()
	r, root, err := in.root(name)
	if err != nil {
		return err
	}
	if root.Use != plan.Fed && root.Use != plan.Variable {
		return fmt.Errorf("local: plan %s: want an input or a variable to feed, got %s, which the plan computes", in.plan.Name, name)
	}
	to, err := view[T](in, r)
	if err != nil {
		return err
	}
	if len(data) != len(to) {
		return fmt.Errorf("local: tensor %s: want %d elements, got %d", name, len(to), len(data))
	}
	copy(to, data)
	in.fed[r] = true
	if v := in.vars[r]; v != nil {
		v.set = true
	}
	return nil
}

// Fetch returns a copy of a fetched tensor or of a variable.
func Fetch[T dtype.Element](in *Instance, name string) ([]T, error) {
	in.engine.mu.Lock()
	defer in.engine.mu.Unlock()
	r, root, err := in.root(name)
	if err != nil {
		return nil, err
	}
	if root.Use != plan.Variable && root.Last < len(in.plan.Tasks) {
		return nil, fmt.Errorf("local: plan %s: want a fetched tensor or a variable, got %s, whose memory is reused", in.plan.Name, name)
	}
	from, err := view[T](in, r)
	if err != nil {
		return nil, err
	}
	return append([]T{}, from...), nil
}

func view[T dtype.Element](in *Instance, r region.Root) ([]T, error) {
	root := &in.plan.Roots[r]
	if want := dtype.Of[T](); root.Type != want {
		return nil, fmt.Errorf("local: tensor %s holds %v, not %v", root.Name, root.Type, want)
	}
	if in.data == nil {
		return nil, fmt.Errorf("local: the instance is closed")
	}
	return slice[T](in.data[r]), nil
}

// Variable returns a copy of an engine's variable and its shape.
func Variable[T dtype.Element](e *Engine, name string) ([]T, []int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.variables[name]
	if v == nil {
		return nil, nil, fmt.Errorf("local: no variable %s", name)
	}
	if want := dtype.Of[T](); v.operand.Type != want {
		return nil, nil, fmt.Errorf("local: variable %s holds %v, not %v", name, v.operand.Type, want)
	}
	return append([]T{}, slice[T](v.bytes)...), append([]int{}, v.operand.Shape...), nil
}

// Written reports whether the engine has a variable of this name that was given values.
func (e *Engine) Written(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.variables[name]
	return v != nil && v.set
}
