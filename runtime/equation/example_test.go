package equation_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/equation"
)

// The shape of a product of matrices, and why two matrices have none.
func Example() {
	fmt.Println(equation.Shape("ij,jk->ik", [][]int{{2, 3}, {3, 4}}))
	_, err := equation.Shape("ij,jk->ik", [][]int{{2, 3}, {5, 4}})
	fmt.Println(err)
	fmt.Println(equation.Check("ij,jk->il"))
	// Output:
	// [2 4] <nil>
	// equation "ij,jk->ik": the label j has the extent 3, and 5 in input 1
	// equation "ij,jk->il": no input has the label l of the output
}
