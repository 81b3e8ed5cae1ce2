package driver

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/english"
	"github.com/opgen/opgen/internal/output"
)

// Result is what a run found and did.
type Result struct {
	*Project // with its findings only, if nothing had changed since the last run
	// Operators is how many operators there are.
	Operators int
	// Changes lists what differs; after a successful Generate it was brought up to date.
	Changes []output.Change
	// Refused lists the changes that would lose work of a person. If there is one, nothing was written.
	Refused []output.Change
	// UpToDate tells that nothing had changed since the last run.
	UpToDate bool
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
	r.remember(r.Operators, began)
	return r, nil
}

// maker is an output folder, and what makes its files.
type maker struct {
	folder string
	files  func() ([]artifact.Artifact, error)
}

// makers lists the output folders of a project. It is the only list of them.
func (p *Project) makers() []maker {
	list := []maker{{p.Config.Output, func() ([]artifact.Artifact, error) { return Emit(p.Config, p.Module()) }}}
	if p.Config.Pages != "" {
		list = append(list, maker{p.Config.Pages, func() ([]artifact.Artifact, error) { return Pages(p.Config, p.Module()) }})
	}
	return list
}

// compare works out what differs, and returns the open output folders besides.
func compare(root string) (*Result, []*output.Dir, error) {
	p, err := Load(root)
	r := &Result{Project: p}
	if err != nil || p.Module() == nil {
		return r, nil, err
	}
	r.Operators = p.Operators()
	var dirs []*output.Dir
	for _, m := range p.makers() {
		files, err := m.files()
		if err != nil {
			return r, dirs, err
		}
		for _, f := range files {
			p.sums[path.Join(m.folder, f.Path)] = sum(f.Data)
		}
		dir, err := output.Open(root, m.folder)
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

// Summary says in one line what a run changed.
func (r *Result) Summary() string {
	if r.UpToDate || len(r.Changes) == 0 {
		return english.Count(r.Operators, "operator") + ", nothing changed"
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
			parts = append(parts, english.Count(n, "file")+" "+k.verb)
		}
	}
	return fmt.Sprintf("%s: %s", english.Count(r.Operators, "operator"), strings.Join(parts, ", "))
}
