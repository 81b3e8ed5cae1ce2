package exportdata

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

func TestImporter(t *testing.T) {
	files, err := Files("../..", nil, "./runtime/shape")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	check := func(text string) error {
		f, err := parser.ParseFile(fset, "use.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		conf := types.Config{Importer: Importer(fset, files)}
		_, err = conf.Check("example.com/use", fset, []*ast.File{f}, nil)
		return err
	}
	const head = "package use\nimport \"github.com/opgen/opgen/runtime/shape\"\nvar _ "
	if err := check(head + "string = shape.Format([]int{1})\n"); err != nil {
		t.Error(err)
	}
	if err := check(head + "int = shape.Format([]int{1})\n"); err == nil || !strings.Contains(err.Error(), "cannot use") {
		t.Errorf("want an error of types, got %v", err)
	}
	if err := check("package use\nimport _ \"github.com/opgen/opgen/runtime/graph\"\n"); err == nil || !strings.Contains(err.Error(), "no required module provides package") {
		t.Errorf("want that the package is missing, got %v", err)
	}
}

func TestFilesOfBrokenPattern(t *testing.T) {
	if _, err := Files("../..", nil, "./none"); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("want an error that names the folder, got %v", err)
	}
}
