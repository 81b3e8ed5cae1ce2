package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	gomodule "golang.org/x/mod/module"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/gomod"
	"github.com/opgen/opgen/internal/source"
)

// Module is the Go module at a root, as far as its go.mod says which packages there are.
type Module struct {
	Path     string
	root     string
	requires []gomodule.Version
	replaced map[string]gomodule.Version // what takes the place of modules, by path: a module, or an absolute folder without a version
	vendored bool                        // packages come from the folder vendor
	open     bool                        // a workspace, or a go.mod that does not parse, may provide any package
}

// modulePath returns the path of the module that a go.mod describes.
func modulePath(name string, mod []byte) (string, error) {
	f, err := modfile.ParseLax(name, mod, nil)
	switch {
	case err != nil:
		return "", err
	case f.Module == nil || f.Module.Mod.Path == "":
		return "", fmt.Errorf("%s has no module line", name)
	}
	return f.Module.Mod.Path, nil
}

// readModule reads a module's go.mod.
func readModule(root, path string, mod []byte) *Module {
	m := &Module{Path: path, root: root, replaced: map[string]gomodule.Version{}, open: inWorkspace(root)}
	f, err := modfile.Parse("go.mod", mod, nil)
	if err != nil {
		m.open = true
		return m
	}
	m.vendored = f.Go != nil && gomod.Vendored(root, f.Go.Version)
	for _, r := range f.Require {
		m.requires = append(m.requires, r.Mod)
	}
	for _, r := range f.Replace {
		m.replaced[r.Old.Path] = r.New
		if r.New.Version == "" && modfile.IsDirectoryPath(r.New.Path) {
			dir := filepath.FromSlash(r.New.Path)
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(root, dir)
			}
			m.replaced[r.Old.Path] = gomodule.Version{Path: dir}
		}
	}
	return m
}

// inWorkspace reports whether a go.work applies to a folder.
func inWorkspace(dir string) bool {
	switch os.Getenv("GOWORK") {
	case "off":
		return false
	case "":
	default:
		return true
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// folder returns the folder in which this machine has a required module, and whether it has one: in a folder
// that replaces it, or in the module cache.
func (m *Module) folder(required gomodule.Version) (dir string, ok bool) {
	if r, ok := m.replaced[required.Path]; ok {
		if r.Version == "" {
			return r.Path, true
		}
		required = r
	}
	return gomod.Cached(required)
}

// Has reports whether a package may be there: in this module, in a module that it requires, in its folder
// vendor, or in the standard library. Folders show which packages modules have, where this machine has the
// folder.
func (m *Module) Has(importPath string) bool {
	_, missing := m.lacks(importPath)
	return !missing
}

// lacks reports whether a package is certainly not there, and names the required module that should have it,
// if there is one.
func (m *Module) lacks(importPath string) (of string, missing bool) {
	first, _, _ := strings.Cut(importPath, "/")
	if m.open || !strings.Contains(first, ".") && first != m.Path && !strings.HasPrefix(m.Path, first+"/") {
		return "", false
	}
	if m.vendored && isFolder(filepath.Join(m.root, "vendor", filepath.FromSlash(importPath))) {
		return "", false
	}
	if rel, ok := inModule(importPath, m.Path); ok && isFolder(filepath.Join(m.root, filepath.FromSlash(rel))) {
		return "", false
	}
	for _, required := range m.requires {
		rel, ok := inModule(importPath, required.Path)
		if !ok {
			continue
		}
		if dir, known := m.folder(required); !known || isFolder(filepath.Join(dir, filepath.FromSlash(rel))) {
			return "", false
		}
		if len(required.Path) > len(of) {
			of = required.Path
		}
	}
	return of, true
}

// isFolder reports whether there is a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// inModule returns the part of an import path behind a module's path.
func inModule(importPath, module string) (rel string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// released is the path of the module that has the runtime, unless a module has a copy of its own.
const released = "github.com/opgen/opgen"

// runtimes lists the import paths of the runtimes of required modules: folders of this machine with the
// package task, and that of the released module, which need not be on this machine yet.
func (m *Module) runtimes() []string {
	var out []string
	for _, r := range m.requires {
		if dir, ok := m.folder(r); ok && isFolder(filepath.Join(dir, "runtime", "task")) || !ok && r.Path == released {
			out = append(out, r.Path+"/runtime")
		}
	}
	if there := filepath.Join(m.root, "vendor", filepath.FromSlash(released), "runtime", "task"); m.vendored && isFolder(there) {
		out = append(out, released+"/runtime")
	}
	return out
}

// noRuntime reports that there is no runtime at a path.
func (m *Module) noRuntime(runtime string, at source.Span, list *diag.List) {
	of, _ := m.lacks(runtime + "/task")
	dir := ""
	for _, r := range m.requires {
		if r.Path == of {
			dir, _ = m.folder(r)
		}
	}
	switch _, replaced := m.replaced[of]; {
	case of != "" && replaced && !isFolder(dir) && m.vendored:
		list.Add(diag.BadConfig, at, "runtime: the folder vendor has no package %s/task, and the folder that go.mod has in place of %s is not there", runtime, of).
			Hinted("run go mod vendor where that folder is")
	case of != "" && replaced && !isFolder(dir):
		list.Add(diag.BadConfig, at, "runtime: the folder that go.mod has in place of %s is not there", of).Hinted("correct the line replace of go.mod")
	default:
		d := list.Add(diag.BadConfig, at, "runtime: no module of go.mod has the package %s/task", runtime)
		if runtimes := m.runtimes(); d.Nearest(runtime, runtimes) != "" {
			return
		} else if len(runtimes) > 0 {
			d.Hinted("runtime = %q is there", runtimes[0])
		} else {
			d.Hinted("run go get %s, and give the import path of its folder runtime", released)
		}
	}
}
