package cpu_test

import (
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/engine/enginetest"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

func open(workers int) engine.Backend { return cpu.New(cpu.Config{Workers: workers, Devices: 2}) }

// TestBackend runs the tests that all backends pass.
func TestBackend(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, open, catalogue.Register)
}

// newEngine returns an engine with the kernels of the catalogue.
func newEngine(t testing.TB, workers int) *engine.Engine {
	t.Helper()
	var r task.Registry
	if err := catalogue.Register(&r); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&r, open(workers), engine.Config{})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func load(t testing.TB, e *engine.Engine, p *graph.Program, opts ...planner.Option) *engine.Instance {
	t.Helper()
	pl, err := planner.Build(p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	in, err := e.Load(pl)
	if err != nil {
		t.Fatal(err)
	}
	return in
}
