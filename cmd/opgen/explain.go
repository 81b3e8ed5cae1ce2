package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/explain"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/workspace"
)

func (c *command) explain() int {
	name := c.args[0]
	code := diag.Code(strings.ToUpper(name))
	if rule, ok := diag.Rules[code]; ok {
		if c.format == "json" {
			return c.print(struct {
				Code  diag.Code `json:"code"`
				Title string    `json:"title"`
				Doc   string    `json:"doc"`
				URL   string    `json:"url"`
			}{code, rule.Title, rule.Doc, code.URL()}, false)
		}
		fmt.Fprintf(c.stdout, "%s: %s\n\n%s\n", code, rule.Title, rule.Doc)
		return clean
	}
	root, err := config.Find(c.dir)
	if err != nil {
		return c.fail(err)
	}
	if file, line, ok := place(name); ok {
		return c.explainLine(root, file, line)
	}
	// The operator is checked with the specs that it names. All others may have findings.
	texts, err := workspace.NewDisk(root).Texts(nil)
	if err != nil {
		return c.fail(err)
	}
	module := new(workspace.Cache).Open(texts)
	if err := module.Err(); err != nil {
		return c.fail(err)
	}
	names := module.Operators()
	if len(names) > 0 && !slices.Contains(names, name) {
		hint := "operators are " + strings.Join(names, ", ")
		if n := nearest.Name(name, names); n != "" {
			hint = fmt.Sprintf("did you mean %s?", n)
		}
		return c.fail(fmt.Errorf("there is no operator or diagnostic %s; %s", name, hint))
	}
	o := module.Operator(name)
	switch {
	case o == nil:
		return c.check() // which reports what is wrong
	case c.loops:
		return c.explainLoops(o)
	case c.format == "json":
		return c.print(o, false)
	}
	if err := explain.Operator(c.stdout, o); err != nil {
		return c.fail(err)
	}
	return clean
}

// explainLoops prints the loops of an operator's tasks.
func (c *command) explainLoops(o *model.Operator) int {
	if c.format == "json" {
		return c.fail(errors.New("flag -loops prints text only"))
	}
	if !o.Derived {
		return c.fail(fmt.Errorf("operator %s has a kernel by hand, and so no loops", o.Name))
	}
	n, interpreted, err := explain.Loops(c.stdout, o, len(o.Operator.Examples), false)
	if err != nil {
		return c.fail(err)
	}
	fmt.Fprintln(c.stdout, explain.Summary(n, interpreted))
	return clean
}

// place reads the name of a file and a line, file:line.
func place(s string) (file string, line int, ok bool) {
	file, number, _ := strings.Cut(s, ":")
	line, err := strconv.Atoi(number)
	return file, line, err == nil && line > 0
}

// explainLine prints the declarations that come from a line of a spec, or the line of the spec that a line of
// generated code comes from. The file is relative to the folder to work in.
func (c *command) explainLine(root, file string, line int) int {
	p, err := driver.Load(root)
	if err != nil {
		return c.fail(err)
	}
	m := p.Module()
	if m == nil {
		return c.check() // which reports what is wrong
	}
	files, err := p.Files()
	if err != nil {
		return c.fail(err)
	}
	full, err := filepath.Abs(filepath.Join(c.dir, file))
	if err != nil {
		return c.fail(err)
	}
	rel, err := filepath.Rel(root, full)
	if err != nil {
		return c.fail(err)
	}
	code := explain.Generated{Root: root, Output: p.Config.Output, Module: m, Files: files}
	found, err := code.Line(filepath.ToSlash(rel), line)
	if err != nil {
		return c.fail(err)
	}
	if c.format == "json" {
		return c.print(found, false)
	}
	found.Print(c.stdout)
	return clean
}

// explained lists what explain explains by a name: operators and diagnostics.
func (c *command) explained() []string {
	names := slices.Sorted(maps.Keys(diag.Rules))
	out := make([]string, len(names))
	for i, code := range names {
		out[i] = string(code) + "\t" + diag.Rules[code].Title
	}
	return append(out, c.operators()...)
}

// operators lists the operators of the module; none if its files cannot be read.
func (c *command) operators() []string {
	root, err := config.Find(c.dir)
	if err != nil {
		return nil
	}
	texts, err := workspace.NewDisk(root).Texts(nil)
	if err != nil {
		return nil
	}
	return new(workspace.Cache).Open(texts).Operators()
}
