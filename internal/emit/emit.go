// Package emit prints resolved models as Go source. Each generated file has an emitter, which reads nothing
// but the model.
package emit

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/opgen/opgen/formula/expr"
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
	files, err := e.files(o.Package, o.Source, []part{
		{"attrs.go", e.packageDoc(), e.attrs},
		{"graph.go", "", e.graph},
		{"shapes.go", "", e.shapes},
		{"tasks.go", "", e.tasks},
	})
	if by := chooser(o); err == nil && o.Kind == "operator" && by != nil {
		var more []artifact.Artifact
		more, err = e.shortForms(by, files)
		files = append(files, more...)
	}
	if err == nil && o.CUDA != nil {
		var more []artifact.Artifact
		more, err = e.device()
		files = append(files, more...)
	}
	if err != nil {
		return nil, err
	}
	files[0] = files[0].Of(o.Text)
	return files, nil
}

// Enum returns the files of a shared enum's package.
func Enum(p Paths, en *model.Enum) ([]artifact.Artifact, error) {
	e := newEmitter(p, nil)
	doc := fmt.Sprintf("Package %s is the enum %s, which attributes of several operators share.", en.Package, en.Name)
	files, err := e.files(en.Package, en.Source, []part{{"enum.go", doc, func() { e.enum(en) }}})
	if err != nil {
		return nil, err
	}
	files[0] = files[0].Of(en.Text)
	return files, nil
}

// Catalogue returns the package that registers all operators with their kernels.
func Catalogue(p Paths, m *model.Module, folder string) ([]artifact.Artifact, error) {
	e := newEmitter(p, nil)
	e.packages["formula"], e.packages["gpu"] = path.Join(path.Dir(p.Runtime), "formula"), e.rt("gpu") // formula lies beside the runtime
	doc := "Package catalogue lists the operators of the module and registers them with their kernels. It does not compile if a kernel is missing or has the wrong type."
	if slices.ContainsFunc(m.Operators, func(o *model.Operator) bool { return o.Derived }) {
		doc = "Package catalogue lists the operators of the module and registers them with their kernels. The kernel of an operator is its formula if the module has no other."
	}
	return e.files("catalogue", folder, []part{{"catalogue.go", doc, func() { e.catalogue(m) }}})
}

type emitter struct {
	paths    Paths
	op       *model.Operator
	packages map[string]string // the import paths of the packages that generated code may use, by name
	text     strings.Builder   // the declarations of the file that is emitted
	embeds   bool              // whether the file embeds another one
}

// part is a file of a package.
type part struct {
	name, doc string // doc is the comment of the package
	emit      func()
}

// files returns the files of a package.
func (e *emitter) files(pkg, from string, parts []part) ([]artifact.Artifact, error) {
	var out []artifact.Artifact
	for _, p := range parts {
		e.text.Reset()
		e.embeds = false
		p.emit()
		data, err := e.layout(pkg, p.doc, e.text.String())
		if err != nil {
			return nil, fmt.Errorf("%s/%s: generated code does not parse, which is a bug in opgen: %w", pkg, p.name, err)
		}
		out = append(out, artifact.Artifact{Path: pkg + "/" + p.name, Source: from, Data: append([]byte("\n"), data...)})
	}
	return out, nil
}

// newEmitter returns an emitter for the package of an operator. o is nil for the other packages.
func newEmitter(p Paths, o *model.Operator) *emitter {
	e := &emitter{paths: p, op: o, packages: map[string]string{}}
	for _, name := range []string{"errors", "math", "reflect"} {
		e.packages[name] = name
	}
	for _, name := range []string{"attr", "dtype", "gpu", "graph", "op", "opimpl", "partition", "perm", "region", "shape", "task", "tensor"} {
		e.packages[name] = e.rt(name)
	}
	e.packages[e.importAs(p.Kernels)] = p.Kernels
	if o == nil {
		return e
	}
	for _, a := range o.Attrs {
		for _, x := range append([]*model.Attr{a}, a.Fields...) {
			if x.Enum != nil && x.Enum.Package != "" {
				e.enumPkg(x.Enum)
			}
		}
	}
	for _, s := range o.Slots {
		if s.Init.Operator != "" {
			e.initPkg(s)
		}
	}
	for _, a := range o.Args {
		if _, pkg, _ := splitType(a.Type); strings.Contains(pkg, "/") {
			e.packages[e.importAs(pkg)] = pkg
		}
	}
	return e
}

// isLocal reports whether variables or parameters of generated code have a name, and would hide a package.
func isLocal(name string) bool {
	return len(name) == 1 || slices.Contains([]string{"attribute", "attrs", "bounds", "ctx", "err", "extent", "lanes", "limit", "ok", "operator", "opts", "shard"}, name)
}

// importAs returns the name under which generated code imports a package: the last part of its path, without
// the characters that Go names cannot have. A 1 follows if Go itself declares the name, and an underscore if
// another package has it.
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
	if types.Universe.Lookup(name) != nil && name != "any" && name != "comparable" { // of which generated code uses neither
		name += "1"
	}
	for name == "" || isLocal(name) || token.IsKeyword(name) || e.packages[name] != "" && e.packages[name] != pkg {
		name += "_"
	}
	return name
}

// pkg returns the name under which generated code imports another generated package.
func (e *emitter) pkg(pkg string) string { return e.use(e.gen(pkg)) }

// use returns the name under which generated code imports a package.
func (e *emitter) use(path string) string {
	name := e.importAs(path)
	e.packages[name] = path
	return name
}

// enumPkg returns the name under which generated code imports the package of a shared enum.
func (e *emitter) enumPkg(en *model.Enum) string { return e.use(cmp.Or(en.Import, e.gen(en.Package))) }

// initPkg returns the name under which generated code imports the package of a weight's initializer.
func (e *emitter) initPkg(s *model.Slot) string {
	return e.use(cmp.Or(s.InitImport, e.gen(goname.Package(s.Init.Operator))))
}

// goFunc returns, as Go, the function that a spec names with the import path of its package.
func (e *emitter) goFunc(f *expr.GoCall) string {
	return e.use(f.Package) + "." + f.Func
}

func (e *emitter) rt(pkg string) string { return e.paths.Runtime + "/" + pkg }

func (e *emitter) gen(pkg string) string { return e.paths.Generated + "/" + pkg }

// p prints lines of code, or parts of one.
func (e *emitter) p(format string, args ...any) { fmt.Fprintf(&e.text, format+"\n", args...) }

// function prints a function of one statement, on one line if it is short enough.
func (e *emitter) function(head, format string, args ...any) {
	one := fmt.Sprintf("%s { %s }", head, fmt.Sprintf(format, args...))
	if len(one) > width {
		one = fmt.Sprintf("%s {\n%s\n}", head, fmt.Sprintf(format, args...))
	}
	e.p("%s", one)
}

// commentWidth is the largest number of columns of a comment's text.
const commentWidth = 97

// comment prints a comment.
func (e *emitter) comment(format string, args ...any) {
	for _, line := range commentLines(fmt.Sprintf(format, args...)) {
		e.p("%s", line)
	}
}

// commentLines returns a text as lines of a comment. A line that would be a build constraint of the form
// before Go 1.17 is quoted.
func commentLines(text string) []string {
	var out []string
	for _, line := range wrap(text, commentWidth) {
		if rest, ok := strings.CutPrefix(line, "+build"); ok {
			line = `"+build"` + rest
		}
		out = append(out, strings.TrimRight("// "+line, " "))
	}
	return out
}

// row is a line of a list of declarations: a field, a constant.
type row struct {
	code string // its columns, separated by tabs
	note string // a comment
}

// rows prints declarations. The comment of each follows it, or is above it if the line would be too long.
func (e *emitter) rows(rows []row) {
	var widths []int
	for _, r := range rows {
		for i, c := range strings.Split(r.code, "\t") {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len(c)+1)
		}
	}
	column := tab
	for _, w := range widths {
		column += w
	}
	for _, r := range rows {
		code := strings.ReplaceAll(r.code, "\t", " ")
		switch {
		case r.note == "":
			e.p("%s", code)
		case column+len(r.note)+3 <= width && !strings.HasPrefix(r.note, "+"):
			e.p("%s // %s", code, r.note)
		default:
			e.comment("%s", r.note)
			e.p("%s", code)
		}
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

// sentence returns a text with a period at the end, unless it ends with another mark.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && !strings.ContainsRune(".!?:", rune(s[len(s)-1])) {
		s += "."
	}
	return s
}

// lowerFirst returns a text with a lower-case first letter, unless its first word is a name: a single letter,
// such as N, or a word with other capitals, such as NumPy.
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
func line(s string) string { return strings.Join(strings.Fields(s), " ") }
