// Package generate runs opgen within another program: it reads and checks the specs of a module, compares
// generated files with those on disk, and brings these up to date.
//
// A mistake in specs is a [Finding]: a value with a position and a code, and with edits if the correction is
// certain. Errors are about files that cannot be read or written.
//
// A program may add plug-ins of its own, which make further files from the model. Package plugin describes
// them.
package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/opgen/opgen/generate/plugin"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/output"
)

// Options configure a run.
type Options struct {
	// Dir is the folder of opgen.toml or one below it. "" is the current folder.
	Dir string
	// Force also overwrites and deletes files that were edited by hand or that opgen did not generate.
	Force bool
	// Plugins run in addition to those of opgen.toml.
	Plugins []Plugin
	// Progress is called with the next step of the run, such as "checking specs". It may be nil.
	Progress func(stage string)
}

// Plugin is a plug-in that runs within this process.
type Plugin struct {
	Name string
	Out  string // the folder of its files, relative to the module's root, with slashes
	// Options becomes the options of the request, as JSON.
	Options any
	plugin.Plugin
}

// Change is a generated file that differs from the one on disk.
type Change struct {
	Path string `json:"path"` // relative to the module's root, with slashes
	// Kind says how it differs: "missing", "stale", "orphaned", "edited by hand" and the like.
	Kind string `json:"kind"`
	Old  []byte `json:"old,omitempty"` // nil if there is no such file
	New  []byte `json:"new,omitempty"` // nil if the file is to be deleted
}

// Result is what a run found and did.
type Result struct {
	// Findings are sorted by file and position. If there is one about specs, opgen.toml or a plug-in, nothing
	// was compared or written. Findings about kernels do not keep generated code from being written, since a
	// kernel is written against it.
	Findings []Finding
	// Unshown is how many more findings there are. Of very many, the first are listed.
	Unshown int
	// Changes lists the files that differ, or that differed before Write.
	Changes []Change
	// Refused lists the changes that would overwrite or delete files that opgen did not write. If there are
	// any, nothing was written.
	Refused []Change
	// Strays lists folders, relative to the module's root, with generated files that belong to no folder of
	// opgen.toml. They remain when opgen.toml names another folder. opgen does not remove them.
	Strays []string
	// Operators is how many operators the module has.
	Operators int

	root    string
	result  *driver.Result
	summary string
}

// Summary returns one line that says what was found or done.
func (r *Result) Summary() string { return r.summary }

// Model returns the model of the module's operators and enums, as plug-ins get it: an object of version
// plugin.Protocol. It returns nil if there are findings, or if Write found no change since the last run.
func (r *Result) Model() (json.RawMessage, error) {
	m := r.result.Module()
	if m == nil {
		return nil, nil
	}
	return json.Marshal(m)
}

// Fix makes the edits of all findings and returns the paths of the files that it changed. It returns an error
// and changes nothing if two edits overlap, if a file changed since it was read, or if a file would not be
// TOML.
func (r *Result) Fix() ([]string, error) { return driver.Fix(r.root, r.result.Findings) }

// Check reads and checks the configuration and the specs. It runs no plug-ins. The error says which file
// cannot be read.
func Check(o Options) (*Result, error) {
	root, err := find(o.Dir)
	if err != nil {
		return nil, err
	}
	if o.Progress != nil {
		o.Progress("checking specs")
	}
	p, err := driver.Load(root)
	if err != nil {
		return nil, err
	}
	r := newResult(root, &driver.Result{Project: p, Operators: p.Operators()})
	r.summary = fmt.Sprintf("%s, no findings", english.Count(r.Operators, "operator"))
	return r, nil
}

// Diff returns what Write would change. It writes nothing. The error says which file cannot be read.
func Diff(ctx context.Context, o Options) (*Result, error) {
	return run(ctx, o, driver.Diff, (*driver.Result).Differences)
}

// Write brings the generated files up to date, unless there are findings or refused changes. The error says
// which file cannot be read or written.
func Write(ctx context.Context, o Options) (*Result, error) {
	return run(ctx, o, driver.Generate, (*driver.Result).Summary)
}

func run(ctx context.Context, o Options, do func(context.Context, string, driver.Options) (*driver.Result, error), summary func(*driver.Result) string) (*Result, error) {
	root, err := find(o.Dir)
	if err != nil {
		return nil, err
	}
	d := driver.Options{Force: o.Force, Progress: o.Progress}
	for _, p := range o.Plugins {
		options := []byte("{}")
		if p.Options != nil {
			if options, err = json.Marshal(p.Options); err != nil {
				return nil, fmt.Errorf("options of plug-in %s: %w", p.Name, err)
			}
		}
		d.Plugins = append(d.Plugins, driver.Plugin{Name: p.Name, Out: p.Out, Options: options, Plugin: p.Plugin})
	}
	done, err := do(ctx, root, d)
	if err != nil {
		return nil, err
	}
	r := newResult(root, done)
	r.summary = summary(done)
	return r, nil
}

func find(dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	return config.Find(dir)
}

func newResult(root string, r *driver.Result) *Result {
	all := &diag.List{}
	all.Merge(r.Findings)
	all.Merge(r.Border)
	return &Result{Findings: findings(all), Unshown: r.Unshown, Changes: changes(r.Changes), Refused: changes(r.Refused), Strays: r.Strays,
		Operators: r.Operators, root: root, result: r}
}

func changes(list []output.Change) []Change {
	var out []Change
	for _, c := range list {
		out = append(out, Change{Path: path.Join(c.Folder, c.Path), Kind: c.Kind.String(), Old: c.Old, New: c.New})
	}
	return out
}
