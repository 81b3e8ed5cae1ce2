package workspace

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/watch"
)

// Disk reads the files of a module again when they have changed. One goroutine uses it at a time.
type Disk struct {
	root  string
	files *watch.Files

	about   sum      // the texts by which the module names its other files
	watched []string // these
	specs   map[string]text
}

// text is a file as it was read last.
type text struct {
	is  any // what watch says that the file holds
	was string
}

// NewDisk returns the files of the module at root, an absolute path.
func NewDisk(root string) *Disk {
	return &Disk{root: root, files: watch.New(), specs: map[string]text{}}
}

// Root returns the module's folder.
func (d *Disk) Root() string { return d.root }

// Texts returns the files of the module. Those that are open in an editor have the texts of overlay, by path
// relative to the root, with slashes. The error says which file cannot be read.
func (d *Disk) Texts(overlay map[string]string) (Texts, error) {
	t := Texts{Root: d.root, Kernels: map[string]string{}}
	var ok bool
	if t.Config, ok = overlay[config.Name]; !ok {
		data, err := input.Text(filepath.Join(d.root, config.Name))
		if err != nil {
			return t, err
		}
		t.Config = string(data)
	}
	mod, _ := input.Text(filepath.Join(d.root, "go.mod")) // a wrong one is a finding of what reads it
	if about := sumOf(t.Config, string(mod)); about != d.about {
		d.about, d.watched = about, driver.Watched(d.root)
	}
	specs, kernels := d.folders(t.Config)
	var others []string
	for _, p := range d.watched {
		if p != filepath.Join(d.root, filepath.FromSlash(specs)) {
			others = append(others, p)
		}
	}
	h := sha256.New()
	state := d.files.Take(others)
	for _, p := range slices.Sorted(maps.Keys(state)) {
		fmt.Fprintf(h, "%s %x\n", p, state[p])
	}
	t.Rest = fmt.Sprintf("%x", h.Sum(nil))
	d.read(specs)
	for p, x := range d.specs {
		if _, open := overlay[p]; !open {
			t.Specs = append(t.Specs, driver.Input{Path: p, Text: x.was})
		}
	}
	for p, x := range overlay {
		if isSpec(specs, p) {
			t.Specs = append(t.Specs, driver.Input{Path: p, Text: x})
		}
		if kernels != "" && path.Dir(p) == kernels && path.Ext(p) == ".go" {
			t.Kernels[p] = x
		}
	}
	slices.SortFunc(t.Specs, func(a, b driver.Input) int { return cmp.Compare(a.Path, b.Path) })
	return t, nil
}

// isSpec reports whether a path, relative to the root, is that of a spec.
func isSpec(folder, path string) bool {
	return strings.HasPrefix(path, folder+"/") && filepath.Ext(path) == ".toml"
}

// folders returns the folders of specs and of kernels that a text of opgen.toml names.
func (d *Disk) folders(text string) (specs, kernels string) {
	if c, err := config.Parse(d.root, config.Name, text, &diag.List{}); err == nil && c != nil {
		return c.Specs, c.Kernels
	}
	return "", ""
}

// read reads the specs that have changed.
func (d *Disk) read(folder string) {
	if folder == "" {
		clear(d.specs)
		return
	}
	state := d.files.Take([]string{filepath.Join(d.root, filepath.FromSlash(folder))})
	there := map[string]bool{}
	for p, is := range state {
		rel, err := filepath.Rel(d.root, p)
		rel = filepath.ToSlash(rel)
		if err != nil || !isSpec(folder, rel) {
			continue
		}
		if old, ok := d.specs[rel]; ok && old.is == any(is) {
			there[rel] = true
			continue
		}
		if data, err := input.Text(p); err == nil { // one that cannot be read is as if it were not there
			d.specs[rel], there[rel] = text{is, string(data)}, true
		}
	}
	maps.DeleteFunc(d.specs, func(p string, _ text) bool { return !there[p] })
}
