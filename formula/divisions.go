package formula

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	derived := map[string]bool{}
	for name, v := range u.Dims {
		switch v := v.(type) {
		case int:
			derived[name] = true
		case []int:
			for i := range v {
				derived[program.SymbolOf(name, i)] = true
			}
		case [][]int:
			for i := range v {
				for k := range v[i] {
					derived[program.SymbolOf(fmt.Sprintf("%s%d_", name, i), k)] = true
				}
			}
		}
	}
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
	found := derive.Divisions(p, derived)
	for _, d := range found {
		of, tensors := map[int]int{}, map[int]int{}
		name, same := nameOf(u, d.Symbols)
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

// nameOf returns the name of the attribute or of the dimension that extents with these symbols have; an
// attribute's, if there is one. It fails if a part has other attributes and no single number says which.
func nameOf(u *program.Use, symbols []string) (name string, ok bool) {
	attrs, dims := "", ""
	for _, s := range symbols {
		_, attr := u.Attrs[s]
		_, dim := u.Dims[s].(int)
		switch {
		case attr && attrs != "":
			return "", false
		case attr:
			attrs = s
		case dim && dims == "":
			dims = s
		case !dim && !slices.ContainsFunc(slices.Collect(maps.Keys(u.Dims)), func(run string) bool { return run != s && strings.HasPrefix(s, run) }):
			return "", false // an element of a list of numbers
		}
	}
	return cmp.Or(attrs, dims), true
}
