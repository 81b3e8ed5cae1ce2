package gpu_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/gpu"
)

// The numbers of an operator with a dimension, two attributes and a run of dimensions take 13 words of 8
// bytes.
func ExampleNumbers() {
	n := new(gpu.Numbers).
		Int(3).
		Float(0.5).
		Bool(true).
		Extents(2, 4)
	fmt.Printf("% x\n", n.Bytes()[:24])
	fmt.Println(len(n.Bytes()) / 8)
	// Output:
	// 03 00 00 00 00 00 00 00 00 00 00 00 00 00 e0 3f 01 00 00 00 00 00 00 00
	// 13
}
