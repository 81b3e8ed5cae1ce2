package check

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/spec"
)

var called = regexp.MustCompile(`([A-Za-z_]\w*)\(`)

// TestWordsHaveUsers reports functions and reductions that no spec of the catalogue uses. A formula means by
// a dimension what [dims] says, and by a tensor's extents what its shape says. So it applies the functions
// that stand there. broadcast and ones stand nowhere else: they give shapes, over which indices go by name.
func TestWordsHaveUsers(t *testing.T) {
	files, err := filepath.Glob("../../specs/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("want specs, got %d: %v", len(files), err)
	}
	used := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := spec.Read(file, string(text), &diag.List{})
		texts := []string{s.Formula.V}
		for _, d := range s.Dims {
			texts = append(texts, d.Expr.V)
		}
		for _, sl := range s.Slots {
			for _, n := range sl.Shape {
				texts = append(texts, rules.Element(n))
			}
		}
		for _, v := range s.Values {
			texts = append(texts, term.OfValue(v.Name.V))
		}
		for _, a := range s.Attrs {
			for _, v := range a.Values {
				texts = append(texts, term.OfValue(v.V))
			}
		}
		for _, call := range called.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
			used[call[1]] = true
		}
	}
	for _, word := range slices.Sorted(slices.Values(slices.Concat(reduction.Names, slices.Collect(maps.Keys(builtins))))) {
		if !used[word] {
			t.Errorf("no spec of the catalogue uses: %s", word)
		}
	}
}
