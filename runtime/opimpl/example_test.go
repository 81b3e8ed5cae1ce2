package opimpl_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/opimpl"
)

// Slots have numbers, which are constants of an operator's package, and names for messages.
func ExampleSlotName() {
	fmt.Println(opimpl.SlotName(softmax.Operator, softmax.SlotInput), opimpl.SlotName(softmax.Operator, softmax.SlotOutput))
	// Output: input output
}
