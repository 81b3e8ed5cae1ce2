package modproxy

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// source writes a module with a program that prints a text, and with a nested module.
func source(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string]string{
		"go.mod":        "module example.com/Greet\n\ngo 1.26.0\n",
		"main.go":       "package main\n\nimport \"runtime/debug\"\n\nfunc main() {\n\tinfo, _ := debug.ReadBuildInfo()\n\tprintln(\"" + text + "\", info.Main.Version)\n}\n",
		"nested/go.mod": "module example.com/Greet/nested\n",
		"nested/a.go":   "package nested\n",
	} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs a command in a folder and returns what it writes.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// TestAdd adds two versions of a module, one of them of a commit, and runs the newest one through the go
// command.
func TestAdd(t *testing.T) {
	proxy, dir := t.TempDir(), source(t, "committed")
	git := func(args ...string) {
		run(t, dir, nil, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package changed\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct{ version, source, revision string }{{"v0.10.0", dir, "HEAD"}, {"v0.9.0", source(t, "as it is"), ""}, {"v0.10.0", dir, "HEAD"}} {
		path, err := Add(proxy, v.source, v.version, v.revision)
		if err != nil || path != "example.com/Greet" {
			t.Fatalf("%v: got module %q, error %v", v, path, err)
		}
	}
	r, err := zip.OpenReader(filepath.Join(proxy, "example.com", "!greet", "@v", "v0.9.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	if want := []string{"example.com/Greet@v0.9.0/go.mod", "example.com/Greet@v0.9.0/main.go"}; !slices.Equal(names, want) {
		t.Errorf("the zip has %v, want %v", names, want)
	}
	env := []string{"GOPROXY=file://" + filepath.ToSlash(proxy), "GONOSUMDB=example.com", "GOFLAGS=-modcacherw", "GOMODCACHE=" + t.TempDir(), "GOWORK=off"}
	for version, want := range map[string]string{"latest": "committed v0.10.0\n", "v0.9.0": "as it is v0.9.0\n"} {
		if got := run(t, t.TempDir(), env, "go", "run", "example.com/Greet@"+version); !strings.HasSuffix(got, want) {
			t.Errorf("version %s prints %q, want %q", version, got, want)
		}
	}
}

func TestAddErrors(t *testing.T) {
	dir := source(t, "x")
	for _, c := range []struct{ source, version, revision, says string }{
		{t.TempDir(), "v0.1.0", "", "go.mod"},
		{dir, "0.1.0", "", "version"},
		{dir, "v2.0.0", "", "should be"},
		{dir, "v0.1.0", "HEAD", "version control"},
	} {
		proxy := t.TempDir()
		if _, err := Add(proxy, c.source, c.version, c.revision); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("version %q, revision %q: got error %v, want one that says %q", c.version, c.revision, err, c.says)
		}
		if files, _ := filepath.Glob(filepath.Join(proxy, "*", "*", "@v", "*")); len(files) > 0 {
			t.Errorf("version %q, revision %q: left %v", c.version, c.revision, files)
		}
	}
}

// TestWithin writes the proxy into a folder of the module that it packs, twice, with git and without. Files
// that git ignores stay out, and so does the proxy. What is new and what has changed is there; what is
// deleted is not.
func TestWithin(t *testing.T) {
	for name, repository := range map[string]bool{"git": true, "no git": false} {
		dir := source(t, "text")
		write := func(name, text string) {
			t.Helper()
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if repository {
			write(".gitignore", "/bin\n*.out\n")
			write("gone.go", "package main\n")
			for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first"}} {
				run(t, dir, nil, "git", args...)
			}
			if err := os.Remove(filepath.Join(dir, "gone.go")); err != nil {
				t.Fatal(err)
			}
			write("bin/tool", "compiled")
			write("profile.out", "measured")
		}
		write("new.go", "package main\n")
		for range 2 {
			if _, err := Add(filepath.Join(dir, "bin", "proxy"), dir, "v1.0.0", ""); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		at := filepath.Join(dir, "bin", "proxy", "example.com", "!greet", "@v")
		r, err := zip.OpenReader(filepath.Join(at, "v1.0.0.zip"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var got []string
		for _, f := range r.File {
			got = append(got, strings.TrimPrefix(f.Name, "example.com/Greet@v1.0.0/"))
		}
		slices.Sort(got)
		want := []string{"go.mod", "main.go", "new.go"}
		if repository {
			want = []string{".gitignore", "go.mod", "main.go", "new.go"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the zip has %q, want %q", name, got, want)
		}
		if left, err := filepath.Glob(filepath.Join(at, "*")); err != nil || len(left) != 4 {
			t.Errorf("%s: the proxy has %q, want a list and three files", name, left)
		}
	}
}
