// Package unused tests that generated code and public packages declare no unused names.
package unused

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const (
	module    = "github.com/opgen/opgen"
	generated = module + "/generated/"
)

// symbol is a package-level declaration, a method or a field.
type symbol struct {
	name   string // package.name, or package.type.name for methods and fields
	object types.Object
	// within lists declarations: the declaration of the symbol and, for a type, those of its methods. A use
	// inside of them does not count.
	within []ast.Node
	used   bool
}

// place is the position of an object. It identifies the object in packages that are type-checked separately.
type place struct {
	file         string
	line, column int
}

func placeOf(fset *token.FileSet, at token.Pos) place {
	p := fset.Position(at)
	return place{filepath.Base(filepath.Dir(p.Filename)) + "/" + filepath.Base(p.Filename), p.Line, p.Column}
}

// TestNoUnusedSymbols type-checks the module with its tests. It reports symbols of generated packages that
// are used only in their own declaration.
//
// These symbols count as used: methods that implement an interface, exported symbols of an operator that only
// its kernel and the catalogue import, what a kernel that another module writes by hand uses, the tensors of
// invocations and the arguments of tasks, as package opimpl reads and fills their fields by reflection, and
// methods of attributes.
func TestNoUnusedSymbols(t *testing.T) {
	unused, all := unusedSymbols(t, nil, "./...")
	if all < 1000 {
		t.Errorf("want at least 1000 symbols, got %d: the test does not find the packages", all)
	}
	for _, name := range unused {
		t.Errorf("%s: want a use outside of its declaration, got none", name)
	}
}

// TestFindsUnused adds symbols to a generated file. The unused ones are found.
func TestFindsUnused(t *testing.T) {
	const addition = `
type unusedType struct{ usedField, unusedField int }

func (x unusedType) unusedMethod() { x.usedMethod(x) }

func (x unusedType) usedMethod(unusedType) { usedFunc(); _ = unusedType{usedField: used} }

const used = usedOfTwo

const usedOfTwo, unusedOfTwo = 1, 2

func usedFunc() {}

func usedByItself() { usedByItself() }

func (unusedType) String() string { return "a method of fmt.Stringer" }
`
	file, err := filepath.Abs("../../generated/softmax/attrs.go")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := unusedSymbols(t, map[string][]byte{file: append(data, addition...)}, "./generated/softmax", "./generated/catalogue", "./kernels", "./examples/...", "./test/typed")
	got = slices.DeleteFunc(got, func(name string) bool { return !strings.HasPrefix(name, "softmax.") })
	want := []string{"softmax.unusedOfTwo", "softmax.unusedType", "softmax.unusedType.unusedField", "softmax.unusedType.unusedMethod", "softmax.usedByItself"}
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// unusedSymbols returns the names of the unused symbols of generated packages, and the number of all their
// symbols.
func unusedSymbols(t *testing.T, overlay map[string][]byte, patterns ...string) (unused []string, all int) {
	t.Helper()
	fset, pkgs := load(t, overlay, patterns...)
	symbols := map[place]*symbol{}
	importers := map[string]int{} // for each package, the importers that are neither kernels nor generated
	for _, p := range pkgs {
		if strings.HasPrefix(p.PkgPath, generated) && !strings.HasSuffix(p.PkgPath, "_test") {
			declared(fset, p, symbols)
			continue
		}
		if p.PkgPath != module+"/kernels" {
			for path := range p.Imports {
				importers[path]++
			}
		}
	}
	interfaces := interfacesOf(pkgs)
	for _, p := range pkgs {
		markUses(fset, p, symbols)
	}
	names := map[string]bool{}
	for _, s := range symbols {
		names[s.name] = true
	}
	for _, s := range symbols {
		path := s.object.Pkg().Path()
		if ofArguments(s.name, names) || s.used || s.object.Exported() && importers[path] == 0 && path != generated+"catalogue" || wanted(s.object, interfaces) || ofInvocation(s.name) || ofAttrs(s.name) || ofKernel(s.object, s.name) {
			continue
		}
		unused = append(unused, s.name)
	}
	slices.Sort(unused)
	return unused, len(symbols)
}

// ofArguments reports whether a symbol is a field of the arguments of a task: a struct that also holds the
// attributes and the dimensions. Package opimpl fills its fields by reflection.
func ofArguments(name string, names map[string]bool) bool {
	i := strings.LastIndex(name, ".")
	return names[name[:i]+".Attrs"] && names[name[:i]+".Dims"] && strings.Count(name, ".") == 2
}

// ofAttrs reports whether a symbol is a method of an operator's attributes. Every operator has all of them.
func ofAttrs(name string) bool {
	return strings.Contains(name, ".Attrs.With") || strings.HasSuffix(name, ".Attrs.Validate")
}

// ofInvocation reports whether a symbol belongs to a type of tensors of an invocation. The name has the form
// package.type or package.type.part.
func ofInvocation(name string) bool {
	parts := strings.Split(name, ".")
	return len(parts) > 1 && strings.HasSuffix(parts[1], "Tensors")
}

// ofKernel reports whether kernels that are written by hand, or what registers them, use a symbol: Register,
// Iteration, attributes, and constants of enums. An operator whose kernel is its formula need not have other
// uses of them.
func ofKernel(o types.Object, name string) bool {
	if !o.Exported() {
		return false
	}
	switch o := o.(type) {
	case *types.Func:
		return o.Name() == "Register" || o.Name() == "Iteration"
	case *types.Var:
		return strings.Contains(name, ".Attrs.")
	case *types.Const:
		n, ok := o.Type().(*types.Named)
		return ok && n.Obj().Pkg() == o.Pkg() && n.Obj().Name() != "Slot"
	}
	return false
}

// load type-checks packages with their tests. It type-checks the whole module only once.
func load(t *testing.T, overlay map[string][]byte, patterns ...string) (*token.FileSet, []*packages.Package) {
	t.Helper()
	if overlay == nil && slices.Equal(patterns, []string{"./..."}) {
		if loaded.pkgs == nil {
			loaded.fset, loaded.pkgs = loadNew(t, nil, patterns...)
		}
		return loaded.fset, loaded.pkgs
	}
	return loadNew(t, overlay, patterns...)
}

// loaded is the whole module, once it is type-checked.
var loaded struct {
	fset *token.FileSet
	pkgs []*packages.Package
}

func loadNew(t *testing.T, overlay map[string][]byte, patterns ...string) (*token.FileSet, []*packages.Package) {
	t.Helper()
	fset := token.NewFileSet()
	pkgs, err := packages.Load(&packages.Config{
		Mode:    packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
		Fset:    fset,
		Dir:     "../..",
		Tests:   true,
		Overlay: overlay,
	}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			t.Fatalf("%s: %v", p.ID, e)
		}
	}
	return fset, pkgs
}

// declared adds the symbols that a package declares to symbols.
func declared(fset *token.FileSet, p *packages.Package, symbols map[place]*symbol) {
	typeSymbols := map[string]*symbol{}
	add := func(id *ast.Ident, prefix string, within ...ast.Node) *symbol {
		if id.Name == "_" {
			return nil
		}
		s := &symbol{name: p.Name + "." + prefix + id.Name, object: p.TypesInfo.Defs[id], within: within}
		symbols[placeOf(fset, id.Pos())] = s
		return s
	}
	var methods []*ast.FuncDecl
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods = append(methods, d)
				} else if d.Name.Name != "init" {
					add(d.Name, "", d)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							add(id, "", spec)
						}
					case *ast.TypeSpec:
						typeSymbols[spec.Name.Name] = add(spec.Name, "", spec)
						if st, ok := spec.Type.(*ast.StructType); ok {
							for _, field := range st.Fields.List {
								for _, id := range field.Names {
									add(id, spec.Name.Name+".", field)
								}
							}
						}
						if it, ok := spec.Type.(*ast.InterfaceType); ok {
							for _, field := range it.Methods.List {
								for _, id := range field.Names {
									add(id, spec.Name.Name+".", field)
								}
							}
						}
					}
				}
			}
		}
	}
	for _, d := range methods {
		name := receiver(d.Recv.List[0].Type)
		add(d.Name, name+".", d)
		if s := typeSymbols[name]; s != nil {
			s.within = append(s.within, d)
		}
	}
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	}
	return e.(*ast.Ident).Name
}

// markUses marks the symbols that a package uses outside of their declarations.
func markUses(fset *token.FileSet, p *packages.Package, symbols map[place]*symbol) {
	mark := func(o types.Object, at token.Pos) {
		s := symbols[placeOf(fset, o.Pos())]
		if s == nil || s.object.Name() != o.Name() {
			return
		}
		for _, n := range s.within {
			if n.Pos() <= at && at < n.End() {
				return
			}
		}
		s.used = true
	}
	for id, o := range p.TypesInfo.Uses {
		if o.Pkg() != nil {
			mark(o, id.Pos())
		}
	}
	// A struct literal without keys uses all fields.
	for _, f := range p.Syntax {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) == 0 {
				return true
			}
			st, ok := types.Unalias(p.TypesInfo.TypeOf(lit)).Underlying().(*types.Struct)
			if _, keyed := lit.Elts[0].(*ast.KeyValueExpr); ok && !keyed {
				for i := range st.NumFields() {
					mark(st.Field(i), lit.Pos())
				}
			}
			return true
		})
	}
}

// interfacesOf returns the interfaces that packages and their direct imports declare, the interfaces without
// a name that the packages use, and those of fields of generic types with the arguments that the packages
// give.
func interfacesOf(pkgs []*packages.Package) []*types.Interface {
	out := []*types.Interface{types.Universe.Lookup("error").Type().Underlying().(*types.Interface)}
	seen := map[string]bool{}
	add := func(p *types.Package) {
		if seen[p.Path()] {
			return
		}
		seen[p.Path()] = true
		for _, name := range p.Scope().Names() {
			if tn, ok := p.Scope().Lookup(name).(*types.TypeName); ok && tn.Exported() {
				if it, ok := tn.Type().Underlying().(*types.Interface); ok && it.IsMethodSet() && it.NumMethods() > 0 {
					out = append(out, it)
				}
			}
		}
	}
	for _, p := range pkgs {
		for _, v := range p.TypesInfo.Types { // interfaces without a name
			if it, ok := v.Type.(*types.Interface); ok && v.IsType() && it.IsMethodSet() && it.NumMethods() > 0 {
				out = append(out, it)
			}
		}
		for _, instance := range p.TypesInfo.Instances {
			structure, ok := instance.Type.Underlying().(*types.Struct)
			name := p.ID + " " + instance.Type.String() // packages and their tests have types of their own
			if seen[name] {
				continue
			}
			seen[name] = true
			for i := 0; ok && i < structure.NumFields(); i++ {
				if it, ok := structure.Field(i).Type().Underlying().(*types.Interface); ok && it.IsMethodSet() && it.NumMethods() > 0 {
					out = append(out, it)
				}
			}
		}
		add(p.Types)
		for _, imported := range p.Types.Imports() {
			add(imported)
		}
	}
	return out
}

// wanted reports whether an object is a method by which its type implements one of the interfaces.
func wanted(o types.Object, interfaces []*types.Interface) bool {
	f, ok := o.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return false
	}
	recv := f.Signature().Recv().Type()
	if _, ok := recv.(*types.Pointer); !ok {
		recv = types.NewPointer(recv)
	}
	return slices.ContainsFunc(interfaces, func(it *types.Interface) bool {
		m, _, _ := types.LookupFieldOrMethod(it, false, o.Pkg(), o.Name())
		return m != nil && types.Implements(recv, it)
	})
}
