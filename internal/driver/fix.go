package driver

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/lock"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/staging"
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
// changed. It returns an error and changes nothing if two edits overlap, if a file changed since it was read
// or cannot be written, or if a file would not be TOML.
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
	old := map[string]string{}
	for _, d := range list.Sorted() {
		for _, e := range d.Edits {
			old[e.Span.File.Path] = e.Span.File.Text
		}
	}
	var files []staging.File
	for _, p := range paths {
		files = append(files, staging.File{Path: filepath.Join(root, filepath.FromSlash(p)), Old: []byte(old[p]), New: []byte(texts[p])})
	}
	release, err := lock.Acquire(context.Background(), root)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := staging.Write(files); err != nil {
		return nil, err
	}
	return paths, nil
}
