package opimpl_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/task"
)

// Slots have numbers, which are constants of an operator's package, and names for messages.
func ExampleSlotName() {
	fmt.Println(opimpl.SlotName(softmax.Operator, softmax.SlotInput), opimpl.SlotName(softmax.Operator, softmax.SlotOutput))
	// Output: input output
}

// A list in which single tensors are absent has those that are there, and their places.
func ExampleResolver_Places() {
	o := &task.Operator{Name: "pick", Slots: []task.Slot{{Name: "indices", Role: task.RoleInput, Type: "i64", Variadic: true, Gaps: true, Max: task.Unbounded}}}
	rules := func(r *opimpl.Resolver[int], _ softmax.Attrs, _ *struct{}) { fmt.Println(r.Len(0), r.Places(0)) }
	given := task.NoneGiven(o)
	given.Operands[0] = []task.Operand{{Type: dtype.I64, Shape: []int{2}}, {Type: dtype.I64, Shape: []int{2}}}
	given.Places = map[int][]int{0: {1, 3}}
	if _, err := opimpl.Resolve(rules)(o, softmax.Defaults(), given); err != nil {
		fmt.Println(err)
	}
	// Output: 2 [1 3]
}
