package shape_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/shape"
)

func Example() {
	common, ok := shape.Broadcast([]int{4, 1, 3}, []int{5, 3})
	fmt.Println(common, ok, shape.Prod(common), shape.Strides(common), shape.Permute(common, []int{2, 0, 1}))
	// Output: [4 5 3] true 60 [15 3 1] [3 4 5]
}
