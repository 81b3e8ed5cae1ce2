package box_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/box"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

// A matrix of two rows is transposed, its columns are summed, and it is multiplied by a vector.
func Example() {
	matrix := tensortest.RO([]float64{1, 2, 3, 4, 5, 6}, 2, 3).Span(0, 6)
	vector := tensortest.RO([]float64{1, 10, 100}, 3).Span(0, 3)
	result := make([]float64, 6)
	to := func(n int) tensor.OutMat[float64] { return tensortest.WO(result, 6).Mat(0, 1, n) }

	box.Put(to(6), matrix, []box.Axis{{Extent: 3, C: 2, A: 1}, {Extent: 2, C: 1, A: 3}})
	fmt.Println(result)
	box.PutSums(to(3), matrix, []box.Axis{{Extent: 3, C: 1, A: 1}, {Extent: 2, C: 0, A: 3}})
	fmt.Println(result[:3])
	box.PutProducts(to(2), matrix, vector, []box.Axis{{Extent: 2, C: 1, A: 3, B: 0}, {Extent: 3, C: 0, A: 1, B: 1}})
	fmt.Println(result[:2])
	// Output:
	// [1 4 2 5 3 6]
	// [5 7 9]
	// [321 654]
}

// Neighboring axes along which all tensors go on alike are one.
func ExampleMerge() {
	fmt.Println(box.Merge([]box.Axis{{Extent: 2, C: 12, A: 12}, {Extent: 3, C: 4, A: 4}, {Extent: 4, C: 1, A: 0}}))
	// Output: [{6 4 4 0} {4 1 0 0}]
}
