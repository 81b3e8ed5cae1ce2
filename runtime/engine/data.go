package engine

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

func (in *Instance) root(name string) (region.Root, *plan.Root, error) {
	r, ok := in.roots[name]
	if !ok {
		return 0, nil, fmt.Errorf("engine: plan %s has no tensor %s", in.plan.Name, name)
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
		return fmt.Errorf("engine: plan %s: want an input or a variable to feed, got %s, which the plan computes", in.plan.Name, name)
	}
	if in.data == nil {
		return errInstanceClosed
	}
	if err := holds[T]("tensor", name, root.Type); err != nil {
		return err
	}
	if n := elements(root.Type, in.data[r]); len(data) != n {
		return fmt.Errorf("engine: tensor %s: want %d elements, got %d", name, n, len(data))
	}
	if err := write(in.engine.backend, root.Type, in.data[r], data); err != nil {
		return fmt.Errorf("engine: tensor %s: %w", name, err)
	}
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
		return nil, fmt.Errorf("engine: plan %s: want a fetched tensor or a variable, got %s, whose memory is reused", in.plan.Name, name)
	}
	if in.data == nil {
		return nil, errInstanceClosed
	}
	if err := holds[T]("tensor", name, root.Type); err != nil {
		return nil, err
	}
	return read[T](in.engine.backend, root.Type, in.data[r])
}

var errInstanceClosed = errors.New("engine: the instance is closed")

// holds checks that a tensor of an element type is fed and fetched as elements of T.
func holds[T dtype.Element](what, name string, typ dtype.Type) error {
	if got := dtype.Of[T](); got != typ.Host() {
		return fmt.Errorf("engine: %s %s holds %v, not %v", what, name, typ, got)
	}
	return nil
}

func elements(typ dtype.Type, r Region) int { return int(r.Size) / typ.Size() }

// bytesOf returns the memory of elements.
func bytesOf[T dtype.Element](data []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*dtype.Of[T]().Size())
}

// write stores elements in the memory of a tensor.
func write[T dtype.Element](b Backend, typ dtype.Type, to Region, data []T) error {
	if len(data) == 0 {
		return nil
	}
	if bits, _, ok := typ.Half(); ok {
		stored := make([]uint16, len(data))
		for i, x := range any(data).([]float32) {
			stored[i] = bits(x)
		}
		return b.Write(to, bytesOf(stored))
	}
	return b.Write(to, bytesOf(data))
}

// read returns a copy of the elements in the memory of a tensor.
func read[T dtype.Element](b Backend, typ dtype.Type, from Region) ([]T, error) {
	out := make([]T, elements(typ, from))
	if len(out) == 0 {
		return out, nil
	}
	_, value, ok := typ.Half()
	if !ok {
		return out, b.Read(bytesOf(out), from)
	}
	stored := make([]uint16, len(out))
	err := b.Read(bytesOf(stored), from)
	for i, h := range stored {
		any(out).([]float32)[i] = value(h)
	}
	return out, err
}

// Variable returns a copy of an engine's variable and its shape.
func Variable[T dtype.Element](e *Engine, name string) ([]T, []int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.variables[name]
	if v == nil {
		return nil, nil, fmt.Errorf("engine: no variable %s", name)
	}
	if err := holds[T]("variable", name, v.operand.Type); err != nil {
		return nil, nil, err
	}
	data, err := read[T](e.backend, v.operand.Type, v.memory)
	return data, append([]int{}, v.operand.Shape...), err
}

// SetVariable writes an engine's variable, which a loaded plan has. One of f16 or bf16 takes float32, which is
// rounded.
func SetVariable[T dtype.Element](e *Engine, name string, data []T) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.variables[name]
	if v == nil {
		return fmt.Errorf("engine: no variable %s", name)
	}
	if err := holds[T]("variable", name, v.operand.Type); err != nil {
		return err
	}
	if n := elements(v.operand.Type, v.memory); len(data) != n {
		return fmt.Errorf("engine: variable %s: want %d elements, got %d", name, n, len(data))
	}
	if err := write(e.backend, v.operand.Type, v.memory, data); err != nil {
		return fmt.Errorf("engine: variable %s: %w", name, err)
	}
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
