package target_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/target"
)

// Kernels of CPUs compute with f32 what is stored in 16 bits.
func Example() {
	fmt.Println(target.CPU.Type(dtype.F16), target.CPU.Type(dtype.F64))
	// Output: f32 f64
}
