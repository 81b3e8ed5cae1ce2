package example

import (
	"cmp"
	"strings"

	"github.com/opgen/opgen/internal/derive"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/internal/term"
	"github.com/opgen/opgen/runtime/shape"
)

// taskKey returns the place of a task in the spec.
func (f *follower) taskKey(m *model.Task) source.Span {
	for _, t := range f.spec.Tasks {
		if t.Name == m.Name {
			return t.Key
		}
	}
	return f.spec.Where()
}

// tasks states what tasks run over, and whether they work element by element.
func (f *follower) tasks() {
	for i, t := range f.spec.Tasks {
		m := f.op.Tasks[i]
		if len(t.Steps) > 0 || !m.Invoked() {
			continue
		}
		indices := func(v *view) int { _, n := v.running(m); return n[0] }
		if !t.Over.Set() {
			over, size := f.over(m)
			if over == "" {
				continue
			}
			t.Over, indices = f.text(t.Key, over), size
		}
		if !t.Elementwise.Set() && len(t.Inner) == 0 && f.elementwise(m, indices) {
			t.Elementwise = spec.Bool{V: true, Span: t.Key}
			f.added = true
		}
	}
}

// elementwise reports whether a task works element by element at all examples, on tensors of one size: of a task that also
// takes others, the formula does not tell which elements an index stands for.
func (f *follower) elementwise(m *model.Task, indices func(*view) int) bool {
	told := false
	for _, v := range f.views {
		n := indices(v)
		holds, ok := v.elementwise(m, n)
		if n > 1 && (!ok || !holds) || !v.alike(m, n) {
			return false
		}
		told = told || ok
	}
	return told
}

// alike reports whether all tensors that a task takes have n elements.
func (v *view) alike(m *model.Task, n int) bool {
	for _, p := range m.Params {
		for _, x := range v.use.tensors[p.Slot.Number] {
			if p.Slot.Variadic || shape.Prod(x.Shape) != n {
				return false
			}
		}
	}
	return true
}

// over returns what a task runs over: the product of the dimensions that all its statements share. size is their number in a
// view.
func (f *follower) over(m *model.Task) (text string, size func(*view) int) {
	size = func(v *view) int {
		n, _ := term.Total(derive.Shared(v.statements(m.Kind))).Known()
		return n
	}
	best := -1
	for _, v := range f.views {
		shared := derive.Shared(v.statements(m.Kind))
		x, ok := v.rankFree(shared)
		if ok && len(strings.Split(x, "*")) > best && x != "1" { // runs without dimensions leave no symbols
			text, best = x, len(strings.Split(x, "*"))
		}
	}
	return cmp.Or(text, "1"), size
}
