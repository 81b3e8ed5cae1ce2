package region_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/region"
)

// Two tasks must not run at the same time if one writes an element that the other accesses.
func ExampleRegion() {
	rows := region.Region{Root: 0, Box: region.Box{Lo: []int{0, 0}, Hi: []int{4, 8}}}
	columns := region.Region{Root: 0, Box: region.Box{Lo: []int{0, 6}, Hi: []int{9, 8}}}
	fmt.Println(rows.Overlaps(columns), rows.Intersect(columns.Box), region.Whole(0, []int{9, 8}).Contains(rows))
	// Output: true [0:4, 6:8] true
}

// Tensors that are needed at the same time must not share bytes.
func ExamplePlace() {
	a, b := region.Place{Off: 0, Bytes: 64}, region.Place{Off: 64, Bytes: 128}
	fmt.Println(a.Overlaps(b), a.Overlaps(region.Place{Off: 32, Bytes: 64}))
	// Output: false true
}
