// Package config reads opgen.toml, which says where a module keeps its specs and what is generated
// from them.
package config

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/nearest"
	"github.com/opgen/opgen/internal/source"
)

// Name is the name of the configuration file.
const Name = "opgen.toml"

// Config is the configuration of a module. Folders are relative to Root, with slashes.
type Config struct {
	Root    string // folder of opgen.toml, absolute
	Specs   string // folder of the specs
	Output  string // folder of the generated packages
	Kernels string // folder of the package of hand-written kernels
	// Import paths.
	Runtime         string // of the runtime's packages
	GeneratedImport string // of the generated packages
	KernelsImport   string // of the kernels
	source.File            // the text, which is part of what output depends on
}

// Find looks for opgen.toml in dir and the folders above it.
func Find(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, Name)); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no %s in %s or above: it says where specs are and where generated code goes", Name, dir)
		}
	}
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+("[^"]+"|\S+)`)

// Load reads the configuration of the module at root. Import paths that it does not give follow from
// the module's path in go.mod. Findings go to list; err is for files that cannot be read.
func Load(root string, list *diag.List) (*Config, error) {
	data, err := os.ReadFile(filepath.Join(root, Name))
	if err != nil {
		return nil, err
	}
	c := &Config{Root: root, Specs: "specs", Output: "generated", Kernels: "kernels", File: source.File{Path: Name, Text: string(data)}}
	table, serr := source.Parse(Name, string(data))
	if serr != nil {
		list.Add(diag.Syntax, serr.Span, "%s", serr.Message)
		return nil, nil
	}
	fields := map[string]*string{"specs": &c.Specs, "output": &c.Output, "kernels": &c.Kernels, "runtime": &c.Runtime}
	known := []string{"edition", "specs", "output", "kernels", "runtime"}
	spans := map[string]source.Span{}
	for _, e := range table.Entries {
		spans[e.Key] = source.SpanOf(e.Value)
		if e.Key == "edition" {
			if s, ok := e.Value.(*source.Scalar); !ok || s.Value != int64(1) {
				list.Add(diag.BadConfig, source.SpanOf(e.Value), "want edition = 1")
			}
			continue
		}
		f := fields[e.Key]
		if f == nil {
			d := list.Add(diag.UnknownKey, e.KeySpan, "%s has no key %s", Name, e.Key)
			if n := nearest.Name(e.Key, known); n != "" {
				d.Hinted("did you mean %s?", n)
			} else {
				d.Hinted("keys are %s", strings.Join(known, ", "))
			}
			continue
		}
		s, ok := e.Value.(*source.Scalar)
		v, isString := "", false
		if ok {
			v, isString = s.Value.(string)
		}
		if !isString || v == "" {
			list.Add(diag.WrongKind, source.SpanOf(e.Value), "%s: want a string", e.Key)
			continue
		}
		*f = v
	}
	if table.Get("edition") == nil {
		list.Add(diag.MissingKey, source.Span{File: table.File}, "edition is missing").Hinted("begin the file with edition = 1")
	}
	if c.Runtime == "" {
		list.Add(diag.MissingKey, source.Span{File: table.File}, "runtime is missing: the import path of opgen's runtime").
			Hinted(`runtime = "github.com/opgen/opgen/runtime"`)
	}
	for _, key := range []string{"specs", "output", "kernels"} {
		p := fields[key]
		*p = path.Clean(filepath.ToSlash(*p))
		if !filepath.IsLocal(filepath.FromSlash(*p)) || *p == "." {
			list.Add(diag.BadConfig, spans[key], "%s must be a folder below the module's root, not %s", key, *p)
		}
	}
	if nested(c.Specs, c.Output) || nested(c.Kernels, c.Output) || nested(c.Specs, c.Kernels) {
		list.Add(diag.BadConfig, spans["output"], "specs, output and kernels must be different folders, none within another")
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("%s stands at a module's root: %w", Name, err)
	}
	m := moduleLine.FindSubmatch(mod)
	if m == nil {
		return nil, fmt.Errorf("%s has no module line", filepath.Join(root, "go.mod"))
	}
	module := strings.Trim(string(m[1]), `"`)
	c.GeneratedImport, c.KernelsImport = module+"/"+c.Output, module+"/"+c.Kernels
	return c, nil
}

// nested reports whether one of two clean slash paths is the other or lies within it.
func nested(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	n := min(len(as), len(bs))
	return slices.Equal(as[:n], bs[:n])
}
