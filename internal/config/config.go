// Package config reads opgen.toml, which says where a module keeps its specs and what is generated
// from them.
package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	gomodule "golang.org/x/mod/module"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/input"
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
	Pages   string // folder of the generated pages, "" if there are none
	// Import paths.
	Runtime         string // of the runtime's packages
	GeneratedImport string // of the generated packages
	KernelsImport   string // of the kernels
	Plugins         []*Plugin
	Uses            []*Use
	Module          *Module
	KernelsKey      source.Span // of the folder of kernels; zero if opgen.toml does not name one
	source.File                 // the text, which is part of what output depends on
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

// Load reads the configuration of the module at root. Import paths that it does not give follow from
// the module's path in go.mod. Findings go to list; err is for files that cannot be read.
func Load(root string, list *diag.List) (*Config, error) { return LoadAs(root, Name, list) }

// LoadAs is Load, with another path of opgen.toml in findings.
func LoadAs(root, name string, list *diag.List) (*Config, error) {
	data, err := input.Text(filepath.Join(root, Name))
	if err != nil {
		return nil, err
	}
	return Parse(root, name, string(data), list)
}

// Parse is LoadAs with the text of opgen.toml, which need not be a file yet.
func Parse(root, name, text string, list *diag.List) (*Config, error) {
	c := &Config{Root: root, Specs: "specs", Output: "generated", Kernels: "kernels", File: source.File{Path: name, Text: text}}
	table, serr := source.Parse(name, text)
	if serr != nil {
		d := list.Add(diag.Syntax, serr.Span, "%s", serr.Message)
		if serr.First.File != nil {
			d.See(serr.First, "first defined here")
		}
		return nil, nil
	}
	fields := map[string]*string{"specs": &c.Specs, "output": &c.Output, "kernels": &c.Kernels, "runtime": &c.Runtime, "pages": &c.Pages}
	known := Keys.Names()
	var free []string // known keys that are absent
	for _, k := range known {
		if table.Get(k) == nil {
			free = append(free, k)
		}
	}
	var meant []string // absent keys of which a misspelled form is present
	spans := map[string]source.Span{}
	for _, e := range table.Entries {
		spans[e.Key] = source.SpanOf(e.Value)
		if e.Key == "edition" {
			if s, ok := e.Value.(*source.Scalar); !ok || s.Value != int64(1) {
				list.Add(diag.BadConfig, source.SpanOf(e.Value), "want edition = 1")
			}
			continue
		}
		if e.Key == "plugin" {
			c.plugins(e.Value, list)
			continue
		}
		if e.Key == "use" {
			c.uses(e.Value, list)
			continue
		}
		f := fields[e.Key]
		if f == nil {
			d := list.Add(diag.UnknownKey, e.KeySpan, "%s has no key %s", Name, e.Key)
			if n := d.Nearest(e.Key, free); n != "" {
				meant = append(meant, n)
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
		if !isString {
			list.Add(diag.WrongKind, source.SpanOf(e.Value), "%s: want a string, got %s", e.Key, english.Article(source.Kind(e.Value)))
			delete(spans, e.Key)
			continue
		}
		*f = v
	}
	for _, key := range []string{"edition", "runtime"} {
		if table.Get(key) != nil || slices.Contains(meant, key) {
			continue
		}
		d := list.Add(diag.MissingKey, source.Span{File: table.File}, "%s is missing", key)
		if key == "edition" {
			d.Hinted("begin the file with edition = 1")
		} else {
			d.Hinted(`give the import path of opgen's runtime: runtime = "github.com/opgen/opgen/runtime"`)
		}
	}
	if s, ok := spans["runtime"]; ok && !importPath.MatchString(c.Runtime) {
		list.Add(diag.BadConfig, s, "runtime: %q is not an import path", c.Runtime)
	}
	good := true
	folders := []string{"specs", "output", "kernels"}
	pairs := [][2]string{{"output", "specs"}, {"output", "kernels"}, {"kernels", "specs"}}
	if table.Get("pages") != nil {
		folders = append(folders, "pages")
		pairs = append(pairs, [2]string{"pages", "specs"}, [2]string{"pages", "output"}, [2]string{"pages", "kernels"})
	}
	for _, key := range folders {
		p := fields[key]
		dir, local := below(*p)
		switch {
		case !local:
			list.Add(diag.BadConfig, spans[key], "%s: want a folder below the module's root, got %q", key, *p)
			good = false
		case key != "specs" && key != "pages" && !isImportPath(dir):
			list.Add(diag.BadConfig, spans[key], "%s: %q cannot be part of an import path", key, *p)
		case source.InRepository(dir):
			list.Add(diag.BadConfig, spans[key], "%s: want a folder that is not one of a repository, got %q", key, *p)
		case !source.PlainPath(dir):
			list.Add(diag.BadConfig, spans[key], "%s: want a folder with letters, digits, spaces and the characters -_.+@~ in its name, got %q", key, dir)
		}
		*p = dir
	}
	for _, pair := range pairs {
		a, b := pair[0], pair[1]
		if !good || !nested(*fields[a], *fields[b]) {
			continue
		}
		if table.Get(a) == nil {
			a, b = b, a
		}
		d := list.Add(diag.BadConfig, spans[a], "%s and %s must be different folders, neither within the other", a, b)
		if table.Get(b) == nil {
			d.Hinted("%s is %q by default", b, *fields[b])
		} else {
			d.See(spans[b], "%s", b)
		}
	}
	for _, key := range []string{"output", "kernels"} {
		if at := otherModule(root, *fields[key]); good && at != "" {
			list.Add(diag.BadConfig, cmp.Or(spans[key], source.Span{File: table.File}), "%s: the file %s makes packages there another module", key, at).
				Hinted("remove the file, or give opgen.toml a place beside it")
		}
	}
	for _, p := range c.Plugins {
		if other := c.OutOfPlace(p.Out); good && other != "" {
			list.Add(diag.BadConfig, p.Span, "plug-in %s: the folders %s and %s must be different, neither within the other", p.Name, p.Out, other)
		}
	}
	mod, err := input.Text(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("%s belongs at a module's root: %w", Name, err)
	}
	self, err := modulePath(filepath.Join(root, "go.mod"), mod)
	if err != nil {
		return nil, err
	}
	c.GeneratedImport, c.KernelsImport = self+"/"+c.Output, self+"/"+c.Kernels
	if i := slices.IndexFunc(c.Uses, func(u *Use) bool { return u.Module == self }); i >= 0 {
		list.Add(diag.BadUse, c.Uses[i].Span, "%s is this module, whose specs need no use", self)
	}
	c.Module, c.KernelsKey = readModule(root, self, mod), spans["kernels"]
	if s, ok := spans["runtime"]; ok && importPath.MatchString(c.Runtime) && !c.Module.Has(c.Runtime+"/task") {
		c.Module.noRuntime(c.Runtime, s, list)
	}
	return c, nil
}

// otherModule returns the path of a go.mod in a folder below the module's root, or in one between them; "" if
// there is none.
func otherModule(root, dir string) string {
	parts := strings.Split(dir, "/")
	for i := range parts {
		at := strings.Join(parts[:i+1], "/") + "/go.mod"
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(at))); err == nil {
			return at
		}
	}
	return ""
}

// isImportPath reports whether Go can import packages of a folder of the module, on all systems.
func isImportPath(dir string) bool {
	parts := strings.Split(dir, "/")
	return importPath.MatchString(dir) && gomodule.CheckImportPath("m/"+dir) == nil && !slices.Contains(parts, "vendor") && parts[len(parts)-1] != "main"
}

// importPath matches what Go accepts as an import path, or as a part of one.
var importPath = regexp.MustCompile(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

// nested reports whether one of two clean slash paths is the other or is within it.
func nested(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	n := min(len(as), len(bs))
	return slices.Equal(as[:n], bs[:n])
}
