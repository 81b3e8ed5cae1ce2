// Package kernelcheck compares the kernels that were written by hand with what generated code expects of
// them: their types, methods and signatures, as far as syntax shows them.
//
// The Go compiler finds the same mistakes, but in generated code. Here the place is the kernel's.
package kernelcheck

import (
	"go/ast"
	"path"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/kernelfile"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
)

// Imports holds import paths that kernels use.
type Imports struct {
	Runtime   string // of the runtime's packages
	Generated string // of the generated packages
	Folder    string // of the kernels, relative to the module's root
}

// Check reports what is wrong at the border between kernels and generated code. Findings go to list.
func Check(m *model.Module, f *kernelfile.Folder, in Imports, list *diag.List) {
	var packages []string
	for _, o := range m.Operators {
		packages = append(packages, o.Package)
	}
	for _, e := range m.Enums {
		packages = append(packages, e.Package)
	}
	Files(packages, f, in, list)
	Operators(m.Operators, f, in, list)
}

// Files reports what is wrong with the files of kernels, whatever the operators are: syntax, and imports of
// generated packages that are not among packages.
func Files(packages []string, f *kernelfile.Folder, in Imports, list *diag.List) {
	c := &checker{Imports: in, list: list, types: map[string]*kernel{}, packages: map[string]bool{"catalogue": true}}
	for _, p := range packages {
		c.packages[p] = true
	}
	for _, file := range f.Files {
		if r := c.read(file); r != nil {
			c.noPackages(r)
		}
		if file.Err != nil {
			c.syntax(file)
		}
	}
}

// Operators reports how the kernels of operators differ from what generated code expects of them. Others
// may be in the same files.
func Operators(operators []*model.Operator, f *kernelfile.Folder, in Imports, list *diag.List) {
	c := &checker{Imports: in, list: list, types: map[string]*kernel{}}
	for _, file := range f.Files {
		c.read(file)
	}
	var expected []*want
	for _, o := range operators {
		if o.Derived {
			c.dimensions(o)
		} else {
			expected = append(expected, c.expect(o)...)
		}
	}
	for _, w := range expected {
		if k := c.types[w.name]; k != nil && k.spec != nil {
			c.kernel(w, k)
		} else {
			c.missing(w)
		}
	}
}

// dimensions reports a step of an operator without a kernel that runs over several dimensions: the loops of a
// formula know no tiles.
func (c *checker) dimensions(o *model.Operator) {
	for _, t := range o.Tasks {
		for _, s := range t.Steps {
			if len(s.InnerX) > 0 {
				c.list.Add(diag.BadTiles, specPlace(o), "the task %s of %s runs over %d dimensions; the formula of an operator without a kernel runs over one",
					t.Name, o.Name, len(s.InnerX)+1).Hinted("run over one of them or over a product, or write a kernel")
			}
		}
	}
}

// checker compares kernels with models.
type checker struct {
	Imports
	list     *diag.List
	files    []*file
	types    map[string]*kernel // by name
	packages map[string]bool    // that opgen generates
	broken   bool               // whether a file does not parse, so anything may be declared in it
}

// file is a file of kernels with the import paths of its packages, by the names under which it imports them.
type file struct {
	*kernelfile.File
	source  *source.File
	imports map[string]string
}

// span returns the place of a part of the file.
func (f *file) span(n ast.Node) source.Span {
	return source.Span{File: f.source, Start: f.Offset(n.Pos()), End: f.Offset(n.End())}
}

// kernel is a type with its methods.
type kernel struct {
	file    *file
	spec    *ast.TypeSpec
	methods map[string]*method
	partial bool // it may have methods that are declared elsewhere: it is an alias, or it embeds a type
}

// method is a method of a kernel.
type method struct {
	file *file
	decl *ast.FuncDecl
}

// source returns the text of a file of kernels, under the path that findings show.
func (c *checker) source(kf *kernelfile.File) *source.File {
	return &source.File{Path: path.Join(c.Folder, kf.Name), Text: kf.Text}
}

// read notes the declarations of a file. It returns nil if the file is not one of the package.
func (c *checker) read(kf *kernelfile.File) *file {
	f := &file{kf, c.source(kf), map[string]string{}}
	c.broken = c.broken || kf.Err != nil
	if kf.AST == nil || kf.AST.Name == nil || kf.AST.Name.Name == "main" {
		return nil // a program beside the package
	}
	c.files = append(c.files, f)
	for _, i := range kf.AST.Imports {
		p := strings.Trim(i.Path.Value, "\"`")
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		f.imports[name] = p
	}
	for s := range kf.Types() {
		k := c.typeOf(s.Name.Name)
		k.file, k.spec, k.partial = f, s, s.Assign != 0
		if t, ok := s.Type.(*ast.StructType); ok {
			k.partial = k.partial || slices.ContainsFunc(t.Fields.List, func(x *ast.Field) bool { return x.Names == nil })
		}
	}
	for _, d := range kf.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && len(fn.Recv.List) == 1 {
			if name, _ := receiver(fn.Recv.List[0].Type); name != nil {
				c.typeOf(name.Name).methods[fn.Name.Name] = &method{f, fn}
			}
		}
	}
	return f
}

func (c *checker) typeOf(name string) *kernel {
	k := c.types[name]
	if k == nil {
		k = &kernel{methods: map[string]*method{}}
		c.types[name] = k
	}
	return k
}

// receiver returns the type of a receiver and the names of its type parameters; nil if the form is another
// one.
func receiver(x ast.Expr) (name *ast.Ident, params []ast.Expr) {
	switch x := x.(type) {
	case *ast.Ident:
		return x, nil
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.ParenExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		name, _ = receiver(x.X)
		return name, []ast.Expr{x.Index}
	case *ast.IndexListExpr:
		name, _ = receiver(x.X)
		return name, x.Indices
	}
	return nil, nil
}

// syntax reports that a file does not parse.
func (c *checker) syntax(f *kernelfile.File) {
	text := c.source(f)
	line, col, message := 1, 1, f.Err.Error()
	if errs := scannerErrors(f.Err); len(errs) > 0 {
		line, col, message = errs[0].Pos.Line, errs[0].Pos.Column, errs[0].Msg
	}
	at, _ := text.Offset(line, 1)
	at = min(at+col-1, len(f.Text)) // columns of Go count bytes
	c.list.Add(diag.KernelSyntax, source.Span{File: text, Start: at, End: at}, "the file is not Go: %s", message)
}

// noPackages reports imports of generated packages that no spec gives.
func (c *checker) noPackages(f *file) {
	for _, i := range f.AST.Imports {
		if pkg, ok := strings.CutPrefix(strings.Trim(i.Path.Value, "\"`"), c.Generated+"/"); ok && !c.packages[pkg] {
			c.noPackage(f, i, pkg)
		}
	}
}

// noPackage reports an import of a generated package that no spec gives.
func (c *checker) noPackage(f *file, i *ast.ImportSpec, pkg string) {
	d := c.list.Add(diag.LeftOver, f.span(i.Path), "no spec gives the package %s", path.Join(c.Generated, pkg))
	var names []string
	for p := range c.packages {
		names = append(names, p)
	}
	slices.Sort(names)
	if n := nearest.Name(pkg, names); n != "" {
		d.Hinted("did you mean %s?", path.Join(c.Generated, n))
	} else {
		d.Hinted("if the operator was renamed, import its new package; if it was removed, remove its kernel")
	}
}
