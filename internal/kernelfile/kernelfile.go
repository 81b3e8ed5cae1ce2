// Package kernelfile reads the files of kernels that were written by hand, and finds out which operators have
// one.
package kernelfile

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/opgen/opgen/internal/input"
)

// Name returns the name of an operator's kernel file: the operator's, without underscores if Go
// would treat it as a test, or as code of one system, such as open_windows.go.
func Name(operator string) string {
	nowhere := build.Context{GOOS: "none", GOARCH: "none", Compiler: "gc", OpenFile: func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package kernels")), nil
	}}
	name := operator + ".go"
	if ok, err := nowhere.MatchFile("", name); err != nil || !ok || strings.HasSuffix(operator, "_test") {
		return strings.ReplaceAll(operator, "_", "") + ".go"
	}
	return name
}

// Package returns the name of the package in a folder of kernels: the last part of its path, as far as Go
// names have its characters.
func Package(folder string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, path.Base(folder))
	name = strings.TrimLeft(strings.TrimSuffix(name, "_test"), "_0123456789")
	if name == "" || name == "main" || token.IsKeyword(name) {
		name += "kernels"
	}
	return name
}

// Folder is what a folder of kernels holds. Kernels of several operators may be in one file, so the types
// that files declare count, and not only the names of files.
type Folder struct {
	// Names holds the names of the Go files that are no tests, sorted. A folder that does not exist has none.
	Names []string
	// Files holds these files in the order of their names. It lacks those that cannot be read.
	Files []*File

	types map[string]bool // that the files declare
}

// File is a file of kernels.
type File struct {
	Name string
	Text string
	AST  *ast.File // what was read in front of a syntax error, if there is one
	Err  error     // the first syntax error
}

// Offset returns the place of a position in the text.
func (f *File) Offset(p token.Pos) int {
	return min(max(int(p-f.AST.FileStart), 0), len(f.Text))
}

// isKernel reports whether a name is one of a Go file that is no test.
func isKernel(name string) bool {
	return filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")
}

// Names returns the names of the Go files of a folder that are no tests, sorted. A folder that cannot be read
// has none.
func Names(path string) []string {
	names := []string{}
	entries, _ := os.ReadDir(path) // sorted
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && isKernel(name) {
			names = append(names, name)
		}
	}
	return names
}

// Open reads the files of a folder. A folder that cannot be read holds none. open holds texts by name that
// count in place of files.
func Open(path string, open map[string]string) *Folder {
	f := &Folder{Names: Names(path), types: map[string]bool{}}
	for name := range open {
		if isKernel(name) && !slices.Contains(f.Names, name) {
			f.Names = append(f.Names, name)
		}
	}
	slices.Sort(f.Names)
	for _, name := range f.Names {
		if text, ok := open[name]; ok {
			f.Files = append(f.Files, parse(name, text))
		} else if text, err := input.File(filepath.Join(path, name)); err == nil {
			f.Files = append(f.Files, parse(name, string(text)))
		}
	}
	for _, file := range f.Files {
		if file.Err != nil {
			continue // the compiler reports it
		}
		for s := range file.Types() {
			f.types[s.Name.Name] = true
		}
	}
	return f
}

func parse(name, text string) *File {
	f := &File{Name: name, Text: text}
	f.AST, f.Err = parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	return f
}

// Types returns the types that the file declares.
func (f *File) Types() iter.Seq[*ast.TypeSpec] {
	return func(yield func(*ast.TypeSpec) bool) {
		for _, d := range f.AST.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && !yield(t) {
					return
				}
			}
		}
	}
}

// Has reports whether an operator has a kernel: a file with the name that Name gives, or a type goName in any
// file.
func (f *Folder) Has(operator, goName string) bool {
	return slices.Contains(f.Names, Name(operator)) || f.types[goName]
}

// Declares reports whether a file that parses declares a type.
func (f *Folder) Declares(name string) bool { return f.types[name] }
