package task_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// An operator describes its tasks to tools: what they take, and what they may do with it.
func ExampleOperator() {
	for _, s := range softmax.Operator.Signatures {
		for _, p := range s.Params {
			fmt.Println(s.Task, softmax.Operator.SlotName(p.Slot), p.Grad, p.Perm)
		}
	}
	// Output:
	// forward input false read
	// forward output false write
	// backward output false read
	// backward input true write
	// backward output true read
}

// Attributes are written as JSON.
func ExampleAttrObject() {
	attrs := softmax.Defaults().WithDim(1)
	object, err := task.AttrObject(&attrs)
	fmt.Printf("%s %v\n", object["dim"], err)
	// Output: 1 <nil>
}

// An init task allocates a block in memory of its device, writes it, and returns it as the state of its node.
// Here, the device is the host.
func ExampleAllocBlock() {
	memory := task.NewMemory(nil, nil).WithBlocks(func(bytes int64) (*task.Block, error) {
		at := make([]byte, bytes)
		write := func(p []byte) error { copy(at, p); return nil }
		read := func(p []byte) error { copy(p, at); return nil }
		return task.NewBlock(bytes, "on the host", write, read), nil
	})
	roots, err := task.AllocBlock(memory, dtype.F64, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	got := make([]float64, 3)
	fmt.Println(task.WriteBlock(roots, []float64{1, 1.4142, 1.732}), task.ReadBlock(got, roots))
	fmt.Println(got, roots.Bytes(), roots.Region())
	// Output:
	// <nil> <nil>
	// [1 1.4142 1.732] 24 on the host
}
