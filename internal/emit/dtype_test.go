package emit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// TestDtypeConst checks that generated code names element types by constants that exist.
func TestDtypeConst(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../../runtime/dtype/dtype.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					declared[n.Name] = true
				}
			}
		}
	}
	if len(dtype.Names()) != 26 {
		t.Errorf("%d element types, want 26: %v", len(dtype.Names()), dtype.Names())
	}
	for _, name := range dtype.Names() {
		typ, err := dtype.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if c := dtypeConst(typ); !declared[c] {
			t.Errorf("%s is the constant dtype.%s, which does not exist", name, c)
		}
	}
}
