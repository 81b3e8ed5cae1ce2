package example

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// setAttrs sets the attributes to the values of the example, or to their defaults.
func (u *use) setAttrs(x *task.Example) {
	var given map[string]any
	d := json.NewDecoder(strings.NewReader(x.Attrs))
	d.UseNumber()
	if err := d.Decode(&given); err != nil {
		u.fail("attrs: %v", err)
	}
	for _, a := range u.op.Attrs {
		v := given[a.Name]
		if v == nil {
			v = a.Default
		}
		if v == nil && !a.Optional {
			u.fail("attribute %s has no default and is not given", a.Name)
		}
		raw, err := plain(a, v)
		if err != nil {
			u.fail("attribute %s: %v", a.Name, err)
		}
		u.raw[a.Name] = raw
		u.attrs[a.Name] = operand(a, raw)
	}
}

// plain converts the value of an attribute to the canonical form of the runtime: numbers are printed as the
// runtime prints float64 and int, element types have their names, and records have all fields.
func plain(a *model.Attr, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if isList(a) {
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("want a list, got %v", v)
		}
		out := []any{}
		for _, x := range list {
			x, err := plainOne(a, x)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
		}
		return out, nil
	}
	return plainOne(a, v)
}

// isList reports whether the value of an attribute is a list.
func isList(a *model.Attr) bool { return a.List || a.Type == "dims" || a.Type == "axes" }

// plainOne is plain for a scalar value or for one element of a list.
func plainOne(a *model.Attr, v any) (any, error) {
	switch x := v.(type) {
	case json.Number:
		if a.Type == "float" {
			f, err := x.Float64()
			if err != nil {
				return nil, err
			}
			text, err := json.Marshal(f)
			return json.Number(text), err
		}
		if a.Type == "number" {
			n, err := attr.ParseNumber(x.String())
			return json.Number(n.String()), err
		}
		_, err := x.Int64()
		return x, err
	case string:
		switch a.Type {
		case "dtype":
			t, err := dtype.Parse(x)
			return t.String(), err
		case "float", "number": // an infinity, which JSON lacks
			return json.Number(x), nil
		}
	case map[string]any:
		given, _ := a.Complete(x).(map[string]any)
		out := map[string]any{}
		for _, f := range a.Fields {
			y, err := plain(f, given[f.Name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			out[f.Name] = y
		}
		return out, nil
	}
	return v, nil
}

// operand converts the value of an attribute for expressions: to an int, float64, bool, string, list or
// record, or to nil if the attribute is absent.
func operand(a *model.Attr, v any) any {
	switch x := v.(type) {
	case json.Number:
		if a.Type == "float" || a.Type == "number" {
			f, _ := x.Float64()
			return f
		}
		i, _ := x.Int64()
		return int(i)
	case []any:
		if a.Type != "int" && a.Type != "dims" && a.Type != "axes" {
			return x
		}
		list := []int{}
		for _, e := range x {
			i, _ := operand(a, e).(int)
			list = append(list, i)
		}
		return list
	case map[string]any:
		out := map[string]any{}
		for _, f := range a.Fields {
			out[f.Name] = operand(f, x[f.Name])
		}
		return out
	}
	return v
}

// readable formats a value for a message.
func readable(v any) any {
	switch v := v.(type) {
	case nil:
		return "none"
	case []int:
		return shape.Format(v)
	}
	return v
}

// attr returns the attribute named name, or nil.
func (u *use) attr(name string) *model.Attr {
	i := slices.IndexFunc(u.op.Attrs, func(a *model.Attr) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return u.op.Attrs[i]
}

// checkAxes checks the axis attributes that refer to dimensions of slot s.
func (u *use) checkAxes(s *model.Slot) {
	for _, a := range u.op.Attrs {
		if a.Axis != nil && a.Axis.Slot == s.Name {
			u.axes(a, u.attrs[a.Name])
		}
	}
}

// axes normalizes the value of an axis attribute, an int or a list: negative axes count from the end.
func (u *use) axes(a *model.Attr, v any) any {
	switch v := v.(type) {
	case int:
		return u.checkedAxis(a.Name, v)
	case []int:
		out := []int{}
		for _, x := range v {
			out = append(out, u.checkedAxis(a.Name, x))
		}
		return out
	}
	return v
}

// checkedAxis normalizes an axis and checks it against the rank of the attribute's slot. It returns 0 if the
// slot is absent.
func (u *use) checkedAxis(attr string, axis int) int {
	a := u.attr(attr)
	i := slices.IndexFunc(u.op.Slots, func(s *model.Slot) bool { return s.Name == a.Axis.Slot })
	if i < 0 || len(u.tensors[i]) == 0 {
		return 0
	}
	return u.axisOf(a, axis, u.tensors[i][0].Shape)
}

// axisOf normalizes an axis of a shape to a number >= 0.
func (u *use) axisOf(a *model.Attr, axis int, dims []int) int {
	rank, end := len(dims), len(dims)
	if a.Axis.End {
		end++
	}
	at := axis
	if at < 0 {
		at += rank
	}
	if at < 0 || at >= end {
		u.fail("%s: want attribute %s between %d and %d for %s, got %d", a.Axis.Slot, a.Name, -rank, end-1, shape.Format(dims), axis)
		return 0
	}
	return at
}
