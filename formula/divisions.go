package formula

import (
	"cmp"
	"fmt"
	"math/big"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/task"
)

func init() { task.DivideFormulas(divisions) }

// divisions returns the ways in which a use of an operator with a formula can be divided among devices. It
// leaves out a dimension that is at different positions in tensors of one slot, or that some of these tensors
// lack.
func divisions(o *task.Operator, r *task.Resolution) ([]task.Division, error) {
	u, err := useOf(o, r.Attrs, r, 0, nil)
	if err != nil {
		return nil, mistake(o.FullName(), err.Error())
	}
	// Conditions on extents stay unfolded, since they may have another value in a part than in the whole.
	u.Open, u.Unsettled = true, true
	for slot := range r.Args {
		delete(u.Args, o.Slots[slot].Name) // it may be computed from extents
	}
	p, err := program.Build(u)
	if err != nil {
		return nil, nil // the formula uses such an argument
	}
	dims := dimensions(u)
	derived := map[string]bool{}
	for symbol := range dims {
		derived[symbol] = true
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
	s := &divisible{o: o, r: r, use: u, program: p, dims: dims, derived: derived}
	extents := map[string]bool{}
	q := derive.Use{Program: p, Derived: derived, Changed: s.changed}
	for i, l := range p.Tensors {
		for _, n := range l.Shape {
			n.Walk(func(n *term.Term) { extents[n.Name] = true })
		}
		switch {
		case l.Slot < 0 || l.Old >= 0:
		case o.Slots[l.Slot].Role == task.RoleSaved:
			q.Own = append(q.Own, i)
		case o.Slots[l.Slot].Role == task.RoleWeight && len(r.Operands(l.Slot)) == 1:
			q.Once = append(q.Once, i)
		}
	}
	// Attributes that determine no extent have the same value in all parts, so conditions on them can be
	// folded.
	p.SettleSome(func(symbol string) bool { return dims[symbol] == 0 && !extents[symbol] })
	var out []task.Division
	for _, d := range q.Divisions() {
		if division, ok := s.division(d); ok {
			out = append(out, division)
		}
	}
	return out, nil
}

// divisible is a use of an operator for which divisions among devices are searched.
type divisible struct {
	o       *task.Operator
	r       *task.Resolution
	use     *program.Use
	program *program.Program
	dims    map[string]int  // symbol of a dimension -> extent
	derived map[string]bool // symbols that are computed from other extents
}

// division converts a division by tensors to one by slots. ok is false if the tensors of a slot are divided
// along different axes, or if the extent depends on several attributes.
func (s *divisible) division(d derive.Division) (out task.Division, ok bool) {
	of, tensors := map[int]int{}, map[int]int{}
	attr, dim, ok := nameOf(s.use, s.dims, d.Symbols)
	for _, a := range d.Axes {
		slot := s.program.Tensors[a.Tensor].Slot
		if s.program.Tensors[a.Tensor].Old >= 0 {
			continue // the value before, in the memory of the slot
		}
		if axis, known := of[slot]; known && axis != a.Dim {
			ok = false
		}
		of[slot] = a.Dim
		tensors[slot]++
	}
	for slot, n := range tensors {
		ok = ok && n == len(s.r.Operands(slot))
	}
	out = task.Division{Name: cmp.Or(attr, dim), Attr: attr, Partial: d.Partial, Axes: of, Once: -1}
	if d.Once >= 0 {
		out.Once = s.program.Tensors[d.Once].Slot
	}
	return out, ok && len(of) > 0
}

// changed returns the symbols of derived extents whose values change when a use is divided into some number
// of parts. It tries all numbers that divide all axes of d.
func (s *divisible) changed(d derive.Division) map[string]bool {
	of, ok := s.division(d)
	if !ok {
		return s.derived
	}
	extent := 0
	for slot, axis := range of.Axes {
		for _, t := range s.r.Operands(slot) {
			extent = int(new(big.Int).GCD(nil, nil, big.NewInt(int64(extent)), big.NewInt(int64(t.Shape[axis]))).Int64())
		}
	}
	out := map[string]bool{}
	for parts := 2; parts <= extent; parts++ {
		if extent%parts != 0 {
			continue
		}
		dims, err := s.part(&of, parts)
		for symbol := range s.derived {
			if err != nil || dims[symbol] != s.dims[symbol] {
				out[symbol] = true
			}
		}
	}
	return out
}

// part returns the extents of dimensions in one part, if a use is divided into parts parts.
func (s *divisible) part(d *task.Division, parts int) (map[string]int, error) {
	attrs, err := d.Divide(s.o, s.r.Attrs, parts)
	if err != nil {
		return nil, err
	}
	r, err := s.r.Part(s.o, attrs, d, parts)
	if err != nil {
		return nil, err
	}
	u, err := useOf(s.o, attrs, r, 0, nil)
	if err != nil {
		return nil, err
	}
	return dimensions(u), nil
}

// dimensions returns the extents of a use's dimensions by symbol, such as N, or X0 for the first one of the
// run X.... It returns -1 for an extent of 0, so that 0 means that there is no such dimension.
func dimensions(u *program.Use) map[string]int {
	out := map[string]int{}
	run := func(name string, extents []int) {
		for i, n := range extents {
			out[program.SymbolOf(name, i)] = cmp.Or(n, -1)
		}
	}
	for name, v := range u.Dims {
		switch v := v.(type) {
		case int:
			out[name] = cmp.Or(v, -1)
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

// nameOf returns the attribute and the dimension among the symbols of an extent. dim is "" if the extent
// belongs to a run. ok is false if there are two attributes, or an element of a list attribute.
func nameOf(u *program.Use, dims map[string]int, symbols []string) (attr, dim string, ok bool) {
	for _, s := range symbols {
		_, isAttr := u.Attrs[s]
		_, single := u.Dims[s].(int)
		switch {
		case isAttr && attr == "":
			attr = s
		case isAttr || dims[s] == 0:
			return "", "", false
		case single && dim == "":
			dim = s
		}
	}
	return attr, dim, true
}
