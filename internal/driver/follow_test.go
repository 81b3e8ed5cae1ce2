package driver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// facts returns the facts of an operator as text.
func facts(o *model.Operator) string {
	var b strings.Builder
	for _, s := range o.Slots {
		fmt.Fprintf(&b, "saved %s: %s\n", s.Name, s.Saved)
	}
	for _, t := range o.Tasks {
		for _, s := range t.Steps {
			fmt.Fprintf(&b, "%s over %s, element by element: %v, flops %s\n", t.Name, s.Over, s.Elementwise, t.Flops)
		}
		for _, p := range t.InPlace {
			fmt.Fprintf(&b, "%s: %s where %s is, view: %v\n", t.Name, o.Slots[p.Slot].Name, o.Slots[p.Of].Name, p.View)
		}
	}
	for _, s := range o.Shards {
		fmt.Fprintf(&b, "%s %s\n", s.Dim, s.Words())
	}
	return b.String()
}

// operatorOf loads a module with a spec, in which there are no findings, and empty kernels.
func operatorOf(t *testing.T, spec string, kernels ...string) *model.Operator {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"go.mod":        "module example.com/m\n\nrequire github.com/opgen/opgen v0.1.0\n",
		"opgen.toml":    "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n",
		"specs/op.toml": spec,
	}
	for _, k := range kernels {
		files[k] = "package kernels\n"
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p, err := driver.Load(root)
	if err != nil || !p.Findings.Empty() {
		t.Fatalf("want no findings, got %v, %v", err, p.Findings.Sorted())
	}
	return p.Module().Operators[0]
}

// TestFacts resolves specs that state no facts, and some that refuse what follows.
func TestFacts(t *testing.T) {
	const head = `edition = 1
name    = "op"
doc     = "An operator."
formula = "%s"
%s
[dtypes]
T = ["f32", "f64"]
[attrs]
dim = { type = "axis", binds = "R", default = -1 }
[slots]
input  = { role = "input", type = "T", shape = ["A...", "R", "B..."] }
output = { role = "output", type = "T", shape = ["A...", "R", "B..."] }
[tasks]
forward  = {%s}
backward = {}
%s
[[examples]]
input = [2, 3]
attrs = { dim = 0 }
[[examples]]
input = [2, 3, 4]
attrs = { dim = 1 }
`
	softmax := "output[a, r, b] = exp(input[a, r, b] - logsumexp(r': input[a, r', b]))"
	for _, c := range []struct{ name, formula, header, task, tables, want string }{
		{"softmax", softmax, "", "", "", `saved input: 
saved output: true
forward over prod(A) * prod(B), element by element: false, flops 6 * prod(A) * R * prod(B)
forward: output where input is, view: false
backward over prod(A) * prod(B), element by element: false, flops 4 * prod(A) * R * prod(B)
backward: input where output is, view: false
A divides outputs
B divides outputs
`},
		{"elements", "output[a, r, b] = tanh(input[a, r, b])", "", "", "", `saved input: 
saved output: true
forward over prod(A) * R * prod(B), element by element: true, flops prod(A) * R * prod(B)
forward: output where input is, view: false
backward over prod(A) * R * prod(B), element by element: true, flops 3 * prod(A) * R * prod(B)
backward: input where output is, view: false
A divides outputs
R divides outputs
B divides outputs
`},
		{"same", "output[a, r, b] = input[a, r, b]", "", "", "", `saved input: 
saved output: 
forward over prod(A) * R * prod(B), element by element: true, flops 0
forward: output where input is, view: true
backward over prod(A) * R * prod(B), element by element: true, flops 0
backward: input where output is, view: true
A divides outputs
R divides outputs
B divides outputs
`},
		{"refused", "output[a, r, b] = input[a, r, b]", "inplace = {}", " over = 1, elementwise = false ", `
[sharding]
split = [{ dim = "A", when = "dim < -9" }]
[cost]
forward = { flops = 7 }`, `saved input: 
saved output: 
forward over 1, element by element: false, flops 7
backward over prod(A) * R * prod(B), element by element: true, flops 0
A divides outputs
R divides outputs
B divides outputs
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := operatorOf(t, fmt.Sprintf(head, c.formula, c.header, c.task, c.tables), "kernels/op.go")
			if got := facts(o); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestOverAtAllExamples resolves operators whose statements share other dimensions from example to example.
// What a task runs over holds at all of them, and for elements that are read by number.
func TestOverAtAllExamples(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"broadcast": {`formula = "output[o] = condition[fit(o, C)] ? x[fit(o, X)] : 0"
dims     = { O = "broadcast(C, X)" }
examples = [{ condition = [2, 3], x = [2, 3] }, { condition = [3], x = [2, 1] }]
slots    = { condition = { role = "input", type = "bool", shape = ["C..."] }, x = { role = "input", type = "f32", shape = ["X..."] }, output = { role = "output", type = "f32", shape = ["O..."] } }
`, "prod(O)"},
		"attribute": {`formula = """
size[b]      = sum(k: x[b, k])
output[b, k] = rows ? x[b, k] / size[b] : x[b, k]"""
attrs    = { rows = { type = "bool", default = false } }
examples = [{ x = [2, 3] }, { x = [2, 3], attrs = { rows = true } }]
slots    = { x = { role = "input", type = "f32", shape = ["B", "K"], trainable = false }, output = { role = "output", type = "f32", shape = ["B", "K"] } }
`, "B"},
		"numbers among other extents": {`formula = """
wide[k, b, m]   = sum(k': x[b, k'] * x[b, k]) * (m + 1) for m < 3
output[m, b, k] = wide[#(m, b, k)]"""
examples = [{ x = [2, 4] }, { x = [3, 5] }]
slots    = { x = { role = "input", type = "f32", shape = ["B", "K"], trainable = false }, output = { role = "output", type = "f32", shape = [3, "B", "K"] } }
`, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := operatorOf(t, "edition = 1\nname = \"op\"\ndoc = \"An operator.\"\ntasks = { forward = {} }\n"+c.spec, "kernels/op.go")
			if got := o.Tasks[0].Steps[0].Over; got != c.want {
				t.Errorf("the task runs over %s, want %s", got, c.want)
			}
		})
	}
}

// TestSavedAtLargerExtents resolves operators whose gradients read something at larger extents than those of
// the example only.
func TestSavedAtLargerExtents(t *testing.T) {
	for name, c := range map[string]struct{ formula, saved string }{
		"range that ends before it begins": {"output[n, k] = prod(m in 1 .. n - 2: (x[m, k] else 0))", "true"},
		"condition":                        {"output[n, k] = n > 3 ? x[n, k]^3 : 1", "true"},
		"nothing":                          {"output[n, k] = n > 3 ? x[n, k] : 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := operatorOf(t, fmt.Sprintf(`edition = 1
name     = "op"
doc      = "An operator."
formula  = "%s"
tasks    = { forward = {}, backward = {} }
examples = [{ x = [3, 4] }]
dtypes   = { T = ["f32", "f64"] }
slots    = { x = { role = "input", type = "T", shape = ["N", "K"] }, output = { role = "output", type = "T", shape = ["N", "K"] } }
`, c.formula))
			if got := o.Slots[0].Saved; got != c.saved {
				t.Errorf("x is saved: got %q, want %q", got, c.saved)
			}
		})
	}
}

// TestKeep resolves operators whose gradients read values of the formula's own. What is saved, and which
// gradients have memory of the plan, follows.
func TestKeep(t *testing.T) {
	for name, c := range map[string]struct{ formula, want string }{
		"statistics": {`m[n] = mean(k: x[n, k])
s[n]         = rsqrt(variance(k: x[n, k]) + 1)
output[n, k] = (x[n, k] - m[n]) * s[n]`, "saved m f64[N]\nsaved s f64[N]\n"},
		"an extreme is an element": {`m[n] = max(k: x[n, k])
output[n, k] = x[n, k] * m[n]`, "saved m T[N]\n"},
		"of saved values": {`s[n] = sum(k: x[n, k]^2)
r[n]         = sqrt(s[n])
output[n, k] = x[n, k] * r[n] * s[n]`, "saved s f64[N]\n"},
		"elementwise of inputs": {`y[n, k] = exp(x[n, k])
output[n, k] = y[n, k] * (y[n, k] + 1)`, ""},
		"condition": {`m[n] = squared ? mean(k: x[n, k]) : 2
output[n, k] = x[n, k] * m[n]`, "saved m f64[N] if squared\n"},
		"either of two conditions": {`m[n] = squared || doubled ? mean(k: x[n, k]) : 2
output[n, k] = x[n, k] * m[n]`, "saved m f64[N]\n"},
		"both values of the condition": {`m[n] = squared ? mean(k: x[n, k]) : max(k: x[n, k])
output[n, k] = x[n, k] * m[n]`, "saved m f64[N]\n"},
		"a product, and its gradient as a whole": {`y[n, o] = sum(k: x[n, k] * w[o, k]) for o < 3
output[n, o] = squared ? tanh(y[n, o]) : y[n, o]^3`, "saved y T[N, 3] if !squared\nscratch grad_y T[N, 3]\n"},
		"a random choice": {`kept[n, k] = uniform(7, 0, #(n, k)) > 0.5
output[n, k] = kept[n, k] ? 2 * x[n, k] : 0`, "saved kept bool[N, K]\n"},
		"a random number": {`noise[n, k] = uniform(7, 0, #(n, k))
output[n, k] = x[n, k] * noise[n, k]`, ""},
		"an index": {`at[n] = argmax(k: x[n, k])
output[n] = x[n, at[n]]^2`, "saved at i64[N]\n"},
		"an integer without a reduction": {`at[n] = n % 2
output[n, k] = x[n, k]^2 * at[n]`, ""},
		"parts of an index": {`y[n, 2 * k + i] = sum(k': x[n, k'] * w[i, k]) for i < 2
output[n, i] = sum(k: y[n, 2 * k + i]^2)`, "saved y T[N, 2 * K]\nscratch grad_y T[N, 2 * K]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			weight, output, example := "", `["N", "K"]`, ""
			switch {
			case strings.Contains(c.formula, "output[n, o]"):
				weight, output, example = `w = { role = "input", type = "T", shape = [3, "K"] }`, `["N", 3]`, "w = [3, 4]"
			case strings.Contains(c.formula, "output[n, i]"):
				weight, output, example = `w = { role = "input", type = "T", shape = [2, "K"] }`, `["N", 2]`, "w = [2, 4]"
			case strings.Contains(c.formula, "output[n] "):
				output = `["N"]`
			}
			attrs := ""
			if strings.Contains(c.formula, "squared") {
				attrs = "[attrs]\nsquared = { type = \"bool\", default = true }"
			}
			if strings.Contains(c.formula, "doubled") {
				attrs += "\ndoubled = { type = \"bool\", default = false }"
			}
			o := operatorOf(t, fmt.Sprintf(`edition = 1
name     = "op"
doc      = "An operator."
formula  = """
%s"""
tasks    = { forward = {}, backward = {} }
examples = [{ x = [3, 4], %s }]
dtypes   = { T = ["f32", "f64"] }
%s
[slots]
x      = { role = "input", type = "T", shape = ["N", "K"] }
output = { role = "output", type = "T", shape = %s }
%s
`, c.formula, example, attrs, output, weight))
			got := ""
			for _, s := range o.Slots {
				if s.Role == task.RoleSaved || s.Role == task.RoleScratch {
					got += fmt.Sprintf("%s %s %s%s", s.Role, s.Name, s.Type, s.Shape)
					if s.Present != "" {
						got += " if " + s.Present
					}
					got += "\n"
				}
			}
			if got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// TestSpecsStateNoMemory checks that specs of the catalogue state no saved and no scratch slot, and not under
// which condition a tensor is saved, where an operator has no kernel by hand.
func TestSpecsStateNoMemory(t *testing.T) {
	p, err := driver.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	m, derived := p.Module(), 0
	if m == nil {
		t.Fatal(p.Findings)
	}
	for _, o := range m.Operators {
		if !o.Derived {
			continue
		}
		derived++
		for _, word := range []string{`"saved"`, `"scratch"`, "saved ="} {
			if strings.Contains(o.Text, word) {
				t.Errorf("the spec of %s says %s", o.Name, word)
			}
		}
	}
	if derived < 90 {
		t.Errorf("got %d operators without a kernel by hand, want those of the catalogue", derived)
	}
}

// TestLoopsDivideTasks checks that specs of the catalogue say nothing about how tasks are divided whose loops
// follow from formulas.
func TestLoopsDivideTasks(t *testing.T) {
	p, err := driver.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	m, tasks := p.Module(), 0
	if m == nil {
		t.Fatal(p.Findings)
	}
	for _, o := range m.Operators {
		for _, x := range o.Tasks {
			if !o.Derived || o.CUDA != nil || x.Reduces() {
				continue
			}
			if tasks++; len(x.Steps) != 1 || !x.Steps[0].Loops {
				t.Errorf("%s.%s: want neither steps nor what the task runs over", o.Name, x.Name)
			}
		}
	}
	if tasks < 100 {
		t.Errorf("got %d tasks, want those of the catalogue", tasks)
	}
}
