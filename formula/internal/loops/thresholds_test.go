package loops

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestThresholds checks that every number by which loops are chosen or statements rewritten stands in
// thresholds.go, with a comment: that no other file has a constant that is made of integer literals alone.
func TestThresholds(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	rewritings, err := filepath.Glob("../rewrite/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, rewritings...)
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				number := len(v.Values) > 0
				for _, x := range v.Values {
					ast.Inspect(x, func(n ast.Node) bool {
						switch n := n.(type) {
						case nil, *ast.BinaryExpr, *ast.ParenExpr:
						case *ast.BasicLit:
							number = number && n.Kind == token.INT
						default:
							number = false
						}
						return number
					})
				}
				switch {
				case !number || strings.HasPrefix(strings.ToLower(v.Names[0].Name), "exact"): // exact32 and exact64 follow from types
				case filepath.Base(name) != "thresholds.go":
					t.Errorf("%s: %s stands outside of thresholds.go", name, v.Names[0])
				case g.Doc.Text() == "":
					t.Errorf("%s has no comment", v.Names[0])
				default:
					found++
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("%d numbers in thresholds.go", found)
	}
}
