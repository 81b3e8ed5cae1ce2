package term

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/reduction"
)

// TestNames checks that the compiler never asks for a function or a reduction by name: the entry in its table
// must hold all of its properties. CONTRIBUTING.md states how many files a new function or reduction changes,
// and this test checks that number.
func TestNames(t *testing.T) {
	// Expressions of specs have functions of their own, which have other kinds of arguments.
	own := []string{"max", "min", "count", "any", "all", "ceil", "sqrt"}
	names := slices.Concat(slices.Collect(maps.Keys(Functions)), reduction.Names)
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(own, name) })
	added := map[string][]string{"erfc": nil, "hypot": nil, "Norm": nil}
	for _, folder := range []string{"../../formula", "../../internal"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			switch name := d.Name(); {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains([]string{"testdata", "oracle", "randomformula", "base"}, name):
				return filepath.SkipDir // the judges of the compiler share nothing with it
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			compared := func(x ast.Expr) {
				if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, _ := strconv.Unquote(lit.Value); slices.Contains(names, s) {
						t.Errorf("%v: want no comparison with the name %s", set.Position(x.Pos()), s)
					}
				}
			}
			found := map[string]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if n.Op == token.EQL || n.Op == token.NEQ {
						compared(n.X)
						compared(n.Y)
					}
				case *ast.CaseClause:
					for _, x := range n.List {
						compared(x)
					}
				case *ast.BasicLit:
					found[strings.Trim(n.Value, `"`)] = true
				case *ast.SelectorExpr:
					if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "reduction" {
						found[n.Sel.Name] = true
					}
				}
				return true
			})
			for name := range added {
				if found[name] {
					added[name] = append(added[name], strings.TrimPrefix(filepath.ToSlash(path), "../../"))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	table, written := "formula/term/function.go", "formula/program/written.go"
	for name, want := range map[string]string{"erfc": table, "hypot": table, "Norm": written} {
		if got := strings.Join(added[name], " "); got != want {
			t.Errorf("%s stands in %s, want it in %s: CONTRIBUTING.md counts these files", name, got, want)
		}
	}
}
