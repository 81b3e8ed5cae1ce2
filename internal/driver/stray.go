package driver

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/config"
)

// marks are the files by which folders of generated files are known, with how many folders they are below
// them: the catalogue, the index of pages, and the list of checksums.
var marks = map[string]int{"catalogue.go": 1, "README.md": 0, artifact.Manifest: 0}

// strays returns the folders of the module that hold what opgen generated, but that are none of its output
// folders. They are left when opgen.toml names another folder. Folders of other modules, and those that the
// go command skips, are not looked at.
func strays(root string, outputs []string) []string {
	var found []string
	filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		rel, e2 := filepath.Rel(root, p)
		if err != nil || e2 != nil {
			return nil // it is not readable, so nothing is known about it
		}
		rel = filepath.ToSlash(rel)
		if e.IsDir() {
			if rel != "." && (skipped(e.Name()) || slices.Contains(outputs, rel) || isModule(p)) {
				return fs.SkipDir
			}
			return nil
		}
		up, known := marks[e.Name()]
		if !known || !e.Type().IsRegular() || !written(p) {
			return nil
		}
		dir := path.Dir(rel)
		for range up {
			dir = path.Dir(dir)
		}
		if dir != "." && !slices.Contains(found, dir) {
			found = append(found, dir)
		}
		return nil
	})
	return found
}

// skipped reports whether the go command skips folders of a name.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" || name == "node_modules"
}

// isModule reports whether a folder is the root of another module, or has a configuration of its own.
func isModule(dir string) bool {
	for _, name := range []string{"go.mod", config.Name} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// written reports whether opgen wrote a file, as its first lines tell.
func written(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1024)
	n, _ := f.Read(head)
	return artifact.Sums(nil).Owner(file, head[:n]) != artifact.Foreign
}
