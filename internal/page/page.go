// Package page writes reference pages about operators: one in Markdown for each, and an index.
//
// The content of a page comes from the resolved model. The templates operator.md.tmpl and index.md.tmpl give
// its form.
package page

import (
	"bytes"
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/explain"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/typeset"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/templates"
)

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"attrType":   explain.AttrType,
	"slotNotes":  explain.SlotNotes,
	"onnx":       func(e mapping.Entry) []string { return explain.ONNX(&e) },
	"paramNotes": explain.ParamNotes,
	"cell":       cell,
	"text":       text,
	"code":       code,
	"indent":     explain.Indent,
	"math":       math,
	"brief":      brief,
	"join":       strings.Join,
}).ParseFS(templates.FS, "*.md.tmpl"))

// Files returns the pages of all operators and their index, by path. specs is the folder of the specs.
func Files(m *model.Module, specs string) ([]artifact.Artifact, error) {
	of, errs := make([][]artifact.Artifact, len(m.Operators)), make([]error, len(m.Operators))
	parallel.Do(len(of), func(i int) {
		o := m.Operators[i]
		v := view{o, draw(o), explain.Runs(o)}
		var data []byte
		data, errs[i] = render("operator.md.tmpl", v)
		of[i] = append(of[i], artifact.Artifact{Path: o.Name + ".md", Source: o.Source, Data: data})
		if v.Picture != nil {
			of[i] = append(of[i], artifact.Artifact{Path: o.Name + ".svg", Source: o.Source, Data: []byte(v.Picture.svg)})
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	files := slices.Concat(of...)
	data, err := render("index.md.tmpl", struct {
		Specs      string
		Categories []category
	}{specs, categories(m)})
	if err != nil {
		return nil, err
	}
	return append(files, artifact.Artifact{Path: "README.md", Source: specs, Data: data}), nil
}

func render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := pages.ExecuteTemplate(&b, name, data)
	return append(bytes.TrimSpace(b.Bytes()), '\n'), err
}

// view is an operator as its page shows it.
type view struct {
	*model.Operator
	Picture *picture                    // or nil
	Runs    map[*model.Task]explain.Run // what runs each task
}

// Saved lists the tensors that forward keeps for backward.
func (v view) Saved() []string {
	var saved []string
	for _, s := range v.Slots {
		if s.Role == task.RoleSaved || s.Saved != "" && s.Role != task.RoleScratch && v.Task(task.KindBackward) != nil {
			saved = append(saved, s.Name)
		}
	}
	return saved
}

// Differentiable reports whether a gradient flows through the operator.
func (v view) Differentiable() bool { return v.Task(task.KindBackward) != nil }

// Gradients returns the gradients that follow from the formula.
func (v view) Gradients() []explain.Derived {
	return slices.DeleteFunc(explain.Derive(v.Operator), func(d explain.Derived) bool { return len(d.Gradient) == 0 })
}

// category is a group of operators in the index.
type category struct {
	Name      string
	Operators []*model.Operator
}

func categories(m *model.Module) []category {
	var all []category
	for _, o := range m.Operators {
		name := cmp.Or(o.Category, "others")
		i := slices.IndexFunc(all, func(c category) bool { return c.Name == name })
		if i < 0 {
			i = len(all)
			all = append(all, category{Name: name})
		}
		all[i].Operators = append(all[i].Operators, o)
	}
	slices.SortFunc(all, func(a, b category) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// tag matches what Markdown takes for the beginning of a tag.
var tag = regexp.MustCompile(`<([A-Za-z/!?])`)

// text returns a text on one line, in which nothing is a tag or a heading of Markdown.
func text(s string) string {
	s = tag.ReplaceAllString(strings.Join(strings.Fields(s), " "), "&lt;$1")
	if strings.HasPrefix(s, "#") {
		s = `\` + s
	}
	return s
}

// code returns a text for a code span in a cell of a table.
func code(s string) string {
	return strings.NewReplacer("|", `\|`, "`", "'").Replace(strings.Join(strings.Fields(s), " "))
}

// math returns a formula as a block of mathematics, or as it is if it cannot be set so.
func math(s string) string {
	set, ok := typeset.Lines(s)
	if !ok {
		return explain.Indent("    ", s)
	}
	return "```math\n" + set + "\n```"
}

// brief returns the first sentence of a text.
func brief(s string) string {
	first, _, more := strings.Cut(text(s), ". ")
	if more {
		return first + "."
	}
	return first
}

// cell returns a text for a cell of a table.
func cell(s string) string { return strings.ReplaceAll(text(s), "|", `\|`) }
