package formula

import (
	"slices"
	"sync"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// kernel runs a task by interpretation of the operator's formula.
type kernel struct{ signature *task.Signature }

func (k kernel) bind(a *task.Accessor) ([]op.Body, error) {
	p, err := newProgram(k.signature.Operator, a.Attrs, a.Resolved, a.Seed, a.Passed)
	if err != nil {
		return nil, err
	}
	b := &body{program: p, signature: k.signature, accessor: a}
	bodies := make([]op.Body, len(k.signature.Steps))
	first := true // of the steps with work
	for i := range bodies {
		bodies[i] = nothing{}
		if work := a.Resolved.Work(b.task(), i); first && work.Tiles() > 0 {
			bodies[i], first = b, false
		}
	}
	return bodies, nil
}

// body runs the whole task in its first range. Other ranges do nothing.
type body struct {
	program   *compiled
	signature *task.Signature
	accessor  *task.Accessor
	mu        sync.Mutex // guards memory
	memory    *memory    // nil before the first run
}

// Whole returns true.
func (b *body) Whole() bool { return true }

// Contained returns true: formulas call no foreign code.
func (b *body) Contained() bool { return true }

func (b *body) Run(ctx *op.Ctx, r op.Range) error {
	if !first(r) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.memory == nil {
		b.memory = b.program.newMemory()
	}
	m := b.memory
	m.begin(ctx.Step)
	if err := b.read(m); err != nil {
		return err
	}
	run := m.forward
	if b.signature.Kind == task.KindBackward {
		run = m.backward
	}
	if err := run(); err != nil {
		return err
	}
	return b.write(m)
}

// read loads the tensors and gradients that the task reads, and the current values of passed arguments.
func (b *body) read(m *memory) error {
	for i, l := range b.program.Tensors {
		if l.Passed != nil {
			m.pass(i, b.accessor.Passed.Values(l.Passed.Slot))
		}
	}
	for _, p := range b.signature.Params {
		if !p.Perm.Reads() || !p.Grad && !b.accessor.Resolved.Takes(b.task(), p.Slot) {
			continue
		}
		for i, buf := range b.accessor.Memory(p.Slot, p.Grad) {
			if buf.Type == dtype.Invalid {
				continue
			}
			if !p.Grad {
				if err := m.set(p.Slot, i, buf.Type, buf.Bytes); err != nil {
					return err
				}
				continue
			}
			if err := m.setGrad(p.Slot, i, buf.Type, buf.Bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// task returns the index of the task in the operator's signatures.
func (b *body) task() int { return slices.Index(b.signature.Operator.Signatures, b.signature) }

// write stores the results of the task into its memory.
func (b *body) write(m *memory) error {
	for _, p := range b.signature.Params {
		if !p.Perm.Writes() {
			continue
		}
		for i, buf := range b.accessor.Memory(p.Slot, p.Grad) {
			if buf.Type == dtype.Invalid || buf.Bytes == nil && buf.Operand.Bytes() > 0 {
				continue
			}
			if !p.Grad {
				if err := m.get(p.Slot, i, buf.Type, buf.Bytes); err != nil {
					return err
				}
				continue
			}
			grad, err := m.grad(p.Slot, i)
			if err != nil {
				return err
			}
			storeGrad(grad, buf.Type, buf.Mode, buf.Bytes)
		}
	}
	return nil
}
