package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVet runs opgen vet, and the go command with opgen as its tool, on a package with a mistake and on one
// without.
func TestVet(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module github.com/opgen/opgen\n\ngo 1.26\n",
		"runtime/task/task.go": "package task\n\ntype Arg struct {\n\tType any\n\tUnchecked bool\n}\n\nfunc TypeFor[T any]() any { return nil }\n",
		"bad/bad.go":           "package bad\n\nimport \"github.com/opgen/opgen/runtime/task\"\n\nvar Arg = task.Arg{Type: task.TypeFor[*int]()}\n",
		"good/good.go":         "package good\n\nimport \"github.com/opgen/opgen/runtime/task\"\n\nvar Arg = task.Arg{Type: task.TypeFor[*int](), Unchecked: true}\n",
	} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Under this name, the test binary runs opgen. It is a link: a process that another test starts while a
	// copy is being written holds the copy open for writing, and then it cannot be run.
	tool := filepath.Join(t.TempDir(), "opgen")
	if err := os.Link(self, tool); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string // a part of the output, or "" if there are no findings
	}{
		{[]string{tool, "vet", "./good"}, ""},
		{[]string{tool, "vet"}, "bad/bad.go:5:26: an argument is of type *int, which is not plain data"},
		{[]string{"go", "vet", "-vettool=" + tool, "./bad"}, "which is not plain data"},
	} {
		cmd := exec.Command(c.args[0], c.args[1:]...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v\n%s", c.args, err, out)
		case c.want != "" && (!errors.As(err, &exit) || exit.ExitCode() != findings || !strings.Contains(string(out), c.want)):
			t.Errorf("%v: %v, got\n%swant ...%s", c.args, err, out, c.want)
		}
	}
}
