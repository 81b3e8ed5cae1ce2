package gomod

import (
	goversion "go/version"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
)

// Cached returns the folder in which the module cache of this machine has a version of a module, if it is
// there. It asks no go command, so it is quick.
func Cached(m module.Version) (dir string, ok bool) {
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return "", false
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return "", false
	}
	dir = filepath.Join(setting("GOMODCACHE"), filepath.FromSlash(path)+"@"+version)
	info, err := os.Stat(dir)
	return dir, err == nil && info.IsDir()
}

// setting returns a setting of the go command: an environment variable, or what go env -w has written.
// GOMODCACHE has a default.
func setting(name string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	if v := written(name); v != "" || name != "GOMODCACHE" {
		return v
	}
	gopath := setting("GOPATH")
	if gopath == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		gopath = filepath.Join(home, "go") // build.Default has the variable with which the program began
	}
	first, _, _ := strings.Cut(gopath, string(filepath.ListSeparator))
	return filepath.Join(first, "pkg", "mod")
}

// written returns what go env -w has written.
func written(name string) string {
	file := os.Getenv("GOENV")
	if file == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return ""
		}
		file = filepath.Join(dir, "go", "env")
	}
	text, err := os.ReadFile(file) // of GOENV=off, too: there is no such file
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return v
		}
	}
	return ""
}

// Vendored reports whether the go command takes packages from the folder vendor of the module at root.
// Version is the one in the line go of go.mod.
func Vendored(root, version string) bool {
	if _, err := os.Stat(filepath.Join(root, "vendor", "modules.txt")); err != nil {
		return false
	}
	for _, flag := range strings.Fields(setting("GOFLAGS")) {
		if name, mode, _ := strings.Cut(strings.TrimLeft(flag, "-"), "="); name == "mod" {
			return mode == "vendor"
		}
	}
	return goversion.Compare("go"+version, "go1.14") >= 0
}
