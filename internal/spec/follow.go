package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
)

// impliedArgs lists the arguments that a formula uses without a declaration, with their sources.
var impliedArgs = []struct{ name, from, doc string }{
	{"iteration", "iteration", "the training step, from 0"},
	{"graph_seed", "seed", ""},
}

// followTypes declares T, a floating-point type, for a spec without dtype variables, if a slot has the type T
// or states none.
func (s *Spec) followTypes(slots *source.Entry) {
	if slots == nil {
		return
	}
	t, _ := slots.Value.(*source.Table)
	if t == nil {
		return
	}
	for _, e := range t.Entries {
		slot, ok := e.Value.(*source.Table)
		if !ok {
			continue
		}
		if x := slot.Get("type"); x != nil {
			if sc, ok := x.Value.(*source.Scalar); !ok || sc.Value != "T" {
				continue
			}
		}
		s.Types = []*TypeVar{floatingVar(e.KeySpan)}
		return
	}
}

// impliedSlots lists the slots that specs of a kind have without a declaration, where the formula uses them.
var impliedSlots = map[Kind][]struct{ name, role string }{
	Initializer: {{"tensor", "output"}},
	Optimizer:   {{"weight", "input"}, {"grad", "input"}},
}

// followSlots declares, in front of the other slots, those of its kind that the formula uses without a
// declaration. They have the element type T and the shape N...
func (s *Spec) followSlots(typed bool) {
	if !s.Formula.Set() || s.Unread["formula"] || s.Unread["slots"] || len(impliedSlots[s.Kind]) == 0 {
		return
	}
	f, _ := expr.ParseFormula(s.Formula.V)
	used, bound := mentioned(f)
	at := s.Formula.Span()
	var slots []*Slot
	for _, x := range impliedSlots[s.Kind] {
		if (used[x.name] || bound[x.name]) && !s.declares(x.name) {
			slots = append(slots, &Slot{Name: x.name, Key: at, Span: at, Role: s.implied(x.role), Type: s.implied("T"),
				Shape: []source.Node{s.implied("N...").Node}, HasShape: true, ShapeSpan: at})
		}
	}
	if len(slots) > 0 && len(s.Types) == 0 && !typed {
		s.Types = []*TypeVar{floatingVar(at)}
	}
	s.Slots = append(slots, s.Slots...)
}

// floatingVar returns the dtype variable T of floating-point types, as if a spec declared it at a place.
func floatingVar(at source.Span) *TypeVar {
	floating := []Str{{"floating", &source.Scalar{Span: at, Value: "floating"}}}
	return &TypeVar{Name: "T", Key: at, Types: elementTypesOf(floating), TypesSpan: at}
}

// followCategory puts a spec without a category where others of its kind or its family are.
func (s *Spec) followCategory() {
	of := Str{string(s.Kind), s.KindNode.Node}
	if s.Kind == Operator {
		of = s.Family
	}
	if !s.Category.Set() && of.Set() {
		s.Category = Str{english.Plural(of.V), of.Node}
	}
}

// follow adds the tasks that follow from the formula and the slots, with their arguments and permissions.
// What the spec states stays.
func (s *Spec) follow() {
	if !s.Formula.Set() || s.Unread["formula"] || s.Unread["slots"] || s.Unread["tasks"] || s.Unread["args"] {
		return
	}
	f, _ := expr.ParseFormula(s.Formula.V) // package check reports lines that do not parse
	s.followTasks()
	s.followArgs(f)
	for _, t := range s.Tasks {
		if t.Name == "forward" || t.Name == "update" {
			s.followAccess(t, f)
		}
	}
}

// implied returns a string that follows from the formula, at the place of the formula.
func (s *Spec) implied(v string) Str { return Str{v, &source.Scalar{Span: s.Formula.Span(), Value: v}} }

// followTasks adds the task that each spec of its kind has. It adds backward if the spec states no task and
// some slot gets a gradient.
func (s *Spec) followTasks() {
	names := []string{"forward"}
	switch {
	case s.Kind == Optimizer:
		names = []string{"update"}
	case s.Kind == Operator && len(s.Tasks) == 0 && slices.ContainsFunc(s.Slots, s.Trainable):
		names = append(names, "backward")
	}
	for _, n := range names {
		if !slices.ContainsFunc(s.Tasks, func(t *Task) bool { return t.Name == n }) {
			s.Tasks = append(s.Tasks, &Task{Name: n, Key: s.Formula.Span()})
		}
	}
}

// followArgs declares the arguments that the formula uses without a declaration. Where no task lists
// arguments, all tasks take those that the formula uses. They take what the caller passes in any case.
func (s *Spec) followArgs(f *expr.Formula) {
	used, bound := mentioned(f)
	for _, a := range impliedArgs {
		if used[a.name] && !bound[a.name] && !s.declares(a.name) {
			arg := &Arg{Name: a.name, Key: s.Formula.Span(), From: s.implied(a.from)}
			if a.doc != "" {
				arg.Doc = s.implied(a.doc)
			}
			s.Args = append(s.Args, arg)
		}
	}
	listed := slices.ContainsFunc(s.Tasks, func(t *Task) bool { return t.Listed })
	for _, t := range s.Tasks {
		for _, a := range s.Args {
			if t.Name != "init" && t.Name != "cleanup" && used[a.Name] && (!listed || a.From.V == "call") &&
				!slices.ContainsFunc(t.Args, func(n Str) bool { return n.V == a.Name }) {
				t.Args = append(t.Args, s.implied(a.Name))
			}
		}
	}
}

// followAccess lets a task write what the formula gives: inputs of an optimizer, and weights. A task that
// may leave an element as it was, or reads what it was, also reads.
func (s *Spec) followAccess(t *Task, f *expr.Formula) {
	old := map[string]bool{}
	f.Walk(func(n expr.Node) {
		if r, ok := n.(*expr.Read); ok && r.Old {
			old[r.Name] = true
		}
	})
	for _, sl := range s.Slots {
		if sl.Role.V != "weight" && (sl.Role.V != "input" || s.Kind != Optimizer) ||
			slices.ContainsFunc(t.Access, func(a *Access) bool { return a.Slot == sl.Name }) {
			continue
		}
		given, partly := false, old[sl.Name]
		for _, x := range f.Statements {
			for _, n := range x.Targets {
				if target(n) == sl.Name {
					given, partly = true, partly || x.When != nil || !whole(x, n, sl)
				}
			}
		}
		switch {
		case given && partly:
			t.Access = append(t.Access, &Access{Slot: sl.Name, Key: s.Formula.Span(), Value: s.implied(perm.ReadWrite.String())})
		case given:
			t.Access = append(t.Access, &Access{Slot: sl.Name, Key: s.Formula.Span(), Value: s.implied(perm.Write.String())})
		}
	}
	number := func(a *Access) int {
		return slices.IndexFunc(s.Slots, func(sl *Slot) bool { return sl.Name == a.Slot })
	}
	slices.SortStableFunc(t.Access, func(a, b *Access) int { return number(a) - number(b) })
}

// whole reports whether a statement gives all elements of a slot for sure: each of its dimensions has an
// index of its own that goes over it.
func whole(x *expr.Statement, n expr.Node, sl *Slot) bool {
	r, ok := n.(*expr.Read)
	if !ok || len(r.Groups) != 1 || len(r.Groups[0]) != len(sl.Shape) {
		return false
	}
	seen := map[string]bool{}
	for i, item := range r.Groups[0] {
		id, ok := item.(*expr.Ident)
		s, isScalar := sl.Shape[i].(*source.Scalar)
		if !ok || !isScalar || seen[id.Name] {
			return false
		}
		seen[id.Name] = true
		extent, index := strings.TrimSuffix(fmt.Sprint(s.Value), "..."), strings.TrimRight(id.Name, "'")
		over := index == strings.ToLower(extent) && expr.IsDimName(extent) // the index of a dimension
		for _, f := range x.For {
			if b, ok := f.X.(*expr.Ident); ok && b.Name == id.Name {
				hi, ok := f.Hi.(*expr.Ident)
				over = ok && f.Lo == nil && hi.Name == extent
			}
		}
		if !over {
			return false
		}
	}
	return true
}

// MayBeFloat reports whether a slot of a type may hold floating-point elements, as far as is known. A
// type that could not be read may be floating-point.
func (s *Spec) MayBeFloat(t Str) bool {
	for _, v := range s.Types {
		if v.Name == t.V {
			return len(v.Types) == 0 || slices.ContainsFunc(v.Types, func(t Str) bool {
				p, err := dtype.Parse(t.V)
				return p.IsFloat() || err != nil && !strings.Contains(t.V, "(")
			})
		}
	}
	p, err := dtype.Parse(t.V)
	return err == nil && p.IsFloat()
}

// Trainable reports whether a slot gets a gradient: a floating-point input or weight, unless the spec says
// otherwise.
func (s *Spec) Trainable(sl *Slot) bool {
	if sl.Role.V != "input" && sl.Role.V != "weight" {
		return false
	}
	if sl.Trainable.Set() {
		return sl.Trainable.V
	}
	return s.MayBeFloat(sl.Type)
}

// declares reports whether the spec has a name that expressions refer to.
func (s *Spec) declares(name string) bool {
	return slices.ContainsFunc(s.Attrs, func(a *Attr) bool { return a.Name == name }) ||
		slices.ContainsFunc(s.Slots, func(sl *Slot) bool { return sl.Name == name }) ||
		slices.ContainsFunc(s.Args, func(a *Arg) bool { return a.Name == name })
}

// mentioned returns the names of values that a formula uses, and those to which it gives a meaning of its
// own: parameters, indices and targets.
func mentioned(f *expr.Formula) (used, bound map[string]bool) {
	used, bound = map[string]bool{}, map[string]bool{}
	bind := func(n expr.Node) {
		for _, name := range expr.Names(n) {
			bound[name] = true
		}
	}
	f.Walk(func(n expr.Node) {
		switch n := n.(type) {
		case *expr.Ident:
			used[n.Name] = true
		case *expr.Read:
			used[n.Name] = true
		case *expr.Binder:
			bind(n.X)
		}
	})
	for _, fn := range f.Functions {
		for _, p := range fn.Params {
			bind(p)
		}
	}
	for _, x := range f.Statements {
		for _, n := range x.Targets {
			bind(n)
			bound[target(n)] = true
		}
	}
	return used, bound
}

// target returns the name of what a statement gives.
func target(n expr.Node) string {
	switch n := n.(type) {
	case *expr.Ident:
		return n.Name
	case *expr.Read:
		return n.Name
	}
	return ""
}
