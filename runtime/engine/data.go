package engine

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

func (in *Instance) root(name string) (region.Root, *plan.Root, error) {
	if in == nil {
		return 0, nil, errors.New("engine: want an instance, got nil")
	}
	n, ok := in.names.Find(name)
	if !ok {
		return 0, nil, fmt.Errorf("engine: plan %s has no tensor %s", in.plan.Name, name)
	}
	r := in.roots[n]
	return r, &in.plan.Roots[r], nil
}

// Feed writes an input or a variable. A tensor of f16 or bf16 takes elements of float32, which are rounded.
func Feed[T dtype.Element](in *Instance, name string, data []T) error {
	r, root, err := in.root(name)
	if err == nil {
		err = holds[T]("tensor", name, root.Type)
	}
	if err != nil {
		return err
	}
	return in.feed(r, encode(root.Type, data))
}

// FeedBytes writes an input or a variable. data holds the elements, little endian, in the type of the tensor.
func (in *Instance) FeedBytes(name string, data []byte) error {
	r, _, err := in.root(name)
	if err != nil {
		return err
	}
	return in.feed(r, data)
}

func (in *Instance) feed(r region.Root, data []byte) error {
	if err := in.lock(); err != nil {
		return err
	}
	defer in.engine.mu.Unlock()
	root := &in.plan.Roots[r]
	if root.Use != plan.Fed && root.Use != plan.Variable {
		return fmt.Errorf("engine: plan %s: want an input or a variable to feed, got %s, which the plan computes", in.plan.Name, root.Name)
	}
	if in.data == nil {
		return errInstanceClosed
	}
	if in.outside != nil && in.outside[r] {
		return fmt.Errorf("engine: plan %s, tensor %s: %w", in.plan.Name, root.Name, errOutside)
	}
	if err := write(in.engine.backend, root.Type, in.data[r], data); err != nil {
		return fmt.Errorf("engine: tensor %s: %w", root.Name, err)
	}
	in.fed[r] = true
	if v := in.vars[r]; v != nil {
		v.set = true
	}
	return nil
}

// Fetch returns a copy of a fetched tensor or of a variable. A tensor of f16 or bf16 gives elements of
// float32. A fetched tensor has elements only after a run, and only if the last run did not fail.
func Fetch[T dtype.Element](in *Instance, name string) ([]T, error) {
	_, root, err := in.root(name)
	if err == nil {
		err = holds[T]("tensor", name, root.Type)
	}
	if err != nil {
		return nil, err
	}
	data, err := in.FetchBytes(name)
	if err != nil {
		return nil, err
	}
	return decode[T](root.Type, data), nil
}

// FetchBytes returns a copy of a fetched tensor or of a variable: its elements, little endian, in the
// tensor's type. If a kernel decides how many rows of the tensor count, these are the elements of those rows:
// see Shape.
func (in *Instance) FetchBytes(name string) ([]byte, error) {
	if err := in.lock(); err != nil {
		return nil, err
	}
	defer in.engine.mu.Unlock()
	r, root, err := in.root(name)
	if err != nil {
		return nil, err
	}
	if root.Use != plan.Variable && root.Last < len(in.plan.Tasks) {
		return nil, fmt.Errorf("engine: plan %s: want a fetched tensor or a variable, got %s, whose memory is reused", in.plan.Name, name)
	}
	if err := in.holds(r, root); err != nil {
		return nil, err
	}
	data, err := read(in.engine.backend, in.data[r])
	if _, ok := in.counted[r]; !ok || err != nil {
		return data, err
	}
	s, err := in.shape(r, root)
	return data[:shape.Prod(s)*root.Type.Size()], err
}

var (
	errNotRun = errors.New("the plan has not run yet")
	errFailed = errors.New("the last run failed")
)

// holds returns an error if nothing has computed what a root holds.
func (in *Instance) holds(r region.Root, root *plan.Root) error {
	switch {
	case in.data == nil:
		return errInstanceClosed
	case root.Use == plan.Variable && !in.vars[r].set:
		return fmt.Errorf("engine: plan %s: want a variable with values, got %s, which nothing has written yet", in.plan.Name, root.Name)
	case root.Use != plan.Variable && !in.fed[r] && in.stale != nil && !in.outsideInput(r, root):
		return fmt.Errorf("engine: plan %s: want a tensor with values, got %s: %w", in.plan.Name, root.Name, in.stale)
	}
	return nil
}

// outsideInput reports whether a root is an input in memory of the caller, which has elements at any time.
func (in *Instance) outsideInput(r region.Root, root *plan.Root) bool {
	return in.outside != nil && in.outside[r] && root.Use == plan.Fed
}

var errInstanceClosed = errors.New("engine: the instance is closed")

// holds checks that the elements of a tensor are fed and fetched as T.
func holds[T dtype.Element](what, name string, typ dtype.Type) error {
	if got := dtype.Of[T](); got != typ.Host() {
		return fmt.Errorf("engine: %s %s holds %v, not %v", what, name, typ, got)
	}
	return nil
}

// bytesOf returns the memory of elements.
func bytesOf[T dtype.Element](data []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*dtype.Of[T]().Size())
}

// encode returns elements as a tensor of type typ stores them.
func encode[T dtype.Element](typ dtype.Type, data []T) []byte {
	p, ok := typ.Packed()
	if !ok {
		return bytesOf(data)
	}
	stored := make([]byte, len(data)*typ.Size())
	p.Encode(stored, any(data).([]float32))
	return stored
}

// decode returns the elements of a tensor of type typ.
func decode[T dtype.Element](typ dtype.Type, stored []byte) []T {
	out := make([]T, len(stored)/typ.Size())
	if p, ok := typ.Packed(); ok {
		p.Decode(any(out).([]float32), stored)
	} else {
		copy(bytesOf(out), stored)
	}
	return out
}

// write copies stored elements to the memory of a tensor.
func write(b Backend, typ dtype.Type, to Region, data []byte) error {
	if int64(len(data)) != to.Size {
		return fmt.Errorf("want %d elements, got %d", int(to.Size)/typ.Size(), len(data)/typ.Size())
	}
	if len(data) == 0 {
		return nil
	}
	return b.Write(to, data)
}

// read returns a copy of the memory of a tensor.
func read(b Backend, from Region) ([]byte, error) {
	out := make([]byte, from.Size)
	if len(out) == 0 {
		return out, nil
	}
	return out, b.Read(out, from)
}

// Variable returns a copy of an engine's variable and its shape.
func Variable[T dtype.Element](e *Engine, name string) ([]T, []int, error) {
	if err := e.lock(); err != nil {
		return nil, nil, err
	}
	defer e.mu.Unlock()
	v, err := e.variable(name)
	if err == nil {
		err = holds[T]("variable", name, v.operand.Type)
	}
	if err == nil {
		err = v.holds(name)
	}
	if err != nil {
		return nil, nil, err
	}
	data, err := read(e.backend, v.memory)
	return decode[T](v.operand.Type, data), slices.Clone(v.operand.Shape), err
}

func (e *Engine) variable(name string) (*variable, error) {
	v := e.variables[name]
	if v == nil {
		return nil, fmt.Errorf("engine: no variable %s", name)
	}
	return v, nil
}

// holds returns an error if nothing has written the variable.
func (v *variable) holds(name string) error {
	if !v.set {
		return fmt.Errorf("engine: want a variable with values, got %s, which nothing has written yet", name)
	}
	return nil
}

// VariableBytes returns a copy of a variable: the elements, little endian, in the type of the variable.
func (e *Engine) VariableBytes(name string) ([]byte, error) {
	if err := e.lock(); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	v, err := e.variable(name)
	if err == nil {
		err = v.holds(name)
	}
	if err != nil {
		return nil, err
	}
	return read(e.backend, v.memory)
}

// SetVariableBytes writes a variable of a loaded plan. data holds the elements, little endian, in the
// type of the variable.
func (e *Engine) SetVariableBytes(name string, data []byte) error {
	if err := e.lock(); err != nil {
		return err
	}
	defer e.mu.Unlock()
	v, err := e.variable(name)
	if err != nil {
		return err
	}
	if err := write(e.backend, v.operand.Type, v.memory, data); err != nil {
		return fmt.Errorf("engine: variable %s: %w", name, err)
	}
	v.set = true
	return nil
}

// Written reports whether the engine has a variable of this name that has values.
func (e *Engine) Written(name string) bool {
	mustLock(e.lock())
	defer e.mu.Unlock()
	v := e.variables[name]
	return v != nil && v.set
}
