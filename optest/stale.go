package optest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/opgen/opgen/internal/artifact"
	toml "github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
)

// checkFresh reports specs of the module under test that changed since their code was generated: what other
// checks say holds for that code. The module is that of the folder in which the test runs. Without
// opgen.toml, or without specs, there is nothing to compare.
func checkFresh(t *testing.T) {
	t.Helper()
	for _, path := range staleSpecs(".") {
		t.Errorf("%s changed since code was generated from it, and checks run the generated code: run opgen generate", path)
	}
}

// staleSpecs lists the specs that changed since code was generated from them, in the module to which a folder
// belongs. A generated package holds the checksum of its spec.
func staleSpecs(dir string) []string {
	root, err := toml.Find(dir)
	if err != nil {
		return nil
	}
	var findings diag.List
	c, err := toml.Load(root, &findings)
	if err != nil || c == nil || !findings.Empty() {
		return nil
	}
	var out []string
	output := filepath.Join(root, filepath.FromSlash(c.Output))
	_ = filepath.WalkDir(output, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return nil // what cannot be read is not compared
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		from, sum, ok := artifact.Spec(data)
		if !ok {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(from)))
		if err == nil && artifact.Sum(text) != sum {
			out = append(out, from)
		}
		return nil
	})
	return out
}
