package blas_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/blas"
)

// A matrix of 2 x 3 elements times one of 3 x 2, which is stored by columns.
func ExampleMultiply() {
	a := []float64{1, 2, 3, 4, 5, 6}
	b := []float64{1, 0, 2, 0, 1, 1} // the columns (1, 0, 2) and (0, 1, 1)
	c := make([]float64, 4)
	blas.Multiply(c, 2, a, 3, false, b, 3, true, 2, 2, 3, false)
	fmt.Println(c)
	// Output: [7 5 16 11]
}
