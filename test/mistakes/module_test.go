package mistakes

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/internal/exportdata"
	"github.com/opgen/opgen/internal/vet"
)

const repository = "../.."

// base returns the files of the module without mistakes.
func base(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := filepath.Join("testdata", "base")
	err := filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(root, p)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	opgen, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	files["go.mod"] = "module example.com/mist\n\ngo 1.26.0\n\nrequire github.com/opgen/opgen v0.0.0\n\nreplace github.com/opgen/opgen => " + opgen + "\n"
	return files
}

// apply makes the edits of a mistake in files. It reports an edit that changes nothing.
func (m mistake) apply(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	files = maps.Clone(files)
	for _, e := range append(slices.Clone(m.edits), extra[m.number]...) {
		switch {
		case strings.HasPrefix(e.file, "generated/"):
		case e.old == "*":
			delete(files, e.file)
		case e.old == "":
			files[e.file] = files[e.new] // a copy
		case !strings.Contains(files[e.file], e.old):
			t.Errorf("mistake %s: %s has no %q", m.number, e.file, e.old)
		default:
			files[e.file] = strings.Replace(files[e.file], e.old, e.new, 1)
		}
	}
	return files
}

// extra are edits that a mistake needs besides: imports, and declarations that only make it compile.
var extra = map[string][]edit{
	"47": {{kernelFile, "// Scalenorm is the kernel", "var (\n\tkept []any\n\tlast any\n)\n\n// Scalenorm is the kernel"}},
	"48": {{kernelFile, "\t\"github.com/opgen/opgen/runtime/op\"\n", "\t\"github.com/opgen/opgen/runtime/op\"\n\t\"github.com/opgen/opgen/runtime/raw\"\n"}},
	"78": {{specFile, "groups = { type", "dim    = { type = \"axis\", default = -1 }\ngroups = { type"}},
}

// write writes files below a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// said is what is said about a mistake.
type said struct {
	by    string // "" if nothing is
	text  string
	more  int // further findings or errors
	grade string
}

// look returns what opgen, the compiler and opgen vet say about a module. Later ones are asked if earlier
// ones say nothing.
func look(t *testing.T, m mistake, files map[string]string) said {
	t.Helper()
	root := write(t, files)
	for _, e := range m.edits { // of generated files
		if strings.HasPrefix(e.file, "generated/") {
			if _, err := generate.Write(context.Background(), generate.Options{Dir: root}); err != nil {
				t.Fatal(err)
			}
			p := filepath.Join(root, filepath.FromSlash(e.file))
			data, err := os.ReadFile(p)
			if err != nil || !bytes.Contains(data, []byte(e.old)) {
				t.Fatalf("mistake %s: %s has no %q: %v", m.number, e.file, e.old, err)
			}
			if err := os.WriteFile(p, bytes.Replace(data, []byte(e.old), []byte(e.new), 1), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := generate.Write(context.Background(), generate.Options{Dir: root})
	if err != nil {
		return said{by: "opgen generate", text: strings.ReplaceAll(err.Error(), root, "."), grade: "A"}
	}
	if len(r.Refused) > 0 {
		return said{by: "opgen generate", text: r.Refused[0].Path + ": " + r.Refused[0].Kind + "; move the change into a spec or a kernel, or use -force", more: len(r.Refused) - 1, grade: "A"}
	}
	if len(r.Findings) > 0 {
		f := r.Findings[0]
		s := said{by: "opgen generate", text: fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Code, f.Message), more: len(r.Findings) - 1, grade: "B"}
		if f.Hint != "" {
			s.text += "; " + f.Hint
		}
		if f.Hint != "" || len(f.Related) > 0 || strings.Contains(f.Message, "want ") {
			s.grade = "A"
		}
		return s
	}
	return compile(t, root)
}

// compile returns what the compiler says about a module, and what opgen vet says if that is nothing.
func compile(t *testing.T, root string) said {
	t.Helper()
	c := &compiler{root: root, outside: importer(t), files: token.NewFileSet(), done: map[string]*types.Package{}}
	for _, p := range []string{"use", "kernels", "generated/catalogue"} {
		if _, err := c.Import("example.com/mist/" + p); err != nil {
			c.errs = append(c.errs, err.Error())
		}
	}
	if len(c.errs) == 0 {
		if len(c.reports) == 0 {
			return said{}
		}
		return said{by: "opgen vet", text: c.reports[0], more: len(c.reports) - 1, grade: "A"}
	}
	s := said{by: "the Go compiler", text: c.errs[0], more: len(c.errs) - 1, grade: "B"}
	switch {
	case strings.HasPrefix(s.text, "generated/"):
		s.grade = "C"
	case strings.Contains(s.text, "cannot use"), strings.Contains(s.text, "not enough arguments"):
		s.grade = "A" // the types that are wanted stand there
	}
	return s
}

// compiler type-checks the packages of a module as the Go compiler does, and analyzes them as opgen vet does.
type compiler struct {
	root    string
	outside types.Importer
	files   *token.FileSet
	done    map[string]*types.Package
	errs    []string
	reports []string
}

func (c *compiler) Import(importPath string) (*types.Package, error) {
	rel, ok := strings.CutPrefix(importPath, "example.com/mist/")
	if !ok {
		return c.outside.Import(importPath)
	}
	if p := c.done[rel]; p != nil {
		return p, nil
	}
	names, _ := filepath.Glob(filepath.Join(c.root, filepath.FromSlash(rel), "*.go"))
	if len(names) == 0 {
		return nil, fmt.Errorf("no required module provides package %s", importPath)
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(c.files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Instances: map[*ast.Ident]types.Instance{}}
	conf := types.Config{Importer: c, Error: func(err error) { c.errs = append(c.errs, c.plain(err.Error())) }}
	p, _ := conf.Check(importPath, c.files, files, info)
	c.done[rel] = p
	if len(c.errs) > 0 {
		return p, nil
	}
	for _, a := range vet.Analyzers {
		pass := &analysis.Pass{Analyzer: a, Fset: c.files, Files: files, Pkg: p, TypesInfo: info, Report: func(d analysis.Diagnostic) {
			c.reports = append(c.reports, c.plain(fmt.Sprintf("%v: %s", c.files.Position(d.Pos), d.Message)))
		}, ImportObjectFact: func(types.Object, analysis.Fact) bool { return false }, ExportObjectFact: func(types.Object, analysis.Fact) {}}
		if _, err := a.Run(pass); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// plain returns a message with paths that are relative to the module.
func (c *compiler) plain(s string) string {
	return strings.ReplaceAll(s, c.root+string(filepath.Separator), "")
}

var exports map[string]string

// importer imports packages that are not the module's.
func importer(t *testing.T) types.Importer {
	t.Helper()
	if exports == nil {
		var err error
		exports, err = exportdata.Files(repository, goEnv, ".", "./runtime/...", "./generated/sgd", "./generated/meansquarederror", "./generated/catalogue")
		if err != nil {
			t.Fatal(err)
		}
	}
	return exportdata.Importer(token.NewFileSet(), exports)
}

// goEnv is the environment of the go command, without the cache folder that the test gives opgen.
var goEnv, cacheHome = os.Environ(), os.Getenv("XDG_CACHE_HOME")
