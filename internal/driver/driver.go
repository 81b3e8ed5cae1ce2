package driver

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/emit"
	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/page"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/spec"
)

// Input is a spec file.
type Input struct {
	Path string // relative to the module's root, with slashes
	Text string
}

// ReadSpecs reads the spec files of a module, sorted by path.
func ReadSpecs(c *config.Config) ([]Input, error) {
	dir := filepath.Join(c.Root, filepath.FromSlash(c.Specs))
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: want a folder of specs, as %s says, got no such folder", c.Specs, config.Name)
	}
	var in []Input
	err := input.Walk(dir, func(p string) error {
		if filepath.Ext(p) != ".toml" {
			return nil
		}
		data, err := input.Text(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.Root, p)
		if err != nil {
			return err
		}
		in = append(in, Input{filepath.ToSlash(rel), string(data)})
		return nil
	})
	return in, err
}

// Read reads and checks specs. If two specs have the same name, it uses the first.
func Read(inputs []Input, list *diag.List) *check.Result { return readAll(inputs, nil, nil, list) }

// readAll reads and checks the specs of a module, which may name others.
func readAll(inputs []Input, of *spec.Module, others *check.Names, list *diag.List) *check.Result {
	inputs = slices.Clone(inputs)
	slices.SortFunc(inputs, func(a, b Input) int { return cmp.Compare(a.Path, b.Path) })
	read := make([]*spec.Spec, len(inputs))
	lists := make([]diag.List, len(inputs))
	parallel.Do(len(inputs), func(i int) { read[i] = spec.Read(inputs[i].Path, inputs[i].Text, &lists[i]) })
	for i, s := range read {
		s.Module = of
		list.Merge(&lists[i])
	}
	return check.Check(distinct(read, list), others, list)
}

// distinct returns specs, in the order of their paths, without those that have the name of another one.
func distinct(read []*spec.Spec, list *diag.List) []*spec.Spec {
	var specs []*spec.Spec
	names := map[string]int{} // of the specs, to their numbers
	for _, s := range read {
		if !s.Name.Set() { // which is a finding, and no clash with a name that is empty
			specs = append(specs, s)
			continue
		}
		first, clash := names[s.Name.V]
		if !clash {
			names[s.Name.V] = len(specs)
			specs = append(specs, s)
			continue
		}
		other := specs[first]
		if other.Name.V != other.Base && s.Name.V == s.Base {
			s, other, specs[first] = other, s, s // the one in the wrong file is the copy
		}
		d := list.Add(diag.Clash, s.Name.Span(), "two specs are named %s", s.Name.V).See(other.Name.Span(), "the other one")
		if s.Name.V != s.Base {
			d.Hinted("a spec has the name of its file, here %s", s.Base)
		}
	}
	return specs
}

// emitAll returns all generated files of a module, signed, by path.
func emitAll(c *config.Config, m *model.Module) ([]artifact.Artifact, error) {
	paths := importPaths(c)
	type job func() ([]artifact.Artifact, error)
	var jobs []job
	for _, o := range m.Operators {
		jobs = append(jobs, func() ([]artifact.Artifact, error) { return emit.Operator(paths, o) })
	}
	for _, en := range m.Enums {
		jobs = append(jobs, func() ([]artifact.Artifact, error) { return emit.Enum(paths, en) })
	}
	if len(m.Operators) > 0 {
		jobs = append(jobs, func() ([]artifact.Artifact, error) { return emit.Catalogue(paths, m, c.Specs) },
			func() ([]artifact.Artifact, error) { return emit.ONNX(paths, m, c.Specs) })
	}
	results := make([][]artifact.Artifact, len(jobs))
	errs := make([]error, len(jobs))
	parallel.Do(len(jobs), func(i int) {
		results[i], errs[i] = jobs[i]()
		for k := range results[i] {
			results[i][k] = results[i][k].Sign()
		}
	})
	files := slices.Concat(results...)
	slices.SortFunc(files, func(a, b artifact.Artifact) int { return cmp.Compare(a.Path, b.Path) })
	return files, errors.Join(errs...)
}

func importPaths(c *config.Config) emit.Paths {
	return emit.Paths{Runtime: c.Runtime, Generated: c.GeneratedImport, Kernels: c.KernelsImport}
}

// pages returns the pages of a module's operators, signed, by path.
func pages(c *config.Config, m *model.Module) ([]artifact.Artifact, error) {
	files, err := page.Files(m, c.Specs)
	for i := range files {
		files[i] = files[i].Sign()
	}
	return files, err
}
