package formula

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Register registers the tasks of operators with kernels that compute their formulas, for all element types that the target
// stores. An operator without a formula is an error.
func Register(r *task.Registry, target op.Target, operators ...*task.Operator) error {
	var errs []error
	for _, o := range operators {
		for _, s := range o.Signatures {
			variants, err := variantsOf(target, s)
			if err == nil {
				err = r.RegisterTask(s.ID, o.Name+" "+s.Task, s, variants...)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// variantsOf returns a task's variants for all choices of element types.
func variantsOf(target op.Target, s *task.Signature) ([]task.Variant, error) {
	o := s.Operator
	if len(o.Formula) == 0 {
		return nil, mistake(o.Name, "want one, got none")
	}
	switch s.Kind {
	case task.KindForward, task.KindUpdate, task.KindBackward:
	default:
		return nil, mistake(o.Name, fmt.Sprintf("a formula does not compute the task %s", s.Task))
	}
	choices := [][]dtype.Type{nil}
	for _, v := range o.Types {
		var longer [][]dtype.Type
		for _, c := range choices {
			for _, t := range hosts(v.Types) {
				longer = append(longer, append(slices.Clip(c), t))
			}
		}
		choices = longer
	}
	var out []task.Variant
	for _, types := range choices {
		if s.Supports(types) {
			k := kernel{s}
			out = append(out, task.Variant{Target: target, Types: types, Kernel: k, Bind: k.bind})
		}
	}
	return out, nil
}

// hosts lists the types in which kernels compute, without repetitions.
func hosts(types []dtype.Type) []dtype.Type {
	var out []dtype.Type
	for _, t := range types {
		if h := t.Host(); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// kernel computes a task by the operator's formula.
type kernel struct{ signature *task.Signature }

func (k kernel) bind(a *task.Accessor) ([]op.Body, error) {
	p, err := newProgram(k.signature.Operator, a.Attrs, a.Resolved)
	if err != nil {
		return nil, err
	}
	b := &body{program: p, signature: k.signature, accessor: a}
	bodies := make([]op.Body, len(k.signature.Steps))
	first := true // of the steps that have something to go over
	for i := range bodies {
		bodies[i] = nothing{}
		if work := a.Resolved.Work(b.task(), i); first && work.Tiles() > 0 {
			bodies[i], first = b, false
		}
	}
	return bodies, nil
}

// nothing is a step whose work an earlier one does.
type nothing struct{}

func (nothing) Run(*op.Ctx, op.Range) error { return nil }

// body computes all of a task in the first of its ranges. The others have nothing to do.
type body struct {
	program   *compiled
	signature *task.Signature
	accessor  *task.Accessor
	mu        sync.Mutex // a run of a task ends before the next begins; the memory is of one run
	memory    *memory    // nil before the first run
}

func (b *body) Run(ctx *op.Ctx, r op.Range) error {
	for d := range 3 {
		if lo, _ := r.Dim(d); lo > 0 {
			return nil
		}
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

// read takes the values and gradients that the task reads.
func (b *body) read(m *memory) error {
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

// task returns the number of the task among those of the operator.
func (b *body) task() int { return slices.Index(b.signature.Operator.Signatures, b.signature) }

// write stores what the task computed.
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
