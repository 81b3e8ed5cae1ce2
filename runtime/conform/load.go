package conform

import (
	"io/fs"
	"path/filepath"
	"slices"
)

// LoadAll reads all cases below dir, sorted by path: of the named operators only, if any is named, and
// otherwise also scenarios.
func LoadAll(dir string, ops ...string) (cases []*Case, scenarios []*Scenario, err error) {
	err = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		switch filepath.Ext(p) {
		case ".safetensors":
			rel, err := filepath.Rel(dir, p)
			if err != nil {
				return err
			}
			c, err := Load(p, filepath.ToSlash(rel))
			if err != nil {
				return err
			}
			if len(ops) == 0 || slices.Contains(ops, c.Op) {
				cases = append(cases, c)
			}
		case ".json":
			some, ok, err := LoadScenarios(p)
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
