package gpu_test

import (
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/task"
)

// double is a kernel for GPUs, of a task that writes twice its first tensor to its second.
type double struct{}

// Lower returns a launch of a function with a thread for each element.
func (double) Lower(a *task.Accessor) (*gpu.Unit, error) {
	n := len(a.Memory(0, false)[0].Bytes) / 4
	source := fmt.Sprintf(`
extern "C" __global__ void double_%d(const float *in, float *out) {
	i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < %d) out[i] = 2 * in[i];
}`, n, n)
	launch := gpu.Launch{Entry: fmt.Sprintf("double_%d", n), Grid: [3]int{(n + 255) / 256, 1, 1}, Block: [3]int{256, 1, 1},
		Args: []gpu.Arg{{Kind: gpu.Tensor, Index: 0}, {Kind: gpu.Tensor, Index: 1}}}
	return &gpu.Unit{Source: source, Steps: [][]gpu.Launch{{launch}},
		Fault: func(gpu.Record) error { return errors.New("the kernel leaves no faults") }}, nil
}

// A kernel for GPUs gives CUDA C++ and launches for the shapes of a use. Backends compile it behind the prelude, and check the
// launches against the limits of the device.
func ExampleKernel() {
	var k gpu.Kernel = double{}
	s := &task.Signature{Operator: &task.Operator{Name: "double"}, Task: "forward", Steps: []task.Step{{}}, Params: make([]task.Param, 2)}
	a := &task.Accessor{Signature: s, Memory: func(int, bool) []task.Buffer { return []task.Buffer{{Bytes: make([]byte, 4000)}} }}
	unit, err := k.Lower(a)
	if err != nil {
		fmt.Println(err)
		return
	}
	launch := unit.Steps[0][0]
	fmt.Println(launch.Entry, launch.Grid, launch.Block, len(gpu.Prelude+unit.Source) > len(gpu.Prelude))
	fmt.Println(unit.Check(s, gpu.Least))
	limits := gpu.Limits{Threads: 128, Block: [3]int{128, 1, 1}, Grid: [3]int{8, 1, 1}}
	fmt.Println(launch.Check(limits))
	fmt.Println(gpu.RecordBytes, "bytes of a fault")
	// Output:
	// double_1000 [4 1 1] [256 1 1] true
	// <nil>
	// double_1000: want 1 to 128 threads along dimension 0 of a block, got 256
	// 32 bytes of a fault
}
