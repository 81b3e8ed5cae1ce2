package main

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/internal/randomformula"
)

// TestSeeds judges random numbers of seeds that no float64 holds, and functions of such attributes.
func TestSeeds(t *testing.T) {
	children := newChildren(configurations, 1)
	defer stopAll(children)
	for _, seed := range []int64{1, -1, 1<<53 + 1, -1<<53 - 1, 1<<62 + 1, 1<<63 - 2, 1<<63 - 1, -1 << 61} {
		judgeUses(t, children, &randomformula.Case{
			Name: "op", Lines: []string{"y0[n, k] = x[n, k] * uniform(seed, n, k)", "y1[n, k] = x[n, k] * uniform(n, seed - 1, k)", "at0[k] = seed - k",
				"at1[k] = max(seed, 3)", "at2[k] = abs(seed)", "at3[k] = min(seed, 3, k)", "at4[k] = convert(seed, 'i32')"},
			Attrs: fmt.Sprintf(`{"seed": %d}`, seed), Declared: "seed = { type = \"int\" , default = 3 }\n", Type: "f64",
			Features: map[string]bool{}, Dims: map[string]int{"N": 3, "K": 4}, Example: map[string]int{"N": 2, "K": 3},
			Inputs: []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N", "K"}}},
			Outputs: []randomformula.Slot{{Name: "y0", Type: "T", Shape: []string{"N", "K"}}, {Name: "y1", Type: "T", Shape: []string{"N", "K"}},
				{Name: "at0", Type: "i64", Shape: []string{"K"}}, {Name: "at1", Type: "i64", Shape: []string{"K"}}, {Name: "at2", Type: "i64", Shape: []string{"K"}},
				{Name: "at3", Type: "i64", Shape: []string{"K"}}, {Name: "at4", Type: "i64", Shape: []string{"K"}}},
		}, 0, 1)
	}
}

// TestDrawsInRows judges random numbers that are the same in all rows, or in each row, where a strip holds
// several rows.
func TestDrawsInRows(t *testing.T) {
	children := newChildren(configurations, 1)
	defer stopAll(children)
	for _, number := range []string{"uniform(3, 7, k)", "normal(3, 7, k)", "uniform(3, n, k)", "uniform(n, 7, 2)", "uniform(3, 7, n * K + k)"} {
		judgeUses(t, children, &randomformula.Case{
			Name: "op", Lines: []string{"y0[n, k] = x[n, k] * " + number + " * u[n]", "y1[n, k] = (" + number + " < 0.5 ? u[n] : x[n, k])"}, Attrs: "{}", Type: "f32",
			Features: map[string]bool{}, Dims: map[string]int{"N": 5, "K": 2}, Example: map[string]int{"N": 2, "K": 3},
			Inputs:  []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N", "K"}}, {Name: "u", Type: "T", Shape: []string{"N"}}},
			Outputs: []randomformula.Slot{{Name: "y0", Type: "T", Shape: []string{"N", "K"}}, {Name: "y1", Type: "T", Shape: []string{"N", "K"}}},
		}, 0, 1, 2, 3)
	}
}
