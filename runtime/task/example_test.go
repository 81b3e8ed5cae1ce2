package task_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/softmax"
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
