package main

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/internal/randomformula"
)

// TestSaved judges gradients that read other tensors than those of the example: an output in place of what it
// is made of, and the other way round, since extents, attributes or inputs differ.
func TestSaved(t *testing.T) {
	children := newChildren(configurations, 1)
	defer stopAll(children)
	declared := "rate = { type = \"float\", default = 0.4 }\nflag = { type = \"bool\", default = true }\n"
	for i, tt := range []struct {
		attrs string
		dims  map[string]int
		lines []string
	}{
		{`{"rate": 0.4, "flag": true}`, map[string]int{"N": 1, "K": 7}, []string{"y0[n, k] = (w[N - 1 - n, k] * 2 - x[n, k] * x[n, k]) * rsqrt(1.5 + x[n, k] ^ 2) * (flag && rate > 0 ? 1 : 2)"}},
		{`{"rate": 0.25, "flag": true}`, map[string]int{"N": 3, "K": 2}, []string{"y0[n, k] = tanh((flag && rate < 0.37 ? w[0, 0] : x[n, k]))"}},
		{`{"rate": 0.25, "flag": false}`, map[string]int{"N": 3, "K": 2}, []string{"y0[n, k] = x[n, k] when flag", "y0[n, k] = x[n, k] * (rate < 0.37 ? w[n, k] : 1) when !flag"}},
		{`{"rate": 0.25, "flag": false}`, map[string]int{"N": 4, "K": 3}, []string{"y0[n, k] = (N > 3 && !flag ? sum(k': x[n, k'] * w[n, k'] * rate) : x[n, k] + w[n, k])"}},
		{`{"rate": 0.25, "flag": true}`, map[string]int{"N": 3, "K": 4}, []string{"y0[n, k] = (flag && rate < 0.37 ? w[n, 0] : x[n, k])"}}, // 0 in place
		// At the example, elements lie outside and ranges are empty.
		{`{"rate": 0.4, "flag": true}`, map[string]int{"N": 5, "K": 2}, []string{"y0[n, k] = exp(sin((x[K - 1, 0] else 0.5))) * w[n, k] * (flag && rate > 0 ? 1 : 2)"}},
		{`{"rate": 0.4, "flag": true}`, map[string]int{"N": 7, "K": 3}, []string{"y0[n, k] = exp(sum(n' in K .. N: x[n', k] * rate)) * w[n, 0] * (flag ? 1 : 2)"}},
		{`{"rate": 0.4, "flag": true}`, map[string]int{"N": 4, "K": 4}, []string{"t0[n, k] = (x[n + K - N, k] else 2)", "y0[n, k] = t0[n, k] * w[n, k] * (flag && rate > 0 ? 1 : 2)"}},
		{`{"rate": 0.4, "flag": true}`, map[string]int{"N": 1, "K": 1}, []string{"y0[n, k] = (x[n + K / 2, k] else rate) * (w[n, K * 2 - 1] else 3) * (flag ? 1 : 2)"}},
		{`{"rate": 1, "flag": true}`, map[string]int{"N": 1, "K": 1}, []string{"y0[n, k] = exp(w[N - 1 - n, K - 1 - k]) * x[n, k] + (flag && rate > 0 ? 1 : 0)"}},
	} {
		c := &randomformula.Case{
			Name: "op", Lines: tt.lines, Attrs: tt.attrs, Declared: declared, Type: "f64", Features: map[string]bool{}, Dims: tt.dims, Example: map[string]int{"N": 2, "K": 5},
			Inputs:  []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N", "K"}}, {Name: "w", Type: "T", Shape: []string{"N", "K"}}},
			Outputs: []randomformula.Slot{{Name: "y0", Type: "T", Shape: []string{"N", "K"}}},
		}
		for n := range uint64(8) { // each of the variants
			d := c.Clone()
			d.Values = n
			v, err := judgeAll(children, request{Number: uint64(i), Case: d})
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(bad, v.Status) || v.Compared == 0 {
				t.Errorf("%d, values %d, %s: %s, %d compared: %s\n%s", i, d.Values, v.Variant, v.Status, v.Compared, v.Message, tt.lines)
			}
		}
	}
}
