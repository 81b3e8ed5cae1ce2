package kernels_test

import (
	"bytes"
	"runtime/trace"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// stateful reports whether an operator has tasks that make and free per-device state.
func stateful(o *task.Operator) bool { return o.Signature(task.KindInit) != nil }

// newState runs the init task of an operator in use. At the end of the test it runs cleanup, which must free all that init
// allocated.
func newState(t *testing.T, o *task.Operator, attrs task.Attrs, res *task.Resolution) *task.State {
	t.Helper()
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
		v, err := registry().Task(sig.ID).Variant(op.CPU, res.Types)
		if err != nil {
			t.Fatal(err)
		}
		bodies, err := v.Bind(&task.Accessor{Signature: sig, Attrs: attrs, Resolved: res, State: func(int) *task.State { return state }, Heap: heap,
			Memory: func(int, bool) []task.Buffer { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bodies {
			if err := b.Run(&op.Ctx{}, op.Range{Lo: 0, Hi: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	once(task.KindInit)
	t.Cleanup(func() {
		once(task.KindCleanup)
		if len(blocks) > 0 {
			t.Errorf("%s: cleanup left %d blocks of memory that init allocated", o.Name, len(blocks))
		}
	})
	return state
}

// stateSample returns the first sample of fft, and its fixture.
func stateSample(t *testing.T) (sample, *fixture) {
	t.Helper()
	ops := catalogue.Operators()
	samples, err := samplesOf(ops[slices.IndexFunc(ops, func(o *graph.Operator) bool { return o.Name == "fft" })], 0)
	if err != nil {
		t.Fatal(err)
	}
	return samples[0], mustFixture(t, samples[0])
}

// TestDividedLanes checks that the init task of fft refuses an input whose lanes are divided.
func TestDividedLanes(t *testing.T) {
	t.Parallel()
	s, f := stateSample(t)
	sig := s.op.Signature(task.KindInit)
	v, err := registry().Task(sig.ID).Variant(op.CPU, s.types)
	if err != nil {
		t.Fatal(err)
	}
	divided := partition.Undivided(f.node.Resolved.Operands(0)[0].Shape)
	divided.Degrees[len(divided.Degrees)-1] = 2
	bodies, err := v.Bind(&task.Accessor{Signature: sig, Attrs: s.attrs, Resolved: f.node.Resolved, State: func(int) *task.State { return &task.State{} },
		Heap:       task.NewMemory(func(n int64) ([]byte, error) { return make([]byte, n), nil }, func([]byte) error { return nil }),
		Memory:     func(int, bool) []task.Buffer { return nil },
		Partitions: func(int) []partition.Partition { return []partition.Partition{divided} }})
	if err != nil {
		t.Fatal(err)
	}
	want := "operator fft, task init, slot input: want lanes that are not divided, got " + divided.String()
	if err := bodies[0].Run(&op.Ctx{}, op.Range{Lo: 0, Hi: 1}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestTraceRegions checks that tasks of fft are regions of a trace while runs are measured, and only then.
func TestTraceRegions(t *testing.T) {
	s, f := stateSample(t)
	m := newMemory(f, s.op.Main(), newState(t, &s.op.Operator, s.attrs, f.node.Resolved), 1)
	for _, on := range []bool{false, true} {
		m.profiling = task.Profiling{On: on}
		var out bytes.Buffer
		if err := trace.Start(&out); err != nil {
			t.Fatal(err)
		}
		m.run(t, registry(), slices.Index(s.op.Signatures, s.op.Main()))
		trace.Stop()
		if got := bytes.Contains(out.Bytes(), []byte("fft of 8 numbers, device 0")); got != on {
			t.Errorf("profiling is %v, but that the trace has regions %v", on, got)
		}
	}
}
