package unused

import (
	"go/ast"
	"strings"
	"testing"
)

// TestPackagesHaveExamples checks that each public package has an example, which go doc and pkg.go.dev show.
func TestPackagesHaveExamples(t *testing.T) {
	_, pkgs := load(t, nil, "./...")
	examples := map[string]bool{}
	for _, p := range pkgs {
		path := strings.TrimSuffix(p.PkgPath, "_test")
		if !written(path) || strings.HasSuffix(p.ID, ".test") {
			continue
		}
		found := examples[path]
		for _, f := range p.Syntax {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				found = found || ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example")
			}
		}
		examples[path] = found
	}
	if len(examples) < 30 {
		t.Errorf("want at least 30 public packages, got %d: the test does not find the packages", len(examples))
	}
	for path, found := range examples {
		if !found {
			t.Errorf("%s: want a function Example, got none", path)
		}
	}
}

// written reports whether programs of others import a package that is written by hand.
func written(path string) bool {
	if strings.Contains(path+"/", "/internal/") {
		return false
	}
	part, _, _ := strings.Cut(strings.TrimPrefix(path, module+"/"), "/")
	return path == module || path == module+"/formula" || part == "runtime" || part == "optest" || part == "generate"
}
