package driver_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
)

// rowsSpec is an operator in which mistakes are made: formulas, attributes, an enum, dtypes, slots with
// bounds, costs and examples.
const rowsSpec = `edition = 1
name = "rows"
doc = "Scales rows and adds elements at places."
formula = """
mean_of[n] = sum(k: input[n, k]) / max(K, 1)
gate(x) = kind == 'TANH' ? tanh(x) : sigmoid(x)
output[n, k] = rate * (input[n, k] - mean_of[n]) + gate(weight[k]) + input[n, at[n]]
top[n] = max(k: input[n, k])"""

[dtypes]
T = ["f32", "f64"]

[attrs]
rate = { type = "float", default = 0.5 }
kind = { type = "enum", values = ["TANH", "SIGMOID"], default = "TANH" }
parts = { type = "int", min = 1, default = 2 }

[slots]
input = { role = "input", type = "T", shape = ["N", "K"] }
at = { role = "input", type = "i64", shape = ["N"], below = "K" }
weight = { role = "weight", type = "T", shape = ["K"], init = "ones" }
output = { role = "output", type = "T", shape = ["N", "K"] }
top = { role = "output", type = "T", shape = ["N"] }

[require]
some = { that = "K >= parts", message = "want elements" }

[tasks]
forward = {}
backward = { grads = { input = "scatter" } }

[[examples]]
attrs = { rate = 0.25 }
input = [3, 4]
at = [3]
`

const onesSpec = `edition = 1
kind = "initializer"
name = "ones"
doc = "Ones."
formula = "output[n] = 1"

[dtypes]
T = ["f32", "f64"]

[slots]
output = { role = "output", type = "T", shape = ["N..."] }

[tasks]
forward = {}

[[examples]]
output = [3]
`

const userSpec = `edition = 1
name = "user"
doc = "Applies the other operator."
formula = "output[n, k] = rows(input, at, weight).output[n, k] + 1"

[dtypes]
T = ["f32", "f64"]

[slots]
input = { role = "input", type = "T", shape = ["N", "K"] }
at = { role = "input", type = "i64", shape = ["N"], below = "K" }
weight = { role = "input", type = "T", shape = ["K"] }
output = { role = "output", type = "T", shape = ["N", "K"] }

[require]
some = { that = "K >= 2", message = "want elements" }

[tasks]
forward = {}
backward = { grads = { input = "scatter" } }

[[examples]]
input = [3, 4]
at = [3]
weight = [4]
`

// mistakes are small changes of rowsSpec, as the author of a first operator makes them.
var mistakes = []struct{ name, old, new string }{
	{"two mistakes", "tanh(x) : sigmoid(x)", "tahn(x) : sigmoid(y)"},
	{"key", "role = \"input\", type = \"T\"", "rol = \"input\", type = \"T\""},
	{"role", "role = \"weight\"", "role = \"wieght\""},
	{"slot key", "below = \"K\"", "bellow = \"K\""},
	{"function", "tanh(x)", "tahn(x)"},
	{"function log10", "tanh(x)", "log10(x)"},
	{"slot in formula", "input[n, at[n]]", "inputs[n, at[n]]"},
	{"attribute", "rate *", "rat *"},
	{"attribute case", "rate *", "Rate *"},
	{"dtype", "\"f64\"]", "\"float64\"]"},
	{"dtype variable", "top = { role = \"output\", type = \"T\"", "top = { role = \"output\", type = \"U\""},
	{"initializer", "init = \"ones\"", "init = \"onez\""},
	{"enum value formula", "kind == 'TANH'", "kind == 'TANHH'"},
	{"enum value without quotes", "kind == 'TANH'", "kind == TANH"},
	{"enum default", "default = \"TANH\"", "default = \"tanh\""},
	{"rank", "weight[k]", "weight[n, k]"},
	{"rank less", "sum(k: input[n, k])", "sum(k: input[n])"},
	{"missing index", "output[n, k] =", "output[n] ="},
	{"index not used", "sum(k: input[n, k])", "sum(k: input[n, 0])"},
	{"free index", "rate * (input[n, k]", "rate * (input[n, j]"},
	{"swapped", "input[n, k] - mean", "input[k, n] - mean"},
	{"swapped left", "output[n, k] =", "output[k, n] ="},
	{"bool + float", "gate(weight[k])", "(weight[k] > 0)"},
	{"integer output", "top = { role = \"output\", type = \"T\"", "top = { role = \"output\", type = \"i64\""},
	{"quotient by int", "/ max(K, 1)", "% parts"},
	{"outside", "input[n, at[n]]", "input[n, k + 1]"},
	{"without below", ", below = \"K\"", ""},
	{"no below, else", ", below = \"K\"", ", below = \"N\""},
	{"once", `"scatter"`, `"once"`},
	{"power", "rate * (input", "rate ** (input"},
	{"=", "kind == 'TANH'", "kind = 'TANH'"},
	{"minus", "input[n, k] - mean", "input[n, k] − mean"},
	{"greek", "rate *", "ρ *"},
	{"and", "kind == 'TANH'", "kind == 'TANH' and K > 1"},
	{"upper index", "max(k: input[n, k])", "max(K: input[n, K])"},
	{"sum comma", "sum(k: input[n, k])", "sum(k, input[n, k])"},
	{"colon", "input[n, at[n]]", "input[:, at[n]]"},
	{"negative", "input[n, at[n]]", "input[n, -1]"},
	{"two brackets", "input[n, at[n]]", "input[n][at[n]]"},
	{"paren open", "(input[n, k] - mean_of[n])", "(input[n, k] - mean_of[n]"},
	{"bracket open", "input[n, at[n]]", "input[n, at[n]"},
	{"sum without colon", "sum(k: input[n, k])", "sum(input[n, k])"},
	{"sum of axis", "sum(k: input[n, k])", "sum(input, 1)"},
	{"ternary python", "kind == 'TANH' ? tanh(x) : sigmoid(x)", "tanh(x) if kind == 'TANH' else sigmoid(x)"},
	{"missing else", ": sigmoid(x)", ""},
	{"arity", "gate(weight[k])", "gate(weight[k], 1)"},
	{"builtin arity", "tanh(x)", "tanh(x, 1)"},
	{"max one", "max(K, 1)", "max(K)"},
	{"recursive function", "tanh(x)", "gate(x)"},
	{"value before", "mean_of[n] = sum(k: input[n, k])", "mean_of[n] = top[n] + sum(k: input[n, k])"},
	{"recurrence", "sum(k: input[n, k])", "mean_of[n] + sum(k: input[n, k])"},
	{"given twice", "top[n] = max(k: input[n, k])", "top[n] = max(k: input[n, k])\ntop[n] = 1"},
	{"output not given", "\ntop[n] = max(k: input[n, k])", ""},
	{"input given", "top[n] = max", "input[n, k] = 0\ntop[n] = max"},
	{"no such dim", "shape = [\"N\", \"K\"] }\nat", "shape = [\"N\", \"K\", \"M\"] }\nat"},
	{"output dim unknown", "top = { role = \"output\", type = \"T\", shape = [\"N\"] }", "top = { role = \"output\", type = \"T\", shape = [\"M\"] }"},
	{"output shape", "top = { role = \"output\", type = \"T\", shape = [\"N\"] }", "top = { role = \"output\", type = \"T\", shape = [\"K\"] }"},
	{"edition 2", "edition = 1", "edition = 2"},
	{"no doc", "doc = \"Scales rows and adds elements at places.\"\n", ""},
	{"name of another file", "name = \"rows\"", "name = \"cols\""},
	{"name with a capital", "name = \"rows\"", "name = \"Rows\""},
	{"key twice", "doc = \"Scales", "doc = \"A.\"\ndoc = \"Scales"},
	{"table twice", "[require]", "[attrs]"},
	{"example of another rank", "input = [3, 4]", "input = [3, 4, 5]"},
	{"example without an input", "\nat = [3]\n", "\n"},
	{"example that contradicts", "\nat = [3]\n", "\nat = [4]\n"},
	{"example of an unknown slot", "\nat = [3]\n", "\nat = [3]\nbias = [4]\n"},
	{"example of an unknown attribute", "{ rate = 0.25 }", "{ rat = 0.25 }"},
	{"example of an attribute's type", "{ rate = 0.25 }", "{ rate = \"0.25\" }"},
	{"example that require refuses", "input = [3, 4]", "input = [3, 1]"},
	{"example of a negative extent", "input = [3, 4]", "input = [3, -4]"},
	{"attribute type", "type = \"float\"", "type = \"flaot\""},
	{"attribute type double", "type = \"float\"", "type = \"double\""},
	{"default type", "default = 0.5", "default = \"0.5\""},
	{"default below min", "min = 1, default = 2", "min = 1, default = 0"},
	{"enum without values", ", values = [\"TANH\", \"SIGMOID\"]", ""},
	{"no role", "role = \"input\", type = \"T\"", "type = \"T\""},
	{"no shape", ", shape = [\"K\"], init", ", init"},
	{"weight without init", ", init = \"ones\"", ""},
	{"shape a string", "shape = [\"K\"], init", "shape = \"K\", init"},
	{"dims lower", "shape = [\"K\"], init", "shape = [\"k\"], init"},
	{"task misspelled", "forward = {}", "foward = {}"},
	{"task key", "forward = {}", "forward = { grian = 1 }"},
	{"grad of no slot", "{ input = \"scatter\" }", "{ inputs = \"scatter\" }"},
	{"grad value", "\"scatter\"", "\"scater\""},
	{"require expression", "K >= parts", "K >= part"},
	{"require number", "K >= parts", "K - parts"},
	{"require no message", ", message = \"want elements\"", ""},
	{"hand gradient of nothing", "top[n] = max(k: input[n, k])", "top[n] = max(k: input[n, k])\ngrad.weights[k] = 0"},
	{"hand gradient wrong", "top[n] = max(k: input[n, k])", "top[n] = max(k: input[n, k])\ngrad.weight[k] = sum(n: grad.output[n, k])"},
	{"hand gradient of an integer", "top[n] = max(k: input[n, k])", "top[n] = max(k: input[n, k])\ngrad.at[n] = 0"},
	{"semicolon", "sum(k: input[n, k]) / max(K, 1)", "sum(k: input[n, k]) / max(K, 1);"},
	{"def", "gate(x) =", "def gate(x) ="},
	{"list without quotes", "T = [\"f32\", \"f64\"]", "T = [f32, f64]"},
	{"string without end", "name = \"rows\"", "name = \"rows"},
	{"colon for =", "name = \"rows\"", "name: \"rows\""},
	{"conflict", "name = \"rows\"", "<<<<<<< HEAD\nname = \"rows\""},
	{"smart quotes", "name = \"rows\"", "name = “rows”"},
	{"integer dtypes", "T = [\"f32\", \"f64\"]", "T = [\"i32\", \"i64\"]"},
	{"float index", "input[n, at[n]]", "input[n, weight[k]]"},
	{"range of floats", "sum(k: input[n, k])", "sum(k in 0 .. rate: input[n, k])"},
	{"range beyond", "sum(k: input[n, k])", "sum(j < 3: input[n, j])"},
	{"attribute index", "input[n, at[n]]", "input[n, parts]"},
	{"compare chain", "kind == 'TANH'", "0 < x < 1"},
	{"assignment in use", "max(k: input[n, k])", "max(k = input[n, k])"},
	{"init not a spec", "init = \"ones\"", "init = \"user\""},
	{"init a number", "init = \"ones\"", "init = 1.0"},
}

// TestMistakesByHand compares what opgen check says about each mistake with testdata/mistakes.txtar. Each has
// a finding, and none is told of the operator that applies the one with the mistake, which is right.
func TestMistakesByHand(t *testing.T) {
	check := func(rows string) string {
		var list diag.List
		driver.Resolve([]driver.Input{{Path: "specs/ones.toml", Text: onesSpec}, {Path: "specs/rows.toml", Text: rows}, {Path: "specs/user.toml", Text: userSpec}}, &list)
		var b bytes.Buffer
		if err := diag.WriteText(&b, list.Sorted()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := check(rowsSpec); got != "" {
		t.Fatalf("want no finding without a mistake, got\n%s", got)
	}
	const path = "testdata/mistakes.txtar"
	golden, err := txtar.ParseFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range golden.Files {
		want[f.Name] = string(f.Data)
	}
	out := &txtar.Archive{Comment: []byte("What opgen check says about the mistakes of TestMistakesByHand.\n")}
	for _, m := range mistakes {
		if strings.Count(rowsSpec, m.old) == 0 {
			t.Fatalf("%s: %q is not in the spec", m.name, m.old)
		}
		got := check(strings.Replace(rowsSpec, m.old, m.new, 1))
		if got == "" {
			t.Errorf("%s: want a finding, got none", m.name)
		}
		if strings.Contains(got, "specs/user.toml") && !strings.HasPrefix(m.name, "name ") {
			t.Errorf("%s: want no finding in the operator that is right, got\n%s", m.name, got)
		}
		if out.Files = append(out.Files, txtar.File{Name: m.name, Data: []byte(got)}); !*update && got != want[m.name] {
			t.Errorf("%s: got\n%swant\n%s", m.name, got, want[m.name])
		}
	}
	if len(want) > len(mistakes) {
		t.Errorf("want %d mistakes in %s, got %d", len(mistakes), path, len(want))
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
