package gomod

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSetting compares settings with what the go command says: variables, those of go env -w, and defaults.
func TestSetting(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "env")
	if err := os.WriteFile(file, []byte("# a comment\nGOFLAGS=-mod=mod\nGOPATH="+filepath.Join(dir, "path")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string]map[string]string{
		"a variable":            {"GOMODCACHE": filepath.Join(dir, "cache")},
		"a file":                {"GOENV": file},
		"no file":               {"GOENV": "off"},
		"no file, a path":       {"GOENV": "off", "GOPATH": filepath.Join(dir, "a") + string(filepath.ListSeparator) + filepath.Join(dir, "b")},
		"a file and a variable": {"GOENV": file, "GOPATH": filepath.Join(dir, "other"), "GOFLAGS": "-mod=vendor"},
	} {
		for _, name := range []string{"GOMODCACHE", "GOENV", "GOPATH", "GOFLAGS"} {
			t.Setenv(name, env[name])
		}
		for _, key := range []string{"GOMODCACHE", "GOFLAGS"} {
			out, err := exec.Command("go", "env", key).Output()
			if err != nil {
				t.Fatal(err)
			}
			if got, want := setting(key), strings.TrimSpace(string(out)); got != want {
				t.Errorf("%s: %s is %q, want %q", name, key, got, want)
			}
		}
	}
}
