package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/taskbench"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/test/outside"
)

// more are the operators of test/formulas, and registerMore registers them, in a program that has their
// generated code: the one that runWithFormulas makes.
var (
	more         []*graph.Operator
	registerMore func(*task.Registry) error
)

// formulasModule is the path of the module with the operators of test/formulas and this program. It lies
// below this package, so that it may import what is internal.
const formulasModule = "github.com/opgen/opgen/test/benchpeers/formulas"

const linked = `package main

import "` + formulasModule + `/generated/catalogue"

func init() { more, registerMore = catalogue.Operators(), catalogue.Register }
`

// needsFormulas says whether a row that is asked for has an operator which this program does not have.
func (o *options) needsFormulas() bool {
	for _, u := range formulaUses {
		if u.formulas && more == nil && o.only.MatchString(u.title()) {
			return true
		}
	}
	return false
}

// runWithFormulas generates the operators of test/formulas, compiles this program with them, and runs it with
// the same arguments.
func runWithFormulas(ctx context.Context, arguments []string) (err error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/opgen/opgen").Output()
	if err != nil {
		return err
	}
	repository := strings.TrimSpace(string(root))
	dir, err := os.MkdirTemp("", "benchpeers")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := buildWithFormulas(ctx, repository, dir)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, program, arguments...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}

// buildWithFormulas makes the module in an empty folder and returns the path of the program.
func buildWithFormulas(ctx context.Context, repository, dir string) (program string, err error) {
	m, err := outside.Make(ctx, filepath.Join(dir, "module"), formulasModule, filepath.Join(repository, "test/formulas/testdata"), repository)
	if err != nil {
		return "", err
	}
	own := filepath.Join(repository, "test/benchpeers")
	err = fs.WalkDir(os.DirFS(own), ".", func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(m.Dir, "benchpeers", path)
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(to, 0o777))
		}
		text, err := os.ReadFile(filepath.Join(own, path))
		return errors.Join(err, os.WriteFile(to, text, 0o666))
	})
	if err := errors.Join(err, os.WriteFile(filepath.Join(m.Dir, "benchpeers", "linked.go"), []byte(linked), 0o666)); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "benchpeers")
	_, err = m.Go(ctx, "build", "-o", program, "./benchpeers")
	return program, err
}

// registry returns a registry with all operators of this program.
func registry() (*task.Registry, error) {
	var tasks task.Registry
	if err := catalogue.Register(&tasks); err != nil || registerMore == nil {
		return &tasks, err
	}
	return &tasks, registerMore(&tasks)
}

// checkFormulas binds all tasks of the rows of formulas.
func checkFormulas() error {
	tasks, err := registry()
	if err != nil {
		return err
	}
	for _, u := range formulaUses {
		o := u.operator()
		if o == nil {
			return fmt.Errorf("%s: there is no operator %s", u.title(), u.op)
		}
		bound, err := taskbench.New(&o.Operator, u.attrs, u.shapes, u.least, 1)
		if err != nil {
			return fmt.Errorf("%s: %w", u.title(), err)
		}
		for i := range o.Signatures {
			if _, err := bound.Bind(i, tasks); err != nil {
				return fmt.Errorf("%s: %w", u.title(), err)
			}
		}
	}
	return nil
}
