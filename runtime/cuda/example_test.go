//go:build !cuda

package cuda_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/cuda"
)

// A program that may have a GPU goes on without one. This one is built without the tag cuda.
func ExampleNew() {
	backend, err := cuda.New(cuda.Config{})
	fmt.Println(backend == nil, err != nil)
	// Output: true true
}
