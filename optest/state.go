package optest

import (
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// stateful reports whether an operator has tasks that make and free per-device state.
func stateful(o *task.Operator) bool { return o.Signature(task.KindInit) != nil }

// newState runs the init task of an operator in use. At the end of the test it runs cleanup, which must free
// all that init allocated.
func newState(t *testing.T, s sample, res *task.Resolution) task.States {
	t.Helper()
	o := &s.op.Operator
	if !stateful(o) {
		return nil
	}
	states, blocks := task.NewStates(o), map[*byte]bool{}
	heap := task.NewMemory(func(bytes int64) ([]byte, error) {
		b := make([]byte, bytes)
		blocks[&b[0]] = true
		return b, nil
	}, func(b []byte) error {
		delete(blocks, &b[0])
		return nil
	})
	once := func(k task.Kind) {
		sig := o.Signature(k)
		v, err := s.kit.tasks.Task(sig.ID).Variant(op.CPU, res.Types)
		if err != nil {
			s.fatalf(t, "%v", err)
		}
		bodies, err := v.Bind(&task.Accessor{Signature: sig, Attrs: s.attrs, Resolved: res, State: states.Slot, Heap: heap,
			Memory: func(slot int, _ bool) []task.Buffer { return scratchOf(sig, res, slot) }})
		if err != nil {
			s.fatalf(t, "%v", err)
		}
		for _, b := range bodies {
			if err := b.Run(&op.Ctx{}, op.Range{Lo: 0, Hi: 1}); err != nil {
				s.fatalf(t, "%v", err)
			}
		}
	}
	once(task.KindInit)
	t.Cleanup(func() {
		once(task.KindCleanup)
		if len(blocks) > 0 {
			s.errorf(t, "cleanup left %d blocks of memory that init allocated", len(blocks))
		}
	})
	return states
}

// scratchOf returns the tensors of a slot on which an init task tries algorithms: none if the task does not
// ask for them.
func scratchOf(sig *task.Signature, res *task.Resolution, slot int) []task.Buffer {
	var out []task.Buffer
	for _, p := range sig.Params {
		if p.Slot != slot {
			continue
		}
		for _, o := range res.Operands(slot) {
			out = append(out, task.Buffer{Operand: o, Bytes: make([]byte, o.Bytes())})
		}
	}
	return out
}
