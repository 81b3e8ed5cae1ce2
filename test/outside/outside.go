// Package outside makes modules outside of the tree that use this one from its folder, as modules of others
// use a release.
package outside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/opgen/opgen/generate"
)

// Module is a module outside of the tree.
type Module struct {
	Dir string
	env []string
}

// Make copies a folder with specs and Go code to the empty folder dir, makes a module of it and generates the
// packages of its operators. The module uses the one in the folder repository.
func Make(ctx context.Context, dir, path, source, repository string) (*Module, error) {
	repository, err := filepath.Abs(repository)
	if err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		return nil, err
	}
	mod := "module " + path + "\n\ngo 1.26.0\n\nrequire github.com/opgen/opgen v0.0.0\n\nreplace github.com/opgen/opgen => " + repository + "\n"
	for name, text := range map[string]string{"go.mod": mod, "go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	r, err := generate.Write(ctx, generate.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	for _, f := range r.Findings {
		err = errors.Join(err, errors.New(f.Text()))
	}
	if err != nil {
		return nil, err
	}
	env, err := Env(dir+".work", repository, dir)
	return &Module{dir, append(env, "PWD="+dir)}, err
}

// Env returns an environment in which the go command compiles modules that a replacement lets use the module
// in the folder repository. It writes file, whose name ends in ".work": in a workspace with the module, the
// go command shares its compiled packages, whereas it would compile those of a replaced module again.
func Env(file, repository string, modules ...string) ([]string, error) {
	text := "go 1.26.0\n"
	for _, dir := range append(modules, repository) {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		text += fmt.Sprintf("\nuse %q\n", dir)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	return append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK="+file), os.WriteFile(file, []byte(text), 0o666)
}

// Env returns the environment of the go command in the module.
func (m *Module) Env() []string { return m.env }

// Go runs the go command in the module and returns what it prints.
func (m *Module) Go(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Env = m.Dir, m.env
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}
