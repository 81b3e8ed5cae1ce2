package driver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/exportdata"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/spec"
)

// The specs in testdata/onnx are 30 operators of ONNX that are hard to describe. They show whether
// the language covers the needs of other systems. testdata/onnx/README.md says where they come from.
const onnx = "testdata/onnx"

// onnxComplete lists the ONNX operators that this version supports in full: code is generated for them.
var onnxComplete = []string{"batch_normalization", "clip", "dynamic_quantize_linear", "lstm", "mat_mul_integer", "rnn"}

func onnxInputs(t *testing.T) []driver.Input {
	t.Helper()
	var inputs []driver.Input
	for p, text := range readFiles(t, onnx, "specs") {
		inputs = append(inputs, driver.Input{Path: p, Text: text})
	}
	return inputs
}

// TestONNXFindings checks that the language can describe all of the operators. The only findings are about
// what this version does not support, and they are those in findings.golden.
func TestONNXFindings(t *testing.T) {
	var list diag.List
	scopes := driver.Read(onnxInputs(t), &list).Scopes
	if len(scopes) != 30 {
		t.Errorf("read %d specs, want 30", len(scopes))
	}
	var b bytes.Buffer
	unfinished := map[string]bool{}
	for _, d := range list.Sorted() {
		line, col := d.Span.File.Position(d.Span.Start)
		fmt.Fprintf(&b, "%s:%d:%d %s %s\n", d.Span.File.Path, line, col, d.Code, d.Message)
		if d.Code != diag.NotYet {
			t.Errorf("%s:%d:%d: %s: %s", d.Span.File.Path, line, col, d.Code, d.Message)
		}
		unfinished[d.Span.File.Path] = true
	}
	golden := filepath.Join(onnx, "findings.golden")
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff.Diff(golden, want, "findings", b.Bytes()); d != nil {
		t.Errorf("%s", d)
	}
	var complete []string
	for _, sc := range scopes {
		if s := sc.Spec; !unfinished[s.File.Path] {
			complete = append(complete, s.Name.V)
		}
	}
	if !slices.Equal(complete, onnxComplete) {
		t.Errorf("operators without findings are %v, want %v", complete, onnxComplete)
	}
}

// TestONNXSchemas checks that the specs agree with ONNX's schemas.
func TestONNXSchemas(t *testing.T) {
	specs := map[string]*spec.Spec{}
	for _, sc := range driver.Read(onnxInputs(t), &diag.List{}).Scopes {
		specs[sc.Spec.Name.V] = sc.Spec
	}
	for _, sc := range onnxSchemas(t) {
		name := snake(sc.Name)
		if specs[name] == nil {
			t.Errorf("there is no spec of %s", sc.Name)
			continue
		}
		for _, m := range sc.mismatches(specs[name]) {
			t.Errorf("%s: %s", name, m)
		}
		delete(specs, name)
	}
	for name := range specs {
		t.Errorf("there is no schema of %s", name)
	}
}

func onnxSchemas(t *testing.T) []schema {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(onnx, "schemas.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var schemas []schema
	if err := d.Decode(&schemas); err != nil {
		t.Fatal(err)
	}
	return schemas
}

// TestONNXMistakes checks that the comparison with ONNX's schemas finds mistakes of specs.
func TestONNXMistakes(t *testing.T) {
	schemas := map[string]schema{}
	for _, sc := range onnxSchemas(t) {
		schemas[snake(sc.Name)] = sc
	}
	for _, c := range []struct {
		spec, old, new string
		want           []string
	}{
		{"clip", "present = \"caller\"\ndoc     = \"the least", "doc     = \"the least", []string{"input min: single, want optional"}},
		{"clip", `"i8", `, ``, []string{"input input: lacks tensor(int8)", "input min: lacks tensor(int8)", "input max: lacks tensor(int8)", "output output: lacks tensor(int8)"}},
		{"einsum", "variadic = { min = 1 }\n", "", []string{"input inputs: single, want variadic"}},
		{"einsum", "{ min = 1 }", "{ min = 1, max = 8 }", []string{"input inputs: at most 8 tensors, want any number"}},
		{"if", `mixed = true`, `mixed = false`, []string{"output outputs: mixed is false, want true"}},
		{"loop", "min = 0", "min = 1", []string{"input v_initial: at least 1 tensors, want 0"}},
		{"optional", `type  = "optional(V)"`, `type  = "V"`, []string{"output output: has seq(tensor(bool)) besides and 29 more", "output output: lacks optional(seq(tensor(bool))) and 29 more",
			"input input and output output have one type variable, in ONNX they have two"}},
		{"q_linear_conv", "type  = \"T2\"\nshape = [\"M\"", "type  = \"T1\"\nshape = [\"M\"", []string{"input x and input w have one type variable, in ONNX they have two",
			"input x_zero_point and input w have one type variable, in ONNX they have two", "input w and input w_zero_point have two type variables, in ONNX they have one"}},
		{"top_k", "[slots.k]", "[slots.count]", []string{"input 1 is named count, want k"}},
		{"top_k", "default = -1", "default = 1", []string{"attribute axis: default 1, want -1"}},
		{"max_pool", "dilations ", "dilation ", []string{"attribute dilations is missing", "there is no attribute dilation"}},
		{"max_pool", `strides       = { type = "dims"`, `strides       = { type = "int"`, []string{"attribute strides: type int, want INTS"}},
		{"rnn", `["Tanh", "Tanh"]`, `["Tanh"]`, []string{"attribute activations: default [Tanh], want [Tanh Tanh]"}},
		{"scan", "min = 1, doc", "min = 1, default = 1, doc", []string{"attribute num_scan_inputs has a default or is optional, want neither"}},
		{"dropout", `"int", optional = true`, `"int"`, []string{"attribute seed is not optional"}},
		{"quantize_linear", `output_dtype = { type = "dtype", optional = true`, `output_dtype = { type = "dtype", default = "u8"`, []string{"attribute output_dtype: default 2, want 0"}},
		{"layer_normalization", `default = "f32"`, `default = "bf16"`, []string{"attribute stash_type: default 16, want 1"}},
		{"tf_idf_vectorizer", `since    = "9"`, `since    = "1"`, []string{"since 1, want 9"}},
		{"unique", "[slots.counts]\nrole    = \"output\"", "[slots.counts]\nrole    = \"saved\"", []string{"slot counts is saved, want an input or output", "3 outputs, want 4"}},
	} {
		p := path.Join("specs", c.spec+".toml")
		text := readFiles(t, onnx, p)[p]
		if strings.Count(text, c.old) != 1 {
			t.Errorf("%s: %q stands in it %d times, want once", c.spec, c.old, strings.Count(text, c.old))
			continue
		}
		checked := driver.Read([]driver.Input{{Path: p, Text: strings.Replace(text, c.old, c.new, 1)}}, &diag.List{})
		sc := schemas[c.spec]
		if got := sc.mismatches(checked.Scopes[0].Spec); !slices.Equal(got, c.want) {
			t.Errorf("%s with %q for %q:\ngot  %q\nwant %q", c.spec, c.new, c.old, got, c.want)
		}
	}
}

// TestONNXEmit generates code for the operators in onnxComplete and type-checks it.
func TestONNXEmit(t *testing.T) {
	inputs := slices.DeleteFunc(onnxInputs(t), func(in driver.Input) bool {
		return !slices.Contains(onnxComplete, strings.TrimSuffix(path.Base(in.Path), ".toml"))
	})
	var list diag.List
	m := resolve(inputs, &list)
	if m == nil {
		t.Fatalf("findings: %v", list.Sorted())
	}
	c := &config.Config{Specs: "specs", Runtime: "github.com/opgen/opgen/runtime",
		GeneratedImport: "example.com/onnx/generated", KernelsImport: "example.com/onnx/kernels"}
	files, err := driver.Emit(c, m)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	packages := map[string][]*ast.File{}
	for _, f := range files {
		parsed, err := parser.ParseFile(fset, f.Path, f.Data, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		packages[path.Dir(f.Path)] = append(packages[path.Dir(f.Path)], parsed)
	}
	exports, err := exportdata.Files("../..", nil, "./runtime/...")
	if err != nil {
		t.Fatal(err)
	}
	runtime := exportdata.Importer(fset, exports)
	for _, operator := range onnxComplete {
		name := goname.Package(operator)
		if len(packages[name]) != 4 {
			t.Errorf("package %s has %d files, want 4", name, len(packages[name]))
		}
		conf := types.Config{Importer: runtime, Error: func(err error) { t.Error(err) }}
		conf.Check(c.GeneratedImport+"/"+name, fset, packages[name], nil)
	}
	if len(packages["catalogue"]) != 1 { // it needs kernels, so it is parsed and not type-checked
		t.Errorf("package catalogue has %d files, want 1", len(packages["catalogue"]))
	}
}
