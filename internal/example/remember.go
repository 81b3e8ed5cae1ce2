package example

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// Remember completes formulas of operators without a kernel by hand whose gradients need what a weight was
// before forward gives it anew: a line names what it was, so that forward may save it. The specs must then be
// checked again. It reports whether it added something.
func Remember(m *model.Module, specs []*spec.Spec) bool {
	byName := map[string]*spec.Spec{}
	for _, s := range specs {
		byName[s.Name.V] = s
	}
	added := false
	for _, o := range m.Operators {
		s := byName[o.Name]
		if !o.Derived || o.Task(task.KindBackward) == nil || !strings.Contains(s.Formula.V, "old.") {
			continue
		}
		f := differentiated(o, s)
		if f == nil {
			continue
		}
		lost := f.lost()
		for i, sl := range s.Slots {
			if lost[i] {
				f.remember(sl)
				added = true
			}
		}
	}
	return added
}

// lost returns the slots of weights whose elements before the task gradients need in some use, and which
// forward may overwrite there.
func (f *follower) lost() map[int]bool {
	out := map[int]bool{}
	given := func(slot int) bool { return f.returned(slot) || f.spec.Slots[slot].Role.V == "weight" }
	for _, v := range slices.Concat(f.views, f.chosen()) {
		own := func(t int) bool {
			return slices.ContainsFunc(f.spec.Own, func(x spec.Value) bool { return x.Name == v.program.Tensors[t].Name && f.nameable(x) })
		}
		for _, t := range v.gradient.Lost(given, own) {
			out[v.program.Tensors[t].Slot] = true
		}
		for slot := range v.gradient.Reads() { // where no statement gives it at any example, one may in a use
			out[slot] = out[slot] || f.sometimes(f.spec.Slots[slot].Name) &&
				slices.ContainsFunc(v.program.Tensors, func(l *program.Local) bool { return l.Slot == slot && l.Unchanged })
		}
	}
	return out
}

// sometimes reports whether a statement gives a slot under a condition that views do not decide for all uses.
func (f *follower) sometimes(slot string) bool {
	parsed, _ := expr.ParseFormula(f.spec.Formula.V)
	for _, x := range parsed.Statements {
		if x.When == nil || !slices.ContainsFunc(x.Targets, func(n expr.Node) bool {
			r, ok := n.(*expr.Read)
			return ok && r.Name == slot
		}) {
			continue
		}
		for _, name := range expr.Names(x.When) {
			if !slices.ContainsFunc(f.op.Attrs, func(a *model.Attr) bool { return a.Name == name && hasFew(a) }) {
				return true
			}
		}
	}
	return false
}

// remember adds a line to the formula that names what a weight was before the task, such as
// held_before[n, k] = old.held[n, k].
func (f *follower) remember(sl *spec.Slot) {
	name := sl.Name + "_before"
	for !f.free(name) {
		name += "_"
	}
	var indices, ranges, extents []string
	for i, x := range sl.Shape {
		e := fmt.Sprint(x.(*source.Scalar).Value)
		extents = append(extents, e)
		index := strings.ToLower(strings.TrimSuffix(e, "..."))
		if !expr.IsDimName(strings.TrimSuffix(e, "...")) || !f.free(index) || slices.ContainsFunc(f.op.Attrs, func(a *model.Attr) bool { return a.Name == index }) {
			index = "i" + strconv.Itoa(i)
			ranges = append(ranges, index+" < "+e)
		}
		for slices.Contains(indices, index) {
			index += "'"
		}
		indices = append(indices, index)
	}
	at := "[" + strings.Join(indices, ", ") + "]"
	line := name + at + " = old." + sl.Name + at
	if ranges != nil {
		line += " for " + strings.Join(ranges, ", ")
	}
	f.spec.Formula.V += "\n" + line
	f.spec.Own = append(f.spec.Own, spec.Value{Name: name, Pos: f.spec.Formula.Span(), Shape: extents})
}
