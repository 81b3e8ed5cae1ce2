package example

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/shape"
)

// Extents and attributes grow by these factors before costs are compared, so that the terms of the highest
// degree dominate. Extents of 1 stay, since they may mean broadcasting.
const (
	dimScale  = 32
	attrScale = 4
	// costFactor is the greatest ratio between a stated cost and the formula's.
	costFactor = 4
)

// larger returns a copy of the use with larger extents and integer attributes, for the evaluation of
// expressions.
func (u *use) larger() *use {
	x := *u
	x.attrs, x.dims = map[string]any{}, map[string]any{}
	for name, v := range u.attrs {
		x.attrs[name] = v
		if n, ok := v.(int); ok && n > 1 && u.attr(name).Type == "int" && !u.numbers(name) {
			x.attrs[name] = n * attrScale
		}
	}
	for name, v := range u.dims {
		x.dims[name] = grown(v)
	}
	x.evaluator = evaluator{name: x.value, count: x.tensorsOf, places: x.placesOf, axis: x.checkedAxis}
	for _, d := range u.op.Dims {
		if d.Node != nil {
			x.dims[d.Name] = x.eval(d.Node)
		}
	}
	return &x
}

// numbers reports whether an attribute determines the number of tensors of a slot. Each of these tensors has
// statements of its own, so the attribute must not grow.
func (u *use) numbers(attr string) bool {
	found := false
	for _, s := range u.op.Slots {
		expr.Walk(s.CountX, func(n expr.Node) {
			id, ok := n.(*expr.Ident)
			found = found || ok && id.Name == attr
		})
	}
	return found
}

func grown(v any) any {
	switch v := v.(type) {
	case int:
		if v > 1 {
			return v * dimScale
		}
	case []int:
		out := make([]int, len(v))
		for i, n := range v {
			out[i], _ = grown(n).(int)
		}
		return out
	}
	return v
}

// symbolsOf returns the values of the symbols of a use, by name.
func (u *use) symbolsOf() map[string]int {
	out := map[string]int{}
	for name, v := range u.attrs {
		if n, ok := v.(int); ok {
			out[name] = n
		}
	}
	for name, v := range u.dims {
		switch v := v.(type) {
		case int:
			out[name] = v
		case []int:
			for i, n := range v {
				out[program.SymbolOf(name, i)] = n
			}
		}
	}
	return out
}

// plausible reports whether the cost flops that the spec states for a task is within costFactor of the
// formula's. ok is false if this use is no evidence. x is the use with larger extents, which gives names
// their values.
func (v *view) plausible(m *model.Task, x *use, flops expr.Node) (holds, ok bool) {
	statements := v.statements(m.Kind)
	stated := x.float(flops)
	if len(statements) == 0 || x.err != nil {
		return false, false
	}
	symbols := x.symbolsOf()
	low := derive.Evaluate(v.operations(m.Kind, false), symbols)
	high := max(low, derive.Evaluate(v.operations(m.Kind, true), symbols)) // searches count in full
	elements := 1.0                                                        // memory traffic
	results, p := v.results(m.Kind), v.tensors(m.Kind)
	for i, l := range p.Tensors {
		if results(i) {
			elements += derive.Evaluate(term.Total(l.Shape), symbols)
		}
	}
	if stated == 0 || low == 0 {
		stated, low, high = stated+elements, low+elements, high+elements
	}
	return stated <= costFactor*high && (low <= costFactor*stated || isFast(flops)), true
}

// isFast reports whether a cost contains a logarithm: the cost of a divide-and-conquer kernel, which may be
// lower than the formula's.
func isFast(flops expr.Node) (found bool) {
	expr.Walk(flops, func(n expr.Node) {
		c, ok := n.(*expr.Call)
		found = found || ok && c.Func == "log2"
	})
	return found
}

// noteCosts counts the examples at which stated costs are plausible.
func (t *trial) noteCosts(v *view) {
	for _, m := range v.op.Tasks {
		if m.FlopsX == nil {
			continue
		}
		if holds, ok := v.plausible(m, v.larger(), m.FlopsX); ok {
			t.costs[m.Name] = t.costs[m.Name].with(v, holds)
		}
	}
}

// single reports whether a dimension has extent 1, or a run is empty: then a stated cost without this
// dimension is right by coincidence.
func (v *view) single() bool {
	for _, s := range v.op.Slots {
		for _, name := range s.DimNames {
			value, ok := v.dims[name]
			if !ok {
				value = v.attrs[name]
			}
			switch x := value.(type) {
			case int:
				if x < 2 {
					return true
				}
			case []int:
				if shape.Prod(x) < 2 {
					return true
				}
			}
		}
	}
	return false
}

// pricing is the evidence of the examples about the cost of a task.
type pricing struct {
	tells     bool // all are examples without dimensions of extent 1; others are discarded
	seen, off int
	view      *view // an example at which the cost is off
}

// with adds what an example says.
func (n pricing) with(v *view, holds bool) pricing {
	if single := v.single(); single && n.tells {
		return n
	} else if !single && !n.tells {
		n = pricing{tells: true} // discard the examples before
	}
	n.seen++
	if !holds {
		n.off, n.view = n.off+1, v
	}
	return n
}

// wrong reports whether a cost is off at most examples.
func (n pricing) wrong() bool { return 2*n.off > n.seen }

// checkCosts reports the costs that are not plausible at most examples.
func (t *trial) checkCosts() {
	for _, c := range t.spec.Costs {
		n := t.costs[c.Task]
		if !n.wrong() {
			continue
		}
		m := n.view.op.Tasks[slices.IndexFunc(t.op.Tasks, func(m *model.Task) bool { return m.Name == c.Task })]
		derived := n.view.operations(m.Kind, false)
		t.contradict(c.Flops.Span(), "%s of %s takes %s operations according to the spec, but %v according to the formula",
			n.view, c.Task, t.op.Name, c.Flops.V, term.Norm(derived))
	}
}

// costs infers the number of operations of tasks, if one sum of products holds at all examples.
func (f *follower) costs() {
	stated := map[string]bool{}
	for _, c := range f.spec.Costs {
		stated[c.Task] = true
	}
	for _, m := range f.op.Tasks {
		if stated[m.Name] || !m.Invoked() {
			continue
		}
		if text := f.flops(m); text == "0" || text != "" && !f.variadic() {
			at := f.taskKey(m)
			f.spec.Costs = append(f.spec.Costs, &spec.Cost{Task: m.Name, Key: at, Flops: f.text(at, text)})
		}
	}
}

// variadic reports whether a slot is variadic. The number of its tensors at an example would otherwise
// become a constant in the cost, since each tensor has statements of its own.
func (f *follower) variadic() bool {
	return slices.ContainsFunc(f.op.Slots, func(s *model.Slot) bool { return s.Variadic })
}

// flops returns the number of operations of a task as an expression of the spec, which is exact at one
// example and within closeTo at all. It returns "" if there is none.
func (f *follower) flops(m *model.Task) string {
	var texts []string
	for _, v := range f.views {
		if len(v.statements(m.Kind)) == 0 {
			return ""
		}
		if text, ok := v.sumOf(leading(v.operations(m.Kind, false))); ok && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		n, err := expr.Parse(text)
		if err == nil && !slices.ContainsFunc(f.views, func(v *view) bool { return !v.costs(m, n) }) && !f.wrongCost(m, n) {
			return text
		}
	}
	return ""
}

// wrongCost reports whether a cost, whose names are not resolved, would be a finding if the spec stated it:
// leading terms may say little about what a task takes at small extents.
func (f *follower) wrongCost(m *model.Task, flops expr.Node) bool {
	var n pricing
	for _, v := range f.views {
		x := v.larger()
		x.evaluator.name = x.named
		if holds, ok := v.plausible(m, x, flops); ok {
			n = n.with(v, holds)
		}
	}
	return n.wrong()
}

// closeTo is the greatest ratio between an inferred cost and the formula's at an example. Attributes add and
// remove operations.
const closeTo = 2

// costs reports whether expression n is within closeTo of the leading terms of a task's operations. The
// names in n are not resolved.
func (v *view) costs(m *model.Task, n expr.Node) bool {
	x := v.larger()
	x.evaluator.name = x.named
	got, want := x.float(n), 0.0
	symbols := x.symbolsOf()
	for _, p := range leading(v.operations(m.Kind, false)) {
		each := float64(p.Coefficient)
		for _, y := range p.Factors {
			each *= derive.Evaluate(y, symbols)
		}
		want += each
	}
	return x.err == nil && got <= closeTo*want && want <= closeTo*got
}

// named returns the value of a name that is not resolved: of a dimension, else of an attribute.
func (u *use) named(id *expr.Ident) any {
	if d, ok := u.dims[id.Name]; ok {
		return d
	}
	return u.attrs[id.Name]
}

// leading returns the dominant monomials of a sum: those that divide no other monomial. It drops constants.
func leading(n *term.Term) []term.Monomial {
	all := slices.DeleteFunc(term.Monomials(n), func(m term.Monomial) bool { return len(m.Factors) == 0 })
	return slices.DeleteFunc(slices.Clone(all), func(m term.Monomial) bool {
		return slices.ContainsFunc(all, func(o term.Monomial) bool { return len(o.Factors) > len(m.Factors) && multiple(o, m) })
	})
}

// multiple reports whether o divides m: m has all factors of o.
func multiple(m, o term.Monomial) bool {
	rest := slices.Clone(m.Factors)
	for _, x := range o.Factors {
		i := slices.IndexFunc(rest, func(y *term.Term) bool { return term.Identical(x, y) })
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return true
}

// sumOf prints a sum of products with the names of the spec.
func (v *view) sumOf(products []term.Monomial) (string, bool) {
	var parts []string
	for _, p := range products {
		text, ok := v.rankFree(p.Factors)
		if !ok || p.Coefficient < 0 {
			return "", false
		}
		switch {
		case text == "1":
			text = fmt.Sprint(p.Coefficient)
		case p.Coefficient != 1:
			text = fmt.Sprintf("%d * %s", p.Coefficient, text)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "0", true
	}
	return strings.Join(parts, " + "), true
}
