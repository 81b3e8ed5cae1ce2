package example

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/model"
)

// condition returns an expression of attributes that holds in all views in which something is so, and in as
// few others as attributes tell; "" if they tell nothing. An attribute tells that something is not so for one
// of its values if it is never so with this value, and if it is so in a view that differs in nothing else.
// Without values, of an attribute that may be absent only counts whether it is there, so that the condition
// stays when an enum gets values.
func (f *follower) condition(views []*view, so []bool, values bool) string {
	told := slices.Clone(so) // views in which it is so, or of which a test tells that it is not
	var out []string
	for _, a := range f.op.Attrs {
		t := testOf(a, views, so, values)
		if t == nil {
			continue
		}
		more := false
		for i, holds := range t.holds {
			more = more || !holds && !told[i]
			told[i] = told[i] || !holds
		}
		if more {
			out = append(out, t.text)
		}
	}
	return strings.Join(out, " && ")
}

// test is a condition of one attribute that holds in all views in which something is so.
type test struct {
	text  string
	holds []bool // by view
}

// testOf returns the condition that an attribute has none of the values with which something is never so; nil
// if there are no such values.
func testOf(a *model.Attr, views []*view, so []bool, values bool) *test {
	few := (values || !a.Optional) && (a.Type == "enum" || a.Type == "bool" && !a.Optional)
	if !hasFew(a) {
		return nil
	}
	value := func(v *view) string {
		x := v.raw[a.Name]
		switch {
		case x == nil:
			return "" // the attribute is absent
		case few:
			return fmt.Sprint(x)
		}
		return "there"
	}
	likely, has := map[string]bool{}, map[string]bool{} // what else there is in views in which it is so, and values in these
	for i, v := range views {
		if so[i] {
			likely[v.without(a.Name)], has[value(v)] = true, true
		}
	}
	never := map[string]bool{}
	for i, v := range views {
		if x := value(v); !so[i] && !has[x] && likely[v.without(a.Name)] {
			never[x] = true
		}
	}
	if len(never) == 0 {
		return nil
	}
	t := &test{text: without(a, never)}
	for _, v := range views {
		t.holds = append(t.holds, !never[value(v)])
	}
	return t
}

// without names what a use has besides an attribute.
func (u *use) without(attr string) string {
	var b strings.Builder
	for _, a := range u.op.Attrs {
		if a.Name != attr {
			fmt.Fprint(&b, u.raw[a.Name], ";")
		}
	}
	for _, s := range u.op.Slots {
		if s.Pattern != nil {
			fmt.Fprint(&b, u.tensors[s.Number], ";")
		}
	}
	fmt.Fprint(&b, u.choice.Request)
	return b.String()
}

// without returns the condition that an attribute has none of some values, of which "" stands for that it is
// absent.
func without(a *model.Attr, never map[string]bool) string {
	switch {
	case never[""] && len(never) == 1:
		return "has(" + a.Name + ")"
	case a.Type == "bool" && !a.Optional && never["false"]:
		return a.Name
	case a.Type == "bool" && !a.Optional:
		return "!" + a.Name
	case a.Type != "enum" || never["there"]:
		return "!has(" + a.Name + ")"
	}
	var with, other []string
	for _, v := range a.Enum.Values {
		name := "'" + v.Name + "'"
		if never[v.Name] {
			other = append(other, name)
		} else {
			with = append(with, name)
		}
	}
	switch {
	case len(with) == 0:
		return "!has(" + a.Name + ")"
	case a.Optional && !never[""]:
		return "(!has(" + a.Name + ") || " + oneOf(a.Name, with, "==", "in") + ")"
	case a.Optional || len(with) <= len(other):
		return oneOf(a.Name, with, "==", "in")
	}
	return oneOf(a.Name, other, "!=", "not in")
}

// oneOf compares an attribute with one value, or with several.
func oneOf(name string, values []string, equal, in string) string {
	if len(values) == 1 {
		return name + " " + equal + " " + values[0]
	}
	return name + " " + in + " [" + strings.Join(values, ", ") + "]"
}
