package optest

import (
	"bytes"
	"runtime/trace"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// stateSample returns the first sample of fft, and its fixture.
func stateSample(t *testing.T) (sample, *fixture) {
	t.Helper()
	k := newKit(t)
	samples, err := k.samplesOf(k.operator("fft"), 0)
	if err != nil {
		t.Fatal(err)
	}
	return samples[0], samples[0].fixture(t)
}

// TestDividedLanes checks that the init task of fft refuses an input whose lanes are divided.
func TestDividedLanes(t *testing.T) {
	t.Parallel()
	s, f := stateSample(t)
	sig := s.op.Signature(task.KindInit)
	v, err := s.kit.tasks.Task(sig.ID).Variant(op.CPU, s.types)
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
	m := newMemory(f, s.op.Main(), newState(t, s, f.node.Resolved), 1)
	for _, on := range []bool{false, true} {
		m.profiling = task.Profiling{On: on}
		var out bytes.Buffer
		if err := trace.Start(&out); err != nil {
			t.Fatal(err)
		}
		m.run(t, s.kit.tasks, slices.Index(s.op.Signatures, s.op.Main()))
		trace.Stop()
		if got := bytes.Contains(out.Bytes(), []byte("fft of 8 numbers, device 0")); got != on {
			t.Errorf("profiling is %v, but that the trace has regions %v", on, got)
		}
	}
}
