package formula

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/task"
)

// TestByHand checks gradients that a formula defines: beside derived ones, with intermediate values and
// gradients, and under conditions.
func TestByHand(t *testing.T) {
	x, w := testValues()
	for text, want := range map[string]func(i int) (ofX, ofW float64){
		"y[n, k] = x[n, k] * w[n, k]\ngrad.x[n, k] = 3 * grad.y[n, k] * w[n, k]": func(i int) (float64, float64) { return 3 * w[i], x[i] },
		"y[n, k] = x[n, k] > 0 ? w[n, k] : 0\ngrad.x[n, k] = grad.y[n, k] as surrogate": func(i int) (float64, float64) {
			if x[i] > 0 {
				return 1, 1
			}
			return 1, 0
		},
		"y[n, k] = 2 * x[n, k]\nt[n] = sum(k: grad.y[n, k])\ngrad.x[n, k] = t[n] + grad.s[n]\ns[n] = x[n, 0]": func(int) (float64, float64) { return cols, 0 },
		"y[n, k] = x[n, k]^2\ngrad.x[n, k] = 5 when size == 3\ngrad.x[n, k] = 7 when size == 2":               func(int) (float64, float64) { return 7, 0 },
		"y[n, k] = x[n, k] * w[n, k]\ngrad.x[n, k] = 5 when size == 3":                                        func(i int) (float64, float64) { return w[i], x[i] },
	} {
		p, err := useFormula(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		m, y, _ := compute(t, p, x, w)
		m.grads[slotY] = slices.Repeat([]float64{1}, len(y))
		if err := m.backward(); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		at := func(g []float64, i int) float64 {
			if g == nil {
				return 0
			}
			return g[i]
		}
		for i := range x {
			a, b := want(i)
			if at(m.grads[slotX], i) != a || at(m.grads[slotW], i) != b {
				t.Errorf("%s: element %d: got %v, %v, want %v, %v", text, i, at(m.grads[slotX], i), at(m.grads[slotW], i), a, b)
			}
		}
	}
	if _, err := useFormula(t, "u[n] = grad.s[n]\ns[n] = u[n]"); err == nil || !strings.Contains(err.Error(), "s depends on a gradient") {
		t.Errorf("got %v", err)
	}
}

// TestDifferencesLimit compares gradients under a limit of operations. A comparison that reaches the limit
// returns ErrLimit before it allocates memory. If it reaches the limit in the rounds near thresholds only, it
// stops without an error.
func TestDifferencesLimit(t *testing.T) {
	for _, tt := range []struct {
		text  string
		left  int
		whole bool
	}{
		{"y[n, k] = x[n, k] * w[n, k]\ngrad.x[n, k] = grad.y[n, k] * w[n, k]", 10, false},
		{"y[n, k] = x[n, k] * w[n, k]\ngrad.x[n, k] = grad.y[n, k] * w[n, k]", 120, false},
		{"y[n, k] = x[n, k] * w[n, k]\ngrad.x[n, k] = grad.y[n, k] * w[n, k]", 10000, true},
		{"y[n, k] = max(x[n, k], 7)\ngrad.x[n, k] = x[n, k] > 7 ? grad.y[n, k] : 0", 1000, true},
		{"y[n, k] = sum(k': x[n, k']) + w[n, k] when true\ngrad.x[n, k] = sum(k': grad.y[n, k'])", 500, false},
		{"h[n, k] = (h[n - 1, k] else 0) + x[n, k]\ny[n, k] = h[n, k] + w[n, k]\ngrad.x[n, k] = sum(n' in n .. N: grad.y[n', k])", 500, false},
		{"y[n, k] = sum(k' in 0 .. k + 1: x[n, k']) + w[n, k]\ngrad.x[n, k] = sum(k' in k .. K: grad.y[n, k'])", 200, false},
	} {
		o, at, r := operatorWith(t, tt.text)
		u, err := useOf(o, at, r, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		left := tt.left
		ds, err := Differences(u, Draw{Left: &left, Bound: func(int) task.Bound { return task.Bound{Below: cols} }, IsOutput: func(slot int) bool { return o.Slots[slot].Role == task.RoleOutput }})
		if tt.whole && (err != nil || len(ds) > 0 || left >= tt.left) || !tt.whole && !errors.Is(err, ErrLimit) {
			t.Errorf("%s within %d: got %v, %v, and %d are left", tt.text, tt.left, ds, err, left)
		}
	}
}

// TestDifferences checks that a hand-written gradient that is not the derivative is reported, with the
// element.
func TestDifferences(t *testing.T) {
	for text, want := range map[string]string{
		"y[n, k] = x[n, k] * w[n, k]\ngrad.x[n, k] = grad.y[n, k] * w[n, k]":                                                   "",
		"y[n, k] = x[n, k] * w[n, k]\ngrad.x[n, k] = grad.y[n, k] * w[n, k] + (n == 1 && k == 2 ? 1 : 0)":                      "at [1, 2], where",
		"y[n, k] = max(x[n, k], 0)\ngrad.x[n, k] = x[n, k] > 0.001 ? grad.y[n, k] : 0":                                         "where",
		"y[n, k] = max(x[n, k], 0)\ngrad.x[n, k] = x[n, k] > -0.001 ? grad.y[n, k] : 0":                                        "where 0 is derived",
		"y[n, k] = max(x[n, k], 0)\ngrad.x[n, k] = x[n, k] > 0 ? grad.y[n, k] : 0":                                             "",
		"y[n, k] = abs(x[n, k])\ngrad.x[n, k] = x[n, k] > 0.01 ? grad.y[n, k] : -grad.y[n, k]":                                 "where",
		"y[n, k] = abs(x[n, k] - 5)\ngrad.x[n, k] = x[n, k] > 5 ? grad.y[n, k] : -grad.y[n, k]":                                "",
		"y[n, k] = min(max(x[n, k], 7), 8)\ngrad.x[n, k] = x[n, k] > 7 && x[n, k] < 8.25 ? grad.y[n, k] : 0":                   "where 0 is derived",
		"y[n, k] = min(max(x[n, k], 7), 8)\ngrad.x[n, k] = x[n, k] > 7 && x[n, k] < 8 ? grad.y[n, k] : 0":                      "",
		"y[n, k] = x[n, k] > 3 ? x[n, k]^2 : 6 * x[n, k] - 9\ngrad.x[n, k] = grad.y[n, k] * (x[n, k] > 3.5 ? 2 * x[n, k] : 6)": "where",
		"y[n, k] = x[n, k] > 3 ? log(x[n, k]) : 0\ngrad.x[n, k] = x[n, k] > 3 ? grad.y[n, k] / x[n, k] : 0":                    "",
		"y[n, k] = x[n, k] < 0 ? 0 : sqrt(x[n, k])\ngrad.x[n, k] = x[n, k] < 0 ? 0 : grad.y[n, k] / (2 * sqrt(x[n, k]))":       "",
		"y[n, k] = w[n, k]\ngrad.x[n, k] = grad.y[n, k]":                                                                       "where 0 is derived",
	} {
		o, at, r := operatorWith(t, text)
		u, err := useOf(o, at, r, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		ds, err := Differences(u, Draw{Bound: func(int) task.Bound { return task.Bound{Below: cols} }, IsOutput: func(slot int) bool { return o.Slots[slot].Role == task.RoleOutput }})
		switch {
		case err != nil:
			t.Errorf("%s: %v", text, err)
		case want == "" && len(ds) > 0, want != "" && (len(ds) != 1 || !strings.Contains(ds[0].String(), want)):
			t.Errorf("%s: got %v, want %s", text, ds, want)
		}
	}
}
