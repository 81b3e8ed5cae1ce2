package formula

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/task"
)

func init() { task.DivideFormulas(divisions) }

// divisions returns the ways in which a use of an operator with a formula can be divided among devices. A
// dimension that stands at different places in tensors of one slot is not among them, nor one that some of
// them lack.
func divisions(o *task.Operator, r *task.Resolution) ([]task.Division, error) {
	u, err := useOf(o, r.Attrs, r, 0, nil)
	if err != nil {
		return nil, mistake(o.FullName(), err.Error())
	}
	// Conditions on extents stay open, since they may hold for the whole and not for a part.
	u.Open, u.Unsettled = true, true
	for slot := range r.Args {
		delete(u.Args, o.Slots[slot].Name) // it may be computed from extents
	}
	p, err := program.Build(u)
	if err != nil {
		return nil, nil // the formula uses such an argument
	}
	dims := dimensions(u)
	derived := maps.Clone(dims)
	for _, l := range p.Tensors {
		if l.Slot < 0 || o.Slots[l.Slot].Role != task.RoleInput && o.Slots[l.Slot].Role != task.RoleWeight {
			continue
		}
		for _, n := range l.Shape {
			if n.Op == term.Symbol {
				delete(derived, n.Name)
			}
		}
	}
	var out []task.Division
	for _, d := range derive.Divisions(p, derived) {
		of, tensors := map[int]int{}, map[int]int{}
		name, same := nameOf(u, dims, d.Symbols)
		for _, a := range d.Axes {
			slot := p.Tensors[a.Tensor].Slot
			if p.Tensors[a.Tensor].Old >= 0 {
				continue // the value before, in the memory of the slot
			}
			if axis, ok := of[slot]; ok && axis != a.Dim {
				same = false
			}
			of[slot] = a.Dim
			tensors[slot]++
		}
		for slot, n := range tensors {
			same = same && n == len(r.Operands(slot))
		}
		if same && len(of) > 0 {
			out = append(out, task.Division{Name: name, Partial: d.Partial, Axes: of})
		}
	}
	return out, nil
}

// dimensions returns the symbols of a use's dimensions, also of those of runs.
func dimensions(u *program.Use) map[string]bool {
	out := map[string]bool{}
	run := func(name string, extents []int) {
		for i := range extents {
			out[program.SymbolOf(name, i)] = true
		}
	}
	for name, v := range u.Dims {
		switch v := v.(type) {
		case int:
			out[name] = true
		case []int:
			run(name, v)
		case [][]int:
			for i := range v {
				run(fmt.Sprintf("%s%d_", name, i), v[i])
			}
		}
	}
	return out
}

// nameOf returns the attribute that the symbols of an extent contain, or else the dimension. The name is ""
// for a dimension of a run. Two attributes, or an element of a list, have no name: ok is false.
func nameOf(u *program.Use, dims map[string]bool, symbols []string) (name string, ok bool) {
	attr, dim := "", ""
	for _, s := range symbols {
		_, isAttr := u.Attrs[s]
		_, single := u.Dims[s].(int)
		switch {
		case isAttr && attr == "":
			attr = s
		case isAttr || !dims[s]:
			return "", false
		case single && dim == "":
			dim = s
		}
	}
	return cmp.Or(attr, dim), true
}
