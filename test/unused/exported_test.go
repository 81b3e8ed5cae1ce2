package unused

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestExportedNamesHaveReaders reports exported names without a reader. A reader of a name is code of another
// package that uses the name. Example functions are readers, other tests are not.
//
// Some names need no reader: what protoc-gen-go generated, methods that implement an interface, types to
// which a name with a reader refers, and fields, methods of interfaces and constants of such types.
func TestExportedNamesHaveReaders(t *testing.T) {
	fset, pkgs := load(t, nil, "./...")
	symbols := map[place]*symbol{}
	for _, p := range pkgs {
		if public(p.PkgPath) {
			declared(fset, p, symbols)
		}
	}
	maps.DeleteFunc(symbols, func(at place, s *symbol) bool {
		return strings.HasSuffix(at.file, "_test.go") || strings.HasSuffix(at.file, ".pb.go") || !s.object.Exported() || ofType(s.object)
	})
	if len(symbols) < 200 {
		t.Errorf("want at least 200 symbols, got %d: the test does not find the packages", len(symbols))
	}
	for _, p := range pkgs {
		markReaders(fset, p, symbols)
	}
	t.Setenv("GOARCH", "arm64") // code of one processor alone reads names, too
	t.Setenv("GOOS", "linux")
	others, processor := loadNew(t, nil, "./formula/internal/jit", "./internal/base/...")
	for _, p := range processor {
		markReaders(others, p, symbols)
	}
	interfaces := interfacesOf(pkgs)
	for _, s := range symbols {
		if wanted(s.object, interfaces) {
			s.used = true
		}
	}
	markNamed(fset, symbols)
	for _, s := range symbols {
		if !s.used {
			t.Errorf("%s: want a reader outside of its package, got none: unexport or remove it, or use it in an Example", s.name)
		}
	}
}

// public reports whether the test checks the exported names of a package.
func public(path string) bool {
	for _, unchecked := range []string{"/generated", "/kernels", "/cmd", "/examples", "/test", "/docs"} {
		if strings.HasPrefix(path+"/", module+unchecked+"/") {
			return false
		}
	}
	return !strings.HasSuffix(path, "_test")
}

// ofType reports whether a name belongs to a type that needs the reader: the name is a field, a constant of a
// named type, a method of an interface, or a method of an unexported type.
func ofType(o types.Object) bool {
	switch o := o.(type) {
	case *types.Var:
		return o.IsField()
	case *types.Const:
		_, ok := o.Type().(*types.Named)
		return ok
	case *types.Func:
		recv := o.Signature().Recv()
		if recv == nil {
			return false
		}
		if o.Name() == "Unwrap" { // errors.Is and errors.As call it
			return true
		}
		n, ok := recv.Type().(*types.Named)
		return types.IsInterface(recv.Type()) || ok && !n.Obj().Exported()
	}
	return false
}

// markReaders marks the symbols that a package reads: symbols of other packages that its code uses, without
// tests, and all symbols that its examples use. Its tests read only what is for tests.
func markReaders(fset *token.FileSet, p *packages.Package, symbols map[place]*symbol) {
	own := strings.TrimSuffix(p.PkgPath, "_test")
	for _, f := range p.Syntax {
		file := filepath.Base(fset.Position(f.Pos()).Filename)
		test, examples := strings.HasSuffix(file, "_test.go"), strings.HasPrefix(file, "example_")
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			example := examples || ok && strings.HasPrefix(fn.Name.Name, "Example")
			ast.Inspect(d, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				o := p.TypesInfo.Uses[id]
				if o == nil || o.Pkg() == nil || o.Pkg().Path() == own && !test {
					return true
				}
				if test && !example && !forTests(o.Pkg().Path(), own) {
					return true
				}
				if s := symbols[placeOf(fset, o.Pos())]; s != nil && s.object.Name() == o.Name() {
					s.used = true
				}
				return true
			})
		}
	}
}

// forTests reports whether a package is one for tests, or is internal, so that tests of other packages are
// its readers.
func forTests(path, reader string) bool {
	return path != reader && (strings.HasSuffix(path, "test") || strings.Contains(path, "/internal/"))
}

// markNamed marks the types to which the types of marked symbols refer, directly or indirectly.
func markNamed(fset *token.FileSet, symbols map[place]*symbol) {
	var visit func(t types.Type)
	seen := map[types.Type]bool{}
	more := true
	name := func(o *types.TypeName) {
		if s := symbols[placeOf(fset, o.Pos())]; s != nil && s.object.Name() == o.Name() && !s.used {
			s.used, more = true, true
		}
	}
	visit = func(t types.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Alias:
			name(t.Obj())
			visit(types.Unalias(t))
		case *types.Named:
			for a := range t.TypeArgs().Types() {
				visit(a)
			}
			name(t.Obj())
		case *types.TypeParam:
			visit(t.Constraint())
		case *types.Pointer:
			visit(t.Elem())
		case *types.Slice:
			visit(t.Elem())
		case *types.Array:
			visit(t.Elem())
		case *types.Chan:
			visit(t.Elem())
		case *types.Map:
			visit(t.Key())
			visit(t.Elem())
		case *types.Union:
			for i := range t.Len() {
				visit(t.Term(i).Type())
			}
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() {
					visit(f.Type())
				}
			}
		case *types.Interface:
			for m := range t.Methods() {
				visit(m.Type())
			}
			for e := range t.EmbeddedTypes() {
				visit(e)
			}
		case *types.Signature:
			for p := range t.TypeParams().TypeParams() {
				visit(p)
			}
			visit(t.Params())
			visit(t.Results())
		case *types.Tuple:
			for v := range t.Variables() {
				visit(v.Type())
			}
		}
	}
	for more {
		more = false
		for _, s := range symbols {
			if !s.used {
				continue
			}
			visit(s.object.Type())
			if _, ok := s.object.(*types.TypeName); ok {
				visit(s.object.Type().Underlying())
			}
		}
	}
}
