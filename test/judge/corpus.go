package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/randomformula"
	"github.com/opgen/opgen/runtime/task"
)

// draws is how often the elements of each example are drawn: as many numbers, and every other time from few
// of them.
const draws = 4

// casesOf returns the cases of a spec: some for each example, in each type that its variable allows. Its
// inputs must all be there, and be tensors of their own.
func casesOf(path string) ([]*randomformula.Case, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(path[strings.LastIndex(path, "/")+1:], ".toml")
	var list diag.List
	ops, err := read([]driver.Input{{Path: "specs/" + name + ".toml", Text: string(data)}}, &list)
	if err != nil {
		return nil, err
	}
	if !list.Empty() {
		return nil, fmt.Errorf("%s: %s", path, list.Sorted()[0].Message)
	}
	o := ops[name]
	if len(o.Model.Types) != 1 {
		return nil, fmt.Errorf("%s: want one dtype variable, got %d", path, len(o.Model.Types))
	}
	var out []*randomformula.Case
	for i := range o.Model.Operator.Examples {
		x := &o.Model.Operator.Examples[i]
		for k, t := range o.Model.Types[0].TypeVar.Types {
			c := &randomformula.Case{Name: name, Text: string(data), Attrs: x.Attrs, Dims: map[string]int{}, Type: t.String(), Variable: o.Model.Types[0].Name,
				Features: map[string]bool{}, Values: uint64(4*i + k)}
			for _, s := range o.Model.Slots {
				slot := randomformula.Slot{Name: s.Name, Type: s.Type, Fixed: !s.Trainable}
				switch s.Role {
				case task.RoleInput:
					for _, n := range x.Shapes[s.Name] {
						slot.Shape = append(slot.Shape, fmt.Sprint(n))
					}
					if s.Below != "" {
						slot.Below = "1" // 0 always lies below the bound
						slot.Except = s.Except
					}
					if _, err := strconv.Atoi(s.Except); s.Except != "" && err != nil {
						return nil, fmt.Errorf("%s: want a number as except of %s, got %s", path, s.Name, s.Except)
					}
					c.Inputs = append(c.Inputs, slot)
				case task.RoleOutput:
					slot.Fixed, slot.Requested = false, s.OnRequest
					c.Outputs = append(c.Outputs, slot)
				case task.RoleSaved, task.RoleScratch: // follow from the formula
				default:
					return nil, fmt.Errorf("%s: want inputs and outputs only, got a slot %s", path, s.Name)
				}
			}
			if err := shapeOutputs(o, c); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			for n := range draws {
				d := c.Clone()
				d.Values, d.Few = c.Values+uint64(100*n+n), n%2 == 1
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// shapeOutputs gives the outputs of a case their shapes.
func shapeOutputs(o *liveOperator, c *randomformula.Case) error {
	r, err := resolve(o, c)
	if err != nil {
		return err
	}
	for i, s := range o.Slots {
		for k := range c.Outputs {
			if c.Outputs[k].Name != s.Name {
				continue
			}
			for _, n := range r.Slots[i][0].Shape {
				c.Outputs[k].Shape = append(c.Outputs[k].Shape, fmt.Sprint(n))
			}
		}
	}
	return nil
}

// ofCorpus judges the examples of specs in a folder, in all configurations, several specs at a time, and
// lists what is wrong.
func ofCorpus(where []configuration, dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.toml"))
	if err != nil {
		return err
	}
	pool := make(chan []*process, runtime.GOMAXPROCS(0))
	for range cap(pool) {
		pool <- newChildren(where, 1)
	}
	found, errs := make([][]string, len(paths)), make([]error, len(paths))
	parallel.Do(len(paths), func(i int) {
		children := <-pool
		found[i], errs[i] = ofSpec(children, paths[i])
		pool <- children
	})
	for range cap(pool) {
		stopAll(<-pool)
	}
	all := slices.Concat(found...)
	for _, f := range all {
		fmt.Println(f)
	}
	if len(all) > 0 {
		errs = append(errs, fmt.Errorf("%d findings", len(all)))
	}
	return errors.Join(errs...)
}

// ofSpec judges the examples of a spec, and returns what is wrong.
func ofSpec(children []*process, path string) (found []string, err error) {
	cases, err := casesOf(path)
	if err != nil {
		return []string{err.Error()}, nil
	}
	for i, c := range cases {
		v, err := judgeAll(children, request{Number: uint64(i), Case: c})
		if err != nil {
			return found, err
		}
		if v.Status != "right" {
			found = append(found, fmt.Sprintf("%s, case %d, %s: %s %s %s", path, i, c.Type, v.Status, v.Variant, v.Message))
		}
	}
	return found, nil
}
