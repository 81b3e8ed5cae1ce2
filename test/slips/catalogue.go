package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/opgen/opgen/generate"
)

// catalogue is a copy of the repository's specs and kernels in a folder of its own, with the code that they
// generate.
type catalogue struct {
	dir       string
	originals map[string]string // the specs, by path
	words     []string
	compiler  *compiler
}

// config has no plug-in, since a plug-in would be compiled in the copy.
const config = `edition = 1
runtime = "github.com/opgen/opgen/runtime"
pages   = "docs/operators"
`

func newCatalogue(root string, exports map[string]string) (*catalogue, error) {
	dir, err := os.MkdirTemp("", "slips")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	c := &catalogue{dir: dir, originals: map[string]string{}}
	// specs name functions of these packages of the runtime
	for _, name := range []string{"go.mod", "specs", "kernels", "runtime/contraction", "runtime/equation", "runtime/fourier"} {
		from, to := filepath.Join(root, name), filepath.Join(dir, name)
		if name == "go.mod" {
			data, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(to, data, 0o666)
			}
			if err != nil {
				return c, err
			}
		} else if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			return c, err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "runtime", "task"), 0o777); err != nil {
		return c, err
	}
	if err := os.WriteFile(filepath.Join(dir, "opgen.toml"), []byte(config), 0o666); err != nil {
		return c, err
	}
	specs, err := filepath.Glob(filepath.Join(dir, "specs", "*.toml"))
	if err != nil {
		return c, err
	}
	for _, p := range specs {
		data, err := os.ReadFile(p)
		if err != nil {
			return c, err
		}
		c.originals[p] = string(data)
	}
	c.words = wordsOf(c.originals)
	r, err := generate.Write(context.Background(), generate.Options{Dir: dir})
	if err != nil {
		return c, err
	}
	if len(r.Findings) > 0 {
		return c, fmt.Errorf("want specs without findings, got %s", r.Findings[0].Text())
	}
	c.compiler, err = newCompiler(exports, dir)
	return c, err
}

// close removes the copy.
func (c *catalogue) close() { os.RemoveAll(c.dir) }

// outcome is what happened to a catalogue.
type outcome string

const (
	refused   outcome = "refused"   // by opgen check
	same      outcome = "same"      // no generated file differs
	generated outcome = "generated" // and compiles
)

// try makes slips, checks the specs, generates code if there are no findings, and compiles what differs. It
// restores the catalogue. The error says what no catalogue may do.
func (c *catalogue) try(seed, n uint64) (o outcome, made []string, err error) {
	changed, made := change(seed, n, c.originals, c.words)
	defer func() {
		for p := range changed {
			if e := os.WriteFile(p, []byte(c.originals[p]), 0o666); err == nil {
				err = e
			}
		}
	}()
	for p, text := range changed {
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			return "", made, err
		}
	}
	r, err := generate.Check(generate.Options{Dir: c.dir})
	if err != nil {
		return "", made, fmt.Errorf("opgen check ends with status 2: %w", err)
	}
	for _, f := range r.Findings {
		if err := placed(f); err != nil {
			return "", made, err
		}
	}
	if len(r.Findings) > 0 {
		return refused, made, nil
	}
	w, err := generate.Write(context.Background(), generate.Options{Dir: c.dir})
	if err != nil {
		return "", made, fmt.Errorf("opgen check finds nothing, opgen generate ends with status 2: %w", err)
	}
	if len(w.Findings)+len(w.Refused) > 0 {
		return "", made, fmt.Errorf("opgen check finds nothing, opgen generate has %d findings and %d refused files", len(w.Findings), len(w.Refused))
	}
	defer func() {
		for _, ch := range w.Changes {
			if e := restore(filepath.Join(c.dir, filepath.FromSlash(ch.Path)), ch.Old); err == nil {
				err = e
			}
		}
	}()
	packages := map[string]bool{}
	for _, ch := range w.Changes {
		if pkg, ok := strings.CutPrefix(filepath.ToSlash(filepath.Dir(ch.Path)), "generated/"); ok && strings.HasSuffix(ch.Path, ".go") {
			packages[pkg] = true
		}
	}
	if len(packages) == 0 {
		return same, made, nil
	}
	return generated, made, c.compiler.check(packages)
}

// placed returns an error if a finding has no place or no message.
func placed(f generate.Finding) error {
	if f.File == "" || f.Line < 1 || f.Message == "" || !strings.Contains(f.Text(), f.Message) {
		return fmt.Errorf("want findings with a place and a message, got %s: %q at %q, line %d", f.Code, f.Message, f.File, f.Line)
	}
	return nil
}

// restore writes a file as it was; nil if it was not there.
func restore(path string, data []byte) error {
	if data == nil {
		return os.Remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o666)
}
