package op_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/op"
)

// The domain of a task is cut into tiles. A kernel gets one tile at a time, as a range.
func Example() {
	grid := op.Grid{Axis: op.Axis{Over: 5, Grain: 4}, Inner: []op.Axis{{Over: 6, Grain: 3}}}
	for k := range grid.Tiles() {
		fmt.Println(k, grid.Tile(k))
	}
	fmt.Println(grid.Whole())
	// Output:
	// 0 [0, 4) x [0, 3)
	// 1 [0, 4) x [3, 6)
	// 2 [4, 5) x [0, 3)
	// 3 [4, 5) x [3, 6)
	// [0, 5) x [0, 6)
}

// A box bounds each dimension of a domain. Of a dimension that the box does not have, there is the index 0.
func ExampleBox() {
	r := op.Box([2]int{0, 4}, [2]int{3, 6})
	fmt.Println(r)
	fmt.Println(r.Dim(1))
	fmt.Println(r.Dim(2))
	// Output:
	// [0, 4) x [3, 6)
	// 3 6
	// 0 1
}
