package main

import (
	"fmt"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/internal/base/english"
)

// report prints findings and returns the exit status.
func (c *command) report(r *generate.Result) int {
	found := r.Findings
	if c.format == "json" {
		return c.print(found, len(found) > 0)
	}
	if len(found) == 0 {
		return clean
	}
	for _, f := range found {
		if c.format == "github" {
			fmt.Fprintln(c.stdout, f.GitHub())
		} else {
			fmt.Fprint(c.stderr, f.Text())
		}
	}
	if r.Unshown > 0 {
		fmt.Fprintf(c.stderr, "opgen: %s, of which the first %d are shown\n", english.Count(len(found)+r.Unshown, "finding"), len(found))
	} else {
		fmt.Fprintf(c.stderr, "opgen: %s\n", english.Count(len(found), "finding"))
	}
	return findings
}

func (c *command) check() int {
	stage, done := c.progress()
	r, err := generate.Check(generate.Options{Dir: c.dir, Progress: stage})
	done()
	if err == nil && c.fix {
		r, err = c.fixed(r)
	}
	if err != nil {
		return c.fail(err)
	}
	status := c.report(r)
	if status == clean && c.format != "json" {
		fmt.Fprintln(c.stdout, "opgen:", r.Summary())
	}
	return status
}

// fixed makes the edits of findings and checks again.
func (c *command) fixed(r *generate.Result) (*generate.Result, error) {
	files, err := r.Fix()
	if err != nil {
		return nil, fmt.Errorf("nothing was fixed: %w", err)
	}
	for _, f := range files {
		fmt.Fprintln(c.stderr, "fixed", f)
	}
	return generate.Check(generate.Options{Dir: c.dir})
}
