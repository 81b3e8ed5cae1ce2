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
