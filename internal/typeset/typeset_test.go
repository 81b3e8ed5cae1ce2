package typeset_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/opgen/opgen/internal/typeset"
)

func TestLines(t *testing.T) {
	for formula, want := range map[string]string{
		"y[i] = (x[i] + 1) * x0[i] / n - -2":                 `y_{i} &= \frac{\left(x_{i} + 1\right) \cdot {x_{0}}_{i}}{n} - \left(-2\right)`,
		"y[i] = a - (b - c) - d":                             `y_{i} &= a - \left(b - c\right) - d`,
		"s = -sum(i: x[i]) * 1e-5":                           `s &= \left(-\sum_{i}\, x_{i}\right) \cdot 10^{-5}`,
		"s = sum(i: x[i]) * 2.5e7 + sum(i: x[i] + 1)":        `s &= \left(\sum_{i}\, x_{i}\right) \cdot 2.5 \cdot 10^{7} + \sum_{i}\, \left(x_{i} + 1\right)`,
		"m[r] = max(c if w[c] >= 0: x[r, c]) ^ 2":            `m_{r} &= {\left(\max_{\substack{c \\ w_{c} \ge 0}}\, x_{r, c}\right)}^{2}`,
		"y[r'] = mean(k in lo .. hi - 1: x[k])":              `y_{r'} &= \mathop{\mathrm{mean}}_{\mathrm{lo} \le k < \mathrm{hi} - 1}\, x_{k}`,
		"y[c] = rsqrt(x[c]) + abs(x[c]) for c < dim":         `y_{c} &= \frac{1}{\sqrt{x_{c}}} + \left|x_{c}\right| \quad \text{for } c < \mathrm{dim}`,
		"y[i] = a ? b : !c ? 1 : 0":                          `y_{i} &= \begin{cases} b & \text{if } a \\ 1 & \text{if } \lnot c \\ 0 & \text{otherwise} \end{cases}`,
		"y[i] = x[i] when mode in ['A', 'B'] && n % 2 == 0":  `y_{i} &= x_{i} \quad \text{if } \mathrm{mode} \in \{\text{A}, \text{B}\} \land n \bmod 2 = 0`,
		"grad.in_put[i] = old.w[i] * sign_of(x[i])":          `\nabla \mathrm{in\_put}_{i} &= w^{\text{old}}_{i} \cdot \mathrm{sign\_of}\!\left(x_{i}\right)`,
		"y[i] = max(x[i], -inf)":                             `y_{i} &= \max\!\left(x_{i}, -\infty\right)`,
		"y[i] = x[i] == 1 / 0 ? 1 / 10 : -1 / 0 + 2^(1 / 0)": `y_{i} &= \begin{cases} \frac{1}{10} & \text{if } x_{i} = \infty \\ -\infty + {2}^{\infty} & \text{otherwise} \end{cases}`,
		"y[i] = x[k][i + 1] else 0":                          `y_{i} &= x^{(k)}_{i + 1\text{ else }0}`,
		"y[i] = x[a[:D], #i, a[D + 1:]]":                     `y_{i} &= x_{a_{:D}, \#i, a_{D + 1:}}`,
		"p[n, k] = argsort(j: x[n, j] descending)[k]":        `p_{n, k} &= {\left(\mathop{\mathrm{argsort}}_{j}\, x_{n, j} \text{ descending}\right)}_{k}`,
		"f(x, a) = exp(x) * a\ny[i] = f(x[i], 2)":            "f\\!\\left(x, a\\right) &= \\exp\\!\\left(x\\right) \\cdot a \\\\\ny_{i} &= f\\!\\left(x_{i}, 2\\right)",
		"a[i] = 1\ngrad.t[c[e]] += g[e] for e < E":           "a_{i} &= 1 \\\\\n\\nabla t_{c_{e}} &\\mathrel{+}= g_{e} \\quad \\text{for } e < E",
	} {
		got, ok := typeset.Lines(formula)
		if want = "\\begin{aligned}\n" + want + "\n\\end{aligned}"; !ok || got != want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", formula, got, ok, want)
		}
	}
}

// TestOther passes what is no formula.
func TestOther(t *testing.T) {
	for _, formula := range []string{"", "y = = x", "y[i] = x[", "so long"} {
		if got, ok := typeset.Lines(formula); ok {
			t.Errorf("%q: got %s", formula, got)
		}
	}
}

// TestCatalogue sets the formulas of all specs. Braces and environments close, and nothing is left out.
func TestCatalogue(t *testing.T) {
	specs, err := filepath.Glob("../../specs/*.toml")
	if err != nil || len(specs) < 100 {
		t.Fatalf("want 100 specs or more, got %d, %v", len(specs), err)
	}
	for _, file := range specs {
		var spec struct{ Formula string }
		if _, err := toml.DecodeFile(file, &spec); err != nil {
			t.Fatal(err)
		}
		if spec.Formula == "" {
			continue
		}
		got, ok := typeset.Lines(spec.Formula)
		if !ok || strings.Contains(got, `\text{?}`) {
			t.Errorf("%s: got %s, %v", file, got, ok)
		}
		bare := strings.NewReplacer(`\{`, "", `\}`, "").Replace(got)
		for _, pair := range [][2]string{{"{", "}"}, {`\left`, `\right`}, {`\begin{cases}`, `\end{cases}`}} {
			if a, b := strings.Count(bare, pair[0]), strings.Count(bare, pair[1]); a != b {
				t.Errorf("%s: %d times %s, and %d times %s", file, a, pair[0], b, pair[1])
			}
		}
	}
}
