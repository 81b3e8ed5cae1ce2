package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/lock"
	"github.com/opgen/opgen/internal/output"
)

// Result is what a run found and did.
type Result struct {
	*Project // has findings only, if UpToDate
	// Operators is how many operators there are.
	Operators int
	// Changes lists the files that differ, or that differed before a successful Generate.
	Changes []output.Change
	// Refused lists the changes that would overwrite or delete what opgen did not write. If there is one,
	// nothing was written.
	Refused []output.Change
	// Strays lists folders, relative to the module's root, whose generated files belong to no folder of
	// opgen.toml.
	Strays []string
	// UpToDate says that nothing had changed since the last run.
	UpToDate bool
}

// Options configure a run.
type Options struct {
	// Force also overwrites and deletes files that were edited by hand or are not opgen's.
	Force bool
	// Plugins are plug-ins of this process, besides those in opgen.toml.
	Plugins []Plugin
	// Progress is told what the run does from now on; nil if nothing is to be told.
	Progress func(stage string)
}

func (o Options) progress(stage string) {
	if o.Progress != nil {
		o.Progress(stage)
	}
}

// Diff returns what Generate would change. It writes nothing. The error says which file cannot be read.
func Diff(ctx context.Context, root string, o Options) (*Result, error) {
	r, dirs, err := compare(ctx, root, o)
	closeAll(dirs)
	return r, err
}

func closeAll(dirs []*output.Dir) {
	for _, d := range dirs {
		d.Close()
	}
}

// Generate brings the generated files of the module at root up to date, unless there are findings or refused
// changes. One run at a time does so; others wait. The error says which file cannot be read or written.
func Generate(ctx context.Context, root string, o Options) (*Result, error) {
	cached := len(o.Plugins) == 0 // a snapshot does not hold plug-ins of a process
	// A run that was killed at its end left a lock, which goes below.
	if cached && !o.Force && !lock.Exists(root) {
		if r := upToDate(root); r != nil {
			return r, nil
		}
	}
	o.progress("waiting for other runs")
	release, err := lock.Acquire(ctx, root)
	if err != nil {
		return nil, err
	}
	defer release()
	began := time.Now()
	r, dirs, err := compare(ctx, root, o)
	defer closeAll(dirs)
	if err != nil || !r.Findings.Empty() {
		return r, err
	}
	if r.refuse(o.Force); len(r.Refused) > 0 {
		return r, nil
	}
	if err := r.noSpecs(); err != nil && !o.Force {
		return r, err
	}
	o.progress("writing files")
	tool := toolMeanwhile()
	if err := write(dirs, r.Changes); err != nil {
		return r, err
	}
	if cached && r.Border.Empty() && len(r.Strays) == 0 {
		r.remember(r.Operators, began, tool)
	}
	return r, nil
}

// refuse lists the changes that must not be made.
func (r *Result) refuse(force bool) {
	for _, c := range r.Changes {
		if c.Kind.Never() || c.Kind.NeedsForce() && !force {
			r.Refused = append(r.Refused, c)
		}
	}
}

// noSpecs is an error if there are no specs, and generated files would be removed. Specs that are not checked
// out, or another folder than was meant, are likelier than a module that gave up all of its operators.
func (r *Result) noSpecs() error {
	if len(r.Inputs) > 0 {
		return nil
	}
	for _, c := range r.Changes {
		if c.New == nil {
			return fmt.Errorf("%s: want a spec, *.toml, got none: nothing was written; with -force, all generated files are removed", r.Config.Specs)
		}
	}
	return nil
}

// write makes all changes. It prepares all of them before it makes the first, so that a full disk, or a file
// that changed since it was compared, leaves everything as it was.
func write(dirs []*output.Dir, changes []output.Change) error {
	for _, prepare := range []func(*output.Dir) error{
		(*output.Dir).Clear,
		func(d *output.Dir) error { return d.Stage(changes) },
		(*output.Dir).Check,
	} {
		for _, d := range dirs {
			if err := prepare(d); err != nil {
				return err // closing the folders drops what is staged
			}
		}
	}
	for _, d := range dirs {
		if err := d.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// makers returns, by output folder, the functions that make files. There is no other list of output folders.
func (p *Project) makers(own []Plugin) (map[string]func(context.Context) ([]artifact.Artifact, error), error) {
	all, err := p.plugins(own)
	if err != nil {
		return nil, err
	}
	type files = []artifact.Artifact
	list := map[string]func(context.Context) (files, error){
		p.Config.Output: func(context.Context) (files, error) { return emitAll(p.Config, p.Module()) },
	}
	if p.Config.Pages != "" {
		list[p.Config.Pages] = func(context.Context) (files, error) { return pages(p.Config, p.Module()) }
	}
	for _, a := range all {
		if list[a.Out] == nil { // plug-ins may share a folder
			of := slices.DeleteFunc(slices.Clone(all), func(o Plugin) bool { return o.Out != a.Out })
			list[a.Out] = func(ctx context.Context) (files, error) { return p.ask(ctx, of) }
		}
	}
	return list, nil
}

// compare finds what differs, and also returns the open output folders.
func compare(ctx context.Context, root string, o Options) (*Result, []*output.Dir, error) {
	o.progress("checking specs")
	p, err := Load(root)
	r := &Result{Project: p}
	if err != nil || p.Module() == nil {
		return r, nil, err
	}
	r.Operators = p.Operators()
	makers, err := p.makers(o.Plugins)
	if err != nil {
		return r, nil, err
	}
	for _, a := range p.Config.Plugins {
		for _, in := range a.Inputs {
			if err := p.sums.addFolder(root, in); err != nil {
				return r, nil, fmt.Errorf("inputs of plug-in %s: %w", a.Name, err)
			}
		}
	}
	folders := slices.Sorted(maps.Keys(makers))
	made, errs := make([][]artifact.Artifact, len(folders)), make([]error, len(folders))
	for i, folder := range folders {
		o.progress("making files of " + folder)
		made[i], errs[i] = makers[folder](ctx)
	}
	if err := errors.Join(errs...); err != nil || !p.Findings.Empty() {
		return r, nil, err
	}
	o.progress("comparing files")
	var dirs []*output.Dir
	for i, folder := range folders {
		for _, f := range made[i] {
			p.sums[path.Join(folder, f.Path)] = sum(f.Data)
		}
		dir, err := output.Open(root, folder)
		if err != nil {
			return r, dirs, err
		}
		dirs = append(dirs, dir)
		changes, err := dir.Compare(made[i])
		if err != nil {
			return r, dirs, err
		}
		r.Changes = append(r.Changes, changes...)
	}
	r.Strays = strays(root, folders)
	return r, dirs, nil
}

// Differences returns one line that says what a run would change.
func (r *Result) Differences() string {
	if len(r.Changes) == 0 {
		return english.Count(r.Operators, "operator") + ", up to date"
	}
	counts := map[output.Kind]int{}
	for _, c := range r.Changes {
		counts[c.Kind]++
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
	}
	verb := "differ"
	if len(r.Changes) == 1 {
		verb = "differs"
	}
	return fmt.Sprintf("%s %s: %s", english.Count(len(r.Changes), "file"), verb, strings.Join(parts, ", "))
}

// Summary returns one line that says what a run changed.
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
