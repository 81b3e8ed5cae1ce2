// Package emit turns resolved models into Go source. There is one emitter for each generated file;
// all of them read the model only.
package emit

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
)

// Paths are the import paths that generated code uses.
type Paths struct {
	Runtime   string // of the runtime's packages: Runtime + "/task"
	Generated string // of the generated packages: Generated + "/linear"
	Kernels   string // of the package of hand-written kernels
}

// Operator returns the files of an operator's package.
func Operator(p Paths, o *model.Operator) ([]artifact.Artifact, error) {
	e := newEmitter(p, o)
	return e.files(o.Package, o.Source, []part{
		{"attrs.go", e.attrs},
		{"slots.go", e.slots},
		{"shapes.go", e.shapes},
		{"tasks.go", e.tasks},
		{"graph.go", e.graph},
	})
}

// Enum returns the files of a shared enum's package.
func Enum(p Paths, en *model.Enum) ([]artifact.Artifact, error) {
	e := newEmitter(p, nil)
	return e.files(en.Package, en.Source, []part{{"enum.go", func(f *jen.File) {
		packageComment(f, fmt.Sprintf("Package %s is the enum %s, which attributes of several operators share.", en.Package, en.Name))
		e.enum(f, en)
	}}})
}

// Catalogue returns the package that registers all operators with their kernels.
func Catalogue(p Paths, m *model.Module, source string) ([]artifact.Artifact, error) {
	e := newEmitter(p, nil)
	return e.files("catalogue", source, []part{{"catalogue.go", func(f *jen.File) { e.catalogue(f, m) }}})
}

type emitter struct {
	paths    Paths
	op       *model.Operator
	packages map[string]string // the import paths of the packages that code may use, by name
}

type part struct {
	name string
	emit func(*jen.File)
}

func (e *emitter) files(pkg, source string, parts []part) ([]artifact.Artifact, error) {
	var out []artifact.Artifact
	for _, p := range parts {
		f := jen.NewFilePathName(e.gen(pkg), pkg)
		for name, path := range e.packages {
			f.ImportName(path, name)
		}
		p.emit(f)
		var b bytes.Buffer
		if err := f.Render(&b); err != nil {
			return nil, fmt.Errorf("%s/%s: generated code does not parse, which is a mistake in opgen: %w", pkg, p.name, err)
		}
		comment, body, _ := strings.Cut(b.String(), "package "+pkg+"\n")
		if i := strings.Index(body, "\nimport ("); i == 0 {
			_, body, _ = strings.Cut(body, "\n)\n")
		} else if strings.HasPrefix(body, "\nimport ") {
			_, body, _ = strings.Cut(body[1:], "\n")
		}
		data, err := e.layout(pkg, comment, body)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: generated code does not parse, which is a mistake in opgen: %w", pkg, p.name, err)
		}
		out = append(out, artifact.Artifact{Path: pkg + "/" + p.name, Source: source, Data: append([]byte("\n"), data...)})
	}
	return out, nil
}

// newEmitter returns an emitter of an operator, or of a package that belongs to none.
func newEmitter(p Paths, o *model.Operator) *emitter {
	e := &emitter{paths: p, op: o, packages: map[string]string{path.Base(p.Kernels): p.Kernels}}
	for _, name := range []string{"errors", "math", "reflect", "strconv"} {
		e.packages[name] = name
	}
	for _, name := range []string{"attr", "dtype", "graph", "op", "partition", "perm", "region", "shape", "task", "tensor"} {
		e.packages[name] = e.rt(name)
	}
	if o == nil {
		return e
	}
	for _, a := range o.Attrs {
		for _, x := range append([]*model.Attr{a}, a.Fields...) {
			if x.Enum != nil && x.Enum.Package != "" {
				e.know(x.Enum.Package)
			}
		}
	}
	for _, s := range o.Slots {
		if s.Init.Operator != "" {
			e.know(goname.Package(s.Init.Operator))
		}
	}
	for _, a := range o.Args {
		if _, pkg, _ := splitType(a.Type); strings.Contains(pkg, "/") {
			e.packages[e.importAs(pkg)] = pkg
		}
	}
	return e
}

// importAs returns the name under which code imports the package of an argument's type: the last part of its path, as
// far as that is a name and is free.
func (e *emitter) importAs(pkg string) string {
	if !strings.Contains(pkg, "/") {
		return pkg // of the runtime
	}
	name := strings.TrimLeft(strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, path.Base(pkg)), "0123456789")
	for name == "" || e.packages[name] != "" && e.packages[name] != pkg {
		name += "_"
	}
	return name
}

// know adds a generated package to those that code may use.
func (e *emitter) know(pkg string) { e.packages[pkg] = e.gen(pkg) }

func (e *emitter) rt(pkg string) string { return e.paths.Runtime + "/" + pkg }

func (e *emitter) gen(pkg string) string { return e.paths.Generated + "/" + pkg }

func (e *emitter) task(name string) *jen.Statement      { return jen.Qual(e.rt("task"), name) }
func (e *emitter) opQ(name string) *jen.Statement       { return jen.Qual(e.rt("op"), name) }
func (e *emitter) partition(name string) *jen.Statement { return jen.Qual(e.rt("partition"), name) }
func (e *emitter) tensor(name string) *jen.Statement    { return jen.Qual(e.rt("tensor"), name) }
func (e *emitter) graphQ(name string) *jen.Statement    { return jen.Qual(e.rt("graph"), name) }
func (e *emitter) perm(name string) *jen.Statement      { return jen.Qual(e.rt("perm"), name) }

// packageComment writes the comment of a package, wrapped at 100 columns.
func packageComment(f *jen.File, text string) {
	for _, line := range wrap(text, 97) {
		f.PackageComment(strings.TrimRight("// "+line, " "))
	}
}

// comment writes a doc comment, wrapped at 100 columns, one // line each.
func comment(g interface{ Comment(string) *jen.Statement }, format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), 97) {
		g.Comment(strings.TrimRight("// "+line, " "))
	}
}

// wrap breaks a text into lines of at most width characters. Empty lines separate paragraphs.
func wrap(text string, width int) []string {
	var out []string
	for i, para := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out = append(out, "")
		}
		line := ""
		for _, w := range strings.Fields(para) {
			if line != "" && len(line)+1+len(w) > width {
				out = append(out, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += w
		}
		out = append(out, line)
	}
	return out
}

// sentence returns a text as the end of a comment: with a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && !strings.ContainsRune(".!?:", rune(s[len(s)-1])) {
		s += "."
	}
	return s
}

// lowerFirst returns a text with a small first letter, unless its first word is a name of one letter
// or has other capitals: N, NumPy.
func lowerFirst(s string) string {
	s = strings.TrimSpace(s)
	first, size := utf8.DecodeRuneInString(s)
	word, _, _ := strings.Cut(s, " ")
	if rest := word[min(size, len(word)):]; word != "A" && (rest == "" || rest != strings.ToLower(rest)) {
		return s
	}
	return string(unicode.ToLower(first)) + s[size:]
}

// line returns a text without line breaks, for a comment at the end of a line.
func line(s string) string { return "// " + strings.Join(strings.Fields(s), " ") }
