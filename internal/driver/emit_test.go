package driver_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/opgen/opgen/test/outside"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestEmit generates the modules below testdata/emit, which together use the whole spec language. It compares
// the generated files with the stored ones, byte by byte. Then it compiles each module, with kernels and
// tests written by hand, and runs the tests.
func TestEmit(t *testing.T) {
	folders, err := filepath.Glob("testdata/emit/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	opgen, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output() // of the user
	if err != nil {
		t.Fatal(err)
	}
	ownCache(t)
	for _, stored := range folders {
		name := filepath.Base(stored)
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, part := range []string{"opgen.toml", "specs", "kernels", "device", "shapes", "use"} {
				if _, err := os.Stat(filepath.Join(stored, part)); err == nil {
					writeFiles(t, root, readFiles(t, stored, part))
				}
			}
			writeFiles(t, root, map[string]string{
				"go.sum": string(sums),
				"go.mod": "module example.com/" + name + "\n\ngo 1.26.0\n\nrequire github.com/opgen/opgen v0.0.0\n\nreplace github.com/opgen/opgen => " + opgen + "\n",
			})
			generateAll(t, root)
			compare(t, stored, readFiles(t, root, "generated"))
			env, err := outside.Env(filepath.Join(t.TempDir(), "go.work"), opgen, root)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("go", "test", "./...")
			cmd.Dir, cmd.Env = root, append(env, "GOCACHE="+strings.TrimSpace(string(cache)))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("go test: %v\n%s", err, out)
			}
		})
	}
}

// compare compares generated files with those stored in a folder, or stores them there.
func compare(t *testing.T, stored string, got map[string]string) {
	t.Helper()
	if *update {
		if err := os.RemoveAll(filepath.Join(stored, "generated")); err != nil {
			t.Fatal(err)
		}
		writeFiles(t, stored, got)
		return
	}
	want := readFiles(t, stored, "generated")
	for _, p := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[p]; !ok {
			t.Errorf("%s is not generated", p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(got)) {
		if d := diff.Diff("stored "+p, []byte(want[p]), "generated "+p, []byte(got[p])); !bytes.Equal(d, nil) {
			t.Errorf("%s", d)
		}
	}
}
