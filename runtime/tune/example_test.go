package tune_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/tune"
)

// The main function of the program that opgen tune compiles for this module.
func ExampleMain() {
	main := func() { tune.Main(catalogue.Register, catalogue.Operators()) }
	fmt.Printf("%T\n", main)
	// Output: func()
}
