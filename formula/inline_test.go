package formula

import (
	"math"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/task"
)

// callees are operators that the formulas of these tests apply.
var callees = []task.Callee{
	{Name: "share", Formula: []string{"output[a, r, b] = input[a, r, b] / sum(r': input[a, r', b])"},
		Slots: []task.CalleeSlot{{Name: "input", Shape: "[A..., R, B...]"}, {Name: "output", Role: task.RoleOutput, Shape: "[A..., R, B...]"}},
		Attrs: []task.CalleeAttr{{Name: "dim", Default: "-1", Binds: "R"}}},
	{Name: "scaled", Formula: []string{"mode.ADD(v) = v + 1", "mode.KEEP(v) = v", "output[n, k] = mode(input[n, k] * gain[k] + (shift ? bias[k] : 0))",
		"total[n] = sum(k: input[n, k])", "half[g] = sum(k in g * (K / 2) .. (g + 1) * (K / 2): gain[k])"},
		Slots: []task.CalleeSlot{{Name: "input", Shape: "[N..., K]"}, {Name: "gain", Role: task.RoleWeight, Shape: "[K]"},
			{Name: "bias", Role: task.RoleWeight, Shape: "[K]", Present: "shift"},
			{Name: "output", Role: task.RoleOutput, Shape: "[N..., K]"}, {Name: "total", Role: task.RoleOutput, Shape: "[N...]", Present: "caller"},
			{Name: "half", Role: task.RoleOutput, Shape: "[G]"}},
		Attrs:    []task.CalleeAttr{{Name: "mode", Default: `"KEEP"`}, {Name: "shift", Default: "false"}, {Name: "rate", Optional: true}},
		Dims:     []task.Definition{{Name: "H", Is: "2"}, {Name: "G", Is: "K / H"}},
		Requires: []task.Definition{{Name: "an even number", Is: "K % 2 == 0"}}},
	{Name: "itself", Formula: []string{"output[n] = itself(input)[n]"},
		Slots: []task.CalleeSlot{{Name: "input", Shape: "[N...]"}, {Name: "output", Role: task.RoleOutput, Shape: "[N...]"}}},
	{Name: "stepped", Formula: []string{"output[n, k] = input[n, k] > 0 ? 2 * input[n, k] : 0", "near[n, k] = abs(input[n, k]) < 1 ? grad.output[n, k] : 0",
		"f(x) = 3 * x", "grad.input[n, k] = f(near[n, k]) as surrogate"},
		Slots: []task.CalleeSlot{{Name: "input", Shape: "[N, K]"}, {Name: "output", Role: task.RoleOutput, Shape: "[N, K]"}}},
	{Name: "strict", Formula: []string{"output[n] = rate * input[n]"},
		Slots: []task.CalleeSlot{{Name: "input", Shape: "[N]"}, {Name: "output", Role: task.RoleOutput, Shape: "[N]"}},
		Attrs: []task.CalleeAttr{{Name: "rate"}}},
}

// inlining returns the program of a formula that applies operators.
func inlining(t *testing.T, text string) (*compiled, error) {
	t.Helper()
	o, at, r := operatorWith(t, text)
	o.Callees = callees
	return newProgram(o, at, r, 0, nil)
}

// TestInlined compares formulas that apply operators with the same formulas written out, with their
// gradients.
func TestInlined(t *testing.T) {
	x, w := testValues()
	for text, hand := range map[string]string{
		"y[n, k] = share(w)[n, k]":                                                                  "y[n, k] = w[n, k] / sum(k': w[n, k'])",
		"y[n, k] = share(w, dim = 0)[n, k] * x[n, k]":                                               "y[n, k] = w[n, k] / sum(n': w[n', k]) * x[n, k]",
		"y[n, k] = share(share(w), dim = size - 2)[n, k]":                                           "u[n, k] = w[n, k] / sum(k': w[n, k'])\ny[n, k] = u[n, k] / sum(n': u[n', k])",
		"g[k] = w[0, k]\ny[n, k] = scaled(x, g)[n, k]":                                              "y[n, k] = x[n, k] * w[0, k]",
		"g[k] = w[0, k]\ny[n, k] = scaled(x, bias = g, gain = g, shift = true, mode = 'ADD')[n, k]": "y[n, k] = x[n, k] * w[0, k] + w[0, k] + 1",
		"g[k] = w[0, k]\ns[n] = scaled(x, g).total[n]":                                              "s[n] = sum(k: x[n, k])",
		"g[k] = w[0, k]\ns[n] = scaled(x, g).half[1] * x[n, 0]":                                     "s[n] = (w[0, 2] + w[0, 3]) * x[n, 0]",
		"s[n] = sum(k: share(w)[n, k] * share(w)[n, K - 1 - k])":                                    "u[n, k] = w[n, k] / sum(k': w[n, k'])\ns[n] = sum(k: u[n, k] * u[n, K - 1 - k])",
		"y[n, k] = stepped(w)[n, k] * x[n, k]":                                                      "y[n, k] = (w[n, k] > 0 ? 2 * w[n, k] : 0) * x[n, k]",
		"y[#i] = share(w)[#i] + x[#i]":                                                              "y[n, k] = w[n, k] / sum(k': w[n, k']) + x[n, k]",
		"f(a) = share(w)[a, 1]\ns[n] = f(n) * f(n)":                                                 "s[n] = (w[n, 1] / sum(k: w[n, k]))^2",
	} {
		var results [2][][]float64
		for i, formula := range []string{text, hand} {
			p, err := inlining(t, formula)
			if err != nil {
				t.Errorf("%s: %v", formula, err)
				break
			}
			m, y, s := compute(t, p, x, w)
			m.grads[slotY], m.grads[slotS] = append([]float64(nil), w...), []float64{1, -2, 3}
			if err := m.backward(); err != nil {
				t.Fatal(err)
			}
			results[i] = [][]float64{y, s, m.grads[slotX], m.grads[slotW]}
		}
		for i, got := range results[0] {
			for k, v := range got {
				if want := results[1][i]; want == nil && v != 0 || want != nil && !(math.Abs(v-want[k]) <= 1e-12) {
					t.Errorf("%s: result %d, element %d: got %v, want %v", text, i, k, v, want)
				}
			}
		}
	}
}

// TestInlinedOnce checks that an operator that is applied twice to the same tensors is computed once, and
// that an applied output defines its target without a copy.
func TestInlinedOnce(t *testing.T) {
	for text, want := range map[string]int{
		"y[n, k] = share(w)[n, k]":                           2, // with the sum
		"y[n, k] = share(w)[n, k] + share(w)[n, 0]":          3,
		"y[n, k] = share(w)[n, k]\ns[n] = share(w)[n, 0]":    3,
		"y[n, k] = share(w)[n, k] + share(x, dim = 0)[n, k]": 5,
	} {
		p, err := inlining(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Statements) != want {
			t.Errorf("%s: want %d statements, got %v", text, want, p.Statements)
		}
	}
}

// TestInlinedErrors checks the error messages for operators that cannot be applied.
func TestInlinedErrors(t *testing.T) {
	for text, want := range map[string]string{
		"s[n] = none(x)[n]":                            "there is no operator none",
		"s[n] = share(x, dim = 2)[n, 0]":               "share: want an axis below 2 as dim",
		"s[n] = share(1)[n, 0]":                        "want the name of a tensor or an operator that is applied to one",
		"s[n] = share(x, x)[n, 0]":                     "share takes 1 tensors, and got 2",
		"s[n] = share(x)[n]":                           "share.output has 2 dimensions, and got 1 indices",
		"s[n] = scaled(x)[n, 0]":                       "scaled: want a tensor for gain",
		"g[n] = x[n, 0]\ns[n] = scaled(x, g)[n, 0]":    "scaled: want gain of the shape [4], got [3]",
		"g[n] = x[n, 0]\ns[n] = scaled(g, g)[n]":       "scaled: want K % 2 == 0",
		"g[k] = x[0, k]\ns[n] = scaled(x, g, g)[n, 0]": "scaled: there is no bias here",
		"g[k] = x[0, k]\ns[n] = scaled(x, g).more[n]":  "scaled: there is no output more here",
		"g[n] = x[n, 0]\ns[n] = strict(g)[n]":          "strict wants the attribute rate",
		"g[n] = x[n, 0]\ns[n] = itself(g)[n]":          "itself applies itself",
		"s[n] = strict(x, rate = 2)[n]":                "strict: input has the shape [N], which has not 2 dimensions",
	} {
		if _, err := inlining(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
