package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/randomformula"
)

// TestHistograms judges histograms of reductions that use the index to which elements belong, where some
// elements belong to none, and histograms of which other statements read single elements.
func TestHistograms(t *testing.T) {
	children := newChildren(configurations, 1)
	defer stopAll(children)
	for i, lines := range [][]string{
		{"t0[n, k] = max(n' if label[n'] == k: min(n'': x[n'', k]))", "y0[n] = label[n] != -1 ? t0[n, label[n]] : 0.5"},
		{"y0[k] = sum(n if label[n] == k: x[n, 0] * sum(n': x[n', k]))"},
		{"y0[k] = sum(n if label[n] == k && max(n': x[n', k]) > 0.2: x[n, k])"},
		{"t0[k, n] = argsort(k': x[n, k'] descending)[k]",
			"y0[k] = min(n if label[n] == k: max(n': x[n', t0[k, n']]))"},
		{"t1[n, k] = sum(n' if label[n'] == k: 0.5)", "y0[k] = (x[0, 0] else 0) + (t1[1, k] else 0)"},
		{"t1[n, k] = sum(n' if label[n'] == k: 0.5)", "y0[] = 0.3 + (t1[0, 1] else 0)"},
		{"t1[k] = sum(n if label[n] == k: x[n, k])", "y0[] = (t1[0] else 0) * 2 + (x[0, 0] else 0)"},
	} {
		shape := []string{"K"}
		switch y0 := lines[len(lines)-1]; {
		case strings.HasPrefix(y0, "y0[n]"):
			shape = []string{"N"}
		case strings.HasPrefix(y0, "y0[]"):
			shape = []string{}
		}
		c := &randomformula.Case{
			Name: "op", Lines: lines, Attrs: `{}`, Type: "f64", Features: map[string]bool{},
			Dims: map[string]int{"N": 3, "K": 2}, Example: map[string]int{"N": 3, "K": 2},
			Inputs: []randomformula.Slot{
				{Name: "x", Type: "T", Shape: []string{"N", "K"}},
				{Name: "label", Type: "i64", Shape: []string{"N"}, Below: "K", Except: "-1"},
			},
			Outputs: []randomformula.Slot{{Name: "y0", Type: "T", Shape: shape}},
		}
		for values := range uint64(6) {
			d := c.Clone()
			d.Values = values
			v, err := judgeAll(children, request{Number: uint64(i), Case: d})
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(bad, v.Status) || v.Compared == 0 {
				t.Errorf("%d, values %d, %s: %s, %d compared: %s\n%s", i, values, v.Variant, v.Status, v.Compared, v.Message, lines)
			}
		}
	}
}
