package formula

import (
	"strconv"
	"strings"
	"testing"
)

// TestGradientsOfNestedFormulas checks gradients of formulas that are so deep that parts of them, and parts
// of their gradients, are stored in temporaries.
func TestGradientsOfNestedFormulas(t *testing.T) {
	nest := func(way, inner string, depth int) string {
		for i := range depth {
			inner = strings.NewReplacer("~", inner, "#", strconv.Itoa(i+1)).Replace(way)
		}
		return inner
	}
	for name, text := range map[string]string{
		"maxima":     "y[n, k] = " + nest("max(x[n, k] * (0.3 + 1 / #), ~)", "0", 20),
		"quotients":  "y[n, k] = " + nest("x[n, k] / (# + ~)", "x[n, k]", 30),
		"functions":  "y[n, k] = " + nest("f(~)", "x[n, k]", 8) + "\nf(a) = a * a / (a + 1)",
		"conditions": "y[n, k] = " + nest("f(~)", "x[n, k]", 6) + "\nf(a) = a > 0.4 ? a * a + 0.2 : tanh(a)",
		"mixed":      "y[n, k] = " + nest("f(~)", "x[n, k]", 7) + "\nf(a) = max(a, tanh(a + 0.1)) * a",
		"sums":       "y[n, k] = sum(j < K: w[n, k] * (" + nest("f(~)", "x[n, j]", 4) + "))\nf(a) = max(a, tanh(a + 0.1)) * a",
		"windows":    "y[n, k] = sum(j in k - 1 .. k + 2: (x[n, j] else 0) * (" + nest("max(x[n, k] * (0.3 + 1 / #), ~)", "w[n, k]", 4) + "))",
	} {
		t.Run(name, func(t *testing.T) {
			o, attrs, r := operatorWith(t, text)
			u, err := useOf(o, attrs, r, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			compareGradients(t, o, u, r)
		})
	}
}
