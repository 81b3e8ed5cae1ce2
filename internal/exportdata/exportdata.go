// Package exportdata imports packages from the export data in the build cache of the go command. So packages
// that differ can be type-checked against the rest of a module without compiling or type-checking it anew.
package exportdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Files returns the names of the files with the export data of packages and of all that they import, by
// import path. The patterns are those of the go command, which runs in the folder dir with the environment
// env, by default that of the process. It compiles what its cache lacks.
func Files(dir string, env []string, patterns ...string) (map[string]string, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, patterns...)...)
	cmd.Dir, cmd.Env = dir, env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export: %w\n%s", err, &stderr)
	}
	files := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list -export: %w", err)
		}
		files[p.ImportPath] = p.Export
	}
	return files, nil
}

// Importer imports the packages of files, which Files returns. It fails for all others.
func Importer(fset *token.FileSet, files map[string]string) types.Importer {
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		name := files[path]
		if name == "" {
			return nil, fmt.Errorf("no required module provides package %s", path)
		}
		return os.Open(name)
	})
}
