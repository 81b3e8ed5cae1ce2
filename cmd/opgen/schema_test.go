package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	}
	return v
}

// mistakes changes each key of a table, and of the tables below it, that has a fixed name: try gets the path of the key while the key is
// misspelled, and, if it is required, while it is missing.
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

// TestSchema validates all specs of the catalogue, and opgen.toml. Then it misspells and leaves out keys, which the schemas must refuse.
func TestSchema(t *testing.T) {
	t.Parallel()
	specs, err := filepath.Glob("../../specs/*.toml")
	if err != nil {
		t.Fatal(err)
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
