package check_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/spec"
)

// applying is a spec whose formula applies operators of the catalogue.
const applying = `
edition = 1
name    = "applying"
doc     = "A test."
formula = "output[n, k] = input[n, k]"
dtypes  = { T = ["f32", "f64"] }
[slots]
input  = { role = "input", type = "T", shape = ["N", "K"] }
image  = { role = "input", type = "T", shape = ["X..."] }
weight = { role = "weight", type = "T", shape = [8, "K"] }
gamma  = { role = "weight", type = "T", shape = ["K"] }
output = { role = "output", type = "T", shape = ["N", "K"] }
[tasks.forward]
`

// TestAppliedShapes checks the shapes of what operators of the catalogue give and take.
func TestAppliedShapes(t *testing.T) {
	c := readCatalogue(t)
	var list diag.List
	s := spec.Read("applying.toml", applying, &list)
	c.scopes[s] = scope.New(s, &list)
	if !list.Empty() {
		t.Fatal(list.Sorted()[0].Message)
	}
	for text, want := range map[string]string{
		"t[n, o] = linear(input, weight, out_channels = 8, use_bias = false)[n, o] for o < 8":                    "",
		"t[n, o] = linear(input, weight, out_channels = 8, use_bias = false)[n, o] for o < 9":                    "o ranges over 9, but this dimension of linear(...) is 8",
		"t[n] = linear(input, gamma, out_channels = 8)[n, 0]":                                                    "weight of linear has the shape [8, K] here, got [K]",
		"t[n] = layer_norm(input, gamma, gamma, axes = [-1]).mean[n, 0]":                                         "",
		"t[n, k] = layer_norm(input, gamma, gamma, axes = [-1])[n, k]":                                           "",
		"t[n, k] = layer_norm(input, weight, gamma, axes = [1])[n, k]":                                           "gamma of layer_norm has the shape [K] here, got [8, K]",
		"t[k] = reduce(input, op_type = 'REDUCE_MAX', axes = [0])[k]":                                            "",
		"t[x] = softmax(image, dim = 0)[x] * softmax(image)[x]":                                                  "",
		"t[n, k] = softmax(image)[n, k]":                                                                         "the shape of softmax(...) is [X...], got 2 indices",
		"t[n, k] = element_unary(softmax(input, dim = 0), op_type = 'GELU')[n, k]":                               "",
		"t[n, k] = element_unary(input, op_type = 'GELLU')[n, k]":                                                "op_type of element_unary has no value GELLU",
		"t[n] = sum(k: softmax(input)[n, k] * softmax(input)[n, k + 1])":                                         "nothing says that k + 1 lies below K, so this may be outside of softmax(...)",
		"t[n] = sum(k: layer_norm(softmax(input), gamma, gamma, axes = [1], eps = 0.1).output[n, k] * gamma[k])": "",
		"v[n, k] = 2 * input[n, k]\np(n, k) = softmax(v)[n, k]\nt[n, k] = p(n, k)":                               "",
		"p(n, k) = softmax(v)[n, k]\nt[n, k] = p(n, k)\nv[n, k] = 2 * input[n, k]":                               "in p(n, k), of v: v is used before it is given",
		"v[n, k] = 2 * input[n, k]\np(n) = softmax(v)[n]\nt[n] = p(n)":                                           "in p(n), of softmax(v)[n]: the shape of softmax(...) is [N, K], got one index",
		"p(z, n, k) = softmax(z)[n, k]\nt[n, k] = p(input[n, k], n, k)":                                          "want a tensor for input of softmax, got the parameter z, which stands for no tensor",
		"t[n] = adam(input)[n]":   "adam is no operator, so a formula cannot apply it",
		"t[n] = concat(input)[n]": "concat holds a list of tensors, input, so a formula cannot apply it",
	} {
		var got []string
		for _, d := range c.check(s, text+"\noutput[n, k] = input[n, k]") {
			if d.Code != expr.Unused {
				got = append(got, d.Message)
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, strings.Join(got, "; "), want)
		}
	}
}

// TestOperandHints checks what the hint says to write in place of what is no tensor.
func TestOperandHints(t *testing.T) {
	c := readCatalogue(t)
	var list diag.List
	s := spec.Read("applying.toml", applying, &list)
	c.scopes[s] = scope.New(s, &list)
	for operand, want := range map[string]string{
		"input[n, k]":             "write input without its index, which stands behind the operator: softmax(input)[...]",
		"2 * input[n, k] + k":     "define a value in a line above, value[n, k] = 2 * input[n, k] + k, and write softmax(value)",
		"2 * input":               "define a value element by element in a line above, and write softmax(value)",
		"3":                       "the name of a slot, of a value that a line above gives, or another operator with its arguments",
		"input[n, k' - 1] else 0": "define a value in a line above, value[n] = input[n, k' - 1] else 0, and write softmax(value)",
	} {
		var got []string
		for _, d := range c.check(s, "output[n, k] = softmax("+operand+")[n, k]") {
			got = append(got, d.Hint)
		}
		if len(got) == 0 || got[0] != want {
			t.Errorf("%s: got %q, want %q", operand, got, want)
		}
	}
}

// TestPlaceHints checks that reads that may be outside are inside once what the hints say stands in their
// place.
func TestPlaceHints(t *testing.T) {
	c := readCatalogue(t)
	var list diag.List
	s := spec.Read("applying.toml", strings.Replace(applying, "[slots]", "[slots]\ncodes = { role = \"input\", type = \"i64\", shape = [\"N\"] }", 1), &list)
	c.scopes[s] = scope.New(s, &list)
	for _, text := range []string{
		"input[n, codes[n]]",
		"input[codes[n], k] ^ 2",
		"gamma[codes[codes[n]]]",
		"gamma[codes[n - 1] + codes[n + 1]] * gamma[k]",
		"2 ^ (gamma[min(codes[n], 3)] + gamma[k - 1])",
	} {
		formula := "output[n, k] = " + text
		for step := 0; ; step++ {
			list := c.check(s, formula)
			if len(list) == 0 && step > 0 {
				break
			}
			if len(list) == 0 || step > 4 {
				t.Errorf("%s: %d findings in %s after %d steps", text, len(list), formula, step)
				break
			}
			_, hint, _ := strings.Cut(list[0].Hint, "write what counts there: ")
			read := strings.TrimSuffix(strings.TrimPrefix(hint, "("), " else 0)")
			formula = strings.Replace(formula, read, hint, 1)
		}
	}
}
