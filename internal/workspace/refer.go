package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/explain"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/kernelfile"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
)

// Definition returns where the name at an offset is declared: in a spec and, of an operator with a kernel by
// hand, where the kernel is declared.
func (s *Snapshot) Definition(path string, offset int) []source.Span {
	n := s.nameAt(path, offset)
	if n == nil {
		return nil
	}
	var out []source.Span
	if _, d := s.declaration(n); d != nil {
		out = append(out, d.Span)
	}
	if n.Kind == Spec || n.Kind == Key && n.Text == "name" && path != config.Name {
		name := n.Spec
		if n.Kind == Key {
			name = s.read(path).name
		}
		for _, f := range s.Ground.Kernels().Files {
			if f.AST == nil {
				continue
			}
			for t := range f.Types() {
				if t.Name.Name == goname.Exported(name) {
					out = append(out, s.inKernel(f, t.Name))
				}
			}
		}
	}
	return out
}

// inKernel returns the place of a node of a kernel's file.
func (s *Snapshot) inKernel(f *kernelfile.File, n ast.Node) source.Span {
	at := &source.File{Path: path.Join(s.Ground.Config.Kernels, f.Name), Text: f.Text}
	return source.Span{File: at, Start: f.Offset(n.Pos()), End: f.Offset(n.End())}
}

// References returns where the name at an offset stands: in all specs, in kernels by hand, and in the
// generated package of its operator, as far as it is up to date. declared says whether the declaration
// counts. The error is that of ctx.
func (s *Snapshot) References(ctx context.Context, path string, offset int, declared bool) ([]source.Span, error) {
	n := s.nameAt(path, offset)
	if n == nil || n.Kind == Key {
		return nil, ctx.Err()
	}
	var out []source.Span
	for _, x := range s.occurrences(n) {
		if declared || !x.Declares {
			out = append(out, x.Span)
		}
	}
	out = append(out, s.selected(n)...)
	generated, err := s.generated(ctx, n)
	return append(out, generated...), err
}

// occurrences returns where a name stands in specs.
func (s *Snapshot) occurrences(n *Name) []Name {
	var out []Name
	for _, p := range s.paths {
		if !s.mayHold(p, n) {
			continue
		}
		for _, x := range s.namesOf(p) {
			if same(&x, n) {
				out = append(out, x)
			}
		}
	}
	return out
}

// mayHold reports whether a spec may have a name in it.
func (s *Snapshot) mayHold(path string, n *Name) bool {
	f := s.files[path]
	return strings.Contains(f.in.Text, n.Text) && (f.spec.Name.V == n.Spec || f.spec.Base == n.Spec || slices.Contains(f.refs, n.Spec) || f.words[n.Spec] ||
		strings.Contains(f.in.Text, n.Spec))
}

// selected returns where kernels by hand select a slot or an attribute: a.Input of an argument a of a method
// of the operator's kernel.
func (s *Snapshot) selected(n *Name) []source.Span {
	if n.Kind != Slot && n.Kind != Attribute {
		return nil
	}
	var out []source.Span
	kernel, field := goname.Exported(n.Spec), goname.Exported(n.Text)
	for _, f := range s.Ground.Kernels().Files {
		if f.AST == nil {
			continue
		}
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Body == nil || len(fn.Recv.List) != 1 || !strings.HasPrefix(receiverOf(fn.Recv.List[0].Type), kernel) {
				continue
			}
			if r := receiverOf(fn.Recv.List[0].Type); r != kernel && r != kernel+"Backward" {
				continue
			}
			arguments := map[string]bool{}
			for _, p := range fn.Type.Params.List {
				for _, name := range p.Names {
					arguments[name.Name] = true
				}
			}
			ast.Inspect(fn.Body, func(x ast.Node) bool {
				sel, ok := x.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != field && !(n.Kind == Slot && sel.Sel.Name == "Grad"+field) {
					return true
				}
				if id := root(sel.X); id != nil && arguments[id.Name] {
					out = append(out, s.inKernel(f, sel.Sel))
				}
				return true
			})
		}
	}
	return out
}

// root returns the variable of a chain of selections, or nil.
func root(x ast.Expr) *ast.Ident {
	for {
		switch y := x.(type) {
		case *ast.Ident:
			return y
		case *ast.SelectorExpr:
			x = y.X
		default:
			return nil
		}
	}
}

// receiverOf returns the name of a type, or of a pointer to it, without parameters.
func receiverOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		return receiverOf(x.X)
	case *ast.IndexExpr:
		return receiverOf(x.X)
	case *ast.IndexListExpr:
		return receiverOf(x.X)
	}
	return ""
}

// generated returns the declarations of the generated package that come from the place where a name is
// declared. There are none where the package is not what the spec gives now. The error is that of ctx.
func (s *Snapshot) generated(ctx context.Context, n *Name) ([]source.Span, error) {
	home, d := s.declaration(n)
	if d == nil || n.Kind != Slot && n.Kind != Attribute && n.Kind != EnumValue && n.Kind != Argument {
		return nil, ctx.Err()
	}
	c, err := s.known(ctx, home)
	if c == nil || err != nil {
		return nil, err
	}
	if c.Operator == nil && c.Enum == nil {
		return nil, nil
	}
	files, err := s.Ground.Generated(c.Operator, c.Enum)
	if err != nil {
		return nil, nil // a module that cannot be generated has no such code
	}
	code := explain.Generated{Root: s.Root, Output: s.Ground.Config.Output, Module: &model.Module{}, Files: files}
	if c.Operator != nil {
		code.Module.Operators = []*model.Operator{c.Operator}
	} else {
		code.Module.Enums = []*model.Enum{c.Enum}
	}
	line, _ := d.Span.File.Position(d.Span.Start)
	t, err := code.Line(home, line)
	if err != nil || t.Spec.Line != line {
		return nil, nil // the files are not up to date
	}
	var out []source.Span
	for _, x := range t.Declarations {
		name := x.Text[strings.LastIndexByte(x.Text, '.')+1:]
		if name != goname.Exported(n.Text) && name != "Grad"+goname.Exported(n.Text) {
			continue
		}
		data, err := input.File(filepath.Join(s.Root, filepath.FromSlash(x.File)))
		if err != nil {
			continue
		}
		f := &source.File{Path: x.File, Text: string(data)}
		if at, ok := f.Offset(x.Line, 1); ok {
			at += strings.Index(f.Line(x.Line), name)
			out = append(out, source.Span{File: f, Start: at, End: at + len(name)})
		}
	}
	return out, nil
}

// Renamable returns the place and the name at an offset if the name can be renamed in the specs of the
// module; nil otherwise.
func (s *Snapshot) Renamable(path string, offset int) *Name {
	n := s.nameAt(path, offset)
	switch {
	case n == nil:
		return nil
	case n.Kind == Slot, n.Kind == Attribute, n.Kind == Argument, n.Kind == Dimension, n.Kind == TypeVariable, n.Kind == Value, n.Kind == Function, n.Kind == EnumValue:
		if _, d := s.declaration(n); d != nil {
			return n
		}
	}
	return nil
}

// Rename returns the edits that give the name at an offset another one wherever it stands: in specs, and in
// kernels by hand. Generated code follows when it is generated. The error says why the name cannot be
// changed.
func (s *Snapshot) Rename(path string, offset int, to string) ([]diag.Edit, error) {
	n := s.Renamable(path, offset)
	if n == nil {
		return nil, errors.New("want the name of a slot, an attribute, an argument, a dimension, a dtype variable, a value or a function of a formula, or a value of an enum")
	}
	upper := n.Kind == Dimension || n.Kind == TypeVariable
	switch {
	case len(to) > source.MaxKey:
		return nil, fmt.Errorf("want a name of at most %d letters", source.MaxKey)
	case upper && !upperName.MatchString(to):
		return nil, fmt.Errorf("%q: want letters, digits and underscores, beginning with an upper-case letter", to)
	case n.Kind == EnumValue && !anyName.MatchString(to), n.Kind == Value && !anyName.MatchString(to), n.Kind == Function && !anyName.MatchString(to):
		return nil, fmt.Errorf("%q: want letters, digits and underscores, beginning with a letter", to)
	case !upper && n.Kind != EnumValue && n.Kind != Value && n.Kind != Function && !rules.Snake.MatchString(to):
		return nil, fmt.Errorf("%q: want lower-case letters, digits and single underscores, beginning with a letter", to)
	case slices.Contains(rules.Reserved, to) && n.Kind != EnumValue:
		return nil, fmt.Errorf("%s has a meaning of its own in expressions", to)
	}
	home, _ := s.declaration(n)
	// An index ranges over the dimension that has its name in capitals.
	var index, toIndex string
	if index, toIndex = strings.ToLower(n.Text), strings.ToLower(to); n.Kind != Dimension {
		index, toIndex = "", ""
	}
	var out []diag.Edit
	for _, x := range s.namesOf(home) {
		if index != "" && x.Kind == Index && x.Of == "" && x.Text == index {
			at := x.Span
			at.End = at.Start + len(index)
			out = append(out, diag.Edit{Span: at, New: toIndex})
		}
		if toIndex != "" && x.Text == toIndex && x.Spec == n.Spec && index != toIndex {
			return nil, fmt.Errorf("%s has the index %s already, or another such name", n.Spec, toIndex)
		}
		if x.Text == to && x.Spec == n.Spec && x.Of == n.Of && x.Kind != Declaration && (n.Kind == EnumValue) == (x.Kind == EnumValue) {
			return nil, fmt.Errorf("%s has the name %s already", n.Spec, to)
		}
	}
	for _, x := range s.occurrences(n) {
		out = append(out, diag.Edit{Span: x.Span, New: to})
	}
	for _, at := range s.selected(n) {
		prefix := ""
		if strings.HasPrefix(at.File.Text[at.Start:at.End], "Grad") && !strings.HasPrefix(goname.Exported(n.Text), "Grad") {
			prefix = "Grad"
		}
		out = append(out, diag.Edit{Span: at, New: prefix + goname.Exported(to)})
	}
	slices.SortFunc(out, func(a, b diag.Edit) int {
		return cmp.Or(cmp.Compare(a.Span.File.Path, b.Span.File.Path), cmp.Compare(a.Span.Start, b.Span.Start))
	})
	return out, nil
}

var (
	upperName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)
	anyName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
)

// Kernel returns the text of a file of kernels by hand, and whether there is one.
func (s *Snapshot) Kernel(file string) (string, bool) {
	if s.Ground == nil || s.Ground.Config == nil {
		return "", false
	}
	for _, f := range s.Ground.Kernels().Files {
		if path.Join(s.Ground.Config.Kernels, f.Name) == file {
			return f.Text, true
		}
	}
	return "", false
}

// FromKernel returns where the slot or the attribute is declared that a kernel by hand selects at an offset:
// the Input of a.Input.
func (s *Snapshot) FromKernel(file string, offset int) []source.Span {
	for _, p := range s.paths {
		for _, n := range s.namesOf(p) {
			if !n.Declares || n.Kind != Slot && n.Kind != Attribute {
				continue
			}
			for _, at := range s.selected(&n) {
				if at.File.Path == file && at.Start <= offset && offset <= at.End {
					return []source.Span{n.Span}
				}
			}
		}
	}
	return nil
}
