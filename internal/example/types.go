package example

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
)

// bindTypes binds dtype variables to the element types of tensors, else of attributes.
func (u *use) bindTypes() {
	for _, s := range u.op.Slots {
		if s.Pattern != nil && s.Var >= 0 && len(u.tensors[s.Number]) > 0 {
			u.types[s.Var] = u.choice.Types[s.Var]
		}
	}
	for i := range u.op.Types {
		u.typeFrom(i, nil)
	}
}

// typeFrom binds dtype variable i, unless a tensor binds it, to the first source in its key from that is
// present. within holds the variables under evaluation, which ends cycles.
func (u *use) typeFrom(i int, within []int) {
	v := u.op.Types[i]
	if u.types[i] == dtype.Invalid && !slices.Contains(within, i) {
		for _, name := range v.From {
			if u.types[i] = u.typeSource(name, append(within, i)); u.types[i] != dtype.Invalid {
				break
			}
		}
	}
	switch t := u.types[i]; {
	case t == dtype.Invalid && len(v.From) > 0:
		u.fail("want an input or an attribute that says the element type %s, got none", v.Name)
	case t != dtype.Invalid && !dtype.Contains(v.TypeVar.Types, t):
		u.fail("want element type %s in %s, got %s", v.Name, dtype.Format(v.TypeVar.Types), t)
	}
}

// attrTypes maps types of attributes to element types.
var attrTypes = map[string]dtype.Type{"bool": dtype.Bool, "int": dtype.I64, "float": dtype.F32, "string": dtype.String}

// typeSource returns the element type of a source: of another dtype variable, an attribute or an element
// type. It returns Invalid if the attribute is absent.
func (u *use) typeSource(name string, within []int) dtype.Type {
	if i := u.typeVar(name); i >= 0 {
		u.typeFrom(i, within)
		return u.types[i]
	}
	a := u.attr(name)
	switch {
	case a == nil:
		t, _ := dtype.Parse(name)
		return t
	case u.attrs[name] == nil:
		return dtype.Invalid
	case a.Type == "number":
		n, _ := attr.ParseNumber(fmt.Sprint(u.raw[name]))
		return n.Type()
	case a.Type == "dtype":
		text, _ := u.attrs[name].(string)
		t, _ := dtype.Parse(text)
		return t
	}
	return attrTypes[a.Type]
}

// typeVar returns the position of a dtype variable, or -1.
func (u *use) typeVar(name string) int {
	return slices.IndexFunc(u.op.Types, func(v model.TypeVar) bool { return v.Name == name })
}

// typeNamed returns the element type of a dtype variable by its name. ok is false if there is no such
// variable.
func (u *use) typeNamed(name string) (t string, ok bool) {
	i := u.typeVar(name)
	if i < 0 {
		return "", false
	}
	return u.types[i].String(), true
}

// maxChoices bounds the combinations of element types.
const maxChoices = 1 << 12

// Choices returns the combinations of element types of an operator's dtype variables, at most maxChoices of
// them, first without and then with outputs on request.
func Choices(o *model.Operator) []Choice {
	types := [][]dtype.Type{nil}
	for _, v := range o.Types {
		var longer [][]dtype.Type
		for _, before := range types {
			for _, t := range v.TypeVar.Types {
				longer = append(longer, append(slices.Clip(before), t))
			}
		}
		types = longer[:min(len(longer), maxChoices)]
	}
	var out []Choice
	for _, t := range types {
		out = append(out, Choice{Types: t})
	}
	if slices.ContainsFunc(o.Slots, func(s *model.Slot) bool { return s.OnRequest && !s.Asked() }) {
		for _, t := range types {
			out = append(out, Choice{Types: t, Request: true})
		}
	}
	return out
}
