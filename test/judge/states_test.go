package main

import (
	"testing"

	"github.com/opgen/opgen/internal/randomformula"
)

// TestStates judges formulas whose gradients need what a weight was before forward gave it anew, and formulas
// that give some elements of a weight and read all of them.
func TestStates(t *testing.T) {
	children := newChildren(configurations, 1)
	defer stopAll(children)
	for _, lines := range [][]string{
		{"held[n, k] = 0.25 * old.held[n, k] + x[n, k]", "y0[n, k] = old.held[n, k] * x[n, k]"},
		{"held[n, k] = old.held[n, K - 1 - k]", "y0[n, k] = max(k': old.held[n, k'] * x[n, k])"},
		{"held[n, k] = x[n, k] when rate > 0.3", "y0[n, k] = old.held[n, k] * x[n, k]"},
		{"held[n, k] = x[n, k] when rate < 0.3", "y0[n, k] = old.held[n, k] * x[n, k]"},
		{"ticks[k] = old.ticks[k] + 1", "y0[n, k] = x[n, k] * old.ticks[k]"},
		{"ticks[k] = old.ticks[k] * 1073741824", "y0[n, k] = x[n, k] * (ticks[k] > 0 ? 1 : ticks[k])"},
		{"t0[k] = old.ticks[k] * 2 + k", "ticks[k] = 3", "y0[n, k] = x[n, k] * t0[k]"},
		{"held[1, k] = x[0, k]", "y0[n, k] = x[n, k] * max(n': held[n', k])"},
	} {
		judgeUses(t, children, &randomformula.Case{
			Name: "op", Lines: lines, Attrs: `{"rate": 0.25}`, Declared: "rate = { type = \"float\", default = 0.4 }\n", Type: "f64",
			Applied: []string{"fill"}, Features: map[string]bool{}, Dims: map[string]int{"N": 3, "K": 4}, Example: map[string]int{"N": 2, "K": 3},
			Require: []string{"N >= 2"},
			Inputs: []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N", "K"}}, {Name: "held", Type: "T", Shape: []string{"N", "K"}, Fixed: true, Owned: true},
				{Name: "ticks", Type: "i32", Shape: []string{"K"}, Fixed: true, Owned: true}},
			Outputs: []randomformula.Slot{{Name: "y0", Type: "T", Shape: []string{"N", "K"}}},
		}, 0, 1, 2, 3)
	}
}
