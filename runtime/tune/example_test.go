package tune_test

import (
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/tune"
)

// The program that opgen tune compiles for this module.
func ExampleMain() {
	tune.Main(catalogue.Register, catalogue.Operators())
}
