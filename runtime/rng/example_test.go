package rng_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/rng"
)

// A number depends on seed, stream and position only, so the order of draws does not matter.
func Example() {
	s := rng.New(1, 0)
	second, first := s.Uniform(1), s.Uniform(0)
	fmt.Println(first == rng.New(1, 0).Uniform(0), second == rng.New(1, 0).Uniform(1), first == second)
	// Output: true true false
}

// A block has 128 random bits.
func ExampleSource_Block() {
	fmt.Printf("%08x\n", rng.New(0, 0).Block(0))
	// Output: [6627e8d5 e169c58d bc57ac4c 9b00dbd8]
}
