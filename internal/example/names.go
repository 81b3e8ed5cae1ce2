package example

import (
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/model"
)

// value resolves a name in an expression. Axes are normalized.
func (u *use) value(n *expr.Ident) any {
	switch n.Symbol.Class {
	case expr.Attr:
		v := u.attrs[n.Name]
		if a := u.attr(n.Name); a != nil && a.Axis != nil {
			return u.axes(a, v)
		}
		return v
	case expr.Dim:
		return u.dims[n.Name]
	case expr.TypeVar:
		t, _ := u.typeNamed(n.Name)
		return t
	case expr.Position:
		return u.number
	}
	return nil
}

// tensorsOf returns the number of tensors of a slot, or of values that the caller passes for an argument.
func (u *use) tensorsOf(slot string) int {
	for i := range u.passed {
		if u.passed[i].Name == slot {
			return len(u.passed[i].Values)
		}
	}
	i := slices.IndexFunc(u.op.Slots, func(s *model.Slot) bool { return s.Name == slot })
	if i < 0 {
		return 0
	}
	if s := u.op.Slots[i]; s.Asked() {
		return u.asked[s.Name]
	}
	return len(u.tensors[i])
}

// placesOf returns the places of a slot's tensors in the list that the caller passes.
func (u *use) placesOf(slot string) []int {
	list := slices.Clone(u.gaps[slot])
	if list != nil {
		return list
	}
	for i := range u.tensorsOf(slot) {
		list = append(list, i)
	}
	return list
}
