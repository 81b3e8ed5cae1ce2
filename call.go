package opgen

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/opgen/opgen/runtime/call"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// Call is an operator that is bound to slices, to be run at once: without a graph, a plan and workers. It
// suits small tensors, and code that decides step by step what to compute. A graph suits networks: its plans
// share memory among tensors, use several workers, and have gradients.
type Call struct{ call *call.Call }

// Operand is an operand of a call: the tensors or the values of a slot of the operator whose slots S numbers.
type Operand[S ~int] struct{ operand call.Operand }

// On binds a tensor to a slot: its elements in row-major order, and its extents. A scalar has no extents. The
// tensors of a variadic slot are bound in order; where single ones may be absent, nil without extents leaves
// one out. The call reads and writes the slice itself.
func On[S ~int, T dtype.Element](slot S, elements []T, dims ...int) Operand[S] {
	x := operand(slot)
	x.Tensor, x.Elements = task.Operand{Type: dtype.Of[T](), Shape: slices.Clone(dims)}, len(elements)
	if len(elements) > 0 {
		x.Bytes = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elements))), len(elements)*x.Tensor.Type.Size())
	}
	return Operand[S]{x}
}

// Argument sets an argument, from "call" in the spec, to its values.
func Argument[S ~int](slot S, values ...any) Operand[S] {
	x := operand(slot)
	x.Values = append([]any{}, values...)
	return Operand[S]{x}
}

// operand returns an operand of a slot.
func operand[S ~int](slot S) call.Operand {
	x := call.Operand{Slot: int(slot)}
	if s, ok := any(slot).(fmt.Stringer); ok {
		x.Name = s.String()
	}
	return x
}

// NewCall binds the task of an operator that forward runs, or the update of an optimizer, to what it takes
// and gives: its inputs, weights and outputs, in any order. Optional ones may be left out, and outputs on
// request are made if they are given. What it saves for backward is memory of the call. Shapes, types and the
// memory are checked here, and not again when the call runs. Random numbers are the same in all calls of an
// operator; those that depend on the training step, as the ones of dropout do, are others in each run.
//
// The error names the operator and the slot. Tensors of f16 and bf16, and operators with a state for each
// device, need a graph.
func NewCall[S ~int](s *Session, o *graph.Operator, attrs task.Attrs, operands ...Operand[S]) (*Call, error) {
	if s == nil || s.registry == nil {
		return nil, errors.New("opgen: want a session that Open has made, got none")
	}
	if o == nil {
		return nil, errors.New("opgen: want an operator, got nil")
	}
	list := make([]call.Operand, len(operands))
	for i, x := range operands {
		list[i] = x.operand
	}
	c, err := call.Bind(s.registry, &o.Operator, attrs, list)
	if err != nil {
		return nil, err
	}
	return &Call{c}, nil
}

// Run computes the operator with what the slices hold now, in the calling goroutine. One run at a time may
// use the call, and nothing else may use its outputs meanwhile. An update counts its runs as training steps.
// After an error of a kernel, which Run returns with the name of the task, what the call writes is undefined.
// A kernel that panics gives an *engine.PanicError.
func (c *Call) Run() error {
	if c == nil || c.call == nil {
		return errors.New("opgen: want a call that NewCall has made, got none")
	}
	return c.call.Run()
}
