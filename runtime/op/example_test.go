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
