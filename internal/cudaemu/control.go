//go:build cuda

package cudaemu

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"
)

// Variables of the environment that choose the driver and the compiler.
const (
	libraryVariable  = "OPGEN_LIBCUDA"
	blasVariable     = "OPGEN_LIBCUBLAS"
	compilerVariable = "OPGEN_CUDA_COMPILER"
	controlVariable  = "OPGEN_EMULATOR_CONTROL"
	cacheVariable    = "OPGEN_CUDA_CACHE"
	patienceVariable = "OPGEN_CUDA_PATIENCE"
	// emulatorVariable holds the folder of an emulator that is built; otherwise tests build one.
	emulatorVariable = "OPGEN_EMULATOR"
)

// Main is TestMain of a package whose tests need a GPU: it builds the emulator and runs the tests with it.
// The driver is chosen when a process starts, so the tests run in another process. If OPGEN_LIBCUDA names a
// driver, it is used.
func Main(m *testing.M) {
	if os.Getenv(libraryVariable) != "" {
		os.Exit(m.Run())
	}
	code, err := again(os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Inside runs a test of a package with a TestMain of its own in another process, with the emulator. It
// returns whether this is that process.
func Inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(libraryVariable) != "" {
		return true
	}
	if code, err := again("-test.run=^"+t.Name()+"$", "-test.v"); code != 0 || err != nil {
		t.Fatalf("status %d, %v", code, err)
	}
	return false
}

// again runs this program in another process, with the emulator, and returns its exit status.
func again(args ...string) (int, error) {
	dir, err := os.MkdirTemp("", "cudaemu")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	emulator := os.Getenv(emulatorVariable)
	if emulator == "" {
		emulator = dir
		if err := Build(dir); err != nil {
			return 0, err
		}
	}
	control := filepath.Join(dir, "control")
	if err := os.WriteFile(control, make([]byte, unsafe.Sizeof(Control{})), 0o644); err != nil {
		return 0, err
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(environment(emulator), controlVariable+"="+control)
	if os.Getenv(cacheVariable) == "" {
		cmd.Env = append(cmd.Env, cacheVariable+"="+filepath.Join(dir, "cache"))
	}
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// environment returns the environment of this process, with the emulator in a folder as driver and compiler.
func environment(dir string) []string {
	return append(os.Environ(), libraryVariable+"="+filepath.Join(dir, "libcuda.so.1"),
		blasVariable+"="+filepath.Join(dir, "libcublas.so.12"), compilerVariable+"="+filepath.Join(dir, "compile.sh")+" {in} {out}")
}

// Control is what tests tell the emulator, and what it counts.
type Control struct {
	Calls    atomic.Int64 // of the driver, so far
	FailAt   atomic.Int64 // number of the call that fails; 0: none
	FailCode atomic.Int64 // of that call
	// Order is that of the threads of a block between barriers: 1 forward, 2 backward, above that the seed of
	// a random one; 0 as OPGEN_CUDA_ORDER says.
	Order                                              atomic.Int64
	Memory, Pinned, Streams, Events, Modules, Contexts atomic.Int64 // that are alive
	Launches                                           atomic.Int64
	Busy, MostBusy                                     atomic.Int64 // streams that run something at the same time
	failName                                           atomic.Int64
	Handles, Products                                  atomic.Int64 // of cuBLAS: that are alive, and multiplications so far
	Graphs, Replays                                    atomic.Int64 // that are alive, and launches of them
	Together                                           atomic.Int64 // launches whose blocks wait for each other
}

var open *Control

// Controls returns the emulator's memory of tests, which this process shares with it.
func Controls() (*Control, error) {
	if open != nil {
		return open, nil
	}
	f, err := os.OpenFile(os.Getenv(controlVariable), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := syscall.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(Control{})), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	open = (*Control)(unsafe.Pointer(unsafe.SliceData(b)))
	return open, nil
}

// Fail makes the n-th call of the driver from now on fail with a code; 0 makes none fail. Only calls of the
// function of a name count, unless the name is "".
func (c *Control) Fail(n int64, name string, code int64) {
	c.FailAt.Store(0)
	var hash int64
	for _, b := range []byte(name) {
		hash = hash*31 + int64(b)
	}
	c.failName.Store(hash)
	c.FailCode.Store(code)
	c.Calls.Store(0)
	c.FailAt.Store(n)
}

// Alive describes what is alive.
func (c *Control) Alive() string {
	return fmt.Sprintf("%d blocks of memory, %d of pinned memory, %d streams, %d events, %d modules, %d contexts, %d handles of cuBLAS, %d graphs",
		c.Memory.Load(), c.Pinned.Load(), c.Streams.Load(), c.Events.Load(), c.Modules.Load(), c.Contexts.Load(), c.Handles.Load(), c.Graphs.Load())
}
