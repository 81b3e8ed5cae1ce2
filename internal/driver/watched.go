package driver

import (
	"path/filepath"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/gomod"
	"github.com/opgen/opgen/runtime/tuned"
)

// Watched returns the paths of the files and folders that a run of the module at root reads. Files that are
// absent are among them, since they may appear. Used modules in the module cache are not, since they do not
// change.
func Watched(root string) []string {
	var paths []string
	seen := map[string]bool{}
	var add func(dir string)
	add = func(dir string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		paths = append(paths, filepath.Join(dir, config.Name), filepath.Join(dir, "go.mod"), filepath.Join(dir, tuned.File))
		var list diag.List // whose findings the run reports
		c, err := config.Load(dir, &list)
		if err != nil || c == nil {
			return
		}
		paths = append(paths, filepath.Join(dir, filepath.FromSlash(c.Specs)))
		if dir == root {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(c.Kernels)))
			for _, p := range c.Plugins {
				for _, in := range p.Inputs {
					paths = append(paths, filepath.Join(dir, filepath.FromSlash(in)))
				}
			}
		}
		for _, u := range c.Uses {
			if m, err := gomod.Find(root, u.Module); err == nil && m.Version == "" {
				add(m.Dir)
			}
		}
	}
	add(root)
	for _, name := range choosing(root) {
		paths = append(paths, filepath.Join(root, filepath.FromSlash(name)))
	}
	return paths
}
