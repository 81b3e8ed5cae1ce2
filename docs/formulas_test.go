package docs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/spec"
)

// noFormula says which operators have no formula, and why a formula cannot say what they compute. Package
// kernels compares them with known results.
var noFormula = map[string]string{
	"checksum":            "it folds the bits of elements, for which formulas have no operation",
	"concat_flat":         "its inputs have different ranks",
	"einsum":              "an attribute says which products it sums",
	"element_bits":        "formulas have no operations on bits",
	"non_max_suppression": "values decide how many rows of its output count",
	"roi_align":           "values decide how many samples there are",
	"nonzero":             "values decide how many rows of its output count",
	"unique":              "values decide how many rows of its output count",
}

// TestFormulas checks that every spec of the catalogue has a formula, and that the formula can be read.
func TestFormulas(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../specs/*.toml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("found no specs: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var list diag.List
		s := spec.Read(path, string(text), &list)
		if why, none := noFormula[s.Name.V]; none == s.Formula.Set() {
			t.Errorf("%s: has a formula: %t; why it has none: %q", path, s.Formula.Set(), why)
		}
		if !s.Formula.Set() {
			continue
		}
		_, errs := expr.ParseFormula(s.Formula.V)
		for _, e := range errs {
			t.Errorf("%s: the formula at %d: %v", path, e.Pos, e)
		}
	}
}
