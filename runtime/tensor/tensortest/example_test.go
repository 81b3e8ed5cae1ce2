package tensortest_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

// The test of a function that takes views makes them of slices. A gradient is added to what the slice has.
func ExampleGrad() {
	sums := []float32{10, 20}
	grad := tensortest.Grad(tensor.Accumulate, sums, 2)
	grad.Put(0, 1)
	grad.Put(1, 2)
	fmt.Println(sums)
	// Output: [11 22]
}
