package a64_test

import (
	"fmt"

	"github.com/opgen/opgen/internal/base/a64"
)

// A column of a product: one element of y is loaded into all elements of a register, or multiplies a register
// of x by its number.
func Example() {
	fmt.Printf("ld1r {v19.4s}, [x13]           %08x\n", a64.LoadRepeat(false, 19, 13))
	fmt.Printf("fmla v9.4s, v21.4s, v30.s[1]   %08x\n", a64.MulAddElement(false, 9, 21, 30, 1))
	// Output:
	// ld1r {v19.4s}, [x13]           4d40c9b3
	// fmla v9.4s, v21.4s, v30.s[1]   4fbe12a9
}
