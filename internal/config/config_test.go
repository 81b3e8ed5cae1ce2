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

// makeFolders makes folders below root.
func makeFolders(t *testing.T, root string, folders ...string) {
	t.Helper()
	for _, dir := range folders {
		if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(dir)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// TestModule asks a module for packages: its own, those of modules that it requires, that a folder or another
// module replaces, that the module cache has, and others.
func TestModule(t *testing.T) {
	root := module(t, nil)
	cache := t.TempDir()
	t.Setenv("GOMODCACHE", cache)
	makeFolders(t, root, "m/kernels", "near/runtime/task", "m/vendor/example.com/gone/runtime/task")
	makeFolders(t, cache, "example.com/!cached@v1.2.0/runtime/task", "example.com/other@v0.3.0/runtime/task", "example.com/!cached/sub@v1.0.0/task")
	mod := "module example.com/m\ngo 1.26\nrequire (\n\texample.com/far v1.0.0\n\texample.com/near v0.0.0\n\texample.com/Cached v1.2.0\n\texample.com/Cached/sub v1.0.0\n\texample.com/old v0.1.0\n\texample.com/gone v0.1.0\n)\n" +
		"replace (\n\texample.com/near => ../near\n\texample.com/old => example.com/other v0.3.0\n\texample.com/gone => ../gone\n)\n"
	tests := []struct {
		path string
		want bool
	}{
		{"time", true}, {"encoding/json", true}, {"example.com/m", true}, {"example.com/m/kernels", true}, {"example.com/m/kernel", false},
		{"example.com/far/any", true}, {"example.com/farther", false}, {"example.com/near/runtime/task", true}, {"example.com/near/runtime/tsk", false},
		{"example.com/Cached/runtime/task", true}, {"example.com/Cached/runtim/task", false}, {"example.com/Cached/sub/task", true}, {"example.com/Cached/sub/tsk", false},
		{"example.com/old/runtime/task", true}, {"example.com/old/task", false}, {"example.com/gone/runtime/task", false},
	}
	m := readModule(filepath.Join(root, "m"), "example.com/m", []byte(mod))
	for _, tt := range tests {
		if got := m.Has(tt.path); got != tt.want {
			t.Errorf("Has(%q) = %v", tt.path, got)
		}
	}
	// With a list of modules, the folder vendor has packages.
	if err := os.WriteFile(filepath.Join(root, "m", "vendor", "modules.txt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]bool{"": true, "-mod=vendor": true, "-trimpath --mod=mod": false, "-mod=readonly": false} {
		t.Setenv("GOFLAGS", flags)
		if got := readModule(filepath.Join(root, "m"), "example.com/m", []byte(mod)).Has("example.com/gone/runtime/task"); got != want {
			t.Errorf("with GOFLAGS=%q, a package in the folder vendor: got %v", flags, got)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "go.work"), []byte("go 1.26\nuse ./m\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if !readModule(filepath.Join(root, "m"), "example.com/m", []byte(mod)).Has("example.com/m/kernel") {
		t.Error("a workspace may provide any package")
	}
}

// TestRuntime gives import paths of a runtime that is not there. The module that has it is in the module
// cache, in the folder vendor, in a folder that is gone, or nowhere.
func TestRuntime(t *testing.T) {
	const none = "run go get github.com/opgen/opgen, and give the import path of its folder runtime"
	for name, tt := range map[string]struct {
		runtime, mod, want, hint string
		folders                  []string // below the module
	}{
		"misspelled": {"github.com/opgen/opgen/runtim", "require github.com/opgen/opgen v0.1.0", "no module of go.mod has the package github.com/opgen/opgen/runtim/task",
			"did you mean github.com/opgen/opgen/runtime?", []string{"../cache/github.com/opgen/opgen@v0.1.0/runtime/task"}},
		"another folder": {"github.com/opgen/opgen/examples/charlm", "require github.com/opgen/opgen v0.1.0", "no module of go.mod has the package github.com/opgen/opgen/examples/charlm/task",
			`runtime = "github.com/opgen/opgen/runtime" is there`, []string{"../cache/github.com/opgen/opgen@v0.1.0/runtime/task", "../cache/github.com/opgen/opgen@v0.1.0/examples/charlm"}},
		"not required": {"github.com/opgen/opgen/runtime", "require github.com/google/uuid v1.6.0", "no module of go.mod has the package github.com/opgen/opgen/runtime/task",
			none, []string{"../cache/github.com/google/uuid@v1.6.0"}},
		"not required nor on this machine": {"github.com/opgen/opgen/runtime", "require github.com/google/uuid v1.6.0", "no module of go.mod has the package github.com/opgen/opgen/runtime/task", none, nil},
		"a copy": {"example.com/fork/runtme", "require example.com/fork v1.0.0", "no module of go.mod has the package example.com/fork/runtme/task",
			"did you mean example.com/fork/runtime?", []string{"../cache/example.com/fork@v1.0.0/runtime/task"}},
		"gone": {"github.com/opgen/opgen/runtime", "require github.com/opgen/opgen v0.1.0\nreplace github.com/opgen/opgen => ../opgen",
			"the folder that go.mod has in place of github.com/opgen/opgen is not there", "correct the line replace of go.mod", nil},
		"gone, and vendor without it": {"github.com/opgen/opgen/runtime", "require github.com/opgen/opgen v0.1.0\nreplace github.com/opgen/opgen => ../opgen",
			"the folder vendor has no package github.com/opgen/opgen/runtime/task, and the folder that go.mod has in place of github.com/opgen/opgen is not there",
			"run go mod vendor where that folder is", []string{"vendor/modules.txt"}},
		"gone, and misspelled": {"github.com/opgen/opgen/runtim", "require github.com/opgen/opgen v0.1.0\nreplace github.com/opgen/opgen v0.1.0 => github.com/opgen/other v0.2.0",
			"no module of go.mod has the package github.com/opgen/opgen/runtim/task", "did you mean github.com/opgen/opgen/runtime?", []string{"../cache/github.com/opgen/other@v0.2.0/runtime/task"}},
		"vendored":   {"github.com/opgen/opgen/runtime", "require github.com/opgen/opgen v0.1.0\nreplace github.com/opgen/opgen => ../opgen", "", "", []string{"vendor/modules.txt", "vendor/github.com/opgen/opgen/runtime/task"}},
		"cached":     {"github.com/opgen/opgen/runtime", "require github.com/opgen/opgen v0.1.0", "", "", []string{"../cache/github.com/opgen/opgen@v0.1.0/runtime/task"}},
		"not cached": {"github.com/opgen/opgen/runtime", "require github.com/opgen/opgen v0.1.0", "", "", nil},
	} {
		dir := t.TempDir()
		t.Setenv("GOMODCACHE", filepath.Join(dir, "cache"))
		root := filepath.Join(dir, "m")
		makeFolders(t, root, append(tt.folders, ".")...) // modules.txt is asked for only
		for name, text := range map[string]string{"go.mod": "module example.com/m\ngo 1.26\n" + tt.mod + "\n", Name: "edition = 1\nruntime = \"" + tt.runtime + "\"\n"} {
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var list diag.List
		if _, err := Load(root, &list); err != nil {
			t.Fatal(err)
		}
		var got, hint string
		if found := list.Sorted(); len(found) == 1 && found[0].Code == diag.BadConfig {
			got, hint = strings.TrimPrefix(found[0].Message, "runtime: "), found[0].Hint
		} else if len(found) > 0 {
			t.Errorf("%s: findings %v", name, found)
		}
		if got != tt.want || hint != tt.hint {
			t.Errorf("%s: got %q with the hint %q, want %q with %q", name, got, hint, tt.want, tt.hint)
		}
	}
}
