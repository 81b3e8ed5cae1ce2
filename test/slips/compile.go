package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/exportdata"
)

// compiler type-checks the generated packages of a catalogue, and the declarations of its kernels.
type compiler struct {
	dir     string
	runtime types.Importer // of all packages that are not generated
	files   *token.FileSet
	base    map[string]*types.Package // without slips
	imports map[string][]string       // of packages without slips, by path below the module
}

const module = "github.com/opgen/opgen/"

// newCompiler type-checks the packages as they are without slips. exports is what exported returns.
func newCompiler(exports map[string]string, dir string) (*compiler, error) {
	c := &compiler{dir: dir, files: token.NewFileSet(), base: map[string]*types.Package{}, imports: map[string][]string{}}
	c.runtime = exportdata.Importer(c.files, exports)
	names, err := filepath.Glob(filepath.Join(dir, "generated", "*"))
	if err != nil {
		return nil, err
	}
	run := &run{compiler: c, done: c.base, files: c.files}
	for _, n := range names {
		if _, err := run.Import(module + "generated/" + filepath.Base(n)); err != nil {
			return nil, err
		}
	}
	return c, errors.Join(run.errs...)
}

// check type-checks generated packages that differ, and all that depends on them.
func (c *compiler) check(packages map[string]bool) error {
	stale := map[string]bool{module + "generated/catalogue": true}
	for p := range packages {
		stale[module+"generated/"+p] = true
	}
	for grew := true; grew; {
		grew = false
		for p, imports := range c.imports {
			if !stale[p] && slices.ContainsFunc(imports, func(i string) bool { return stale[i] }) {
				stale[p], grew = true, true
			}
		}
	}
	r := &run{compiler: c, done: maps.Clone(c.base), files: token.NewFileSet()}
	for p := range stale {
		delete(r.done, p)
	}
	for _, p := range slices.Sorted(maps.Keys(stale)) {
		if files, _ := c.sources(p); len(files) == 0 {
			continue // the spec was renamed
		}
		if _, err := r.Import(p); err != nil {
			return err
		}
	}
	return errors.Join(r.errs...)
}

// sources returns the Go files of a package, which are no tests.
func (c *compiler) sources(importPath string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(c.dir, filepath.FromSlash(strings.TrimPrefix(importPath, module)), "*.go"))
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }), err
}

// run type-checks packages once.
type run struct {
	*compiler
	done  map[string]*types.Package
	files *token.FileSet
	errs  []error // in generated files
}

// Import implements types.Importer.
func (r *run) Import(importPath string) (*types.Package, error) {
	if p := r.done[importPath]; p != nil {
		return p, nil
	}
	if !strings.HasPrefix(importPath, module+"generated/") && importPath != module+"kernels" {
		return r.runtime.Import(importPath)
	}
	names, err := r.sources(importPath)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no package %s", importPath)
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(r.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		if r.files == r.compiler.files {
			for _, i := range f.Imports {
				r.imports[importPath] = append(r.imports[importPath], strings.Trim(i.Path.Value, `"`))
			}
		}
	}
	// The compiler judges the bodies of kernels, which opgen does not read.
	conf := types.Config{Importer: r, IgnoreFuncBodies: path.Base(importPath) == "kernels", Error: func(err error) {
		if strings.Contains(err.Error(), "/generated/") {
			r.errs = append(r.errs, err)
		}
	}}
	p, _ := conf.Check(importPath, r.files, files, nil)
	r.done[importPath] = p
	return p, nil
}
