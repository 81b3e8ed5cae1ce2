package explain

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/sourcemap"
)

// Trace connects a line of a spec with generated code.
type Trace struct {
	Spec         Place   `json:"spec"`
	Declarations []Place `json:"declarations"`

	from Place // which of them was asked for
}

// Place is a line of a file, which is relative to the module's root, with slashes.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"` // of the line of a spec, or the name of a declaration
}

func (p Place) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text) }

// Line traces a line between a spec and generated code. For a line of a generated file, it finds the
// declaration that holds the line, and the line of the spec. For a line of a spec, it finds the declarations
// that come from the line. root is the module's folder, output that of the generated packages below it, and
// file is relative to root, with slashes. It returns an error if a file has changed since the code was
// generated.
func Line(root, output, file string, line int) (*Trace, error) {
	if strings.HasPrefix(file, output+"/") {
		return generatedLine(root, file, line)
	}
	return specLine(root, output, file, line)
}

// Print prints the line that was asked for, and below it where it leads.
func (t *Trace) Print(w io.Writer) {
	if t.from != t.Spec {
		fmt.Fprintf(w, "%v\n%v\n", t.from, t.Spec)
		return
	}
	fmt.Fprintln(w, t.Spec)
	for _, d := range t.Declarations {
		fmt.Fprintf(w, "  %v\n", d)
	}
}

// generatedLine finds the declaration that holds a line of a generated file, and the line of the spec.
func generatedLine(root, file string, line int) (*Trace, error) {
	m, err := load(root, path.Dir(file))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.Files, func(f sourcemap.File) bool { return f.Name == path.Base(file) })
	if i < 0 {
		return nil, fmt.Errorf("%s: not in the source map of its package", file)
	}
	if _, err := current(root, file, m.Files[i].Sum); err != nil {
		return nil, err
	}
	d := m.Files[i].At(line)
	if d == nil {
		return nil, fmt.Errorf("%s:%d: no declaration stands here", file, line)
	}
	text, err := current(root, m.Spec, m.Sum)
	if err != nil {
		return nil, err
	}
	from := Place{file, d.Line, d.Name}
	return &Trace{Place{m.Spec, d.SpecLine, lineOf(text, d.SpecLine)}, []Place{from}, from}, nil
}

// specLine finds the declarations that come from a line of a spec or, if there are none, from the last line
// before it.
func specLine(root, output, file string, line int) (*Trace, error) {
	list, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(output), "*", sourcemap.Name))
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		folder := path.Join(output, filepath.Base(filepath.Dir(p)))
		m, err := load(root, folder)
		if err != nil {
			return nil, err
		}
		if m.Spec != file {
			continue
		}
		text, err := current(root, file, m.Sum)
		if err != nil {
			return nil, err
		}
		decls, from := m.From(line)
		if from == 0 {
			break
		}
		at := Place{file, from, lineOf(text, from)}
		t := &Trace{Spec: at, from: at}
		for _, name := range slices.Sorted(maps.Keys(decls)) {
			for _, d := range decls[name] {
				t.Declarations = append(t.Declarations, Place{path.Join(folder, name), d.Line, d.Name})
			}
		}
		return t, nil
	}
	return nil, fmt.Errorf("%s:%d: no declaration is generated from this line", file, line)
}

// load reads the source map of a generated package.
func load(root, folder string) (*sourcemap.Map, error) {
	data, err := input.File(filepath.Join(root, filepath.FromSlash(folder), sourcemap.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: want a generated package with a source map, got none; run opgen generate", folder)
	}
	if err != nil {
		return nil, err
	}
	m, err := sourcemap.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", folder, sourcemap.Name, err)
	}
	return m, nil
}

// current returns the text of a file. It returns an error if the file differs from the one of a source map.
func current(root, file, sum string) (string, error) {
	data, err := input.File(filepath.Join(root, filepath.FromSlash(file)))
	if err == nil && sourcemap.Sum(data) != sum {
		err = fmt.Errorf("%s: the file has changed since its source map was made; run opgen generate", file)
	}
	return string(data), err
}

// lineOf returns a line of a text, without blanks around it.
func lineOf(text string, line int) string {
	lines := strings.Split(text, "\n")
	if line > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[line-1])
}
