package example

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Runs returns what computes each task of an operator by its formula in the uses that its examples show: in f32, as far as the operator and an
// example allow it. There is nil for tasks that graphs do not invoke, and for an example that does not fit or whose formula cannot be computed.
func Runs(o *model.Operator) [][]*formula.Run {
	parsed, err := program.Parse(o.Operator.Formula)
	if err != nil {
		return nil
	}
	choices := Choices(o)
	slices.SortStableFunc(choices, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.others(), b.others()), cmp.Compare(a.beside(dtype.F32), b.beside(dtype.F32)))
	})
	out := make([][]*formula.Run, len(o.Operator.Examples))
	for i := range out {
		for _, c := range choices {
			if u := newUse(o, &o.Operator.Examples[i], c); u.err == nil {
				u.parsed = parsed
				out[i] = u.runs()
				break
			}
		}
	}
	return out
}

// runs returns what computes each task; nil if the formula cannot be computed.
func (u *use) runs() []*formula.Run {
	out := make([]*formula.Run, len(u.op.Tasks))
	r := u.resolution()
	for i, t := range u.op.Tasks {
		if !t.Invoked() {
			continue
		}
		var err error
		if out[i], err = formula.RunOf(t.Signature, u.result(), r); err != nil || u.err != nil {
			return nil
		}
	}
	return out
}

// beside counts the element types of a choice that are not t.
func (c Choice) beside(t dtype.Type) int {
	n := 0
	for _, u := range c.Types {
		if u != t {
			n++
		}
	}
	return n
}

// resolution returns what the use resolves to, as far as kernels of formulas look at it.
func (u *use) resolution() *task.Resolution {
	r := &task.Resolution{Types: u.types, Bounds: map[int]task.Bound{}}
	for i, s := range u.op.Slots {
		r.Slots = append(r.Slots, nil)
		for _, t := range u.tensors[i] {
			r.Slots[i] = append(r.Slots[i], task.Operand{Type: t.Type, Shape: t.Shape})
		}
		if s.BelowX != nil {
			r.Bounds[i] = u.bound(s)
		}
	}
	for range u.op.Args {
		r.Slots = append(r.Slots, nil)
	}
	for _, t := range u.op.Tasks {
		unused, grids := map[int]bool{}, make([]op.Grid, len(t.Steps))
		for _, p := range t.Params {
			unused[p.Slot.Number] = p.OnlyIf != nil && !u.truth(p.OnlyIf)
		}
		for i, s := range t.Steps {
			if s.WhenX != nil && !u.truth(s.WhenX) || !t.Invoked() {
				continue
			}
			grids[i] = op.Grid{Axis: op.Axis{Over: u.integer(s.OverX), Grain: 1}}
			for _, n := range s.InnerX {
				grids[i].Inner = append(grids[i].Inner, op.Axis{Over: u.integer(n), Grain: 1})
			}
		}
		r.Unused, r.Grids = append(r.Unused, unused), append(r.Grids, grids)
	}
	return r
}
