package enginetest

import (
	"testing"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// testTargets registers two kernels of an operator: one for another target, and one for the backend's, which
// must run. Without the latter, the plan does not load.
func (s *suite) testTargets(t *testing.T) {
	const other op.Target = "another target"
	wrong := kernel(func(*op.Ctx, *args, op.Range) error { return errKernel })
	sig := probe.Signatures[0]
	r := s.catalogue(t)
	if err := r.RegisterTask(sig.ID, "probe forward", sig, task.Variant{Target: other, Kernel: wrong, Bind: wrong.bind}); err != nil {
		t.Fatal(err)
	}
	p := chain(t, 1, 3)
	_, err := s.engine(t, r, 1, engine.Config{}).Load(s.build(t, p))
	wantError(t, "no kernel", err, "plan inference, p0: probe.forward: operator probe, task forward: want a kernel for target "+string(s.target.Name)+" and element types (), got kernels for []")
	right := kernel(increment)
	if err := r.RegisterTask(sig.ID, "probe forward", sig, task.Variant{Target: s.target.Name, Kernel: right, Bind: right.bind}); err != nil {
		t.Fatal(err)
	}
	in := s.load(t, s.engine(t, r, 1, engine.Config{}), p)
	feed(t, in, "x", 1, 2, float32(3))
	run(t, in)
	if got := fetch[float32](t, in, last(p)); got[2] != 4 {
		t.Errorf("computed %v", got)
	}
}
