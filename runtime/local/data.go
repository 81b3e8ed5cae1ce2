package local

import (
	"errors"
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

// Feed writes a fed tensor or a variable. One of f16 or bf16 is fed with float32, which is rounded.
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
	if in.data == nil {
		return errInstanceClosed
	}
	if err := holds[T]("tensor", name, root.Type); err != nil {
		return err
	}
	if n := elements(root.Type, in.data[r]); len(data) != n {
		return fmt.Errorf("local: tensor %s: want %d elements, got %d", name, n, len(data))
	}
	write(root.Type, in.data[r], data)
	in.fed[r] = true
	if v := in.vars[r]; v != nil {
		v.set = true
	}
	return nil
}

// Fetch returns a copy of a fetched tensor or of a variable; of f16 and bf16, as float32.
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
	if in.data == nil {
		return nil, errInstanceClosed
	}
	if err := holds[T]("tensor", name, root.Type); err != nil {
		return nil, err
	}
	return read[T](root.Type, in.data[r]), nil
}

var errInstanceClosed = errors.New("local: the instance is closed")

// holds checks that a tensor of an element type is fed and fetched as elements of T.
func holds[T dtype.Element](what, name string, typ dtype.Type) error {
	if want := dtype.Of[T](); typ.Compute() != want {
		return fmt.Errorf("local: %s %s holds %v, not %v", what, name, typ, want)
	}
	return nil
}

func elements(typ dtype.Type, memory []byte) int { return len(memory) / typ.Size() }

// write stores elements in the memory of a tensor.
func write[T dtype.Element](typ dtype.Type, memory []byte, data []T) {
	if bits, _, ok := typ.Half(); ok {
		for i, x := range any(data).([]float32) {
			slice[uint16](memory)[i] = bits(x)
		}
		return
	}
	copy(slice[T](memory), data)
}

// read returns a copy of the elements in the memory of a tensor.
func read[T dtype.Element](typ dtype.Type, memory []byte) []T {
	out := make([]T, elements(typ, memory))
	if _, value, ok := typ.Half(); ok {
		to := any(out).([]float32)
		for i, h := range slice[uint16](memory) {
			to[i] = value(h)
		}
		return out
	}
	copy(out, slice[T](memory))
	return out
}

// Variable returns a copy of an engine's variable and its shape.
func Variable[T dtype.Element](e *Engine, name string) ([]T, []int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.variables[name]
	if v == nil {
		return nil, nil, fmt.Errorf("local: no variable %s", name)
	}
	if err := holds[T]("variable", name, v.operand.Type); err != nil {
		return nil, nil, err
	}
	return read[T](v.operand.Type, v.bytes), append([]int{}, v.operand.Shape...), nil
}

// SetVariable writes an engine's variable, which a loaded plan has. One of f16 or bf16 takes float32, which is
// rounded.
func SetVariable[T dtype.Element](e *Engine, name string, data []T) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.variables[name]
	if v == nil {
		return fmt.Errorf("local: no variable %s", name)
	}
	if err := holds[T]("variable", name, v.operand.Type); err != nil {
		return err
	}
	if n := elements(v.operand.Type, v.bytes); len(data) != n {
		return fmt.Errorf("local: variable %s: want %d elements, got %d", name, n, len(data))
	}
	write(v.operand.Type, v.bytes, data)
	v.set = true
	return nil
}

// Written reports whether the engine has a variable of this name that was given values.
func (e *Engine) Written(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.variables[name]
	return v != nil && v.set
}
