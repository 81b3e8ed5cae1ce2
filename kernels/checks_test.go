package kernels_test

import (
	"flag"
	"strings"
	"testing"
)

// The tests of this file name no operator. They apply every operator of the catalogue as the examples of its
// spec say, and check what must hold for all operators. Package optest says what each of them checks.

func TestEveryElementIsWritten(t *testing.T)      { kit.EveryElementIsWritten(t) }
func TestDeterminism(t *testing.T)                { kit.Determinism(t) }
func TestCutsDoNotMatter(t *testing.T)            { kit.CutsDoNotMatter(t) }
func TestRunsAreRepeatable(t *testing.T)          { kit.RunsAreRepeatable(t) }
func TestCosts(t *testing.T)                      { kit.Costs(t) }
func TestGradients(t *testing.T)                  { kit.Gradients(t) }
func TestEveryGradientIsCompared(t *testing.T)    { kit.EveryGradientIsCompared(t) }
func TestGradientsInSinglePrecision(t *testing.T) { kit.GradientsInSinglePrecision(t) }
func TestUnusedGradients(t *testing.T)            { kit.UnusedGradients(t) }
func TestTwoConsumers(t *testing.T)               { kit.TwoConsumers(t) }
func TestHalves(t *testing.T)                     { kit.Halves(t) }
func TestSharding(t *testing.T)                   { kit.Sharding(t) }
func TestKernelsComputeFormulas(t *testing.T)     { kit.KernelsComputeFormulas(t) }

func TestPermissions(t *testing.T) {
	t.Parallel()
	kit.Permissions(t)
}

func TestChecked(t *testing.T) {
	t.Parallel()
	kit.Checked(t)
}

func TestFusions(t *testing.T) {
	t.Parallel()
	kit.Fusions(t)
}

// The tests below also check that the catalogue has enough of what they try, unless -run chooses operators
// or -short examples.

// ofAll reports whether the tests are about all examples of all operators.
func ofAll() bool {
	return !strings.Contains(flag.Lookup("test.run").Value.String(), "/") && !testing.Short()
}

func TestInPlace(t *testing.T) {
	t.Parallel()
	if tried := kit.InPlace(t); ofAll() && tried < 20 {
		t.Errorf("tried %d pairs of slots, want at least 20", tried)
	}
}

func TestElementwise(t *testing.T) {
	t.Parallel()
	if tried := kit.Elementwise(t); ofAll() && tried < 40 {
		t.Errorf("tried %d steps, want at least 40", tried)
	}
}

func TestSameTensorTwice(t *testing.T) {
	if kit.SameTensorTwice(t) == 0 && ofAll() {
		t.Error("want an example with two trainable inputs of the same type and shape, got none")
	}
}

func TestExampleDimensions(t *testing.T) {
	if kit.Dimensions(t) == 0 && ofAll() {
		t.Error("want an operator with a Go function for dimensions, got none")
	}
}

func TestEmptyExtents(t *testing.T) {
	worksWith(t, 0, kit.EmptyExtents(t), "linear", "element_binary", "softmax")
}

// The interpreter computes what kernels are compared with, so more elements take long: make property has
// them.
var largest = flag.Int("largest", 400, "how many elements tensors have at most in TestLargeExtents")

func TestSingleExtents(t *testing.T) {
	worksWith(t, 1, kit.SingleExtents(t), "conv_2d", "multihead_attention", "layer_norm")
}

func TestLargeExtents(t *testing.T) {
	tested := kit.LargeExtents(t, *largest)
	for _, name := range []string{"linear", "softmax", "segment_sum", "rope"} {
		if tested[name] == 0 && ofAll() {
			t.Errorf("%s: want an example with large extents, got none", name)
		}
	}
}

// worksWith checks that some operators were tested with an extent.
func worksWith(t *testing.T, extent int, tested map[string]int, operators ...string) {
	t.Helper()
	for _, name := range operators {
		if tested[name] == 0 && ofAll() {
			t.Errorf("%s: want an example that works with an extent of %d, got none", name, extent)
		}
	}
}
