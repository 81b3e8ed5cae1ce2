package gpu_test

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/gpu"
)

// A unit is checked before it is compiled: against the signature of its task, and against the limits of a
// device.
func ExampleUnit_Check() {
	forward := softmax.Operator.Signatures[0]
	launch := gpu.Launch{Entry: "lanes", Grid: [3]int{8, 1, 1}, Block: [3]int{2048, 1, 1}, Args: []gpu.Arg{{Kind: gpu.Tensor, Index: 0}, {Kind: gpu.Tensor, Index: 1}}}
	fmt.Println(launch.Check(gpu.Least))
	launch.Block[0] = 256
	unit := &gpu.Unit{Source: "...", Steps: [][]gpu.Launch{{launch}}}
	fmt.Println(unit.Check(forward, gpu.Least))
	var one gpu.Limits // a device that runs nothing
	fmt.Println(unit.Check(forward, one))
	// Output:
	// lanes: want 1 to 1024 threads along dimension 0 of a block, got 2048
	// <nil>
	// operator softmax, task forward: lanes: want 1 to 0 blocks along dimension 0, got 8
}

// The record of a fault has the same size on both sides, and the functions that leave one are in the prelude.
func ExampleRecord() {
	fmt.Println(unsafe.Sizeof(gpu.Record{}) == gpu.RecordBytes, strings.Contains(gpu.Prelude, "opgen_fault(record *r,"))
	// Output: true true
}
