package local_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/local"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/shape"
)

func TestAllocator(t *testing.T) {
	a := local.NewAllocator(1000)
	want := func(used, peak int64) {
		t.Helper()
		if got := a.Memory(); got != (local.Memory{Used: used, Peak: peak, Limit: 1000}) {
			t.Errorf("memory %+v, want %d used, peak %d", got, used, peak)
		}
	}
	var blocks [][]byte
	for _, n := range []int64{1, 63, 0, 64, 872} {
		b, err := a.Allocate("test", n)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(b)) != n || int64(cap(b)) != n {
			t.Errorf("%d bytes: length %d, capacity %d", n, len(b), cap(b))
		}
		if n > 0 && uintptr(unsafe.Pointer(&b[0]))%plan.Align != 0 {
			t.Errorf("%d bytes at %p", n, b)
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatal("the memory is not zeroed")
			}
			b[i] = 1
		}
		blocks = append(blocks, b)
	}
	want(1000, 1000) // exactly the limit
	for _, n := range []int64{1, math.MaxInt64, -1} {
		b, err := a.Allocate("somebody", n)
		var oom *local.OutOfMemoryError
		if !errors.As(err, &oom) || *oom != (local.OutOfMemoryError{Owner: "somebody", Requested: n, Used: 1000, Limit: 1000}) || b != nil {
			t.Errorf("%d bytes more: %v", n, err)
		}
		wantError(t, "one byte too many", err, fmt.Sprintf("out of memory: somebody wants %d bytes; 1000 of 1000 are in use", n))
	}
	if b, err := a.Allocate("nobody", 0); err != nil || b == nil {
		t.Errorf("0 bytes of full memory: %v, %v", b, err)
	}
	want(1000, 1000)
	a.Free(blocks[4])
	want(128, 1000)
	if _, err := a.Allocate("test", 873); err == nil {
		t.Error("more than what was freed is there")
	}
	b, err := a.Allocate("test", 872)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range append(blocks[:4], b) {
		a.Free(b)
	}
	want(0, 1000)
}

// TestFreeIsExact frees what is not there to be freed, and asks for what is left.
func TestFreeIsExact(t *testing.T) {
	a, other := local.NewAllocator(0), local.NewAllocator(0)
	var blocks [][]byte
	for i, n := range []int64{100, 50} {
		b, err := a.Allocate(fmt.Sprint("owner ", i), n)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	wantError(t, "another's", other.Free(blocks[0]), "local: want memory in use to free, got 100 bytes that are not")
	wantError(t, "a part", a.Free(blocks[0][:10]), "local: want memory in use to free, got 10 bytes that are not")
	wantError(t, "a later part", a.Free(blocks[0][64:]), "local: want memory in use to free, got 36 bytes that are not")
	wantError(t, "what is left", a.Leak(), "local: 150 bytes were not freed: owner 0 (100), owner 1 (50)")
	if err := a.Free(blocks[1]); err != nil {
		t.Error(err)
	}
	wantError(t, "twice", a.Free(blocks[1]), "local: want memory in use to free, got 50 bytes that are not")
	wantError(t, "what is left", a.Leak(), "local: 100 bytes were not freed: owner 0 (100)")
	if err := errors.Join(a.Free(blocks[0]), a.Free(nil), a.Leak(), other.Leak()); err != nil {
		t.Error(err)
	}
	if m := a.Memory(); m != (local.Memory{Peak: 150}) {
		t.Errorf("memory %+v", m)
	}
}

// TestNoLimit asks for more than can be addressed.
func TestNoLimit(t *testing.T) {
	a := local.NewAllocator(0)
	if _, err := a.Allocate("test", 1<<20); err != nil {
		t.Fatal(err)
	}
	_, err := a.Allocate("test", shape.MaxBytes)
	wantError(t, "all memory", err, fmt.Sprintf("out of memory: test wants %d bytes; 1048576 of %d are in use", shape.MaxBytes, shape.MaxBytes))
	if got := a.Memory(); got != (local.Memory{Used: 1 << 20, Peak: 1 << 20}) {
		t.Errorf("memory %+v", got)
	}
}

func TestAllocatorIsSafe(t *testing.T) {
	a := local.NewAllocator(8 * 100)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				b, err := a.Allocate("test", 100)
				if err != nil {
					t.Error(err)
					return
				}
				a.Free(b)
			}
		})
	}
	wg.Wait()
	if m := a.Memory(); m.Used != 0 || m.Peak > 800 || m.Peak < 100 {
		t.Errorf("memory %+v", m)
	}
}

// convolution returns a program that needs variables, an arena and scratch memory of workers.
func convolution(t testing.TB, size int) *graph.Program {
	t.Helper()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 1, size, size)
	at := conv2d.Defaults()
	at.OutChannels, at.KernelH, at.KernelW = 3, 2, 2
	return inference(t, g, conv2d.Apply(g, at, x, graph.Named("conv")))
}

// TestMemoryLimit loads a plan with every limit that matters. What fits exactly is loaded; one byte
// less is refused, by whoever asked for the byte, and leaves the engine as it was.
func TestMemoryLimit(t *testing.T) {
	const workers = 2
	p := build(t, convolution(t, 9))
	filter, bias := int64(3*4*4), int64(3*4)
	need := filter + bias + p.ArenaBytes + workers*p.WorkerBytes
	if p.WorkerBytes == 0 || p.ArenaBytes == 0 || p.VariableBytes() != filter+bias {
		t.Fatalf("the plan needs %d, %d and %d bytes", p.WorkerBytes, p.ArenaBytes, p.VariableBytes())
	}
	arena := "plan inference (largest tensor conv.output, 1536 bytes)"
	scratch := func(w int) string { return fmt.Sprintf("scratch of worker %d for plan inference", w) }
	tests := []struct {
		limit           int64
		owner           string // "" if it fits
		requested, used int64
	}{
		{need, "", 0, 0},
		{need - 1, scratch(1), p.WorkerBytes, need - p.WorkerBytes},
		{need - p.WorkerBytes, scratch(1), p.WorkerBytes, need - p.WorkerBytes},
		{need - p.WorkerBytes - 1, scratch(0), p.WorkerBytes, need - 2*p.WorkerBytes},
		{filter + bias + p.ArenaBytes - 1, arena, p.ArenaBytes, filter + bias},
		{filter + bias - 1, "variable conv.bias", bias, filter},
		{filter - 1, "variable conv.filter", filter, 0},
		{1, "variable conv.filter", filter, 0},
	}
	reg := registry(t, increment)
	for _, tt := range tests {
		e := newEngine(t, reg, local.Config{Workers: workers, MemoryLimit: tt.limit})
		in, err := e.Load(p)
		if tt.owner == "" {
			if err != nil {
				t.Fatalf("limit %d: %v", tt.limit, err)
			}
			if m := e.Memory(); m != (local.Memory{Used: need, Peak: need, Limit: need}) {
				t.Errorf("loaded: %+v", m)
			}
			in.Close()
			in.Close()
			if m := e.Memory(); m.Used != filter+bias {
				t.Errorf("closed: %+v, want the variables, %d bytes", m, filter+bias)
			}
			continue
		}
		var oom *local.OutOfMemoryError
		if !errors.As(err, &oom) || *oom != (local.OutOfMemoryError{Owner: tt.owner, Requested: tt.requested, Used: tt.used, Limit: tt.limit}) || in != nil {
			t.Errorf("limit %d: got %v, want %s to ask for %d", tt.limit, err, tt.owner, tt.requested)
		}
		if m := e.Memory(); m.Used != 0 {
			t.Errorf("limit %d: %d bytes are still in use", tt.limit, m.Used)
		}
		if _, _, err := local.Variable[float32](e, "conv.filter"); err == nil {
			t.Errorf("limit %d: a variable is left", tt.limit)
		}
	}
}

// TestAfterOutOfMemory goes on with an engine after a plan did not fit.
func TestAfterOutOfMemory(t *testing.T) {
	small, large := chain(t, 2, 10), chain(t, 2, 1000)
	e := newEngine(t, registry(t, increment), local.Config{Workers: 2, MemoryLimit: build(t, large).ArenaBytes})
	in := load(t, e, small)
	before := e.Memory().Used
	_, err := e.Load(build(t, large))
	wantError(t, "the large plan", err, fmt.Sprintf("out of memory: plan inference (largest tensor x, 4000 bytes) wants %d bytes; %d of %d are in use", build(t, large).ArenaBytes, before, build(t, large).ArenaBytes))
	if got := e.Memory().Used; got != before {
		t.Errorf("%d bytes are in use, want %d", got, before)
	}
	feed(t, in, "x", make([]float32, 10)...)
	run(t, in)
	if got := fetch[float32](t, in, "p1.output"); got[9] != 2 {
		t.Errorf("the small plan computes %v", got)
	}
	in.Close()
	in = load(t, e, large)
	if got := e.Memory(); got.Used != got.Limit {
		t.Errorf("memory %+v", got)
	}
	in.Close()
}

// TestClose closes an engine with open instances.
func TestClose(t *testing.T) {
	e := local.New(registry(t, increment), local.Config{Workers: 3})
	p := chain(t, 1, 4)
	first, second := load(t, e, p), load(t, e, convolution(t, 5))
	feed(t, first, "x", 1, 2, 3, float32(4))
	first.Close()
	_, err := local.Fetch[float32](first, "p0.output")
	wantError(t, "fetching from a closed instance", err, "local: the instance is closed")
	wantError(t, "feeding a closed instance", local.Feed(first, "x", make([]float32, 4)), "local: the instance is closed")
	wantError(t, "running a closed instance", first.Run(t.Context()), "local: the engine or the instance is closed")
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
	wantError(t, "running", second.Run(t.Context()), "local: the engine or the instance is closed")
	wantError(t, "feeding", local.Feed(second, "x", make([]float32, 50)), "local: the instance is closed")
	_, err = e.Load(build(t, p))
	wantError(t, "loading", err, "local: the engine is closed")
	_, _, err = local.Variable[float32](e, "conv.bias")
	wantError(t, "reading a variable", err, "local: no variable conv.bias")
}
