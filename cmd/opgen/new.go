package main

import (
	"fmt"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scaffold"
)

func (c *command) new() int {
	root, err := config.Find(c.dir)
	if err != nil {
		return c.fail(err)
	}
	var list diag.List
	cfg, err := config.Load(root, &list)
	if err != nil {
		return c.fail(err)
	}
	if !list.Empty() {
		return c.check() // which reports what is wrong
	}
	files, err := scaffold.New(cfg, c.args[0], scaffold.Parts{Kernel: c.kernel, CUDA: c.cuda})
	if err != nil {
		return c.fail(err)
	}
	what := "it"
	switch {
	case c.kernel && c.cuda:
		what = "them"
	case c.kernel || c.cuda:
		what = "both"
	}
	return c.wrote(written{Files: files, Next: fmt.Sprintf("change %s, then run opgen generate", what)})
}

// written says what new or init wrote.
type written struct {
	Files []string `json:"files"`
	Tool  *bool    `json:"tool,omitempty"` // of init
	Next  string   `json:"next"`

	added bool // whether init added the tool
}

// wrote prints what was written, and returns the exit status.
func (c *command) wrote(w written) int {
	if c.format == "json" {
		return c.print(w, false)
	}
	for _, f := range w.Files {
		fmt.Fprintln(c.stdout, "wrote", f)
	}
	if w.added {
		fmt.Fprintln(c.stdout, "added the tool opgen to go.mod")
	}
	fmt.Fprintln(c.stdout, "next:", w.Next)
	return clean
}
