package breaking

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Package is a generated package: its Go files by name, and the operator or shared enum that it belongs to.
type Package struct {
	Name, Source string
	Files        map[string]string
}

// Packages compares the exported declarations of generated packages. Both maps have them by import path. Deps
// imports all other packages; both versions are compared with the same ones.
func Packages(old, now map[string]Package, deps types.Importer) ([]Change, error) {
	was, is := newLoader(old, deps), newLoader(now, deps)
	c := &comparison{}
	for _, p := range slices.Sorted(maps.Keys(old)) {
		if _, ok := now[p]; !ok {
			c.found = append(c.found, Change{Breaks: code, Name: old[p].Name, Source: old[p].Source, Message: "the package " + path.Base(p) + " is gone"})
			continue
		}
		if maps.Equal(old[p].Files, now[p].Files) {
			continue
		}
		a, err := was.Import(p)
		if err != nil {
			return nil, err
		}
		b, err := is.Import(p)
		if err != nil {
			return nil, err
		}
		for _, message := range apiChanges(a, b) {
			c.found = append(c.found, Change{Breaks: code, Name: now[p].Name, Source: now[p].Source, Message: message})
		}
	}
	Sort(c.found)
	return c.found, nil
}

// Imports returns the import paths of the packages that generated ones import, and that are not generated
// themselves.
func Imports(packages map[string]Package) ([]string, error) {
	found := map[string]bool{}
	for _, p := range packages {
		for name, text := range p.Files {
			f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
			if err != nil {
				return nil, err
			}
			for _, i := range f.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					return nil, err
				}
				if _, generated := packages[path]; !generated {
					found[path] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// loader type-checks the packages of a version.
type loader struct {
	packages map[string]Package
	deps     types.Importer
	done     map[string]*types.Package
	fset     *token.FileSet
}

func newLoader(packages map[string]Package, deps types.Importer) *loader {
	return &loader{packages, deps, map[string]*types.Package{}, token.NewFileSet()}
}

// Import implements types.Importer.
func (l *loader) Import(importPath string) (*types.Package, error) {
	p, ok := l.packages[importPath]
	if !ok {
		return l.deps.Import(importPath)
	}
	if done := l.done[importPath]; done != nil {
		return done, nil
	}
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		f, err := parser.ParseFile(l.fset, path.Join(importPath, name), p.Files[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	var errs []error
	conf := types.Config{Importer: l, IgnoreFuncBodies: true, Error: func(err error) { errs = append(errs, err) }}
	out, err := conf.Check(importPath, l.fset, files, nil)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	l.done[importPath] = out
	return out, err
}

// Generated returns generated Go files as packages by import path. root is the import path of the output
// folder, and files have paths below it.
func Generated(root string, files map[string]string, owner func(folder string) (name, source string)) map[string]Package {
	out := map[string]Package{}
	for file, text := range files {
		dir, name := path.Split(file)
		dir = strings.TrimSuffix(dir, "/")
		if path.Ext(name) != ".go" || dir == "catalogue" {
			continue // the catalogue imports kernels, and says nothing that the operators do not say
		}
		importPath := path.Join(root, dir)
		p, ok := out[importPath]
		if !ok {
			p.Files = map[string]string{}
			p.Name, p.Source = owner(dir)
		}
		p.Files[name] = text
		out[importPath] = p
	}
	return out
}
