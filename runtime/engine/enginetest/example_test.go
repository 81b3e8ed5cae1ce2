package enginetest_test

import (
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/engine/enginetest"
)

// The test of a backend runs all tests of the package on it.
func ExampleRun() {
	_ = func(t *testing.T) { // TestBackend of a package with a backend
		enginetest.Run(t, func(workers int) engine.Backend {
			return cpu.New(cpu.Config{Workers: workers, Devices: 2})
		}, catalogue.Register)
	}
	// Output:
}
