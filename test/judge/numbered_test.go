package main

import (
	"testing"

	"github.com/opgen/opgen/internal/randomformula"
)

// TestNumbered judges formulas that read temporaries by the row-major number among other extents, so that an
// element is at other indices than those of the number.
func TestNumbered(t *testing.T) {
	children := newChildren(configurations, 1)
	defer stopAll(children)
	for _, lines := range [][]string{
		{"t0[n, k] = u[n] * 2", "y0[k, n] = t0[#(k, n)]"},
		{"t0[n, k] = n * 0.5", "y0[k, n] = t0[#(k, n)] * x[n, k]"},
		{"t0[n, k] = u[n] * 2", "y0[k, n] = t0[#(n, k)]"},
		{"t0[n, k] = tanh(x[n, k])", "y0[k, n] = t0[#(k, n)]"},
	} {
		judgeUses(t, children, &randomformula.Case{
			Name: "op", Lines: lines, Attrs: "{}", Type: "f64",
			Features: map[string]bool{}, Dims: map[string]int{"N": 3, "K": 4}, Example: map[string]int{"N": 2, "K": 3},
			Inputs:  []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N", "K"}}, {Name: "u", Type: "T", Shape: []string{"N"}}},
			Outputs: []randomformula.Slot{{Name: "y0", Type: "T", Shape: []string{"K", "N"}}},
		}, 0, 1, 2, 3)
	}
}
