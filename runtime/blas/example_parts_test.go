package blas_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

// A product can be computed in parts, which give the same bits: here, two rows of the first column, and then
// the other column.
func ExampleGemm_parts() {
	a := tensortest.RO([]float32{1, 2, 3, 4}, 2, 2).Mat(0, 2, 2)
	b := tensortest.RO([]float32{5, 6, 7, 8}, 2, 2).Mat(0, 2, 2)
	product := make([]float32, 4)
	c := tensortest.RW(product, 2, 2).Out(0, 2, 2, tensor.Store)
	for i := range 2 {
		blas.Gemm(c.RowRange(i, i+1).ColRange(0, 1), 1, a.RowRange(i, i+1), b.ColRange(0, 1))
	}
	blas.Gemm(c.ColRange(1, 2), 1, a, b.ColRange(1, 2))
	fmt.Println(product)
	// Output: [19 22 43 50]
}
