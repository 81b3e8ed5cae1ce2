package emit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opgen/opgen/internal/sourcemap"
)

// TestDeclared compares the declarations that lines show with those that Go's parser finds, in all generated packages.
func TestDeclared(t *testing.T) {
	files, err := filepath.Glob("../../generated/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d generated files, %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []sourcemap.Decl
		declared(string(data), func(decl string, line int) { got = append(got, sourcemap.Decl{Name: decl, Line: line}) })
		if want := parsed(t, data); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %v\nwant %v", name, got, want)
		}
	}
}

// parsed returns the declarations of a file as Go's parser finds them.
func parsed(t *testing.T, data []byte) []sourcemap.Decl {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", data, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []sourcemap.Decl
	add := func(name string, at token.Pos) {
		out = append(out, sourcemap.Decl{Name: name, Line: fset.Position(at).Line})
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			add(name, d.Pos())
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.Name != "_" {
							add(n.Name, n.Pos())
						}
					}
				case *ast.TypeSpec:
					add(s.Name.Name, s.Pos())
					var fields []*ast.Field
					switch x := s.Type.(type) {
					case *ast.StructType:
						fields = x.Fields.List
					case *ast.InterfaceType:
						fields = x.Methods.List
					}
					for _, f := range fields {
						for _, n := range f.Names {
							add(s.Name.Name+"."+n.Name, n.Pos())
						}
					}
				}
			}
		}
	}
	return out
}

// receiver returns the name of the type of a method.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
