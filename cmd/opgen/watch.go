package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/watch"
)

// watch generates when files change, until the user interrupts it.
func (c *command) watch() int {
	root, err := config.Find(c.dir)
	if err != nil {
		return c.fail(err)
	}
	ctx, stop := interruptible()
	defer stop()
	files, last := watch.New(), &outcome{}
	for ctx.Err() == nil {
		// What is read before the run is compared with what is there after it, so a change during the run
		// leads to another one.
		paths := driver.Watched(root)
		before := files.Take(paths)
		now := c.once(ctx, root)
		if ctx.Err() != nil {
			break
		}
		if err := c.changed(last, now); err != nil {
			return c.fail(err)
		}
		last = now
		if err := files.Wait(ctx, paths, before); err != nil {
			break // the user interrupts
		}
	}
	return clean
}

// outcome is what a run found and did, or the error with which it ended.
type outcome struct {
	result *generate.Result
	err    string
	found  map[string]generate.Finding // by what key returns
}

// once generates.
func (c *command) once(ctx context.Context, root string) *outcome {
	r, err := generate.Write(ctx, generate.Options{Dir: root})
	o := &outcome{result: r, found: map[string]generate.Finding{}}
	if err != nil {
		o.result, o.err = nil, err.Error()
		return o
	}
	for _, f := range r.Findings {
		o.found[key(f)] = f
	}
	return o
}

// key names a finding. A finding that moves to another line stays the same.
func key(f generate.Finding) string { return strings.Join([]string{f.File, f.Code, f.Message}, "\n") }

// changed prints what differs from the last outcome. It prints nothing if nothing does, such as after a
// change of a comment.
func (c *command) changed(last, now *outcome) error {
	if now.err != "" {
		if now.err != last.err {
			fmt.Fprintln(c.stderr, "opgen:", now.err)
		}
		now.found = last.found // they are not known to be gone
		return nil
	}
	r := now.result
	appeared, gone := 0, 0
	for _, f := range r.Findings {
		if _, ok := last.found[key(f)]; ok {
			continue
		}
		appeared++
		if c.format != "json" {
			fmt.Fprint(c.stderr, f.Text())
		}
	}
	for _, k := range slices.Sorted(maps.Keys(last.found)) {
		if _, ok := now.found[k]; ok {
			continue
		}
		gone++
		if f := last.found[k]; c.format != "json" {
			fmt.Fprintf(c.stderr, "gone: %s:%d:%d: %s: %s\n", f.File, f.Line, f.Column, f.Code, f.Message)
		}
	}
	first := last.result == nil
	if !first && appeared+gone+len(r.Changes) == 0 && len(r.Refused) == 0 {
		return nil
	}
	if c.format == "json" {
		enc := json.NewEncoder(c.stdout)
		enc.SetEscapeHTML(false)
		return enc.Encode(c.resultOf(r))
	}
	if len(r.Refused) > 0 {
		c.refused(r.Refused)
	}
	switch n := len(r.Findings); {
	case n > 0:
		fmt.Fprintf(c.stdout, "opgen: %s, %d new, %d gone\n", english.Count(n, "finding"), appeared, gone)
	case gone > 0:
		fmt.Fprintf(c.stdout, "opgen: no findings, %d gone\n", gone)
	}
	if len(r.Refused) == 0 && (len(r.Findings) == 0 || len(r.Changes) > 0) {
		fmt.Fprintln(c.stdout, "opgen:", r.Summary())
	}
	return nil
}
