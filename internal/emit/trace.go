package emit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/sourcemap"
)

// trace returns the source map of a package: where in its spec the declarations come from. Names that places does not
// list come from the place of what they belong to, or from that of the spec's name.
func trace(pkg, spec, text string, name source.Pos, places map[string]source.Pos, files []artifact.Artifact) (artifact.Artifact, error) {
	m := &sourcemap.Map{Spec: spec, Sum: sourcemap.Sum([]byte(text))}
	for _, a := range files {
		data := a.Sign().Data
		f := sourcemap.File{Name: strings.TrimPrefix(a.Path, pkg+"/"), Sum: sourcemap.Sum(data)}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, a.Path, data, parser.SkipObjectResolution)
		if err != nil {
			return artifact.Artifact{}, err
		}
		declared(tree, func(decl string, at token.Pos) {
			place, ok := places[decl]
			for parent := decl; !ok && parent != ""; place, ok = places[parent] {
				parent = parent[:max(strings.LastIndexByte(parent, '.'), 0)]
			}
			if !ok {
				place = name
			}
			f.Decls = append(f.Decls, sourcemap.Decl{Name: decl, Line: fset.Position(at).Line, SpecLine: place.Line})
		})
		m.Files = append(m.Files, f)
	}
	return artifact.Artifact{Path: pkg + "/" + sourcemap.Name, Source: spec, Data: m.Format()}, nil
}

// declared calls visit with the declarations of a file, in order: Forward, and Forward.Input for fields and methods.
func declared(file *ast.File, visit func(name string, at token.Pos)) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			visit(name, d.Pos())
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.Name != "_" {
							visit(n.Name, n.Pos())
						}
					}
				case *ast.TypeSpec:
					visit(s.Name.Name, s.Pos())
					for _, f := range fields(s.Type) {
						for _, n := range f.Names {
							visit(s.Name.Name+"."+n.Name, n.Pos())
						}
					}
				}
			}
		}
	}
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

// fields returns the fields of a struct, or the methods of an interface.
func fields(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}

// places returns where in the spec the declarations of an operator's package come from.
func places(o *model.Operator) map[string]source.Pos {
	at := map[string]source.Pos{}
	for _, s := range o.Slots {
		at["Slot"+s.GoName], at["Outputs."+s.GoName] = s.Pos, s.Pos
	}
	for _, s := range o.Inputs() {
		at[s.GoName] = s.Pos // a type of a parameter of Apply
	}
	for _, a := range o.Args {
		at["Slot"+a.GoName], at[a.GoName] = a.Pos, a.Pos
	}
	for _, d := range o.Dims {
		at["Dims."+d.Name] = d.Pos
	}
	for _, a := range o.Attrs {
		placesOfAttr(at, "Attrs", a)
	}
	for _, t := range o.Tasks {
		for _, name := range []string{t.GoName, t.GoName + "Task", t.GoName + "Tensors", "bind" + t.GoName, t.GoName + "Kernel", "withKernel" + t.GoName} {
			at[name] = t.Pos
		}
		for _, p := range t.Params {
			at[t.GoName+"."+p.GoName], at[t.GoName+"Tensors."+p.GoName] = p.Slot.Pos, p.Slot.Pos
		}
		for _, a := range t.Args {
			at[t.GoName+"."+a.GoName], at[t.GoName+"Tensors."+a.GoName] = a.Pos, a.Pos
		}
		for _, s := range t.Steps {
			at["Kernel."+s.GoName], at[t.GoName+"Kernel."+s.GoName], at[bodyType(s)] = s.Pos, s.Pos, s.Pos
		}
		if !t.Invoked() {
			at["Kernel."+t.GoName] = t.Pos
		}
	}
	return at
}

// placesOfAttr adds the places of the declarations of an attribute, which is a field of a struct.
func placesOfAttr(at map[string]source.Pos, parent string, a *model.Attr) {
	at[parent+"."+a.GoName] = a.Pos
	if a.Enum != nil && a.Enum.Package == "" {
		placesOfEnum(at, a.Enum)
	}
	if a.Type == "record" {
		at[a.GoName] = a.Pos
		for _, f := range a.Fields {
			placesOfAttr(at, a.GoName, f)
		}
	}
}

// placesOfEnum adds the places of the declarations of an enum.
func placesOfEnum(at map[string]source.Pos, en *model.Enum) {
	prefix := en.GoName
	if en.Package != "" {
		prefix = ""
	}
	at[en.GoName], at[enumNames(en)] = en.Pos, en.Pos
	for _, v := range en.Values {
		at[prefix+v.GoName] = v.Pos
	}
}
