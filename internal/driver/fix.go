package driver

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
)

// dropBroken removes the edits that alone make a file that is not TOML, for example by repeating a key.
func dropBroken(list *diag.List) {
	for _, d := range list.Sorted() {
		texts, err := diag.Apply([]*diag.Diagnostic{d})
		for p, text := range texts {
			if _, serr := source.Parse(p, text); serr != nil {
				err = serr
			}
		}
		if err != nil {
			d.Edits = nil
		}
	}
}

// Fix makes the edits of the findings of the module at root, and returns the paths of the files that it
// changed. It returns an error and changes nothing if two edits overlap, if a file changed since it was read,
// or if a file would not be TOML.
func Fix(root string, list *diag.List) ([]string, error) {
	texts, err := diag.Apply(list.Sorted())
	if err != nil {
		return nil, err
	}
	paths := slices.Sorted(maps.Keys(texts))
	for _, p := range paths {
		if _, err := source.Parse(p, texts[p]); err != nil {
			return nil, fmt.Errorf("with all edits, the file would not be TOML: %w", err)
		}
	}
	for _, d := range list.Sorted() {
		for _, e := range d.Edits {
			now, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.Span.File.Path)))
			if err != nil {
				return nil, err
			}
			if string(now) != e.Span.File.Text {
				return nil, fmt.Errorf("%s changed since it was read", e.Span.File.Path)
			}
		}
	}
	for i, p := range paths {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(p)), []byte(texts[p]), 0o666); err != nil {
			return paths[:i], err
		}
	}
	return paths, nil
}
