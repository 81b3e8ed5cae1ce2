package enginetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
)

// convolution returns a program that needs variables, an arena and scratch memory of workers.
func convolution(t *testing.T, size int) *graph.Program {
	t.Helper()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 1, size, size)
	at := conv2d.Defaults(3, 2, 2)
	return inference(t, g, conv2d.Apply(g, at, x, graph.Named("conv")))
}

// testMemoryLimit loads a plan with every limit that matters. What fits exactly is loaded; one byte
// less is refused, names the owner of the last request, and leaves the engine as it was.
func (s *suite) testMemoryLimit(t *testing.T) {
	reg := s.registry(t, increment)
	workers := int64(s.engine(t, reg, 2, engine.Config{}).Workers())
	p := s.build(t, convolution(t, 9))
	filter, bias := int64(3*4*4), int64(3*4)
	need := filter + bias + p.ArenaBytes + workers*p.WorkerBytes
	if p.WorkerBytes == 0 || p.ArenaBytes == 0 || p.VariableBytes() != filter+bias {
		t.Fatalf("the plan needs %d, %d and %d bytes", p.WorkerBytes, p.ArenaBytes, p.VariableBytes())
	}
	arena := "plan inference (largest tensor conv.output, 1536 bytes)"
	scratch := func(w int64) string { return fmt.Sprintf("scratch of worker %d for plan inference", w) }
	tests := []struct {
		limit           int64
		owner           string // "" if it fits
		requested, used int64
	}{
		{need, "", 0, 0},
		{need - 1, scratch(workers - 1), p.WorkerBytes, need - p.WorkerBytes},
		{need - p.WorkerBytes, scratch(workers - 1), p.WorkerBytes, need - p.WorkerBytes},
		{need - workers*p.WorkerBytes, scratch(0), p.WorkerBytes, need - workers*p.WorkerBytes},
		{filter + bias + p.ArenaBytes - 1, arena, p.ArenaBytes, filter + bias},
		{filter + bias - 1, "variable conv.bias", bias, filter},
		{filter - 1, "variable conv.filter", filter, 0},
		{1, "variable conv.filter", filter, 0},
	}
	for _, tt := range tests {
		e := s.engine(t, reg, 2, engine.Config{MemoryLimit: tt.limit})
		in, err := e.Load(p)
		if tt.owner == "" {
			if err != nil {
				t.Fatalf("limit %d: %v", tt.limit, err)
			}
			if m := e.Memory(); m != (engine.Usage{Used: need, Peak: need, Limit: need}) {
				t.Errorf("loaded: %+v", m)
			}
			in.Close()
			in.Close()
			if m := e.Memory(); m.Used != filter+bias {
				t.Errorf("closed: %+v, want the variables, %d bytes", m, filter+bias)
			}
			continue
		}
		var oom *engine.OutOfMemoryError
		if !errors.As(err, &oom) || *oom != (engine.OutOfMemoryError{Owner: tt.owner, Requested: tt.requested, Used: tt.used, Limit: tt.limit}) || in != nil {
			t.Errorf("limit %d: got %v, want %s to ask for %d", tt.limit, err, tt.owner, tt.requested)
		}
		if m := e.Memory(); m.Used != 0 {
			t.Errorf("limit %d: %d bytes are still in use", tt.limit, m.Used)
		}
		if _, _, err := engine.Variable[float32](e, "conv.filter"); err == nil {
			t.Errorf("limit %d: a variable is left", tt.limit)
		}
	}
}

// testAfterOutOfMemory goes on with an engine after a plan did not fit.
func (s *suite) testAfterOutOfMemory(t *testing.T) {
	small, large := chain(t, 2, 10), chain(t, 2, 1000)
	e := s.engine(t, s.registry(t, increment), 2, engine.Config{MemoryLimit: s.build(t, large).ArenaBytes})
	in := s.load(t, e, small)
	before := e.Memory().Used
	_, err := e.Load(s.build(t, large))
	wantError(t, "the large plan", err, fmt.Sprintf("out of memory: plan inference (largest tensor x, 4000 bytes) wants %d bytes; %d of %d are in use", s.build(t, large).ArenaBytes, before, s.build(t, large).ArenaBytes))
	if got := e.Memory().Used; got != before {
		t.Errorf("%d bytes are in use, want %d", got, before)
	}
	feed(t, in, "x", make([]float32, 10)...)
	run(t, in)
	if got := fetch[float32](t, in, "p1.output"); got[9] != 2 {
		t.Errorf("the small plan computes %v", got)
	}
	in.Close()
	in = s.load(t, e, large)
	if got := e.Memory(); got.Used != got.Limit {
		t.Errorf("memory %+v", got)
	}
	in.Close()
}

// testClose closes an engine with open instances.
func (s *suite) testClose(t *testing.T) {
	e := s.start(t, s.registry(t, increment), 3, engine.Config{})
	p := chain(t, 1, 4)
	first, second := s.load(t, e, p), s.load(t, e, convolution(t, 5))
	feed(t, first, "x", 1, 2, 3, float32(4))
	first.Close()
	_, err := engine.Fetch[float32](first, "p0.output")
	wantError(t, "fetching from a closed instance", err, "engine: the instance is closed")
	wantError(t, "feeding a closed instance", engine.Feed(first, "x", make([]float32, 4)), "engine: the instance is closed")
	wantError(t, "running a closed instance", first.Run(t.Context()), "engine: the engine or the instance is closed")
	feed(t, second, "conv.bias", 1, 2, float32(3)) // the other is still open
	for range 2 {
		e.Close()
		if m := e.Memory(); m.Used != 0 || m.Peak == 0 {
			t.Errorf("memory %+v", m)
		}
	}
	second.Close()
	if m := e.Memory(); m.Used != 0 {
		t.Errorf("memory %+v after closing an instance of a closed engine", m)
	}
	wantError(t, "running", second.Run(t.Context()), "engine: the engine or the instance is closed")
	wantError(t, "feeding", engine.Feed(second, "x", make([]float32, 50)), "engine: the instance is closed")
	_, err = e.Load(s.build(t, p))
	wantError(t, "loading", err, "engine: the engine is closed")
	_, _, err = engine.Variable[float32](e, "conv.bias")
	wantError(t, "reading a variable", err, "engine: no variable conv.bias")
}
