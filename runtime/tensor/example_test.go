package tensor_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

// sums writes the sum of each lane of x. A view for reading has no writer, and one for writing no reader.
func sums(x tensor.RO[float32], to tensor.WO[float32]) {
	for i := range to.Len() {
		lane, sum := x.Lane(i), float32(0)
		for k := range lane.Len() {
			sum += lane.At(k)
		}
		to.Set(i, sum)
	}
}

func Example() {
	x := tensortest.RO([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	rows, columns := make([]float32, 2), make([]float32, 3)
	sums(x, tensortest.WO(rows, 2))
	sums(x.Along(0), tensortest.WO(columns, 3))
	fmt.Println(rows, columns)
	// Output: [6 15] [5 7 9]
}
