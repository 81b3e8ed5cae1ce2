package breaking_test

import (
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/breaking"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/exportdata"
	"github.com/opgen/opgen/internal/model"
)

// specs lists the specs of the module that is changed.
var specs = []string{"linear", "activation", "penalty", "fan", "nonlinearity", "kaiming_uniform", "zero", "sgd", "element_unary", "element_binary", "embedding_bag", "glorot_uniform", "clip", "group_by"}

// an edit replaces texts in specs: a spec, what to replace, and what with.
// If old begins with "word ", it replaces the word that follows everywhere.
type edit struct{ spec, old, new string }

// load returns the model and the generated packages of the module with edits. A text that is replaced by
// nothing, and is the name of its spec, removes the spec.
func load(t *testing.T, edits ...edit) (*model.Module, map[string]breaking.Package) {
	t.Helper()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "specs"), 0o777); err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("opgen.toml", "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n")
	write("go.mod", "module example.com/m\n\ngo 1.26\n\nrequire github.com/opgen/opgen v0.0.0\n\nreplace github.com/opgen/opgen => "+repository+"\n")
	for _, name := range specs {
		text, err := os.ReadFile(filepath.Join(repository, "specs", name+".toml"))
		if err != nil {
			t.Fatal(err)
		}
		write("specs/"+name+".toml", string(text))
	}
	for _, e := range edits {
		path := filepath.Join(dir, "specs", e.spec+".toml")
		text, err := os.ReadFile(path)
		if err != nil && e.old != "" {
			t.Fatal(err)
		}
		word, everywhere := strings.CutPrefix(e.old, "word ")
		if !everywhere && !strings.Contains(string(text), e.old) {
			t.Fatalf("%s has no %q", e.spec, e.old)
		}
		if e.old == e.spec && e.new == "" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		changed := strings.Replace(string(text), e.old, e.new, 1)
		if everywhere {
			changed = regexp.MustCompile(`\b`+word+`\b`).ReplaceAllString(string(text), e.new)
		}
		write("specs/"+e.spec+".toml", changed)
	}
	p, err := driver.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := p.Module()
	if m == nil {
		t.Fatalf("%v: %v", edits, p.Findings.Sorted()[0].Message)
	}
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.Path] = string(f.Data)
	}
	return m, breaking.Generated(p.Config.GeneratedImport, texts, func(folder string) (name, source string) { return folder, "specs" })
}

// renamed changes a word everywhere in a spec.
func renamed(spec, old, now string) []edit {
	return []edit{{spec, "word " + old, now}}
}

// TestBreaks makes changes that break something, one at a time. Each is found, with what it breaks.
func TestBreaks(t *testing.T) {
	t.Parallel()
	c := newChanges(t)
	for _, test := range []struct {
		name  string
		edits []edit
		want  []string
	}{
		{"an operator is removed", []edit{{"sgd", "sgd", ""}}, []string{"code: the package sgd is gone", "plans: the operator is gone", "variables: the variable sgd_v is gone"}},
		{"an attribute is removed", []edit{{"linear", "data_type    = { type = \"dtype\", optional = true, doc = \"the element type that is expected\" }\n", ""},
			{"linear", "require  = { type = { that = \"!has(data_type) || data_type == T\", message = \"want the element type {data_type}, as data_type says, got {T}\" } }\n", ""}},
			[]string{"code: Attrs.DataType is gone", "plans: the attribute data_type is gone"}},
		{"an attribute has another type", []edit{{"sgd", `nesterov     = { type = "bool", default = false }`, `nesterov     = { type = "int", default = 0 }`},
			{"sgd", "nesterov && momentum", "nesterov > 0 && momentum"}, {"sgd", "nesterov = true", "nesterov = 1"}, {"sgd", "nesterov = true", "nesterov = 1"}},
			[]string{"code: Attrs.Nesterov was bool, is int", "plans: the attribute nesterov was of type bool"}},
		{"a default is gone", []edit{{"linear", `type = "bool", default = true`, `type = "bool"`}, {"linear", `{ out_channels = 7,`, `{ use_bias = true, out_channels = 7,`},
			{"linear", `{ out_channels = 4,`, `{ use_bias = true, out_channels = 4,`}, {"linear", `{ out_channels = 1,`, `{ use_bias = true, out_channels = 1,`}, {"linear", `{ out_channels = 3 }`, `{ use_bias = true, out_channels = 3 }`}},
			[]string{"code: Defaults was func(", "plans: the attribute use_bias had the default true, has none"}},
		{"a default is another", []edit{{"sgd", `nesterov     = { type = "bool", default = false }`, `nesterov     = { type = "bool", default = true }`}},
			[]string{"code: the attribute nesterov had the default false, has true"}},
		{"a bound is tighter", []edit{{"sgd", `momentum     = { type = "float", min = 0.0,`, `momentum     = { type = "float", min = 0.0, max = 1.0,`}}, []string{"plans: the attribute momentum is at most 1"}},
		{"a new attribute has no default", []edit{{"sgd", "[attrs]\n", "[attrs]\ndamping = { type = \"float\" }\n"}, {"sgd", "g[n]      = unscaled(grad[n])", "g[n]      = damping * unscaled(grad[n])"},
			{"sgd", "lr = 0.1", "damping = 1.0, lr = 0.1"}, {"sgd", "{ lr = 0.1", "{ damping = 1.0, lr = 0.1"}, {"sgd", "{ lr = 0.1", "{ damping = 1.0, lr = 0.1"}, {"sgd", "{ lr = 0.1", "{ damping = 1.0, lr = 0.1"}, {"sgd", "{ lr = 0.1", "{ damping = 1.0, lr = 0.1"}, {"sgd", "{ lr = 0.1", "{ damping = 1.0, lr = 0.1"}, {"sgd", "{ lr = 0.1", "{ damping = 1.0, lr = 0.1"}},
			[]string{"code: Defaults was func(", "plans: the attribute damping is new and has no default"}},
		{"an enum has lost a value", []edit{{"activation", "TANH    = \"the hyperbolic tangent\"\n", ""}, {"linear", `"TANH", regularizer`, `"RELU", regularizer`},
			{"linear", `"TANH", `, ""}}, []string{"code: Tanh is gone", "plans: the attribute activation has no value TANH any more"}},
		{"an element type is gone", []edit{{"sgd", "family ", "dtypes = { T = [\"f32\", \"f64\"] }\nfamily "}}, []string{"plans: T can not be f16 any more", "plans: T can not be bf16 any more"}},
		{"a weight has another name", renamed("linear", "bias", "offset"), []string{"code: SlotBias is gone", "variables: the variable bias is gone", "variables: the variable offset is new"}},
		{"a weight has another shape", []edit{{"linear", `shape = ["out_channels", "K"]`, `shape = ["K", "out_channels"]`}, {"linear", "weight[o, k]", "weight[k, o]"}, {"linear", "weight[o, k]", "weight[k, o]"}},
			[]string{"variables: the variable weight was T[out_channels, input#1], is T[input#1, out_channels]", "plans: the slot weight was"}},
		{"a state of an optimizer is gone", []edit{{"sgd", "sgd_v      = { role = \"weight\", shape = [\"N...\"], present = \"momentum > 0\", trainable = false, init = \"zero\", doc = \"velocity\" }\n", ""},
			{"sgd", "sgd_v[n]  = momentum > 0 ? (skipped() ? old.sgd_v[n] : momentum * old.sgd_v[n] + g[n]) : g[n]\n", ""}, {"sgd", "nesterov && momentum > 0 ? g[n] + momentum * sgd_v[n] : sgd_v[n]", "nesterov && momentum > 0 ? g[n] * (1 + momentum) : g[n]"}}, []string{"code: SlotSgdV is gone", "variables: the variable sgd_v is gone"}},
		{"slots have another order", []edit{{"linear", `weight         = { role = "weight", shape = ["out_channels", "K"], init = "kaiming_uniform" }` + "\n", ""},
			{"linear", `bias           = { role = "weight"`, "BIAS"}, {"linear", `output         = {`, `weight = { role = "weight", shape = ["out_channels", "K"], init = "kaiming_uniform" }` + "\noutput = {"}, {"linear", "BIAS", `bias = { role = "weight"`}},
			[]string{"code: SlotBias was linear.Slot = 2, is linear.Slot = 1", "plans: the slots were input, weight, bias"}},
		{"an optional input must be there", []edit{{"embedding_bag", `shape = ["B", "N"], present = "caller", `, `shape = ["B", "N"], `}, {"embedding_bag", "present(per_sample) ? per_sample[b, n] : 1", "per_sample[b, n]"},
			{"embedding_bag", "index = [4, 3] }", "index = [4, 3], per_sample = [4, 3] }"}, {"embedding_bag", "index = [3, 3] }", "index = [3, 3], per_sample = [3, 3] }"}, {"embedding_bag", "index = [4, 2] }", "index = [4, 2], per_sample = [4, 2] }"},
			{"embedding_bag", "!present(per_sample) || mode == 'SUM'", "num_entries > 0 || mode == 'SUM'"}},
			[]string{"plans: the slot per_sample was optional, is not"}},
		{"a new slot", []edit{{"sgd", "sgd_v      = {", "mask = { role = \"input\", type = \"T\", shape = [\"N...\"], present = \"caller\", trainable = false }\nsgd_v      = {"}, {"sgd", "g[n]      = unscaled(grad[n])", "g[n]      = (present(mask) ? mask[n] : 1) * unscaled(grad[n])"}},
			[]string{"code: SlotSgdV was sgd.Slot = 5, is sgd.Slot = 6", "plans: the slots were"}},
		{"a new requirement", []edit{{"sgd", "[slots]", "[require]\nlarge.that = \"prod(N) > 2\"\nlarge.message = \"want more\"\n\n[slots]"}}, []string{"plans: there is a new requirement: prod(N) > 2"}},
		{"other steps", []edit{{"group_by", `over = "n * P"`, `over = "P * n"`}},
			[]string{"plans: the task forward has the steps"}},
		{"another permission", []edit{{"linear", "[sharding]", "[tasks]\nforward = { access = { output = \"readwrite\" } }\nbackward = {}\n\n[sharding]"}}, []string{"plans: the task forward has the tensors"}},
		{"other dimensions", append(renamed("clip", "N", "M"), renamed("clip", "n", "m")...), []string{"code: Dims.N is gone"}},
		{"a step has another name", []edit{{"group_by", "forward.steps.place", "forward.steps.first"}}, []string{"plans: the task forward has the steps", "code: Kernel was "}},
		{"an output has another shape", []edit{{"clip", `output = { role = "output", shape = ["N..."]`, `output = { role = "output", shape = ["N...", "1"]`}, {"clip", "output[n] ", "output[n, 0]"}, {"clip", "grad.output[n] ", "grad.output[n, 0] "}},
			[]string{"plans: the slot output was"}},
		{"an enum is no longer shared", []edit{{"kaiming_uniform", `{ type = "enum", enum = "fan", default`, `{ type = "enum", values = ["FAN_IN", "FAN_OUT"], default`},
			{"kaiming_uniform", "fan_in    = len", "mode.FAN_IN(i, o) = i\nmode.FAN_OUT(i, o) = o\nfan_in    = len"}},
			[]string{"code: Attrs.Mode was fan.Fan, is", "plans: the attribute mode was of type enum fan"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := c.since(t, test.edits...)
			text := ""
			for _, f := range found {
				text += f.Breaks + ": " + f.Message + "\n"
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("want %q among\n%s", want, text)
				}
			}
		})
	}
}

// TestHarmless makes changes that break nothing.
func TestHarmless(t *testing.T) {
	t.Parallel()
	c := newChanges(t)
	for name, edits := range map[string][]edit{
		"nothing":                        nil,
		"a doc of an operator":           {{"linear", "Affine map over", "An affine map over"}},
		"a doc of an attribute":          {{"sgd", "learning rate\"", "the learning rate\""}},
		"a doc of a value of an enum":    {{"activation", "the hyperbolic tangent", "tanh of x"}},
		"a comment":                      {{"sgd", "kind     =", "# stochastic\nkind     ="}},
		"a new example":                  {{"sgd", "examples = [\n", "examples = [\n  { attrs = { lr = 0.5 }, weight = [2], grad = [2] },\n"}},
		"a category":                     {{"sgd", "family ", "category = \"training\"\nfamily "}},
		"a version":                      {{"sgd", "family ", "since = \"0.1\"\nfamily "}},
		"a note that it is deprecated":   {{"sgd", "family ", "deprecated = \"use adam\"\nfamily "}},
		"a new operator":                 {{"half", "", "edition = 1\nname = \"half\"\ndoc = \"Half of x.\"\nformula = \"y[n] = x[n] / 2\"\ndtypes = { T = [\"f32\"] }\nexamples = [{ x = [2] }]\ntasks = { forward = {} }\n[slots]\nx = { role = \"input\", type = \"T\", shape = [\"N...\"] }\ny = { role = \"output\", type = \"T\", shape = [\"N...\"] }\n"}},
		"a new attribute with a default": {{"sgd", "[slots]", "damping = { type = \"float\", default = 1.0 }\n\n[slots]"}, {"sgd", "g[n]      = unscaled(grad[n])", "g[n]      = damping * unscaled(grad[n])"}},
		"a new optional attribute":       {{"linear", "regularizer.type     =", "gain = { type = \"float\", optional = true }\nregularizer.type     ="}, {"linear", "pre[n, o]        = sum", "pre[n, o]        = (has(gain) ? gain : 1) * sum"}},
		"a new value of an enum":         {{"activation", "GELU(x)    = x * Phi(x)", "GELU(x)    = x * Phi(x)\nTWICE(x) = 2 * x"}, {"activation", "GELU    = \"", "GELU    = \""}, {"activation", "standard normal distribution\"", "standard normal distribution\"\nTWICE = \"2 * x\""}},
		"a wider bound":                  {{"sgd", `momentum     = { type = "float", min = 0.0,`, `momentum     = { type = "float", min = -1.0,`}},
		"no bound":                       {{"sgd", `lr           = { type = "float", min = 0.0,`, `lr           = { type = "float",`}},
		"a grain":                        {{"zero", "grain = 4096", "grain = 8192"}},
		"a cost":                         {{"sgd", "? 6 : 4", "? 7 : 5"}},
		"a message":                      {{"linear", "want the element type {data_type}, as data_type says", "data_type says {data_type}"}},
		"no requirement":                 {{"linear", "require  = { type = { that = \"!has(data_type) || data_type == T\", message = \"want the element type {data_type}, as data_type says, got {T}\" } }\n", "require.k.that = \"!has(data_type) || data_type == T\"\nrequire.k.message = \"want {data_type}\"\n"}},
		"another fusion":                 {{"linear", "[fuse.smooth]", "[fuse.curve]"}},
		"the tolerance of a fusion":      {{"linear", "tolerance = 1e-5\ndoc       = \"backward", "tolerance = 2e-5\ndoc       = \"backward"}},
		"another first value":            {{"linear", `init = "zero"`, `init = "kaiming_uniform"`}},
		"sharding":                       {{"linear", "reduce = [{ dim = \"K\", when = \"!use_bias && !has(activation)\" }]\n", ""}},
		"another name of a dimension in shapes only": {{"linear", `"input", shape = ["N...", "K"] }`, `"input", shape = ["N...", "K"], doc = "rows" }`}},
		"the same formula":                           {{"sgd", "weight_decay * old.weight[n]", "old.weight[n] * weight_decay"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range c.since(t, edits...) {
				t.Errorf("found %v", f)
			}
		})
	}
}

// changes compares versions of the module with the one without edits.
type changes struct {
	model    *model.Module
	packages map[string]breaking.Package
	exports  map[string]string
}

func newChanges(t *testing.T) *changes {
	t.Helper()
	c := &changes{}
	c.model, c.packages = load(t)
	imports, err := breaking.Imports(c.packages)
	if err != nil {
		t.Fatal(err)
	}
	if c.exports, err = exportdata.Files("../..", nil, imports...); err != nil {
		t.Fatal(err)
	}
	return c
}

// since returns what edits break.
func (c *changes) since(t *testing.T, edits ...edit) []breaking.Change {
	t.Helper()
	m, packages := load(t, edits...)
	found, err := breaking.Packages(c.packages, packages, exportdata.Importer(token.NewFileSet(), c.exports))
	if err != nil {
		t.Fatal(err)
	}
	return append(found, breaking.Models(c.model, m)...)
}
