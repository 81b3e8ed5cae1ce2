//go:build cuda

package cuda_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/cuda"
)

// startVariable makes the tests of a process open a backend and print what came of it.
const startVariable = "OPGEN_TEST_START"

// TestStart starts a process without a driver, with one that finds no GPU, and with the emulator, also
// without a compiler. Each process starts, and says what it lacks.
func TestStart(t *testing.T) {
	if os.Getenv(startVariable) != "" {
		b, err := cuda.New(cuda.Config{})
		fmt.Println("opened:", err)
		if err == nil {
			fmt.Println(b.Close(), b.Workers())
		}
		return
	}
	controls(t)
	for _, tt := range []struct {
		environment []string
		want        string
	}{
		{[]string{"OPGEN_LIBCUDA=/nowhere/libcuda.so.1"}, "opened: cuda: there is no driver: /nowhere/libcuda.so.1: cannot open shared object file"},
		{[]string{"OPGEN_LIBCUDA=libm.so.6"}, "opened: cuda: there is no driver: libm.so.6 has no cuInit"},
		{[]string{"OPGEN_EMULATOR_INIT=100"}, "opened: cuda: there is no driver: cuInit failed: CUDA_ERROR_NO_DEVICE (100)"},
		{[]string{"OPGEN_EMULATOR_DEVICES=0"}, "opened: cuda: want 1 devices, the machine has 0"},
		{[]string{"OPGEN_CUDA_DEVICES=0,2"}, "opened: cuda: OPGEN_CUDA_DEVICES: want numbers of GPUs, of which the machine has 2, got \"0,2\""},
		{[]string{"OPGEN_EMULATOR_DEVICES=1", "OPGEN_CUDA_DEVICES=0,0"}, "opened: <nil>\n<nil> 1"},
		{[]string{"OPGEN_CUDA_COMPILER=cc"}, "want a command with {in} and {out}"},
		{[]string{"OPGEN_CUDA_COMPILER=/nowhere/cc {in} {out}"}, "/nowhere/cc"},
		{nil, "opened: <nil>\n<nil> 1"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStart$", "-test.count=1")
		cmd.Env = append(append(os.Environ(), startVariable+"=1"), tt.environment...)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%v: got %v\n%swant %s", tt.environment, err, out, tt.want)
		}
	}
}
