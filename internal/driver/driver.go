// Package driver runs the generator's stages one after the other: read, check, resolve, emit, write.
package driver

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/emit"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/output"
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
	var in []Input
	dir := filepath.Join(c.Root, filepath.FromSlash(c.Specs))
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			if p == dir && errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("there is no folder %s, where %s says that specs are", c.Specs, config.Name)
			}
			return err
		}
		if e.IsDir() || filepath.Ext(p) != ".toml" {
			return nil
		}
		data, err := os.ReadFile(p)
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

// Read reads and checks specs. Of specs with the same name it takes the first.
func Read(inputs []Input, list *diag.List) *check.Result {
	inputs = slices.Clone(inputs)
	slices.SortFunc(inputs, func(a, b Input) int { return cmp.Compare(a.Path, b.Path) })
	read := make([]*spec.Spec, len(inputs))
	lists := make([]diag.List, len(inputs))
	parallel.Do(len(inputs), func(i int) { read[i] = spec.Read(inputs[i].Path, inputs[i].Text, &lists[i]) })
	var specs []*spec.Spec
	names := map[string]int{} // of the specs, to their numbers
	for i, s := range read {
		list.Merge(&lists[i])
		first, clash := names[s.Name.V]
		if !clash {
			if s.Name.Set() {
				names[s.Name.V] = len(specs)
			}
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
	return check.Check(specs, list)
}

// Resolve reads, checks and resolves specs. The module is nil if anything was found.
func Resolve(inputs []Input, list *diag.List) *model.Module {
	checked := Read(inputs, list)
	if !list.Empty() {
		return nil
	}
	return model.Resolve(checked)
}

// Emit returns all generated files of a module, signed, by path.
func Emit(c *config.Config, m *model.Module) ([]artifact.Artifact, error) {
	paths := emit.Paths{Runtime: c.Runtime, Generated: c.GeneratedImport, Kernels: c.KernelsImport}
	type job func() ([]artifact.Artifact, error)
	var jobs []job
	for _, o := range m.Operators {
		jobs = append(jobs, func() ([]artifact.Artifact, error) { return emit.Operator(paths, o) })
	}
	for _, en := range m.Enums {
		jobs = append(jobs, func() ([]artifact.Artifact, error) { return emit.Enum(paths, en) })
	}
	if len(m.Operators) > 0 {
		jobs = append(jobs, func() ([]artifact.Artifact, error) { return emit.Catalogue(paths, m, c.Specs) })
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

// Result is what Generate found and did.
type Result struct {
	Config   *config.Config
	Findings *diag.List
	// Operators is how many operators there are.
	Operators int
	// Changes lists what differs; after a successful Generate it was brought up to date.
	Changes []output.Change
	// Refused lists the changes that would lose hand-made work. If there is one, nothing was written.
	Refused []output.Change
	// UpToDate tells that nothing had changed since the last run.
	UpToDate bool

	sums sums
}

// Diff works out what Generate would change.
func Diff(root string) (*Result, error) {
	r, dirs, err := compare(root)
	closeAll(dirs)
	return r, err
}

func closeAll(dirs []*output.Dir) {
	for _, d := range dirs {
		d.Close()
	}
}

// Generate brings the generated files of the module at root up to date. With force, it also
// overwrites and deletes files that were edited by hand or are not its own.
func Generate(root string, force bool) (*Result, error) {
	if !force {
		if r := upToDate(root); r != nil {
			return r, nil
		}
	}
	began := time.Now()
	r, dirs, err := compare(root)
	defer closeAll(dirs)
	if err != nil || !r.Findings.Empty() {
		return r, err
	}
	for _, c := range r.Changes {
		if c.Kind.NeedsForce() && !force {
			r.Refused = append(r.Refused, c)
		}
	}
	if len(r.Refused) > 0 {
		return r, nil
	}
	for _, dir := range dirs {
		if err := dir.Apply(r.Changes); err != nil {
			return r, err
		}
	}
	remember(r, began)
	return r, nil
}

func compare(root string) (*Result, []*output.Dir, error) {
	r := &Result{Findings: &diag.List{}, sums: sums{}}
	r.sums.addFiles(root, config.Name, "go.mod")
	c, err := config.Load(root, r.Findings)
	if err != nil || c == nil || !r.Findings.Empty() {
		return r, nil, err
	}
	r.Config = c
	inputs, err := ReadSpecs(c)
	if err != nil {
		return r, nil, err
	}
	m := Resolve(inputs, r.Findings)
	if m == nil {
		return r, nil, nil
	}
	r.Operators = len(m.Operators)
	for _, in := range inputs {
		r.sums[in.Path] = sum([]byte(in.Text))
	}
	var dirs []*output.Dir
	for _, t := range []struct {
		folder string
		files  func() ([]artifact.Artifact, error)
	}{
		{c.Output, func() ([]artifact.Artifact, error) { return Emit(c, m) }},
		{c.Pages, func() ([]artifact.Artifact, error) { return Pages(c, m) }},
	} {
		if t.folder == "" {
			continue
		}
		files, err := t.files()
		if err != nil {
			return r, dirs, err
		}
		for _, f := range files {
			r.sums[path.Join(t.folder, f.Path)] = sum(f.Data)
		}
		dir, err := output.Open(root, t.folder)
		if err != nil {
			return r, dirs, err
		}
		dirs = append(dirs, dir)
		changes, err := dir.Compare(files)
		if err != nil {
			return r, dirs, err
		}
		r.Changes = append(r.Changes, changes...)
	}
	return r, dirs, nil
}

// Pages returns the pages of a module's operators, signed, by path.
func Pages(c *config.Config, m *model.Module) ([]artifact.Artifact, error) {
	files, err := page.Files(m, c.Specs)
	for i := range files {
		files[i] = files[i].Sign()
	}
	return files, err
}

// Check reads and checks the specs of the module at root.
func Check(root string) (*Result, error) {
	r := &Result{Findings: &diag.List{}}
	c, err := config.Load(root, r.Findings)
	if err != nil || c == nil || !r.Findings.Empty() {
		return r, err
	}
	r.Config = c
	inputs, err := ReadSpecs(c)
	if err != nil {
		return r, err
	}
	r.Operators = len(Read(inputs, r.Findings).Scopes)
	return r, nil
}

// Model reads, checks and resolves the specs of the module at root; the module is nil if there are
// findings.
func Model(root string) (*model.Module, *Result, error) {
	r := &Result{Findings: &diag.List{}}
	c, err := config.Load(root, r.Findings)
	if err != nil || c == nil || !r.Findings.Empty() {
		return nil, r, err
	}
	r.Config = c
	inputs, err := ReadSpecs(c)
	if err != nil {
		return nil, r, err
	}
	return Resolve(inputs, r.Findings), r, nil
}

// Summary says in one line what a run changed.
func (r *Result) Summary() string {
	if r.UpToDate || len(r.Changes) == 0 {
		return plural(r.Operators, "operator") + ", nothing changed"
	}
	counts := map[output.Kind]int{}
	for _, c := range r.Changes {
		counts[c.Kind]++
	}
	var parts []string
	for _, k := range []struct {
		kinds []output.Kind
		verb  string
	}{
		{[]output.Kind{output.Missing}, "created"},
		{[]output.Kind{output.Stale}, "updated"},
		{[]output.Kind{output.EditedByHand, output.ForeignInPlace}, "overwritten"},
		{[]output.Kind{output.Orphaned, output.EditedOrphan}, "removed"},
	} {
		n := 0
		for _, kind := range k.kinds {
			n += counts[kind]
		}
		if n > 0 {
			parts = append(parts, plural(n, "file")+" "+k.verb)
		}
	}
	return fmt.Sprintf("%s: %s", plural(r.Operators, "operator"), strings.Join(parts, ", "))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
