package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Module is the Go module at a root, as far as its go.mod says which packages there are.
type Module struct {
	Path     string
	root     string
	requires []string          // paths of modules
	replaced map[string]string // folders of modules, by path
	open     bool              // a workspace, or a go.mod that does not parse, may provide any package
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
	m := &Module{Path: path, root: root, replaced: map[string]string{}, open: inWorkspace(root)}
	f, err := modfile.Parse("go.mod", mod, nil)
	if err != nil {
		m.open = true
		return m
	}
	for _, r := range f.Require {
		m.requires = append(m.requires, r.Mod.Path)
	}
	for _, r := range f.Replace {
		if dir := filepath.FromSlash(r.New.Path); r.New.Version == "" && modfile.IsDirectoryPath(r.New.Path) {
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(root, dir)
			}
			m.replaced[r.Old.Path] = dir
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

// dir returns the folder of a package of this module, or of a module that a folder replaces, and whether it is one.
func (m *Module) dir(importPath string) (dir string, ok bool) {
	if rel, ok := inModule(importPath, m.Path); ok {
		return filepath.Join(m.root, filepath.FromSlash(rel)), true
	}
	for path, dir := range m.replaced {
		if rel, ok := inModule(importPath, path); ok {
			return filepath.Join(dir, filepath.FromSlash(rel)), true
		}
	}
	return "", false
}

// Has reports whether a package may be there: in this module, in a module that it requires, or in the standard library.
// Folders show which packages modules have whose folder is known.
func (m *Module) Has(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	if m.open || !strings.Contains(first, ".") && first != m.Path && !strings.HasPrefix(m.Path, first+"/") {
		return true
	}
	if dir, ok := m.dir(importPath); ok {
		info, err := os.Stat(dir)
		return err == nil && info.IsDir()
	}
	return slices.ContainsFunc(m.requires, func(path string) bool { _, ok := inModule(importPath, path); return ok })
}

// inModule returns the part of an import path behind a module's path.
func inModule(importPath, module string) (rel string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// runtimes lists the import paths that folders named runtime of the modules have.
func (m *Module) runtimes() []string {
	var out []string
	for _, r := range m.requires {
		out = append(out, r+"/runtime")
	}
	return out
}
