package call_test

import (
	"fmt"
	"unsafe"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/runtime/call"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// A call computes an operator with what memory holds when it runs.
func Example() {
	x, y := []float32{-1, 2}, make([]float32, 2)
	on := func(slot elementunary.Slot, elements []float32) call.Operand {
		return call.Operand{Slot: int(slot), Tensor: task.Operand{Type: dtype.F32, Shape: []int{2}}, Elements: 2,
			Bytes: unsafe.Slice((*byte)(unsafe.Pointer(&elements[0])), 8)}
	}
	var tasks task.Registry
	if err := catalogue.Register(&tasks); err != nil {
		fmt.Println(err)
		return
	}
	c, err := call.Bind(&tasks, &elementunary.Operator.Operator, elementunary.Defaults(elementunary.OpTypeRelu),
		[]call.Operand{on(elementunary.SlotInput, x), on(elementunary.SlotOutput, y)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		if err := c.Run(); err != nil {
			fmt.Println(err)
		}
		fmt.Println(y)
		x[0] = 5
	}
	// Output:
	// [0 2]
	// [5 2]
}
