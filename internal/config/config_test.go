package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
)

// The findings about opgen.toml are tested in package driver, by the archives in its testdata/diag.

func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const minimal = "edition = 1\nruntime = \"example.com/opgen/runtime\"\n"

func TestLoad(t *testing.T) {
	tests := []struct {
		name, config, mod               string
		specs, output, kernels          string
		runtime, generated, kernelsPath string
	}{
		{"defaults", minimal, "module example.com/m\nrequire example.com/opgen v1.0.0\n", "specs", "generated", "kernels",
			"example.com/opgen/runtime", "example.com/m/generated", "example.com/m/kernels"},
		{"other folders", minimal + "specs = './a/specs/'\noutput = 'a/gen'\nkernels = 'a/b/../k'\n", "// comment\nmodule \"example.com/m/v2\" // why\n\ngo 1.26\nrequire example.com/opgen v1.0.0\n", "a/specs", "a/gen", "a/k",
			"example.com/opgen/runtime", "example.com/m/v2/a/gen", "example.com/m/v2/a/k"},
	}
	for _, tt := range tests {
		root := module(t, map[string]string{Name: tt.config, "go.mod": tt.mod})
		var list diag.List
		c, err := Load(root, &list)
		if err != nil || !list.Empty() {
			t.Errorf("%s: %v, findings %v", tt.name, err, list.Sorted())
			continue
		}
		got := []string{c.Root, c.Specs, c.Output, c.Kernels, c.Runtime, c.GeneratedImport, c.KernelsImport, c.Text}
		want := []string{root, tt.specs, tt.output, tt.kernels, tt.runtime, tt.generated, tt.kernelsPath, tt.config}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: got %q, want %q", tt.name, got[i], want[i])
			}
		}
	}
}

func TestTrouble(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no opgen.toml", map[string]string{"go.mod": "module m\n"}, "opgen.toml"},
		{"no go.mod", map[string]string{Name: minimal}, "opgen.toml belongs at a module's root"},
		{"no module line", map[string]string{Name: minimal, "go.mod": "go 1.26\n"}, "has no module line"},
	}
	for _, tt := range tests {
		var list diag.List
		if _, err := Load(module(t, tt.files), &list); err == nil || !strings.Contains(err.Error(), tt.want) || !list.Empty() {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestFind(t *testing.T) {
	root := module(t, map[string]string{Name: minimal})
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, deep} {
		if got, err := Find(dir); err != nil || got != root {
			t.Errorf("Find(%s) = %s, %v; want %s", dir, got, err, root)
		}
	}
	if got, err := Find(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "no opgen.toml in ") {
		t.Errorf("Find in a folder without one = %s, %v", got, err)
	}
}

func TestNested(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"a", "a", true}, {"a", "a/b", true}, {"a/b", "a", true}, {"a", "ab", false}, {"a/b", "a/c", false}, {"a/b", "b", false},
	}
	for _, tt := range tests {
		if got := nested(tt.a, tt.b); got != tt.want {
			t.Errorf("nested(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

// TestModule asks a module for packages: its own, those of modules that it requires, that a folder replaces, and others.
func TestModule(t *testing.T) {
	root := module(t, nil)
	for _, dir := range []string{"kernels", "../near/runtime/task"} {
		if err := os.MkdirAll(filepath.Join(root, "m", dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	mod := "module example.com/m\ngo 1.26\nrequire (\n\texample.com/far v1.0.0\n\texample.com/near v0.0.0\n)\nreplace example.com/near => ../near\n"
	tests := []struct {
		path string
		want bool
	}{
		{"time", true}, {"encoding/json", true}, {"example.com/m", true}, {"example.com/m/kernels", true}, {"example.com/m/kernel", false},
		{"example.com/far/any", true}, {"example.com/farther", false}, {"example.com/near/runtime/task", true}, {"example.com/near/runtime/tsk", false},
	}
	m := readModule(filepath.Join(root, "m"), "example.com/m", []byte(mod))
	for _, tt := range tests {
		if got := m.Has(tt.path); got != tt.want {
			t.Errorf("Has(%q) = %v", tt.path, got)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "go.work"), []byte("go 1.26\nuse ./m\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if !readModule(filepath.Join(root, "m"), "example.com/m", []byte(mod)).Has("example.com/m/kernel") {
		t.Error("a workspace may provide any package")
	}
}
