package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// judge runs cases with several kernels.
type judge struct {
	names   []string
	runners []*conform.Runner
}

// failure is a case that fails.
type failure struct {
	path   string
	what   string // operators, attributes and shapes
	reason string
}

// newJudge returns a judge of the kernels of the catalogue, and of the loops of formulas.
func newJudge() (*judge, error) {
	j := &judge{}
	for _, k := range []struct {
		name     string
		register func(*task.Registry) error
	}{{"catalogue", catalogue.Register}, {"formula", registerFormulas}} {
		r := &task.Registry{}
		if err := k.register(r); err != nil {
			return nil, err
		}
		j.names = append(j.names, k.name)
		j.runners = append(j.runners, &conform.Runner{Registry: r, Operators: catalogue.Operators(),
			Backend: func() (engine.Backend, error) { return cpu.New(cpu.Config{Workers: 2}), nil }})
	}
	return j, nil
}

func registerFormulas(r *task.Registry) error {
	for _, o := range catalogue.Operators() {
		if len(o.Formula) > 0 {
			if err := formula.Register(r, op.CPU, &o.Operator); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *judge) close() error {
	var errs []error
	for _, r := range j.runners {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// run runs the cases of a folder, and returns those that fail, in order. A case that an operator refuses is
// one, too, since PyTorch takes it; but an operator without a formula has no loops.
func (j *judge) run(ctx context.Context, dir string) ([]failure, error) {
	cases, _, err := conform.LoadAll(os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	found := make([]*failure, len(cases))
	parallel.Do(len(cases), func(i int) {
		c := cases[i]
		for k, r := range j.runners {
			if ctx.Err() != nil || k > 0 && !hasFormulas(c) {
				return
			}
			if res := r.Run(ctx, c); res.Status != conform.Passed {
				found[i] = &failure{filepath.Join(dir, filepath.FromSlash(c.Path)), describe(c), j.names[k] + ": " + res.Reason}
				return
			}
		}
	})
	var out []failure
	for _, f := range found {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out, ctx.Err()
}

// hasFormulas reports whether all operators of a case have formulas.
func hasFormulas(c *conform.Case) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(catalogue.Operators(), func(o *graph.Operator) bool { return o.Name == name && len(o.Formula) > 0 })
	}
	for _, n := range c.Graph {
		if !has(n.Op) {
			return false
		}
	}
	return len(c.Graph) > 0 || has(c.Op)
}

// describe writes a case in a line for each operator.
func describe(c *conform.Case) string {
	var lines []string
	if len(c.Graph) == 0 {
		attrs, _ := json.Marshal(c.Attrs) // plain data
		lines = append(lines, c.Op+" "+string(attrs))
	}
	for _, n := range c.Graph {
		attrs, _ := json.Marshal(n.Attrs)
		lines = append(lines, fmt.Sprintf("%v = %s %s %v", n.Out, n.Op, attrs, n.In))
	}
	var tensors []string
	for name, t := range c.Tensors {
		if strings.HasPrefix(name, "in.") || strings.HasPrefix(name, "weight.") {
			tensors = append(tensors, fmt.Sprintf("%s %v%v", name, t.Type, t.Shape))
		}
	}
	slices.Sort(tensors)
	return strings.Join(append(lines, strings.Join(tensors, ", ")), "\n  ")
}
