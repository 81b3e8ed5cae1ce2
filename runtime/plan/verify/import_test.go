package verify_test

import (
	"go/build"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// imports adds the packages of this module that a package imports, directly or not, to found.
func imports(t *testing.T, root, path string, found map[string]bool) {
	t.Helper()
	const module = "github.com/opgen/opgen/"
	p, err := build.ImportDir(filepath.Join(root, path), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, imported := range p.Imports {
		if inner, ok := strings.CutPrefix(imported, module); ok && !found[inner] {
			found[inner] = true
			imports(t, root, inner, found)
		}
	}
}

// TestImports checks that the verifier imports nothing that makes plans, directly or not, so that a fault of
// the maker cannot be one of the verifier, too.
func TestImports(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	verifier, maker := map[string]bool{}, map[string]bool{}
	imports(t, root, "runtime/plan/verify", verifier)
	imports(t, root, "runtime/planner", maker)
	for _, path := range []string{"runtime/graph", "runtime/target", "runtime/internal/deps", "internal/base/memplan", "runtime/internal/sched", "runtime/plan/verify"} {
		if !maker[path] {
			t.Errorf("the planner does not import %s", path)
		}
		if verifier[path] {
			t.Errorf("the verifier imports %s", path)
		}
	}
	// Of what the planner imports, the verifier shares only types and what these need, a set of numbers and a
	// numbering of keys.
	shared := []string{"runtime/attr", "runtime/dtype", "runtime/op", "runtime/partition", "runtime/perm", "runtime/plan", "runtime/region", "runtime/schedule", "runtime/shape", "runtime/task", "runtime/tensor", "runtime/internal/unlock", "runtime/internal/intset", "runtime/internal/numbering", "internal/base/nearest"}
	for path := range verifier {
		if !slices.Contains(shared, path) {
			t.Errorf("the verifier imports %s", path)
		}
	}
}
