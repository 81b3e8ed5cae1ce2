// Package kernelfile finds out which operators have a kernel that was written by hand.
package kernelfile

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// Folder is what a folder of kernels holds. Kernels of several operators may be in one file, so the types that files
// declare count, and not only the names of files. Files are read only if some operator has no file of its own.
type Folder struct {
	// Names holds the names of the Go files that are no tests, sorted. A folder that does not exist has none.
	Names []string
	// Texts holds the texts of these files, by name. It is nil as long as none was read, and lacks those that cannot
	// be read.
	Texts map[string][]byte

	path  string
	types map[string]bool // that the files declare
}

// Open lists the files of a folder. A folder that cannot be read holds none.
func Open(path string) *Folder {
	f := &Folder{Names: []string{}, path: path}
	entries, _ := os.ReadDir(path) // sorted
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			f.Names = append(f.Names, name)
		}
	}
	return f
}

// Has reports whether an operator has a kernel: a file with the name that Name gives, or a type goName in any file.
func (f *Folder) Has(operator, goName string) bool {
	own := Name(operator)
	for _, name := range f.Names {
		if name == own {
			return true
		}
	}
	if f.types == nil {
		f.read()
	}
	return f.types[goName]
}

// read collects the types that the files declare. It skips files that do not parse: the compiler reports them.
func (f *Folder) read() {
	f.Texts, f.types = map[string][]byte{}, map[string]bool{}
	for _, name := range f.Names {
		text, err := os.ReadFile(filepath.Join(f.path, name))
		if err != nil {
			continue
		}
		f.Texts[name] = text
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, s := range g.Specs {
					f.types[s.(*ast.TypeSpec).Name.Name] = true
				}
			}
		}
	}
}
