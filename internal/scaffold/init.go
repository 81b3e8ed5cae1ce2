package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/opgen/opgen/internal/base/version"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
)

// Module writes opgen.toml at the root of the module with the given path, a file of Go in the folder of specs
// that has the line for go generate, and the spec of an operator unless its name is "". A folder of specs
// that has files of Go gets none. Module returns the paths of the files that it wrote, relative to root. It
// overwrites nothing: if one of the files exists, none is written.
func Module(root, modulePath, operator string) ([]string, error) {
	data := map[string]any{"Module": version.Module, "Use": modulePath != version.Module}
	text, err := execute("opgen.toml.tmpl", config.Name, data)
	if err != nil {
		return nil, err
	}
	var list diag.List // that the module lacks the runtime is a finding, which opgen generate reports
	c, err := config.Parse(root, config.Name, string(text), &list)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errors.New(list.Sorted()[0].Message)
	}
	files := []file{{path: config.Name, text: text}}
	there, err := os.ReadDir(filepath.Join(root, c.Specs))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !slices.ContainsFunc(there, func(e fs.DirEntry) bool { return path.Ext(e.Name()) == ".go" }) {
		name := path.Join(c.Specs, "generate.go")
		if text, err = execute("generate.go.tmpl", name, data); err != nil {
			return nil, err
		}
		files = append(files, file{path: name, text: text})
	}
	if operator != "" {
		more, err := plan(c, operator, Parts{})
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	for _, f := range files {
		if exists(filepath.Join(root, filepath.FromSlash(f.path))) {
			return nil, fmt.Errorf("%s exists already", f.path)
		}
	}
	return write(root, files)
}
