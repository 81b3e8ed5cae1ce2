package spec

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
)

// TestKeysHaveUsers reports keys of the language that no spec of the catalogue or of the cookbook gives. A
// key that no operator uses is in danger to have no effect: nothing else tries it in a whole program.
func TestKeysHaveUsers(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../specs/*.toml", "../../test/cookbook/testdata/specs/*.toml", "../../optest/testdata/module/specs/*.toml"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: want specs, got %d: %v", pattern, len(more), err)
		}
		files = append(files, more...)
	}
	given := map[string]bool{}
	seen := func(what, key string, is bool) {
		name := strings.TrimPrefix(strings.TrimPrefix(what, "an "), "a ") + ": " + key
		given[name] = given[name] || is
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list := diag.List{}
		read(file, string(text), &reader{list: &list, seen: seen})
		if list.Len() > 0 {
			t.Errorf("%s: %d findings", file, list.Len())
		}
	}
	if len(given) < 80 {
		t.Errorf("want more than 80 keys, got %d: the test does not see them", len(given))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch _, later := slices.BinarySearch(refused, name); {
		case !given[name] && !later:
			t.Errorf("no spec of the catalogue or of the cookbook has %s", name)
		case given[name] && later:
			t.Errorf("a spec has %s: remove it from the list of keys that are refused", name)
		}
	}
}

// refused lists, in order, the keys that are read only to be refused as not supported yet, and those of enums
// that the name of the file and opgen.toml say.
var refused = []string{"enum spec: edition", "enum spec: name", "spec: expand", "spec: numerics", "spec: shape_func", "task: kind", "variadic: mixed"}
