package kernels_test

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"
)

var second = flag.Bool("second", false, "compare second derivatives at all examples, not only the first of each operator")

// TestSecondDerivatives compares the second derivatives of the operators of the catalogue with differences of
// first gradients, and lists those that are refused, with the reason.
func TestSecondDerivatives(t *testing.T) {
	const hand = "want an operator with a formula"
	refused := map[string]string{}
	for operator, why := range map[string]string{"einsum": hand, "concat_flat": hand, "wkv": "more than 16384 parts",
		"batch_norm": "reads old.running_mean as it was before the task", "element_unary": "the derivative of trigamma"} {
		refused[operator] = why
	}
	got := kit.SecondDerivatives(t, *second)
	seen := map[string]bool{}
	for _, at := range slices.Sorted(maps.Keys(got)) {
		operator, _, _ := strings.Cut(at, "/")
		seen[operator] = true
		if why := refused[operator]; why == "" || !strings.Contains(got[at].Error(), why) || !strings.Contains(got[at].Error(), operator) {
			t.Errorf("%s: second derivatives are refused: %v, want %q", at, got[at], why)
		}
	}
	for operator, why := range refused {
		if *second && !seen[operator] {
			t.Errorf("%s: want second derivatives refused in some example, since %s, got them in all", operator, why)
		}
	}
	t.Log(slices.Sorted(maps.Keys(got)))
}
