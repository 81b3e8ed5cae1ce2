package example

import (
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// Keep completes the specs of operators without a kernel by hand with the memory that their gradients need:
// slots for the values that forward saves for backward, and for gradients of values between outputs and
// inputs that backward holds as a whole. The specs must then be checked again. It reports whether it added
// something.
//
// A value is saved if the gradient reads it, unless it is elementwise of what backward is given; see Kept of
// package derive.
func Keep(m *model.Module, specs []*spec.Spec) bool {
	byName := map[string]*spec.Spec{}
	for _, s := range specs {
		byName[s.Name.V] = s
	}
	added := make([]bool, len(m.Operators))
	parallel.Do(len(m.Operators), func(i int) {
		o := m.Operators[i]
		s := byName[o.Name]
		if !o.Derived || len(s.Own) == 0 || o.Task(task.KindBackward) == nil {
			return
		}
		if f := differentiated(o, s); f != nil {
			f.keep()
			added[i] = f.added
		}
	})
	return slices.Contains(added, true)
}

// differentiated returns what follows the examples of an operator, or nil if no gradient is known at any.
func differentiated(o *model.Operator, s *spec.Spec) *follower {
	var none *Known
	known := none.about(o)
	f := &follower{op: o, spec: s, views: views(o, known), known: known}
	if len(f.views) == 0 || !f.differentiable() {
		return nil
	}
	return f
}

// memory is what is known of a value at all views.
type memory struct {
	value        spec.Value
	elementType  string
	saved, whole bool   // at some of them
	read, held   []bool // by view: whether the gradient reads the value, and holds its gradient
}

// keep adds the slots.
func (f *follower) keep() {
	all := slices.Concat(f.views, f.chosen())
	var memories []*memory
	for _, x := range f.spec.Own {
		if f.nameable(x) {
			memories = append(memories, &memory{value: x, read: make([]bool, len(all)), held: make([]bool, len(all))})
		}
	}
	for i, v := range all {
		local := map[int]*memory{}
		for _, m := range memories {
			if t := slices.IndexFunc(v.program.Tensors, func(l *program.Local) bool { return l.Name == m.value.Name && l.Slot < 0 && l.Old < 0 }); t >= 0 {
				local[t] = m
			}
		}
		for _, t := range v.gradient.Kept(f.returned, func(t int) bool { return local[t] != nil }) {
			m := local[t]
			m.saved, m.read[i] = true, true
			if x := f.typeOf(v, t); m.elementType == "" || x == dtype.F64.String() {
				m.elementType = x // a statistic in some uses is one
			}
		}
		whole := v.gradient.Whole()
		for t, m := range local {
			_, m.held[i] = v.gradient.Between[t]
			m.whole = m.whole || whole[t]
		}
	}
	for _, m := range memories {
		if m.saved {
			f.addSlot(all, m, "saved", m.value.Name, m.elementType, m.read)
		}
	}
	for _, m := range memories {
		if name := "grad_" + m.value.Name; m.whole && rules.IsSlotName(name) && f.free(name) {
			f.addSlot(all, m, "scratch", name, f.float(), m.held).GradOf = m.value.Name
		}
	}
}

// nameable reports whether a slot may have the name and the shape of a value: its extents are expressions of
// dimensions and attributes. Another value is computed again by backward.
func (f *follower) nameable(x spec.Value) bool {
	if !rules.IsSlotName(x.Name) {
		return false
	}
	known := map[string]bool{}
	for _, n := range extentNames(f.op) {
		known[n] = true
	}
	return !slices.ContainsFunc(x.Shape, func(e string) bool {
		n, err := expr.Parse(strings.TrimSuffix(e, "..."))
		return err != nil || slices.ContainsFunc(expr.Names(n), func(name string) bool { return !known[name] })
	})
}

// free reports whether a slot may have a name.
func (f *follower) free(name string) bool {
	return !slices.ContainsFunc(f.spec.Slots, func(s *spec.Slot) bool { return s.Name == name }) && !slices.Contains(extentNames(f.op), name) &&
		!slices.ContainsFunc(f.spec.Own, func(x spec.Value) bool { return x.Name == name })
}

// returned reports whether backward may be given what forward returns or what the spec says that it saves.
func (f *follower) returned(slot int) bool {
	s := f.spec.Slots[slot]
	return s.Role.V == "saved" || s.Role.V == "output" && !s.Present.Set() && (s.Saved == nil || rules.Saved(s) != "")
}

// typeOf returns the element type in which a value is saved. Statistics are float64, as loops compute them. A
// number that is one of a tensor's elements has the type of outputs, and so have the elements of products of
// matrices and what is computed of each of them. What a weight was has its type.
func (f *follower) typeOf(v *view, t int) string {
	l := v.program.Tensors[t]
	if was := v.program.Before(t); was >= 0 {
		return f.spec.Slots[v.program.Tensors[was].Slot].Type.V
	}
	switch {
	case l.Kind == term.Boolean:
		return dtype.Bool.String()
	case l.Kind == term.Integer && l.Unsigned:
		return dtype.U64.String()
	case l.Kind == term.Integer:
		return dtype.I64.String()
	case v.gradient.Statistic(t) && !v.gradient.Extreme(t):
		return dtype.F64.String()
	}
	return f.float()
}

// float returns the type of the first output that may hold real numbers.
func (f *follower) float() string {
	for _, s := range f.spec.Slots {
		if s.Role.V == "output" && f.spec.MayBeFloat(s.Type) {
			return s.Type.V
		}
	}
	return dtype.F64.String()
}

// addSlot adds a slot for a value. It is there in those views for which there says so.
func (f *follower) addSlot(all []*view, m *memory, role, name, elementType string, there []bool) *spec.Slot {
	at := m.value.Pos
	s := &spec.Slot{Name: name, Key: at, Span: at, Role: f.text(at, role), Type: f.text(at, elementType), HasShape: true, ShapeSpan: at}
	for _, e := range m.value.Shape {
		x := &source.Scalar{Span: at, Value: e}
		if n, err := strconv.ParseInt(e, 10, 64); err == nil {
			x.Value = n
		}
		s.Shape = append(s.Shape, x)
	}
	if c := f.condition(all, there, role == "saved"); c != "" {
		s.Present = f.text(at, c)
	}
	f.spec.Slots = append(f.spec.Slots, s)
	return s
}
