package main

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/breaking"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/exportdata"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/revision"
)

// breaking prints what changes since a revision break.
func (c *command) breaking() int {
	if c.against == "" {
		return c.fail(errors.New("breaking: want -against REVISION, such as -against v0.1.0"))
	}
	ctx, stop := interruptible()
	defer stop()
	root, err := config.Find(c.dir)
	if err != nil {
		return c.fail(err)
	}
	now, err := driver.Load(root)
	if err != nil {
		return c.fail(err)
	}
	if now.Module() == nil {
		return c.check() // which reports what is wrong
	}
	found, err := changesSince(ctx, root, c.against, now)
	if err != nil {
		return c.fail(err)
	}
	if c.format == "json" {
		return c.print(append([]breaking.Change{}, found...), len(found) > 0)
	}
	for _, f := range found {
		fmt.Fprintln(c.stdout, f)
	}
	fmt.Fprintf(c.stdout, "opgen: %s since %s\n", english.Count(len(found), "breaking change"), c.against)
	if len(found) > 0 {
		return findings
	}
	return clean
}

// changesSince returns what breaks in a project since a revision.
func changesSince(ctx context.Context, root, ref string, now *driver.Project) (found []breaking.Change, err error) {
	dir, err := os.MkdirTemp("", "opgen")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := revision.Extract(ctx, root, ref, dir); err != nil {
		return nil, err
	}
	old, err := driver.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	if old.Module() == nil {
		return nil, fmt.Errorf("%s: this version of opgen does not accept its specs: %s", ref, old.Findings.Sorted()[0].Message)
	}
	was, err := packages(old)
	if err != nil {
		return nil, err
	}
	is, err := packages(now)
	if err != nil {
		return nil, err
	}
	code, err := changedCode(root, was, is)
	if err != nil {
		return nil, err
	}
	found = append(code, breaking.Models(old.Module(), now.Module())...)
	breaking.Sort(found)
	return found, nil
}

// changedCode compares generated packages. It compiles what they import, unless none of them differs.
func changedCode(root string, was, is map[string]breaking.Package) ([]breaking.Change, error) {
	same := func(a, b breaking.Package) bool { return maps.Equal(a.Files, b.Files) }
	if maps.EqualFunc(was, is, same) {
		return nil, nil
	}
	var imports []string
	for _, packages := range []map[string]breaking.Package{was, is} {
		more, err := breaking.Imports(packages)
		if err != nil {
			return nil, err
		}
		imports = append(imports, more...)
	}
	slices.Sort(imports)
	files, err := exportdata.Files(root, nil, slices.Compact(imports)...)
	if err != nil {
		return nil, err
	}
	return breaking.Packages(was, is, exportdata.Importer(token.NewFileSet(), files))
}

// packages returns the generated packages of a project.
func packages(p *driver.Project) (map[string]breaking.Package, error) {
	files, err := p.Files()
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.Path] = string(f.Data)
	}
	m := p.Module()
	return breaking.Generated(p.Config.GeneratedImport, texts, func(folder string) (name, source string) {
		if i := slices.IndexFunc(m.Operators, func(o *model.Operator) bool { return o.Package == path.Base(folder) }); i >= 0 {
			return m.Operators[i].Name, m.Operators[i].Source
		}
		if i := slices.IndexFunc(m.Enums, func(e *model.Enum) bool { return e.Package == path.Base(folder) }); i >= 0 {
			return m.Enums[i].Name, m.Enums[i].Source
		}
		return folder, p.Config.Specs
	}), nil
}
