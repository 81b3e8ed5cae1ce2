package driver

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/tuned"
)

// checkTuned finds mistakes in the table of choices that the module has, and entries for what is gone.
// packages lists those of all specs: an operator that is not among operators and whose spec is there has
// findings of its own.
func (p *Project) checkTuned(operators []*model.Operator, packages []string, list *diag.List) {
	text, err := input.Text(filepath.Join(p.Config.Root, tuned.File))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	f := &source.File{Path: tuned.File, Text: string(text)}
	if err != nil {
		list.Add(diag.BadTuned, source.Span{File: f}, "%v", err)
		return
	}
	known := map[string]*model.Operator{}
	for _, used := range p.used {
		for _, o := range used.Operators {
			known[o.FullName()] = o
		}
	}
	with := map[string]bool{} // packages of specs with findings
	for _, name := range packages {
		with[name] = true
	}
	for _, o := range operators {
		known[o.FullName()] = o
		delete(with, goname.Package(o.Name))
	}
	table, problems := tuned.Parse(tuned.File, f.Text)
	for _, x := range problems {
		list.Add(diag.BadTuned, wordAt(f, x.Line, x.Column), "%s", x.Message)
	}
	for i := range table.Entries {
		e := &table.Entries[i]
		stale := func(key string, names []string, name, format string, args ...any) {
			d := list.Add(diag.BadTuned, keyOf(f, e.Line, key), format, args...)
			n := nearest.Name(name, names)
			if i := slices.IndexFunc(names, func(full string) bool { return strings.HasSuffix(full, "."+name) }); i >= 0 {
				n = names[i]
			}
			if n != "" {
				d.Hinted("if %s is meant, change the entry, or remove it and measure again with opgen tune", n)
			} else {
				d.Hinted("remove the entry, and measure again with opgen tune")
			}
		}
		o := known[e.Operator]
		if o == nil && with[goname.Package(e.Operator[strings.LastIndex(e.Operator, ".")+1:])] {
			continue
		}
		if o == nil {
			stale("operator", slices.Sorted(maps.Keys(known)), e.Operator, "there is no operator %s", e.Operator)
			continue
		}
		var tasks, attrs []string
		for _, t := range o.Tasks {
			tasks = append(tasks, t.Name)
		}
		for _, a := range o.Attrs {
			attrs = append(attrs, a.Name)
		}
		if !slices.Contains(tasks, e.Task) {
			stale("task", tasks, e.Task, "operator %s has no task %s", e.Operator, e.Task)
		}
		var given map[string]json.RawMessage
		if json.Unmarshal([]byte(e.Attrs), &given) != nil {
			stale("attrs", nil, "", "attrs: want an object, got %s", e.Attrs)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if !slices.Contains(attrs, name) {
				stale("attrs", attrs, name, "operator %s has no attribute %s", e.Operator, name)
			}
		}
		for _, name := range attrs {
			if _, ok := given[name]; !ok {
				stale("attrs", nil, "", "operator %s has an attribute %s, which the entry lacks", e.Operator, name)
			}
		}
		for word := range strings.FieldsSeq(e.Shapes) {
			slot, _, _ := strings.Cut(word, "=")
			if slot, _, _ = strings.Cut(slot, "."); o.SlotNamed(slot) < 0 {
				stale("shapes", nil, "", "operator %s has no input %s", e.Operator, slot)
			}
		}
	}
}

// wordAt returns the word at a place of a file.
func wordAt(f *source.File, line, column int) source.Span {
	start, _ := f.Offset(max(line, 1), max(column, 1))
	end := start + strings.IndexAny(f.Text[start:]+"\n", " ,\n")
	return source.Span{File: f, Start: start, End: end}
}

// keyOf returns where a key is in a line of a file; the begin of the line if it is not there.
func keyOf(f *source.File, line int, key string) source.Span {
	at := max(strings.Index(f.Line(line), key+" ="), 0)
	start, _ := f.Offset(line, 1)
	return source.Span{File: f, Start: start + at, End: start + at + len(key)}
}
