//go:build cuda

package cuda_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/cudaemu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/op"
)

func controls(t *testing.T) *cudaemu.Control {
	t.Helper()
	c, err := cudaemu.Controls()
	if err != nil {
		t.Skip("the driver is not the emulator:", err)
	}
	return c
}

// TestDeviceCode runs device code that uses shared memory, votes and values of other lanes, scratch memory,
// bytes of the host and the number of the step, with the threads of a block in three orders.
func TestDeviceCode(t *testing.T) {
	control := controls(t)
	const n = 1000
	add := make([]byte, 8)
	c := &code{source: `
extern "C" __global__ void first_pass(const float *in, float *scratch) {
	DYNAMIC_SHARED(float, s);
	i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
	s[threadIdx.x] = i < 1000 ? in[i] : 0;
	__syncthreads();
	float other = s[blockDim.x - 1 - threadIdx.x]; // of the thread on the other side
	__syncthreads();
	s[blockDim.x - 1 - threadIdx.x] = other;
	__syncthreads();
	if (i < 1000) scratch[i] = s[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(128) second_pass(const float *scratch, float *out, const i64 *add, u64 step) {
	i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
	float v = i < 1000 ? scratch[i] : 0, sum = v;
	for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
	unsigned odd = __ballot_sync(~0u, threadIdx.x & 1);
	float first = __shfl_sync(~0u, v, 0);
	// The numbers of a warp are consecutive, so their sum is known.
	if (i < 1000) out[i] = odd == 0xaaaaaaaau && (i >= 992 || sum == 32 * first + 496) ? v + (float)(*add + (i64)step) : -1;
}`, scratch: []int64{4 * n}}
	first := wide("first_pass", n, in, gpu.Arg{Kind: gpu.Scratch})
	first.Shared = 4 * 128
	second := wide("second_pass", n, gpu.Arg{Kind: gpu.Scratch}, out, gpu.Arg{Kind: gpu.Host, Bytes: add}, gpu.Arg{Kind: gpu.Step})
	c.launches = []gpu.Launch{first, second}
	_, x, err := load(t, c, 1, 1, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Order.Store(0)
	for k, order := range []int64{1, 2, 7} {
		control.Order.Store(order)
		binary.LittleEndian.PutUint64(add, uint64(10*k))
		feed(t, x, ramp(n))
		if err := x.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := ramp(n)
		for i := range want {
			want[i] += float32(11 * k)
		}
		if got := fetch(t, x, 0); !slices.Equal(got, want) {
			t.Errorf("order %d: got %v", order, got[:10])
		}
	}
}

// TestMissingBarrier checks that the emulator gives other results in some order of threads if a barrier is
// missing.
func TestMissingBarrier(t *testing.T) {
	control := controls(t)
	c := &code{source: `
extern "C" __global__ void turn(const float *in, float *out) {
	__shared__ float s[128];
	s[threadIdx.x] = in[threadIdx.x];
	out[threadIdx.x] = s[127 - threadIdx.x];
}`, launches: []gpu.Launch{wide("turn", 128, in, out)}}
	_, x, err := load(t, c, 1, 1, 1, 128)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Order.Store(0)
	var results [][]float32
	for order := range int64(2) {
		control.Order.Store(order + 1)
		feed(t, x, ramp(128))
		if err := x.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		results = append(results, fetch(t, x, 0))
	}
	if slices.Equal(results[0], results[1]) {
		t.Error("the results are the same in two orders of threads")
	}
}

// TestFault runs device code that leaves a record if its input is negative. The next run is not disturbed.
func TestFault(t *testing.T) {
	c := &code{source: `
extern "C" __global__ void positive(const float *in, float *out, record *r) {
	i64 i = threadIdx.x;
	if (in[i] < 0) fault(r, 7, i, 2 * i, 3 * i);
	out[i] = in[i];
}`, launches: []gpu.Launch{wide("positive", 128, in, out, gpu.Arg{Kind: gpu.Fault})},
		fault: func(r gpu.Record) error {
			return &op.Error{Operator: "unary", Task: "forward", Slot: "input", Message: fmt.Sprint(r.Code, r.Values)}
		}}
	_, x, err := load(t, c, 2, 3, 2, 128)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []bool{true, false, true} {
		for k := range 3 {
			values := ramp(128)
			if bad && k == 1 {
				values[100] = -1
			}
			if err := engine.Feed(x, fmt.Sprint("x", k), values); err != nil {
				t.Fatal(err)
			}
		}
		err := x.Run(t.Context())
		var te *engine.TaskError
		switch {
		case !bad:
			if err != nil {
				t.Error(err)
			}
		case !errors.As(err, &te) || te.Node != "n1.0" || te.Operator != "unary" || te.Slot != "input" || !strings.Contains(err.Error(), "7 [100 200 300]"):
			t.Errorf("got %v", err)
		}
	}
}

// TestOutOfBounds runs device code that writes where nothing is. The error names the task and what it did.
// The device does nothing after that, and all is freed at the end.
func TestOutOfBounds(t *testing.T) {
	control := controls(t)
	before := control.Alive()
	for name, body := range map[string]string{
		"a write at":               "if (i == 70) out[i + 4000000000] = 1;",
		"a read at":                "if (i == 70) out[i] = in[i - 4000000000];",
		"bytes of local memory":    "volatile char c[400000]; if (i == 70) { c[0] = 1; out[i] = c[0]; }",
		"never reach":              "if (i == 1) __shfl_sync(3u, 1, 0); else if (i == 0) __syncthreads();",
		"an integer division by 0": "if (i == 70) out[i] = (int)i / (int)(in[i] - 70);",
		"a trap":                   "if (i == 70) __trap();",
	} {
		c := &code{source: `
extern "C" __global__ void wild(const float *in, float *out) {
	i64 i = threadIdx.x;
	` + body + `
}`, launches: []gpu.Launch{wide("wild", 128, in, out)}}
		e, x, err := load(t, c, 1, 1, 2, 128)
		if err != nil {
			t.Fatal(err)
		}
		err = x.Run(t.Context())
		var te *engine.TaskError
		if !errors.As(err, &te) || te.Node != "n0.0" || !strings.Contains(err.Error(), "kernel wild") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		} else if strings.HasSuffix(name, " at") && !strings.Contains(err.Error(), "thread (70,0,0) of block (0,0,0)") {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := engine.Fetch[float32](x, result(0)); err == nil {
			t.Errorf("%s: want an error of the next call, got none", name)
		}
		if err := e.Close(); err != nil || control.Alive() != before {
			t.Errorf("%s: closed: %v, alive are %s", name, err, control.Alive())
		}
	}
}

// TestStreams checks that chains that do not depend on each other run on several streams, and give what one
// stream gives.
func TestStreams(t *testing.T) {
	control := controls(t)
	c := &code{source: `
extern "C" __global__ void turns(const float *in, float *out) {
	float v = in[threadIdx.x];
	for (int i = 0; i < 200000; i++) v = v * 0.5f + 1;
	out[threadIdx.x] = v;
}`, launches: []gpu.Launch{wide("turns", 128, in, out)}}
	for _, queues := range []int{1, 3} {
		_, x, err := load(t, c, queues, 3, 4, 1<<22) // long enough for several streams, by the estimate of its time
		if err != nil {
			t.Fatal(err)
		}
		control.MostBusy.Store(0)
		if err := x.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			if got := fetch(t, x, k)[:128]; slices.Min(got) != 2 || slices.Max(got) != 2 {
				t.Errorf("%d queues: got %v", queues, got)
			}
		}
		if got := control.MostBusy.Load(); (got > 1) != (queues > 1) {
			t.Errorf("%d queues: %d streams were busy at the same time", queues, got)
		}
	}
}

// TestCodeErrors loads plans whose device code does not compile or does not fit the device. Only what
// compiles is kept to be compiled ahead.
func TestCodeErrors(t *testing.T) {
	sources := t.TempDir()
	t.Setenv("OPGEN_CUDA_SOURCES", sources)
	good := "\nextern \"C\" __global__ void copies(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x]; }\n"
	other := wide("copies", 128, in, out)
	large, shared, index := other, other, other
	large.Block = [3]int{2048, 1, 1}
	shared.Shared = 1 << 20
	index.Args = []gpu.Arg{in, {Kind: gpu.Tensor, Index: 1, Number: 3}}
	missing := other
	missing.Entry = "nothing"
	for want, c := range map[string]*code{
		"unary.forward":      {source: "\nextern \"C\" __global__ void copies(float *x) { x = nonsense; }\n", launches: []gpu.Launch{other}},
		"1024 threads along": {source: good, launches: []gpu.Launch{large}},
		"of shared memory":   {source: good, launches: []gpu.Launch{shared}},
		"got number 3":       {source: good, launches: []gpu.Launch{index}},
		"nothing":            {source: good, launches: []gpu.Launch{missing}},
	} {
		_, _, err := load(t, c, 1, 1, 1, 128)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "unary") {
			t.Errorf("%s: got %v", want, err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(sources, "*"))
	if err != nil || len(kept) != 1 {
		t.Errorf("want that a source is kept, got %v, %v", kept, err)
	}
}

// TestMemoryOfDevice asks for more than the device has.
func TestMemoryOfDevice(t *testing.T) {
	b := open(t)(1)
	_, err := b.Alloc(0, 1<<50)
	if err == nil || !strings.Contains(err.Error(), "want 1125899906842624 bytes of device 0") || !strings.Contains(err.Error(), "are free") {
		t.Errorf("got %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestCanceled cancels before a run.
func TestCanceled(t *testing.T) {
	c := &code{source: "\nextern \"C\" __global__ void copies(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x]; }\n",
		launches: []gpu.Launch{wide("copies", 128, in, out)}}
	_, x, err := load(t, c, 1, 1, 1, 128)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
