package gomod

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Root returns the root of the module that a folder belongs to, and the path of the module.
func Root(dir string) (root, path string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	for root = dir; ; root = filepath.Dir(root) {
		data, err := os.ReadFile(filepath.Join(root, "go.mod"))
		switch {
		case err == nil:
			if path = modfile.ModulePath(data); path == "" {
				return "", "", fmt.Errorf("%s has no module line", filepath.Join(root, "go.mod"))
			}
			return root, path, nil
		case !errors.Is(err, os.ErrNotExist):
			return "", "", err
		case root == filepath.Dir(root):
			return "", "", fmt.Errorf("no go.mod in %s or above: want a Go module, which go mod init PATH makes", dir)
		}
	}
}

// Init makes a folder a module with the given path. It returns an error if the folder has a go.mod.
func Init(dir, path string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	_, err = run(dir, "mod", "init", path)
	return err
}

// AddTool makes a program a tool of the module at root, unless the module or its workspace has the tool.
// go.mod then requires the program's module: in the version that it required before, or in the given one.
// AddTool downloads no module, so it returns an error if one is not on this machine. It reports whether
// go.mod changed.
func AddTool(root, program string, of Module) (added bool, err error) {
	tools, err := run(root, "list", "-e", "-f", "{{if not .Error}}{{.ImportPath}}{{end}}", "tool")
	if errors.Is(err, ErrNoGo) {
		return false, err
	}
	if err == nil && slices.Contains(strings.Fields(tools), program) {
		return false, nil
	}
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return false, err
	}
	f, err := modfile.ParseLax("go.mod", data, nil)
	if err != nil {
		return false, err
	}
	required := slices.IndexFunc(f.Require, func(r *modfile.Require) bool { return r.Mod.Path == of.Path })
	switch {
	case required >= 0:
		program += "@" + f.Require[required].Mod.Version
	case !slices.ContainsFunc(f.Replace, func(r *modfile.Replace) bool { return r.Old.Path == of.Path }): // a folder has no version
		program += "@" + of.Version
	}
	_, err = run(root, "get", "-tool", program)
	return err == nil, err
}

// run runs the go command in a folder, without downloads of modules, and returns what it prints.
func run(dir string, args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "PWD="+dir, "GOPROXY=off")
	var problems bytes.Buffer
	c.Stderr = &problems
	out, err := c.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", ErrNoGo
	case err != nil && problems.Len() > 0:
		return "", errors.New(oneLine(problems.String()))
	case err != nil:
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}
