package kernelcheck

import (
	"errors"
	"fmt"
	"go/scanner"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/kernelfile"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
)

// want is a kernel that the catalogue uses.
type want struct {
	op      *model.Operator
	name    string // of the type
	methods []wantMethod
}

// wantMethod is a method of a kernel: a step of a task.
type wantMethod struct {
	name string
	task *model.Task
}

// expect returns the kernels of an operator. A task that exists for fewer element types than the operator has
// one of its own.
func (c *checker) expect(o *model.Operator) []*want {
	var out []*want
	for _, t := range o.Tasks {
		name := o.GoName
		if len(t.Floating) > 0 {
			name += t.GoName
		}
		i := slices.IndexFunc(out, func(w *want) bool { return w.name == name })
		if i < 0 {
			i = len(out)
			out = append(out, &want{op: o, name: name})
		}
		if !t.Invoked() {
			out[i].methods = append(out[i].methods, wantMethod{t.GoName, t})
			continue
		}
		for _, s := range t.Steps {
			out[i].methods = append(out[i].methods, wantMethod{s.GoName, t})
		}
	}
	return out
}

// params returns the type parameters of the kernel: "[T, L]", or "".
func (w *want) params() string {
	var names []string
	for _, v := range w.op.Types {
		names = append(names, v.Name)
	}
	if names == nil {
		return ""
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// signature returns the declaration of a method of a kernel.
func (w *want) signature(m wantMethod) string {
	rest := ", r op.Range) error"
	switch {
	case m.task.Returns != nil:
		rest = ") ("
		for _, s := range m.task.Returns {
			_, name, _ := cutLast(s.Type, "/")
			rest += name + ", "
		}
		rest += "error)"
	case !m.task.Invoked():
		rest = ") error"
	}
	return fmt.Sprintf("func (%s%s) %s(ctx *op.Ctx, a *%s.%s%s%s", w.name, w.params(), m.name, w.op.Package, m.task.GoName, w.params(), rest)
}

// cutLast cuts a text at the last separator. The parts in front and behind are both the text if there is
// none.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, s, false
	}
	stars := s[:len(s)-len(strings.TrimLeft(s, "*[]"))]
	return s[:i], stars + s[i+len(sep):], true
}

// missing reports a kernel that no file declares: at the kernel that the operator has for other tasks, in its
// file, or at the operator's spec.
func (c *checker) missing(w *want) {
	if c.broken {
		return
	}
	var near []string
	for name, k := range c.types {
		if k.spec != nil && strings.HasPrefix(name, w.op.GoName) == (name != w.op.GoName) && slices.ContainsFunc(w.methods, func(m wantMethod) bool { return k.methods[m.name] != nil }) {
			near = append(near, name)
		}
	}
	slices.Sort(near)
	if n := nearest.Name(w.name, near); n != "" {
		k := c.types[n]
		c.list.Add(diag.MissingKernel, k.file.span(k.spec.Name), "%s has the kernel type %s, not %s", w.op.Name, w.name, n).Hinted("did you mean %s?", w.name)
		return
	}
	at := specPlace(w.op)
	for _, f := range c.files {
		if f.Name == kernelfile.Name(w.op.Name) {
			at = f.span(f.AST.Name)
		}
	}
	if k := c.types[w.op.GoName]; k != nil && k.spec != nil {
		at = k.file.span(k.spec.Name)
	}
	c.list.Add(diag.MissingKernel, at, "%s has no kernel: no file in %s declares the type %s", w.op.Name, c.Folder, w.name).
		Hinted("declare type %s%s struct{}, with %s", w.name, w.params(), w.signature(w.methods[0]))
}

// specPlace returns the place of an operator's name in its spec.
func specPlace(o *model.Operator) source.Span {
	f := &source.File{Path: o.Source, Text: o.Text}
	at, _ := f.Offset(o.Pos.Line, o.Pos.Column)
	end := at
	for end < len(f.Text) && f.Text[end] != '\n' && f.Text[end] != '#' {
		end++
	}
	return source.Span{File: f, Start: at, End: at + len(strings.TrimRight(f.Text[at:end], " \t\r"))}
}

// kernel checks a kernel that is there.
func (c *checker) kernel(w *want, k *kernel) {
	got := 0
	if k.spec.TypeParams != nil {
		got = k.spec.TypeParams.NumFields()
	}
	if want := len(w.op.Types); got != want && k.spec.Assign == 0 {
		d := c.list.Add(diag.KernelType, k.file.span(k.spec.Name), "%s has %s, but %s has %s", w.name, english.Count(got, "type parameter"), w.op.Name, english.Count(want, "dtype variable"))
		d.Hinted("declare it as %s%s", w.name, w.params())
		return // its methods follow from that
	}
	var missing []wantMethod
	rest := maps.Clone(k.methods)
	for _, m := range w.methods {
		if have := rest[m.name]; have != nil {
			delete(rest, m.name)
			c.method(w, m, have)
		} else {
			missing = append(missing, m)
		}
	}
	maps.DeleteFunc(rest, func(_ string, m *method) bool { return !c.runsStep(m) })
	for _, m := range missing {
		left := slices.Sorted(maps.Keys(rest))
		n := nearest.Name(m.name, left)
		switch {
		case n != "":
			c.list.Add(diag.MissingMethod, rest[n].file.span(rest[n].decl.Name), "%s has the step %s, not %s", w.op.Name, m.name, n).Hinted("did you mean %s?", m.name)
			delete(rest, n)
		case !k.partial && !c.broken:
			c.list.Add(diag.MissingMethod, k.file.span(k.spec.Name), "the kernel %s has no method %s", w.name, m.name).Hinted("add %s", w.signature(m))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		var steps []string
		for _, m := range w.methods {
			steps = append(steps, m.name)
		}
		c.list.Add(diag.LeftOver, rest[name].file.span(rest[name].decl.Name), "%s has no step %s, so nothing runs this method", w.op.Name, name).
			Hinted("methods of %s are %s; a helper that is no step takes no *op.Ctx first, or is not exported", w.name, strings.Join(steps, ", "))
	}
}

// scannerErrors returns the errors that the scanner or the parser of Go found.
func scannerErrors(err error) scanner.ErrorList {
	var list scanner.ErrorList
	errors.As(err, &list)
	return list
}
