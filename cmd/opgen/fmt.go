package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/format"
	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/lock"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/staging"
)

// unformatted is a file that differs from its form.
type unformatted struct {
	Path string `json:"path"`
	Diff string `json:"diff,omitempty"`

	file staging.File
}

// fmt writes files in their form, or lists those that differ from it.
func (c *command) fmt() int {
	root, rootErr := config.Find(c.dir)
	paths, err := c.toFormat(root, rootErr)
	if err != nil {
		return c.fail(err)
	}
	var wrong diag.List
	found := []unformatted{}
	for _, p := range paths {
		f, err := c.unformatted(p, &wrong)
		if err != nil {
			return c.fail(err)
		}
		if f != nil {
			found = append(found, *f)
		}
	}
	if !wrong.Empty() {
		if err := diag.WriteText(c.stderr, wrong.Sorted()); err != nil {
			return c.fail(err)
		}
		return findings
	}
	if !c.list && !c.diffs {
		if rootErr == nil {
			release, err := lock.Acquire(context.Background(), root)
			if err != nil {
				return c.fail(err)
			}
			defer release()
		}
		var files []staging.File
		for _, f := range found {
			files = append(files, f.file)
		}
		if err := staging.Write(files); err != nil {
			return c.fail(err)
		}
	}
	return c.formatted(found, len(paths))
}

// formatted prints what fmt found or did, and returns the exit status.
func (c *command) formatted(found []unformatted, files int) int {
	status := clean
	if (c.list || c.diffs) && len(found) > 0 {
		status = findings
	}
	if c.format == "json" {
		return c.print(found, status == findings)
	}
	for _, f := range found {
		switch {
		case c.diffs:
			fmt.Fprint(c.stdout, f.Diff)
		case c.list:
			fmt.Fprintln(c.stdout, f.Path)
		default:
			fmt.Fprintln(c.stdout, "formatted", f.Path)
		}
	}
	if !c.list && !c.diffs {
		fmt.Fprintf(c.stdout, "opgen: %s, of which %d changed\n", english.Count(files, "file"), len(found))
	}
	return status
}

// toFormat returns the paths of the files that are to be formatted: those of the arguments, or opgen.toml and
// all specs. A folder stands for the files of TOML in it and below that opgen did not generate.
func (c *command) toFormat(root string, rootErr error) ([]string, error) {
	var paths []string
	add := func(p string) error {
		if filepath.Ext(p) != ".toml" {
			return nil
		}
		data, err := input.Text(p)
		if err == nil && artifact.Sums(nil).Owner(p, data) == artifact.Foreign {
			paths = append(paths, p)
		}
		return err
	}
	if len(c.args) == 0 {
		if rootErr != nil {
			return nil, rootErr
		}
		var list diag.List
		conf, err := config.Load(root, &list)
		if err != nil {
			return nil, err
		}
		paths = []string{filepath.Join(root, config.Name)}
		if conf == nil { // opgen.toml is not TOML, which formatting it reports
			return paths, nil
		}
		err = input.Walk(filepath.Join(root, filepath.FromSlash(conf.Specs)), add)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return paths, err
	}
	for _, a := range c.args {
		p := filepath.Join(c.dir, a)
		if filepath.IsAbs(a) {
			p = a
		}
		info, err := os.Stat(p)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			if err := input.Walk(p, add); err != nil {
				return nil, err
			}
		default:
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// unformatted returns a file that differs from its form, or nil. A syntax error is a finding.
func (c *command) unformatted(path string, wrong *diag.List) (*unformatted, error) {
	data, err := input.Text(path)
	if err != nil {
		return nil, err
	}
	name := path
	if dir, err := filepath.Abs(c.dir); err == nil {
		if full, err := filepath.Abs(path); err == nil {
			if rel, err := filepath.Rel(dir, full); err == nil {
				name = filepath.ToSlash(rel)
			}
		}
	}
	form := format.File
	if c.simpler {
		form = format.Simplify
	}
	text, err := form(name, string(data))
	if syntax, ok := errors.AsType[*source.SyntaxError](err); ok {
		d := wrong.Add(diag.Syntax, syntax.Span, "%s", syntax.Message)
		if syntax.First.File != nil {
			d.See(syntax.First, "first defined here")
		}
		return nil, nil
	}
	if err != nil || text == string(data) {
		return nil, err
	}
	f := &unformatted{Path: name, file: staging.File{Path: path, Old: data, New: []byte(text)}}
	if c.diffs {
		f.Diff = string(differences(name, data, []byte(text)))
	}
	return f, nil
}
