package unused

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/spec"
)

// checkedSpecs are the specs of operators that tests run in checked mode, by the check CheckedMode of package
// optest: those of the catalogue in package kernels, the others in the packages of their folders.
var checkedSpecs = []string{"specs/*.toml", "test/cookbook/testdata/specs/*.toml", "optest/testdata/module/specs/*.toml",
	"internal/driver/testdata/emit/*/specs/*_mode.toml"} // enums of modules that tests run

// configurations are files of opgen.toml whose modules tests generate and run.
var configurations = []string{"opgen.toml", "test/*/testdata/opgen.toml", "test/*/testdata/*/opgen.toml", "internal/driver/testdata/emit/*/opgen.toml"}

// TestKeysHaveUsers reports keys of specs and of opgen.toml, and words that are values of keys, that no file
// uses.
func TestKeysHaveUsers(t *testing.T) {
	used := map[string]bool{}
	read := func(patterns []string, tableOf func(map[string]any) *keys.Table) (files int) {
		for _, pattern := range patterns {
			paths, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
			if err != nil || len(paths) == 0 {
				t.Fatalf("%s: want files, got none, %v", pattern, err)
			}
			for _, path := range paths {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				var tree map[string]any
				if _, err := toml.Decode(string(text), &tree); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				markKeys(used, tableOf(tree), tree)
				files++
			}
		}
		return files
	}
	tables := spec.Tables()
	n := read(checkedSpecs, func(tree map[string]any) *keys.Table {
		if tree["kind"] == "enum" {
			return tables[1]
		}
		return tables[0]
	})
	if n < 130 {
		t.Errorf("want at least 130 specs, got %d: the test does not find them", n)
	}
	read(configurations, func(map[string]any) *keys.Table { return config.Keys })
	all := map[string]bool{}
	for _, table := range append(tables, config.Keys) {
		listKeys(all, table, map[*keys.Table]bool{})
	}
	if len(all) < 150 {
		t.Errorf("want at least 150 keys and words, got %d: the test does not find them", len(all))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !used[name] {
			t.Errorf("%s: want a spec or a configuration that uses it and that tests run, got none", name)
		}
	}
}

// markKeys marks the keys and words that a table of a file uses.
func markKeys(used map[string]bool, k *keys.Table, tree map[string]any) {
	for name, value := range tree {
		v := k.Others
		if key := k.Key(name); key != nil {
			v = &key.Value
			used[k.What+": "+name] = true
		}
		markValue(used, k.What+": "+name, v, value)
	}
}

func markValue(used map[string]bool, name string, v *keys.Value, value any) {
	if v == nil {
		return
	}
	switch value := value.(type) {
	case string:
		if slices.Contains(v.Words, value) {
			used[name+" = "+value] = true
		}
	case map[string]any:
		if v.Table != nil {
			markKeys(used, v.Table, value)
		}
	case []any:
		for _, e := range value {
			markValue(used, name, v.Elem, e)
		}
	case []map[string]any:
		for _, e := range value {
			markValue(used, name, v.Elem, e)
		}
	}
}

// listKeys lists the keys and words of a table and of those below it.
func listKeys(all map[string]bool, k *keys.Table, seen map[*keys.Table]bool) {
	if seen[k] {
		return
	}
	seen[k] = true
	var list func(name string, v *keys.Value)
	list = func(name string, v *keys.Value) {
		if v == nil {
			return
		}
		for _, w := range v.Words {
			all[name+" = "+w] = true
		}
		if v.Table != nil {
			listKeys(all, v.Table, seen)
		}
		list(name, v.Elem)
	}
	for i := range k.Keys {
		key := &k.Keys[i]
		if key.Later {
			continue
		}
		all[k.What+": "+key.Name] = true
		list(k.What+": "+key.Name, &key.Value)
	}
	list(k.What+": *", k.Others)
}
