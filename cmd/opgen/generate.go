package main

import (
	"fmt"
	"os"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/output"
)

func (c *command) generate() int {
	ctx, stop := interruptible()
	defer stop()
	stage, done := c.progress()
	r, err := generate.Write(ctx, generate.Options{Dir: c.dir, Force: c.force, Progress: stage})
	done()
	if err != nil {
		return c.fail(err)
	}
	if c.format == "json" {
		return c.print(c.resultOf(r), len(r.Findings) > 0 || len(r.Refused) > 0)
	}
	c.strays(r)
	if len(r.Findings) > 0 {
		if len(r.Changes) > 0 && len(r.Refused) == 0 { // the findings are about kernels
			fmt.Fprintln(c.stdout, "opgen:", r.Summary())
		}
		return c.report(r)
	}
	if len(r.Refused) > 0 {
		return c.refused(r.Refused)
	}
	fmt.Fprintln(c.stdout, "opgen:", r.Summary())
	return clean
}

// refused names the files that keep generated ones from being written, and returns the exit status.
func (c *command) refused(changes []generate.Change) int {
	blocked := false
	for _, ch := range changes {
		fmt.Fprintf(c.stderr, "%s: %s\n", ch.Path, ch.Kind)
		blocked = blocked || ch.New == nil && ch.Kind == output.Blocked.String()
	}
	if blocked {
		fmt.Fprintln(c.stderr, "opgen: nothing was written; move what is in the way to another place")
	} else {
		fmt.Fprintf(c.stderr, "opgen: nothing was written, because changes in %s would be lost; move them into a spec or a kernel, or use -force\n", english.Count(len(changes), "file"))
	}
	return findings
}

// strays names folders with generated files that opgen.toml does not name.
func (c *command) strays(r *generate.Result) {
	for _, dir := range r.Strays {
		fmt.Fprintf(c.stderr, "opgen: note: %s holds generated files, and %s does not name it; remove it if it is no longer used\n", dir, config.Name)
	}
}

func (c *command) diff() int {
	ctx, stop := interruptible()
	defer stop()
	stage, done := c.progress()
	r, err := generate.Diff(ctx, generate.Options{Dir: c.dir, Progress: stage})
	done()
	if err != nil {
		return c.fail(err)
	}
	if c.format == "json" {
		return c.print(c.resultOf(r), len(r.Findings) > 0 || len(r.Changes) > 0)
	}
	c.strays(r)
	if len(r.Findings) > 0 && len(r.Changes) == 0 {
		return c.report(r)
	}
	for _, ch := range r.Changes {
		fmt.Fprintf(c.stdout, "%s: %s\n", ch.Path, ch.Kind)
		c.stdout.Write(differences(ch.Path, ch.Old, ch.New))
	}
	fmt.Fprintln(c.stdout, "opgen:", r.Summary())
	if c.report(r) != clean || len(r.Changes) > 0 { // the findings are about kernels
		return findings
	}
	return clean
}

// differences returns a unified diff of a file. old or new is nil if there is no such file.
func differences(path string, old, new []byte) []byte {
	from, to := path, path
	if old == nil {
		from = os.DevNull
	}
	if new == nil {
		to = os.DevNull
	}
	return diff.Diff(from, old, to, new)
}

// change is a change of a generated file, as JSON.
type change struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	Diff string `json:"diff,omitempty"`
}

// result is a result of generate, diff or watch, as JSON.
type result struct {
	Operators int                `json:"operators"`
	Findings  []generate.Finding `json:"findings"`
	Changes   []change           `json:"changes"`
	Refused   []change           `json:"refused"`
	Strays    []string           `json:"strays"`
}

// resultOf returns a result in its form for JSON.
func (c *command) resultOf(r *generate.Result) *result {
	changes := func(list []generate.Change) []change {
		out := []change{}
		for _, ch := range list {
			d := change{Path: ch.Path, Kind: ch.Kind}
			if c.verb.name == "diff" {
				d.Diff = string(differences(ch.Path, ch.Old, ch.New))
			}
			out = append(out, d)
		}
		return out
	}
	return &result{r.Operators, r.Findings, changes(r.Changes), changes(r.Refused), append([]string{}, r.Strays...)}
}
