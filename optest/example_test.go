package optest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/nonzero"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// All runs every check on every operator of a catalogue. Options give values for inputs that random numbers
// do not fit, make tolerances wider, and leave an operator out of a check.
func ExampleAll() {
	_ = func(t *testing.T) { // TestOperators of a module
		optest.All(t, catalogue.Register, catalogue.Operators(),
			optest.Values("segment_prod", "segment", func(r *rand.Rand, x optest.Input) []float64 {
				segments := make([]float64, x.Shape[0])
				for i := range segments {
					segments[i] = float64(r.IntN(x.Below))
				}
				return segments
			}),
			optest.Tolerance("segment_prod", 10),
			optest.Skip("Halves", "segment_prod", "products of many rows need 32 bits"))
	}
	// Output:
}

// Register adds the kernels of another catalogue, such as those of opgen's initializers.
func ExampleRegister() {
	var register func(*task.Registry) error // catalogue.Register of the module
	var operators []*graph.Operator         // catalogue.Operators() of the module
	_ = func(t *testing.T) {
		optest.All(t, register, operators, optest.Register(catalogue.Register))
	}
	// Output:
}

// Partners names operators of other modules with which operators of the module are fused.
func ExamplePartners() {
	var register func(*task.Registry) error // catalogue.Register of the module
	var operators []*graph.Operator         // catalogue.Operators() of the module
	_ = func(t *testing.T) {
		optest.All(t, register, operators, optest.Register(catalogue.Register), optest.Partners(elementunary.Operator))
	}
	// Output:
}

// The numbers of elements that are not zero follow from no formula, so a function of Go says what they are.
func ExampleReference() {
	reference := optest.Reference("nonzero", func(c optest.Call) map[string][]float64 {
		n := 0.0
		for _, x := range c.Tensors["input"] {
			if x != 0 {
				n++
			}
		}
		return map[string][]float64{"number": {n}} // the output of indices is left out
	})
	_ = func(t *testing.T) {
		optest.All(t, catalogue.Register, []*graph.Operator{nonzero.Operator}, reference)
	}
	// Output:
}
