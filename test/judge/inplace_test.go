package main

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/internal/randomformula"
)

// TestInPlace judges formulas beside elementwise operators, where results take the memory of others, with an
// attribute and extents that no example has. At the example, each formula reads less, or gives the elements
// of another tensor as they are.
func TestInPlace(t *testing.T) {
	children := newChildren(configurations, 1)
	defer stopAll(children)
	for _, lines := range [][]string{
		{"y0[n, k] = floor(3 * rate) * x[n, k]"},
		{"y0[n, k] = rate < 0.37 ? x[n, K - 1 - k] : x[n, k]"},
		{"y0[n, k] = max(k' in k + 1 .. K if rate < 0.37: x[n, k'])"},
		{"y0[n, k] = sum(k' in k .. k + 2 if rate < 0.37: (x[n, k'] else 0)) + x[n, k]"},
		{"t0[n] = sum(k: x[n, k])", "y0[n, k] = rate < 0.37 ? t0[n] * x[N - 1 - n, k] : x[n, k]"},
		{"y0[n, k] = x[n, (3 * k) % K]"},
	} {
		c := &randomformula.Case{
			Name: "op", Lines: lines, Attrs: `{"rate": 0.25}`, Declared: "rate = { type = \"float\", default = 0.4 }\n", Type: "f64",
			Features: map[string]bool{}, Dims: map[string]int{"N": 3, "K": 4}, Example: map[string]int{"N": 2, "K": 2},
			Inputs:  []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N", "K"}}},
			Outputs: []randomformula.Slot{{Name: "y0", Type: "T", Shape: []string{"N", "K"}}},
		}
		judgeUses(t, children, c, 1, 5, 9) // beside elementwise operators
	}
}

// judgeUses judges uses of a case with some seeds, by whose remainder the variants are chosen.
func judgeUses(t *testing.T, children []*process, c *randomformula.Case, seeds ...uint64) {
	t.Helper()
	for _, seed := range seeds {
		d := c.Clone()
		d.Values = seed
		v, err := judgeAll(children, request{Case: d})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(bad, v.Status) || v.Compared == 0 {
			t.Errorf("values %d, %s: %s, %d compared: %s\n%s", seed, v.Variant, v.Status, v.Compared, v.Message, c.Lines)
		}
	}
}
