package conform

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

//go:embed testdata
var testdata embed.FS

// Cases returns the conformance cases of this module, which tests of backends run.
func Cases() fs.FS {
	sub, _ := fs.Sub(testdata, "testdata") // the name is valid
	return sub
}

// LoadAll reads all cases of a tree of files, sorted by path. If operators are named, it reads only their
// cases, and otherwise also scenarios.
func LoadAll(files fs.FS, ops ...string) (cases []*Case, scenarios []*Scenario, err error) {
	err = fs.WalkDir(files, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		switch path.Ext(p) {
		case ".safetensors":
			c, err := load(files, p)
			if err != nil {
				return err
			}
			if len(ops) == 0 || slices.Contains(ops, c.Op) {
				cases = append(cases, c)
			}
		case ".json":
			some, ok, err := loadScenarios(files, p)
			if err != nil || !ok {
				return err
			}
			if len(ops) == 0 {
				scenarios = append(scenarios, some...)
			}
		}
		return nil
	})
	return cases, scenarios, err
}

// maxFile is how many bytes a file of cases may have.
const maxFile = 1 << 30

// readFile reads a regular file of at most maxFile bytes. It opens no other one: a pipe may block.
func readFile(files fs.FS, path string) ([]byte, error) {
	info, err := fs.Stat(files, path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s: want a regular file of at most %d bytes, got %v of %d", path, maxFile, info.Mode(), info.Size())
	}
	return fs.ReadFile(files, path)
}
