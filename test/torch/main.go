// Command torch compares the operators of the catalogue with PyTorch on random cases: of single operators
// with random attributes, shapes, values and element types, forward and gradients, and of graphs of 2 to 13
// operators. PyTorch computes in float64 what is right. Each case runs with the kernels of the catalogue and,
// as far as its operators have formulas, with their loops.
//
// Usage:
//
//	go run ./test/torch [-cases N] [-graphs N] [-seed N] [-of OPERATORS] [-python PROGRAM] [-save FOLDER]
//
// A case that fails is made smaller as long as it fails. It is printed, and saved as a conformance case,
// which opconform runs. The exit status is 1 if there is such a case, or no Python that has PyTorch.
package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/opgen/opgen/internal/printer"
)

//go:embed *.py
var scripts embed.FS

func main() {
	var o options
	flag.IntVar(&o.cases, "cases", 1000, "how many cases of single operators are made")
	flag.IntVar(&o.graphs, "graphs", 250, "how many graphs are made")
	flag.IntVar(&o.seed, "seed", 1, "which cases are made")
	flag.StringVar(&o.of, "of", "", "the `operators` of single cases, separated by commas; all by default")
	flag.StringVar(&o.python, "python", "", "the Python `program` that has PyTorch; python3 and Debian's by default")
	flag.StringVar(&o.save, "save", "bin/torch", "the `folder` for cases that fail")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	out := printer.New(os.Stdout)
	err := errors.Join(run(ctx, out, o), out.Err())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "torch:", err)
		os.Exit(1)
	}
}

type options struct {
	cases, graphs, seed int
	of, python, save    string
}

// batch is how many cases are made, run and removed at a time. Their files take some tens of MiB.
const batch = 500

// run makes and judges cases. Its error says how many fail.
func run(ctx context.Context, w io.Writer, o options) (err error) {
	m, version, err := find(ctx, o.python, "python3", "/usr/bin/python3")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	fmt.Fprintf(w, "torch: PyTorch %s, seed %d\n", version, o.seed)
	j, err := newJudge()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	failed := 0
	for _, kind := range []struct {
		name  string
		count int
		of    string
	}{{"operators", o.cases, o.of}, {"graphs", o.graphs, ""}} {
		begin, n := time.Now(), 0
		for at := 0; at < kind.count; at += batch {
			size := min(batch, kind.count-at)
			dir, err := m.make(ctx, kind.name, size, o.seed*1000+at/batch, kind.of)
			if err != nil {
				return err
			}
			bad, err := j.run(ctx, dir)
			if err != nil {
				return err
			}
			for _, f := range bad {
				if err := show(ctx, w, m, j, f, filepath.Join(o.save, fmt.Sprintf("seed_%d", o.seed))); err != nil {
					return err
				}
			}
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			failed += len(bad)
			n += size
			fmt.Fprintf(w, "torch: %d of %d %s, %d wrong, %.0f s\n", n, kind.count, kind.name, failed, time.Since(begin).Seconds())
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d cases differ from PyTorch, see %s", failed, o.save)
	}
	return nil
}

// show makes a failing case smaller, prints it and saves it.
func show(ctx context.Context, w io.Writer, m *maker, j *judge, f failure, save string) error {
	least, err := minimal(f, func(f failure) ([]failure, error) {
		dir, err := m.smaller(ctx, f.path)
		if err != nil {
			return nil, err
		}
		return j.run(ctx, dir)
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(save, 0o777); err != nil {
		return err
	}
	data, err := os.ReadFile(least.path)
	if err != nil {
		return err
	}
	to := filepath.Join(save, filepath.Base(f.path))
	if err := os.WriteFile(to, data, 0o666); err != nil {
		return err
	}
	fmt.Fprintf(w, "torch: wrong: %s\n  %s\n  %s\n", to, least.what, least.reason)
	return nil
}

// minimal returns the smallest of the failing cases to which smaller leads. smaller returns the cases that
// fail of those that are smaller than a given one in one place.
func minimal(f failure, smaller func(failure) ([]failure, error)) (failure, error) {
	for range 40 {
		next, err := smaller(f)
		if err != nil || len(next) == 0 {
			return f, err
		}
		f = next[0]
	}
	return f, nil
}

// maker makes cases with Python.
type maker struct {
	python, folder string
	made           int
}

// find returns a maker with a Python that has PyTorch, and its version. A program that is named must have it,
// or one of the others.
func find(ctx context.Context, python string, others ...string) (*maker, string, error) {
	candidates := others
	if python != "" {
		candidates = []string{python}
	}
	for _, p := range candidates {
		out, err := exec.CommandContext(ctx, p, "-c", "import torch; print(torch.__version__)").CombinedOutput()
		if err != nil && python != "" {
			return nil, "", fmt.Errorf("want a Python with PyTorch, got %s: %w\n%s", p, err, out)
		}
		if err != nil {
			continue
		}
		m := &maker{python: p}
		if m.folder, err = os.MkdirTemp("", "opgen-torch"); err == nil {
			err = os.CopyFS(filepath.Join(m.folder, "scripts"), scripts)
		}
		return m, strings.TrimSpace(string(out)), err
	}
	return nil, "", cmp.Or(ctx.Err(), errors.New("want a Python with PyTorch, as Debian's package python3-torch has it"))
}

func (m *maker) close() error { return os.RemoveAll(m.folder) }

// make returns a folder of new cases.
func (m *maker) make(ctx context.Context, kind string, count, seed int, of string) (string, error) {
	dir, err := m.newFolder()
	if err != nil {
		return "", err
	}
	return dir, m.script(ctx, kind, strconv.Itoa(count), strconv.Itoa(seed), dir, of)
}

// smaller returns a folder of cases that are smaller than a given one.
func (m *maker) smaller(ctx context.Context, path string) (string, error) {
	dir, err := m.newFolder()
	if err != nil {
		return "", err
	}
	return dir, m.script(ctx, "shrink", path, dir)
}

func (m *maker) newFolder() (string, error) {
	m.made++
	dir := filepath.Join(m.folder, strconv.Itoa(m.made))
	return dir, os.Mkdir(dir, 0o777)
}

func (m *maker) script(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, m.python, append([]string{filepath.Join(m.folder, "scripts", "cases.py")}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cases.py %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
