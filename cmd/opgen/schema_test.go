package main

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// compile compiles a schema, and compares the file in docs/schema with it.
func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := schemas[name]()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("../../docs/schema", name+".json")
	if *update {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, text) {
		t.Errorf("%s is out of date; run go test ./cmd/opgen -update", file)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate returns what a schema refuses of a value of TOML, as an editor shows it.
func validate(t *testing.T, s *jsonschema.Schema, v map[string]any) error {
	t.Helper()
	return s.Validate(plain(v))
}

// plain returns a value with arrays as the validator takes them.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	case []map[string]any:
		out := []any{}
		for _, e := range v {
			out = append(out, plain(e))
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, plain(e))
		}
		return out
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return 0.0 // a number of TOML that JSON has not
		}
	}
	return v
}

// mistakes changes each key of a table, and of the tables below it, that has a fixed name: try gets the path
// of the key while the key is misspelled, and, if it is required, while it is missing.
func mistakes(at map[string]any, k *keys.Table, path string, try func(path string)) {
	for _, key := range slices.Sorted(maps.Keys(at)) {
		v := at[key]
		if known := k.Key(key); known != nil && k.Others == nil {
			delete(at, key)
			at["z"+key] = v
			try(path + "." + key)
			delete(at, "z"+key)
			if known.Required {
				try(path + "." + key + " is missing")
			}
			at[key] = v
		}
		below := k.Below(key)
		if below == nil {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			mistakes(v, below, path+"."+key, try)
		case []map[string]any:
			for _, e := range v {
				mistakes(e, below, path+"."+key, try)
			}
		case []any:
			for _, e := range v {
				if e, ok := e.(map[string]any); ok {
					mistakes(e, below, path+"."+key, try)
				}
			}
		}
	}
}

// TestSchema validates all specs of the catalogue, and opgen.toml. Then it misspells and leaves out keys,
// which the schemas must refuse.
func TestSchema(t *testing.T) {
	t.Parallel()
	specs, err := filepath.Glob("../../specs/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, others := range []string{"../../test/formulas/testdata/specs/*.toml", "../../test/combine/testdata/*/specs/*.toml", "../../optest/testdata/*/specs/*.toml"} {
		more, err := filepath.Glob(others)
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %v, %v", others, more, err)
		}
		specs = append(specs, more...)
	}
	schema := map[string]*jsonschema.Schema{"spec": compile(t, "spec"), "config": compile(t, "config")}
	seeded := 0
	for _, file := range append(specs, "../../opgen.toml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		table, serr := source.Parse(file, string(text))
		if serr != nil {
			t.Fatal(serr)
		}
		name, k := "spec", spec.KeysOf(table)
		if filepath.Base(file) == config.Name {
			name, k = "config", config.Keys
		}
		var v map[string]any
		if _, err := toml.Decode(string(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := validate(t, schema[name], v); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		mistakes(v, k, "", func(path string) {
			seeded++
			if validate(t, schema[name], v) == nil {
				t.Errorf("%s: the schema accepts a mistake: %s", file, path)
			}
		})
	}
	if seeded < 3000 {
		t.Errorf("seeded %d mistakes, want at least 3000", seeded)
	}
}

// TestSchemaPlaces validates specs with mistakes in values that have fixed names. The schema refuses each,
// and says where it is.
func TestSchemaPlaces(t *testing.T) {
	t.Parallel()
	const good = `edition = 1
name = "x"
doc = "Scales."
formula = "output[n] = input[n] * factor"
dtypes = { T = ["f32", "f64"], U = { in = ["i64"], from = "factor" } }
[attrs]
factor = { type = "float", default = 1.0 }
parts = { type = "record", fields = { a = { type = "int" } } }
[slots]
input = { role = "input", type = "T", shape = ["N"] }
scratch = { role = "scratch", type = "f32", shape = ["N"], per = "worker" }
output = { role = "output", type = "bf16", shape = ["N"] }
[tasks]
forward = { access = { output = "readwrite", input = "reduce(sum)" } }
backward = { grads = { input = "once" } }
[kernels.cuda]
file = "x.cu"
forward = { per = "block" }
`
	const enum = "edition = 1\nkind = \"enum\"\nname = \"x\"\ndoc = \"Kinds.\"\nvalues = [\"A\"]\n"
	const config = "edition = 1\nruntime = \"example.com/runtime\"\n"
	for _, tt := range []struct{ schema, file, old, new, at string }{
		{"spec", good, "", "", ""},
		{"spec", good, "edition = 1", "edition = 2", "/edition"},
		{"spec", good, `"f32", "f64"`, `"float32", "f64"`, "/dtypes/T/0"},
		{"spec", good, `"f32", "f64"`, `"f32", "T"`, "/dtypes/T/1"},
		{"spec", good, `in = ["i64"]`, `in = ["int64"]`, "/dtypes/U/in/0"},
		{"spec", good, `type = "float"`, `type = "flaot"`, "/attrs/factor/type"},
		{"spec", good, `type = "int"`, `type = "axis"`, "/attrs/parts/fields/a/type"},
		{"spec", good, `role = "input"`, `role = "inptu"`, "/slots/input/role"},
		{"spec", good, `type = "T"`, `type = "float"`, "/slots/input/type"},
		{"spec", good, `type = "T"`, `type = "t"`, "/slots/input/type"},
		{"spec", good, `type = "bf16"`, `type = "f33"`, "/slots/output/type"},
		{"spec", good, `per = "worker"`, `per = "thread"`, "/slots/scratch/per"},
		{"spec", good, `"readwrite"`, `"writeread"`, "/tasks/forward/access/output"},
		{"spec", good, `"reduce(sum)"`, `"reduce"`, ""}, // opgen check knows more
		{"spec", good, `"once"`, `"ones"`, "/tasks/backward/grads/input"},
		{"spec", good, `per = "block"`, `per = "grid"`, "/kernels/cuda/forward/per"},
		{"spec", good, `name = "x"`, "name = \"x\"\nkind = \"optimzer\"", "/kind"},
		{"spec", good, `name = "x"`, "name = \"x\"\nkind = \"optimizer\"", ""},
		{"spec", good, `formula =`, `formulae =`, "/"},
		{"spec", enum, "", "", ""},
		{"spec", enum, `"A"`, `1`, "/values/0"},
		{"spec", enum, "edition = 1", "edition = 1.5", "/edition"},
		{"config", config, "", "", ""},
		{"config", config, "edition = 1", "edition = 0", "/edition"},
	} {
		var v map[string]any
		if _, err := toml.Decode(strings.Replace(tt.file, tt.old, tt.new, 1), &v); err != nil {
			t.Fatal(err)
		}
		err := validate(t, compile(t, tt.schema), v)
		if tt.at == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.new, err)
			}
			continue
		}
		var invalid *jsonschema.ValidationError
		if !errors.As(err, &invalid) {
			t.Errorf("%s: want an error, got %v", tt.new, err)
			continue
		}
		places := map[string]bool{}
		leaves(invalid, places)
		if got := strings.Join(slices.Sorted(maps.Keys(places)), " "); got != tt.at {
			t.Errorf("%s: the error is at %q, want %q: %v", tt.new, got, tt.at, err)
		}
	}
}

// leaves adds the places of the causes of an error.
func leaves(e *jsonschema.ValidationError, places map[string]bool) {
	for _, c := range e.Causes {
		leaves(c, places)
	}
	if len(e.Causes) == 0 {
		places["/"+strings.Join(e.InstanceLocation, "/")] = true
	}
}
