package kernels_test

import (
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/graph"
)

// values holds the elements of tensors by name.
type values = map[string][]float64

// run runs a program with the kernels of the catalogue.
func run(p *graph.Program, fed values, x optest.Execution) (values, error) {
	return optest.Run(catalogue.Register, p, fed, x)
}

// mustRun does so in a test that wants no error.
func mustRun(t *testing.T, p *graph.Program, fed values, x optest.Execution) values {
	t.Helper()
	v, err := run(p, fed, x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
