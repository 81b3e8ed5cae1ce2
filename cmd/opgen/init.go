package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/opgen/opgen/internal/base/version"
	"github.com/opgen/opgen/internal/gomod"
	"github.com/opgen/opgen/internal/scaffold"
)

// tool is the import path of this program.
const tool = version.Module + "/cmd/opgen"

// init writes what a module needs to begin with, and makes this program a tool of the module if that takes no
// download.
func (c *command) init() int {
	if c.op != "" {
		if err := scaffold.CheckName(c.op); err != nil {
			return c.fail(err)
		}
	}
	if c.module != "" {
		if err := gomod.Init(c.dir, c.module); err != nil {
			return c.fail(err)
		}
	}
	root, path, err := gomod.Root(c.dir)
	if err != nil {
		return c.fail(err)
	}
	files, err := scaffold.Module(root, path, c.op)
	if err != nil {
		if c.module != "" { // all or nothing
			err = errors.Join(err, os.Remove(filepath.Join(root, "go.mod")))
		}
		return c.fail(err)
	}
	if c.module != "" {
		files = append([]string{"go.mod"}, files...)
	}
	w := written{Files: files, Tool: new(true), Next: "run go tool opgen new NAME, then go tool opgen generate"}
	if c.op != "" {
		w.Next = fmt.Sprintf("change specs/%s.toml, then run go tool opgen generate", c.op)
	}
	own, _, _ := strings.Cut(self(), " ")
	added, err := gomod.AddTool(root, tool, gomod.Module{Path: version.Module, Version: "v" + own})
	if err != nil {
		fmt.Fprintf(c.stderr, "opgen: note: go.mod does not have the tool opgen, and without downloads the go command cannot add it: %v\n", err)
		w.Tool, w.Next = new(false), "run go get -tool "+tool+", then "+strings.TrimPrefix(w.Next, "run ")
	}
	w.added = added
	return c.wrote(w)
}
