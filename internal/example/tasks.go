package example

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// taskKey returns the position of a task in the spec.
func (f *follower) taskKey(m *model.Task) source.Span {
	for _, t := range f.spec.Tasks {
		if t.Name == m.Name {
			return t.Key
		}
	}
	return f.spec.Where()
}

// tasks infers the iteration spaces of tasks, and which tasks are elementwise.
func (f *follower) tasks() {
	for i, t := range f.spec.Tasks {
		m := f.op.Tasks[i]
		if len(t.Steps) > 0 || !m.Invoked() {
			continue
		}
		if m.Steps[0].Loops {
			if !t.Elementwise.Set() && f.loopsElementwise(m) {
				t.Elementwise, f.added = spec.Bool{V: true, Span: t.Key}, true
			}
			continue
		}
		indices := func(v *view) int { _, n := v.running(m); return n[0] }
		if !t.Over.Set() {
			over, size := f.over(m)
			t.Over, indices = f.text(t.Key, over), size
		}
		if !t.Elementwise.Set() && len(t.Inner) == 0 && f.elementwise(m, indices) {
			t.Elementwise = spec.Bool{V: true, Span: t.Key}
			f.added = true
		}
	}
}

// loopsElementwise reports whether the loops of a formula are elementwise at all examples.
func (f *follower) loopsElementwise(m *model.Task) bool {
	told := false
	for _, v := range f.views {
		n, same := v.use.written(m)
		holds, ok := v.elementwise(m, n)
		if !same || ok && (!holds || !derive.Spreads(v.tensors(m.Kind), v.statements(m.Kind), n)) {
			return false
		}
		told = told || ok
	}
	return told
}

// elementwise reports whether a task is elementwise at all examples, over tensors of one size. If a task has
// tensors of other sizes, the formula does not tell which of their elements an index accesses.
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

// alike reports whether all tensors of a task have n elements.
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

// over infers the iteration space of a task: the largest product of dimensions that all statements share at
// all examples. size evaluates the product in a view.
func (f *follower) over(m *model.Task) (text string, size func(*view) int) {
	type shared struct {
		view   *view
		number int
		parts  []string // nil if no product of spec names equals number
	}
	var all []shared
	var products [][]string
	for _, v := range f.views {
		statements := v.statements(m.Kind)
		if len(statements) == 0 {
			continue
		}
		s := shared{view: v}
		factors := v.ofZeros(m.Kind, derive.Shared(statements, v.results(m.Kind)))
		s.number, _ = term.Total(factors).Known()
		if x, ok := v.rankFree(factors); ok && x != "1" { // empty runs have no symbols
			s.parts = strings.Split(x, " * ")
			products = append(products, s.parts)
		}
		all = append(all, s)
	}
	slices.SortStableFunc(products, func(x, y []string) int { return len(y) - len(x) })
	if m.Kind == task.KindForward {
		products = append(products, outputs(f.op)...)
	}
	for _, parts := range products {
		x := strings.Join(parts, " * ")
		if !slices.ContainsFunc(all, func(s shared) bool { return !within(parts, s.parts) && s.view.amount(x) != s.number }) {
			return x, func(v *view) int { return v.amount(x) }
		}
	}
	return "1", func(*view) int { return 1 }
}

// ofZeros drops the extents that a gradient without contributions lacks. Backward sets such a gradient to 0,
// even where a dropped extent is 0 and nothing else is computed.
func (v *view) ofZeros(k task.Kind, extents []*term.Term) []*term.Term {
	if k != task.KindBackward || v.gradient == nil {
		return extents
	}
	for t, l := range v.program.Tensors {
		if _, found := v.gradient.Of[t]; !found && l.Varies && !l.Given && l.Slot >= 0 && l.Old < 0 {
			extents = slices.DeleteFunc(extents, func(x *term.Term) bool {
				return !slices.ContainsFunc(l.Shape, func(y *term.Term) bool { return term.SameInteger(x, y) })
			})
		}
	}
	return extents
}

// outputs returns the factors of the size of each output, such as of one that two inputs broadcast to.
func outputs(o *model.Operator) [][]string {
	var all [][]string
	for i := range o.Slots {
		s := o.Slots[i]
		if s.Role != task.RoleOutput || s.Variadic {
			continue
		}
		var parts []string
		for _, d := range s.Dims {
			name, named := d.Node.(*expr.Ident)
			switch {
			case !named:
				parts = append(parts, "") // an expression, which is no factor
			case d.Rest:
				parts = append(parts, "prod("+name.Name+")")
			default:
				parts = append(parts, name.Name)
			}
		}
		if len(parts) > 0 && !slices.Contains(parts, "") {
			all = append(all, parts)
		}
	}
	return all
}

// within reports whether each factor in parts is a factor of the other product, with at least the same
// multiplicity.
func within(parts, of []string) bool {
	of = slices.Clone(of)
	for _, p := range parts {
		i := slices.Index(of, p)
		if i < 0 {
			return false
		}
		of = slices.Delete(of, i, i+1)
	}
	return true
}

// amount evaluates a product of spec names, or returns -1 if it has no value.
func (v *view) amount(product string) int {
	node, err := expr.Parse(product)
	if err != nil {
		return -1
	}
	x := *v.use
	x.evaluator = evaluator{count: x.tensorsOf, places: x.placesOf, axis: x.checkedAxis, name: x.named}
	if n := x.integer(node); x.err == nil {
		return n
	}
	return -1
}
