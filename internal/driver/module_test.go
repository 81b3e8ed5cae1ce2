package driver_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/model"
)

// repository is the root of this module.
const repository = "../.."

// ownCache gives a test a cache folder of its own, so that it neither uses nor fills the user's.
func ownCache(t testing.TB) { t.Setenv("XDG_CACHE_HOME", t.TempDir()) }

// writeFiles writes files, by slash path, below a folder.
func writeFiles(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// readFiles returns the files below folders of root, by slash path relative to root. A folder may also be a
// single file.
func readFiles(t testing.TB, root string, folders ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, p)
			files[filepath.ToSlash(rel)] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// generateAll runs the generator. There must be no findings and no refused changes.
func generateAll(t testing.TB, root string) *driver.Result {
	t.Helper()
	r, err := driver.Generate(t.Context(), root, driver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Findings.Sorted() {
		t.Errorf("finding %s: %s", d.Code, d.Message)
	}
	for _, c := range r.Refused {
		t.Errorf("refused %s: %s", c.Path, c.Kind)
	}
	if t.Failed() {
		t.FailNow()
	}
	return r
}

// withoutPlugins removes the plug-ins, which need the repository's code, from the end of opgen.toml.
func withoutPlugins(t testing.TB, root string) {
	t.Helper()
	before, _, found := strings.Cut(readFiles(t, root, "opgen.toml")["opgen.toml"], "\n[[plugin]]")
	if !found {
		t.Fatal("opgen.toml has no plug-ins")
	}
	writeFiles(t, root, map[string]string{"opgen.toml": before})
}

// resolve reads, checks and resolves specs. The module is nil if there are findings.
func resolve(inputs []driver.Input, list *diag.List) *model.Module {
	checked := driver.Read(inputs, list)
	if !list.Empty() {
		return nil
	}
	return model.Resolve(checked)
}
