package raw_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/raw"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

// A kernel passes lanes to code that takes slices. Lanes along another dimension than the last have a stride.
func Example() {
	input := tensortest.RO([]float32{0, 1, 2, 3, 4, 5}, 2, 3)
	//opgen:raw the sum of a library takes a slice
	data, stride := raw.Slice(input.Lane(1))
	fmt.Println(data, stride)

	memory := make([]float32, 6)
	//opgen:raw the fill of a library takes a slice
	out, _ := raw.Writable(tensortest.WO(memory, 2, 3).Lane(0))
	copy(out, []float32{7, 8, 9})
	fmt.Println(memory)
	// Output:
	// [3 4 5] 1
	// [7 8 9 0 0 0]
}
