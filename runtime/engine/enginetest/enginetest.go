// Package enginetest tests backends of package engine. The test of a backend calls Run.
package enginetest

import (
	"context"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/task"
)

// Run runs all tests of a backend as subtests of t.
//
// open returns a new backend with two devices and so many workers, or with one if the backend has no use for
// more. register registers the kernels of the catalogue for the backend's target. Some tests register
// operators of their own for that target, whose kernels are Go functions. Their bodies run on the host, so a
// backend must be able to launch bodies that see host memory, where elements of 16 bits are f32.
//
// With -short, it tries one gradient of each operator and some of the faults of tasks and of allocations. It
// is for go test -race, under which tests take many times as long.
func Run(t *testing.T, open func(workers int) engine.Backend, register func(*task.Registry) error) {
	s := newSuite(t, open, register)
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Conformance", s.testConformance},
		{"Gradients", s.testGradients},
		{"Targets", s.testTargets},
		{"Builtins", s.testBuiltins},
		{"BuiltinTypes", s.testBuiltinTypes},
		{"Scratch", s.testScratchMemory},
		{"Reductions", s.testReductions},
		{"OwnReduction", s.testOwnReduction},
		{"LoadErrors", s.testLoadErrors},
		{"FeedAndFetch", s.testFeedAndFetchErrors},
		{"InputsMustBeFed", s.testInputsMustBeFed},
		{"FeedBeforeFetch", s.testFeedBeforeFetch},
		{"UnsetVariables", s.testUnsetVariables},
		{"EmptyVariables", s.testEmptyVariables},
		{"VariableWrittenFirst", s.testVariableWrittenFirst},
		{"SharedVariables", s.testSharedVariables},
		{"Training", s.testTrainingChangesVariables},
		{"ConcurrentInstances", s.testConcurrentInstances},
		{"State", s.testState},
		{"StateErrors", s.testStateErrors},
		{"Arguments", s.testArguments},
		{"SetArg", s.testSetArg},
		{"StateMemory", s.testStateMemory},
		{"KernelErrors", s.testKernelErrors},
		{"KernelPanics", s.testKernelPanics},
		{"Cancel", s.testCancel},
		{"CancelAnywhere", s.testCancelAnywhere},
		{"AllocationFaults", s.testAllocationFaults},
		{"TaskFaults", s.testTaskFaults},
		{"MemoryLimit", s.testMemoryLimit},
		{"AfterOutOfMemory", s.testAfterOutOfMemory},
		{"Close", s.testClose},
		{"Leaks", s.testLeaks},
		{"Determinism", s.testDeterminism},
		{"Steps", s.testSteps},
		{"Timings", s.testTimings},
		{"Observation", s.testObservation},
		{"Devices", s.testDevices},
		{"AllReduce", s.testAllReduce},
		{"TooManyDevices", s.testTooManyDevices},
	} {
		t.Run(c.name, c.run)
	}
}

// suite is a kind of backend under test.
type suite struct {
	new      func(workers int) engine.Backend
	register func(*task.Registry) error
	target   target.Target
}

func newSuite(t testing.TB, open func(workers int) engine.Backend, register func(*task.Registry) error) *suite {
	t.Helper()
	b := open(1)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return &suite{new: open, register: register, target: b.Target()}
}

// catalogue returns a registry of the kernels of the catalogue.
func (s *suite) catalogue(t testing.TB) *task.Registry {
	t.Helper()
	var r task.Registry
	if err := s.register(&r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// start returns an engine, which the test must close.
func (s *suite) start(t testing.TB, r *task.Registry, workers int, c engine.Config) *engine.Engine {
	t.Helper()
	return engine.New(r, s.open(t, workers), c)
}

// engine returns an engine that is closed at the end of the test.
func (s *suite) engine(t testing.TB, r *task.Registry, workers int, c engine.Config) *engine.Engine {
	t.Helper()
	e := s.start(t, r, workers, c)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// build returns the plan of a program for the backend's target.
func (s *suite) build(t testing.TB, p *graph.Program, opts ...planner.Option) *plan.Plan {
	t.Helper()
	pl, err := planner.Build(p, append(opts, planner.For(s.target))...)
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

// schedule completes a plan that was made by hand.
func (s *suite) schedule(t testing.TB, p *plan.Plan) *plan.Plan {
	t.Helper()
	p, err := planner.Reschedule(p, planner.For(s.target))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *suite) load(t testing.TB, e *engine.Engine, p *graph.Program) *engine.Instance {
	t.Helper()
	in, err := e.Load(s.build(t, p))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func feed[T dtype.Element](t testing.TB, in *engine.Instance, name string, data ...T) {
	t.Helper()
	if err := engine.Feed(in, name, data); err != nil {
		t.Fatal(err)
	}
}

func fetch[T dtype.Element](t testing.TB, in *engine.Instance, name string) []T {
	t.Helper()
	v, err := engine.Fetch[T](in, name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func run(t testing.TB, in *engine.Instance) {
	t.Helper()
	if err := in.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// wantError checks the text of an error.
func wantError(t testing.TB, what string, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%s: got %v\nwant %s", what, err, want)
	}
}
