package explain

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/emit"
	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/model"
)

// Trace connects a line of a spec with generated code.
type Trace struct {
	Spec         Place   `json:"spec"`
	Declarations []Place `json:"declarations"`

	from Place // which of them was asked for
}

// Place is a line of a file, which is relative to the module's root, with slashes.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"` // of the line of a spec, or the name of a declaration
}

func (p Place) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text) }

// Print prints the line that was asked for, and below it where it leads.
func (t *Trace) Print(w io.Writer) {
	if t.from != t.Spec {
		fmt.Fprintf(w, "%v\n%v\n", t.from, t.Spec)
		return
	}
	fmt.Fprintln(w, t.Spec)
	for _, d := range t.Declarations {
		fmt.Fprintf(w, "  %v\n", d)
	}
}

// Generated is the generated code of a module, as the generator makes it from the specs as they are.
type Generated struct {
	Root   string // the module's folder
	Output string // the folder of generated packages, relative to Root, with slashes
	Module *model.Module
	Files  []artifact.Artifact // signed, with paths below Output
}

// Line traces a line between a spec and generated code. For a line of a generated file, it finds the
// declaration that holds the line, and the line of the spec. For a line of a spec, it finds the declarations
// that come from the line or, if there are none, from the last line before it. The file is relative to the
// module's root, with slashes. The error says which generated file differs from what the generator makes of
// the specs.
func (g *Generated) Line(file string, line int) (*Trace, error) {
	if strings.HasPrefix(file, g.Output+"/") {
		return g.generatedLine(file, line)
	}
	return g.specLine(file, line)
}

// generatedLine finds the declaration that holds a line of a generated file, and the line of the spec.
func (g *Generated) generatedLine(file string, line int) (*Trace, error) {
	for _, o := range g.origins() {
		if path.Dir(file) != path.Join(g.Output, o.Package) {
			continue
		}
		for _, a := range g.Files {
			if file != path.Join(g.Output, a.Path) || path.Ext(a.Path) != ".go" {
				continue
			}
			decls, err := g.declarations(a)
			if err != nil {
				return nil, err
			}
			var from Place
			for _, d := range decls {
				if d.Line <= line {
					from = d
				}
			}
			if from.Line == 0 {
				return nil, fmt.Errorf("%s:%d: no declaration stands here", file, line)
			}
			spec, err := g.place(o.Spec, o.Line(from.Text))
			return &Trace{Spec: spec, Declarations: []Place{from}, from: from}, err
		}
	}
	return nil, fmt.Errorf("%s: want a file with code that is generated from a spec, got none; run opgen generate", file)
}

// specLine finds the declarations that come from a line of a spec or, if there are none, from the last line
// before it.
func (g *Generated) specLine(file string, line int) (*Trace, error) {
	var found []Place
	nearest := 0
	for _, o := range g.origins() {
		if o.Spec != file {
			continue
		}
		for _, a := range g.Files {
			if path.Dir(a.Path) != o.Package || path.Ext(a.Path) != ".go" {
				continue
			}
			decls, err := g.declarations(a)
			if err != nil {
				return nil, err
			}
			for _, d := range decls {
				at := o.Line(d.Text)
				if at > line || at < nearest {
					continue
				}
				if at > nearest {
					nearest, found = at, nil
				}
				found = append(found, d)
			}
		}
	}
	if nearest == 0 {
		return nil, fmt.Errorf("%s:%d: no declaration is generated from this line", file, line)
	}
	at, err := g.place(file, nearest)
	return &Trace{Spec: at, Declarations: found, from: at}, err
}

// origins returns the origins of all packages that are generated from one spec.
func (g *Generated) origins() []*emit.Origins {
	var out []*emit.Origins
	for _, o := range g.Module.Operators {
		out = append(out, emit.OperatorOrigins(o))
	}
	for _, en := range g.Module.Enums {
		out = append(out, emit.EnumOrigins(en))
	}
	return out
}

// declarations returns the declarations of a generated file of Go, in the order of their lines. It returns an
// error if the file on the disk is not the one that the generator makes, where lines would be others.
func (g *Generated) declarations(a artifact.Artifact) ([]Place, error) {
	file := path.Join(g.Output, a.Path)
	data, err := input.File(filepath.Join(g.Root, filepath.FromSlash(file)))
	if err != nil {
		return nil, fmt.Errorf("%w; run opgen generate", err)
	}
	if !bytes.Equal(artifact.Unix(data), a.Data) {
		return nil, fmt.Errorf("%s: the file is not what opgen generates from the specs now; run opgen generate", file)
	}
	return declared(file, a.Data)
}

// place returns a line of a spec.
func (g *Generated) place(file string, line int) (Place, error) {
	data, err := input.File(filepath.Join(g.Root, filepath.FromSlash(file)))
	if err != nil {
		return Place{}, err
	}
	text := ""
	if lines := strings.Split(string(data), "\n"); line <= len(lines) {
		text = strings.TrimSpace(lines[line-1])
	}
	return Place{file, line, text}, nil
}

// declared returns the declarations of a file of Go and their lines, in order: Forward, and Forward.Input for
// fields and methods.
func declared(file string, data []byte) ([]Place, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []Place
	add := func(name string, at token.Pos) {
		if name != "_" {
			out = append(out, Place{file, fset.Position(at).Line, name})
		}
	}
	for _, d := range tree.Decls {
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
						add(n.Name, n.Pos())
					}
				case *ast.TypeSpec:
					add(s.Name.Name, s.Pos())
					for _, f := range fields(s.Type) {
						for _, n := range f.Names {
							add(s.Name.Name+"."+n.Name, n.Pos())
						}
					}
				}
			}
		}
	}
	return out, nil
}

// fields returns the fields of a struct or the methods of an interface, and nothing for other types.
func fields(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}

// receiver returns the name of the type of a method's receiver.
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
