package example

import (
	"slices"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
)

// bindTypes gives dtype variables the element types of the tensors, or those that attributes determine.
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

// typeFrom gives a dtype variable that no tensor binds the first type of its key from that is given. within
// lists the variables that wait for it.
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

// attrTypes gives the element type that the type of an attribute determines.
var attrTypes = map[string]dtype.Type{"bool": dtype.Bool, "int": dtype.I64, "float": dtype.F32, "string": dtype.String}

// typeSource returns the element type of a name in the key from: of another dtype variable, an attribute or
// an element type. It is Invalid if the attribute is absent.
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
	case a.Type == "dtype":
		text, _ := u.attrs[name].(string)
		t, _ := dtype.Parse(text)
		return t
	}
	return attrTypes[a.Type]
}

// typeVar returns the number of a dtype variable, or -1.
func (u *use) typeVar(name string) int {
	return slices.IndexFunc(u.op.Types, func(v model.TypeVar) bool { return v.Name == name })
}

// typeNamed returns the name of a dtype variable's element type. ok is false if there is no such variable.
func (u *use) typeNamed(name string) (t string, ok bool) {
	i := u.typeVar(name)
	if i < 0 {
		return "", false
	}
	return u.types[i].String(), true
}

// maxChoices bounds how many choices of element types are made.
const maxChoices = 1 << 12

// Choices returns the choices of element types of an operator's dtype variables, without and with the outputs
// that are made on request. There are at most a few thousand.
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
