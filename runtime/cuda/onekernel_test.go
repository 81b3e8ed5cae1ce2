//go:build cuda

package cuda_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/dropout"
	layernorm "github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/graph"
)

// network trains a network with dropout, norms, softmax and Adam, and returns all losses.
func network(t *testing.T, config cuda.Config) (losses []float32) {
	t.Helper()
	b, err := cuda.New(config)
	if err != nil {
		t.Fatal(err)
	}
	err = opgen.Do(catalogue.RegisterCUDA, func(s *opgen.Session) error {
		g := graph.New(1)
		x, y := g.Input("x", dtype.F32, 16, 8), g.Input("y", dtype.F32, 16, 8)
		h := layernorm.Apply(g, layernorm.Defaults(attr.ListOf(1)), linear.Apply(g, linear.Defaults(80).WithActivation(activation.Tanh), x))
		h = dropout.Apply(g, dropout.Defaults(0.3), h)
		out := softmax.Apply(g, softmax.Defaults(), linear.Apply(g, linear.Defaults(8), h, graph.Named("last")))
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(out), mse.Label(y))
		step, err := s.Training(t.Context(), g, loss, adam.Optimizer(adam.Defaults()), loss)
		if err != nil {
			return err
		}
		for k := range 4 {
			values := ramp(128)
			for i := range values {
				values[i] = float32((i*i+k)%17) / 17
			}
			if err := step.Run(t.Context(), opgen.With(x, values), opgen.With(y, values)); err != nil {
				return err
			}
			l, err := opgen.Fetch[float32](step, loss)
			if err != nil {
				return err
			}
			losses = append(losses, l...)
		}
		return nil
	}, opgen.Backend(b))
	if err != nil {
		t.Fatal(err)
	}
	return losses
}

// TestOneKernel trains with launches, and with kernels of many launches: with products of a library between
// them, and without. The losses have the same bits in every order of threads.
func TestOneKernel(t *testing.T) {
	control := controls(t)
	defer control.Order.Store(0)
	for _, library := range []string{os.Getenv("OPGEN_LIBCUBLAS"), "none"} {
		t.Setenv("OPGEN_LIBCUBLAS", library)
		control.Order.Store(0)
		want := network(t, cuda.Config{})
		for _, order := range []int64{0, 1, 7} {
			control.Order.Store(order)
			together, launches := control.Together.Load(), control.Launches.Load()
			got := network(t, cuda.Config{OneKernel: true})
			together, launches = control.Together.Load()-together, control.Launches.Load()-launches
			if !slices.Equal(got, want) {
				t.Errorf("library %s, order %d: losses %v, want %v", library, order, got, want)
			}
			if together < 5 || library == "none" && launches-together > 8 { // softmax by hand has other blocks
				t.Errorf("library %s, order %d: %d launches, %d of kernels of many", library, order, launches, together)
			}
		}
	}
}

// patient is device code with a body that doubles 4096 elements and exchanges neighbors, but at 13 waits for
// so many milliseconds first.
func patient(wait int) *code {
	c := &code{source: strings.ReplaceAll(`
struct patient_memory { float held[256]; };
OPGEN_DEVICE void patient_body(const opgen_grid &grid, const float *in, float *out) {
	auto &held = ((patient_memory *)grid.memory)->held;
	i64 i = opgen_thread(grid);
	held[threadIdx.x] = in[i];
	__syncthreads();
	const u64 until = cuemu_now() + @wait@ * 1000000ull;
	while (held[0] == 13 && cuemu_now() < until) __nanosleep(1000);
	out[i] = 2 * held[threadIdx.x ^ 1];
}
extern "C" __global__ void patient(const float *in, float *out) {
	__shared__ patient_memory memory;
	patient_body(opgen_launched(&memory), in, out);
}
OPGEN_DEVICE void patient_on(const opgen_grid &grid, const u64 *args) { patient_body(grid, (const float *)args[0], (float *)args[1]); }
`, "@wait@", strconv.Itoa(wait))}
	c.launches = []gpu.Launch{{Entry: "patient", Body: "patient_on", Memory: "patient_memory", Grid: [3]int{16, 1, 1}, Block: [3]int{256, 1, 1}, Args: []gpu.Arg{in, out}}}
	return c
}

// TestOneKernelOfHand runs bodies by hand, which use shared memory, in chains that do not depend on each
// other.
func TestOneKernelOfHand(t *testing.T) {
	control := controls(t)
	together := control.Together.Load()
	_, x, err := loadOn(t, cuda.Config{OneKernel: true}, patient(1), 3, 4, 4096)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, name := range []string{"x0", "x1", "x2"} {
			if err := engine.Feed(x, name, ramp(4096)); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			got := fetch(t, x, k)
			for i := range got {
				if got[i] != float32(16*i) {
					t.Fatalf("chain %d, element %d: got %v", k, i, got[i])
				}
			}
		}
	}
	if n := control.Together.Load() - together; n != 3 {
		t.Errorf("%d kernels ran, want 3", n)
	}
}

// TestStuck runs a body that takes too long. The error names the block, the task at which it is and the task
// that waits, and the backend says that it cannot be used any more, unless the kernel has ended.
func TestStuck(t *testing.T) {
	controls(t)
	_, x, err := loadOn(t, cuda.Config{OneKernel: true, Patience: time.Second}, patient(5000), 1, 3, 4096)
	if err != nil {
		t.Fatal(err)
	}
	values := ramp(4096)
	values[0] = 13
	if err := engine.Feed(x, "x0", values); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = x.Run(t.Context())
	var stuck *cuda.StuckError
	if !errors.As(err, &stuck) {
		t.Fatalf("got %v after %v", err, time.Since(began))
	}
	if stuck.For != 0 || !strings.Contains(stuck.At, "n0.0") || stuck.Worker >= 0 && !strings.Contains(stuck.Waiting, "n0.1") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(err.Error(), "n0.0") {
		t.Errorf("want the task in %v", err)
	}
	if stuck.Ended { // the machine was fast
		return
	}
	if err := engine.Feed(x, "x0", values); !errors.As(err, &stuck) {
		t.Errorf("what comes after it: %v", err)
	}
}

// TestOneKernelStops cancels a run. It ends with the cause, and a later run has right results.
func TestOneKernelStops(t *testing.T) {
	controls(t)
	_, x, err := loadOn(t, cuda.Config{OneKernel: true, Patience: time.Minute}, patient(300), 1, 3, 4096)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	values := ramp(4096)
	values[0] = 13
	feed(t, x, values)
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	if err := x.Run(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	feed(t, x, ramp(4096))
	if err := x.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, x, 0); got[3] != 16 {
		t.Errorf("got %v", got[:4])
	}
}

// TestOneKernelForGPUs compiles the kernels of a training for two architectures. They read nothing through
// the cache for what a launch does not change, since a launch of many changes it. None of their registers are
// spilled.
func TestOneKernelForGPUs(t *testing.T) {
	nvcc, err := exec.LookPath("nvcc")
	if err != nil {
		t.Skip("there is no nvcc")
	}
	dir := t.TempDir()
	t.Setenv("OPGEN_CUDA_SOURCES", dir)
	t.Setenv("OPGEN_LIBCUBLAS", "none")
	network(t, cuda.Config{OneKernel: true})
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	most := ""
	for _, f := range files { // the kernel with the most bodies
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "opgen_one_kernel") && len(b) > len(most) {
			most = string(b)
		}
	}
	path := filepath.Join(dir, "one.cu")
	if err := os.WriteFile(path, []byte(most), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"sm_80", "sm_90"} {
		ptx := filepath.Join(dir, arch+".ptx")
		if out, err := exec.Command(nvcc, "-std=c++17", "-arch="+arch, "-ptx", "-o", ptx, path).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(ptx)
		if err != nil {
			t.Fatal(err)
		}
		_, kernel, _ := strings.Cut(string(text), ".entry opgen_one_kernel")
		kernel, _, _ = strings.Cut(kernel, "\n}")
		for text, want := range map[string]bool{"ld.global.nc": false, "ld.acquire.gpu": true, "st.release.gpu": true, "bar.sync": true} {
			if strings.Contains(kernel, text) != want {
				t.Errorf("%s: %s stands in the kernel: want %v, of %d bytes", arch, text, want, len(kernel))
			}
		}
		out, err := exec.Command("ptxas", "-arch="+arch, "-v", "-o", ptx+".cubin", ptx).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, report, found := strings.Cut(string(out), "'opgen_one_kernel'")
		report, _, _ = strings.Cut(report, "Compiling")
		if !found || !strings.Contains(report, " 0 bytes spill stores") {
			t.Errorf("%s: want no spilled registers, got %s", arch, report)
		}
		t.Logf("%s: %s", arch, strings.Join(strings.Fields(report), " "))
	}
}
