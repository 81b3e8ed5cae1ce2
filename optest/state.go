package optest

import (
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// stateful reports whether an operator has tasks that make and free per-device state.
func stateful(o *task.Operator) bool { return o.Signature(task.KindInit) != nil }

// newState runs the init task of an operator in use. At the end of the test it runs cleanup, which must free all that init
// allocated.
func newState(t *testing.T, s sample, res *task.Resolution) *task.State {
	t.Helper()
	o := &s.op.Operator
	if !stateful(o) {
		return nil
	}
	state, blocks := &task.State{}, map[*byte]bool{}
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
		bodies, err := v.Bind(&task.Accessor{Signature: sig, Attrs: s.attrs, Resolved: res, State: func(int) *task.State { return state }, Heap: heap,
			Memory: func(int, bool) []task.Buffer { return nil }})
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
	return state
}
