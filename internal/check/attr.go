package check

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/nearest"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
)

// attrTypes lists the types of attributes; those with true are read but not generated yet.
var attrTypes = map[string]bool{
	"int": false, "float": false, "bool": false, "string": false, "enum": false, "dtype": false,
	"axis": false, "dims": false, "axes": false, "record": false,
	"graph": true, "tensor": true, "type": true,
}

func attrTypeNames() []string {
	var names []string
	for n := range attrTypes {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (o *operator) attr(a *spec.Attr, field bool) {
	what := "attribute"
	if field {
		what = "field"
	}
	o.name(a.Name, what, a.Key)
	if !a.Type.Set() {
		return
	}
	later, known := attrTypes[a.Type.V]
	if !known || field && (a.Type.V == "record" || a.Type.V == "axis") {
		d := o.list.Add(diag.BadValue, a.Type.Span(), "there is no %s type %q", what, a.Type.V)
		if n := nearest.Name(a.Type.V, attrTypeNames()); n != "" && known == false {
			d.Hinted("did you mean %s?", n)
		} else {
			d.Hinted("types are %s", strings.Join(attrTypeNames(), ", "))
		}
		return
	}
	if later {
		o.list.Add(diag.NotYet, a.Type.Span(), "attributes of type %s are not supported yet", a.Type.V)
		return
	}
	o.attrKeys(a)
	o.bounds(a)
	if a.Type.V == "axis" && !field {
		o.axis(a)
	}
	if a.Default != nil {
		if a.Optional.V {
			o.list.Add(diag.ExclusiveKey, source.SpanOf(a.Default), "%s is optional, so it is absent by default; it cannot have a default besides", a.Name)
		}
		if msg := o.value(a, a.Default); msg != "" {
			o.list.Add(diag.BadDefault, source.SpanOf(a.Default), "default of %s: %s", a.Name, msg)
		}
	}
	seen := map[string]source.Span{}
	for _, f := range a.Fields {
		if first, ok := seen[f.Name]; ok {
			o.list.Add(diag.Duplicate, f.Key, "field %s is declared twice", f.Name).See(first, "first declared here")
		}
		seen[f.Name] = f.Key
		o.attr(f, true)
		if f.Default != nil {
			o.list.Add(diag.ExclusiveKey, source.SpanOf(f.Default), "fields of records have no defaults")
		}
	}
}

// attrKeys checks that the keys of an attribute fit its type.
func (o *operator) attrKeys(a *spec.Attr) {
	only := func(has bool, span source.Span, key string, types ...string) {
		if has && !slices.Contains(types, a.Type.V) {
			o.list.Add(diag.ExclusiveKey, span, "%s means nothing for an attribute of type %s, only for %s", key, a.Type.V, strings.Join(types, ", "))
		}
	}
	if a.Min != nil {
		only(true, source.SpanOf(a.Min), "min", "int", "float")
	}
	if a.Max != nil {
		only(true, source.SpanOf(a.Max), "max", "int", "float")
	}
	if len(a.Values) > 0 {
		only(true, a.Values[0].Span(), "values", "enum")
	}
	only(a.Enum.Set(), a.Enum.Span(), "enum", "enum")
	only(a.Binds.Set(), a.Binds.Span(), "binds", "axis")
	only(a.Of.Set(), a.Of.Span(), "of", "axis", "axes")
	only(a.End.Set(), a.End.Span, "end", "axis")
	if len(a.Fields) > 0 {
		only(true, a.Fields[0].Key, "fields", "record")
	}
	if a.List.V {
		switch a.Type.V {
		case "record", "axis", "axes", "dims":
			o.list.Add(diag.ExclusiveKey, a.List.Span, "there are no lists of %s", a.Type.V)
		}
	}
	switch a.Type.V {
	case "enum":
		switch {
		case a.Enum.Set() && len(a.Values) > 0:
			o.list.Add(diag.ExclusiveKey, a.Enum.Span(), "an enum attribute either lists its values or names a shared enum")
		case a.Enum.Set():
			if e := o.specs[a.Enum.V]; e == nil || e.Kind != spec.Enum {
				d := o.list.Add(diag.Undefined, a.Enum.Span(), "there is no spec of kind enum named %s", a.Enum.V)
				var names []string
				for n := range o.enums {
					names = append(names, n)
				}
				slices.Sort(names)
				if n := nearest.Name(a.Enum.V, names); n != "" {
					d.Hinted("did you mean %s?", n)
				}
			}
		default:
			o.enumValues(a.Values, "attribute "+a.Name, a.Span)
		}
	case "record":
		if len(a.Fields) == 0 {
			o.list.Add(diag.MissingKey, a.Span, "record %s has no fields", a.Name)
		}
	}
}

func number(n source.Node) (float64, bool) {
	if s, ok := n.(*source.Scalar); ok {
		switch v := s.Value.(type) {
		case int64:
			return float64(v), true
		case float64:
			return v, true
		}
	}
	return 0, false
}

func (o *operator) bounds(a *spec.Attr) {
	if a.Type.V != "int" && a.Type.V != "float" {
		return
	}
	for _, b := range []source.Node{a.Min, a.Max} {
		if b == nil {
			continue
		}
		_, isNumber := number(b)
		if !isNumber || a.Type.V == "int" && source.Kind(b) != "integer" {
			o.list.Add(diag.WrongKind, source.SpanOf(b), "a bound of %s is %s, got %s", a.Name, articled(a.Type.V), articled(source.Kind(b)))
			return
		}
	}
	if a.Min != nil && a.Max != nil {
		lo, _ := number(a.Min)
		hi, _ := number(a.Max)
		if lo > hi {
			o.list.Add(diag.BadRange, source.SpanOf(a.Min), "min of %s is above its max", a.Name).See(source.SpanOf(a.Max), "max")
		}
	}
}

func articled(s string) string {
	if s == "int" {
		s = "integer"
	}
	if strings.ContainsRune("aeiou", rune(s[0])) {
		return "an " + s
	}
	return "a " + s
}

func (o *operator) axis(a *spec.Attr) {
	if a.Binds.Set() && !scope.IsDimName(a.Binds.V) {
		o.list.Add(diag.BadName, a.Binds.Span(), "want the name of a dimension, got %q", a.Binds.V)
	}
	if a.Binds.Set() && a.End.V {
		o.list.Add(diag.ExclusiveKey, a.End.Span, "an axis that binds a dimension is that dimension, not the end of a range")
	}
	if AxisSlot(o.s, a) != nil {
		return
	}
	span := a.Key
	if a.Of.Set() {
		span = a.Of.Span()
		d := o.list.Add(diag.Undefined, span, "%s is no slot whose shape the caller gives", a.Of.V)
		if h := o.sc.Suggest(a.Of.V, "slot"); h != "" {
			d.Hinted("%s", h)
		}
		return
	}
	o.list.Add(diag.Undefined, span, "axis %s belongs to no input", a.Name)
}

// AxisSlot returns the slot of whose shape an axis attribute names a dimension: the one it names, or
// the first whose shape the caller gives.
func AxisSlot(s *spec.Spec, a *spec.Attr) *spec.Slot {
	for _, sl := range s.Slots {
		if scope.Provided(s, sl) && (!a.Of.Set() || sl.Name == a.Of.V) {
			return sl
		}
	}
	return nil
}

// value checks a value of an attribute as it stands in a spec and returns what is wrong, or "".
func (o *operator) value(a *spec.Attr, n source.Node) string {
	if a.List.V || a.Type.V == "dims" || a.Type.V == "axes" {
		arr, ok := n.(*source.Array)
		if !ok {
			return "want an array, got " + articled(source.Kind(n))
		}
		one := *a
		one.List = spec.Bool{}
		if a.Type.V == "dims" || a.Type.V == "axes" {
			one.Type.V = "int"
		}
		for _, e := range arr.Elems {
			if msg := o.value(&one, e); msg != "" {
				return msg
			}
		}
		return ""
	}
	if t, ok := n.(*source.Table); ok && a.Type.V == "record" {
		for _, e := range t.Entries {
			i := slices.IndexFunc(a.Fields, func(f *spec.Attr) bool { return f.Name == e.Key })
			if i < 0 {
				return "there is no field " + e.Key
			}
			if msg := o.value(a.Fields[i], e.Value); msg != "" {
				return e.Key + ": " + msg
			}
		}
		for _, f := range a.Fields {
			if t.Get(f.Name) == nil && !f.Optional.V {
				return "field " + f.Name + " is missing"
			}
		}
		return ""
	}
	s, ok := n.(*source.Scalar)
	if !ok {
		return fmt.Sprintf("want %s, got %s", articled(a.Type.V), articled(source.Kind(n)))
	}
	wrong := fmt.Sprintf("want %s, got %s", articled(a.Type.V), articled(source.Kind(n)))
	switch a.Type.V {
	case "int", "axis":
		v, ok := s.Value.(int64)
		if !ok {
			return wrong
		}
		if v > math.MaxInt32 || v < math.MinInt32 {
			return fmt.Sprintf("%d is out of range", v)
		}
		return outside(a, float64(v))
	case "float":
		v, ok := number(n)
		if !ok {
			return wrong
		}
		return outside(a, v)
	case "bool":
		if _, ok := s.Value.(bool); !ok {
			return wrong
		}
	case "string":
		if _, ok := s.Value.(string); !ok {
			return wrong
		}
	case "dtype":
		v, ok := s.Value.(string)
		if !ok {
			return wrong
		}
		if _, err := dtype.Parse(v); err != nil {
			return err.Error()
		}
	case "enum":
		v, ok := s.Value.(string)
		if !ok {
			return wrong
		}
		values := scope.AttrSymbol(a, o.enums).Type.Values
		if !slices.Contains(values, v) {
			msg := fmt.Sprintf("%q is not one of %s", v, strings.Join(values, ", "))
			if n := nearest.Name(v, values); n != "" {
				msg += fmt.Sprintf(" (did you mean %q?)", n)
			}
			return msg
		}
	case "record":
		return wrong
	}
	return ""
}

func outside(a *spec.Attr, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "want a finite number"
	}
	if lo, ok := number(a.Min); a.Min != nil && ok && v < lo {
		return fmt.Sprintf("%v is below min = %v", v, lo)
	}
	if hi, ok := number(a.Max); a.Max != nil && ok && v > hi {
		return fmt.Sprintf("%v is above max = %v", v, hi)
	}
	return ""
}

// JSON returns a TOML value as JSON.
func JSON(n source.Node) string {
	data, err := json.Marshal(plain(n))
	if err != nil {
		return "null"
	}
	return string(data)
}

func plain(n source.Node) any {
	switch n := n.(type) {
	case *source.Table:
		m := map[string]any{}
		for _, e := range n.Entries {
			m[e.Key] = plain(e.Value)
		}
		return m
	case *source.Array:
		l := []any{}
		for _, e := range n.Elems {
			l = append(l, plain(e))
		}
		return l
	case *source.Scalar:
		if f, ok := n.Value.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return nil
		}
		return n.Value
	}
	return nil
}

// given checks attributes that an example or an initialiser gives: each exists and has a possible
// value, and all without a default are there.
func (o *operator) given(of *spec.Spec, entries []*source.Entry, span source.Span, code diag.Code, skip ...string) {
	var names []string
	for _, a := range of.Attrs {
		names = append(names, a.Name)
	}
	have := map[string]bool{}
	for _, e := range entries {
		have[e.Key] = true
		i := slices.Index(names, e.Key)
		if i < 0 {
			d := o.list.Add(code, e.KeySpan, "%s has no attribute %s", of.Name.V, e.Key)
			if n := nearest.Name(e.Key, names); n != "" {
				d.Hinted("did you mean %s?", n)
			}
			continue
		}
		if msg := o.value(of.Attrs[i], e.Value); msg != "" {
			o.list.Add(code, source.SpanOf(e.Value), "%s: %s", e.Key, msg)
		}
	}
	for _, a := range of.Attrs {
		if !have[a.Name] && a.Default == nil && !a.Optional.V && !slices.Contains(skip, a.Name) {
			o.list.Add(code, span, "attribute %s of %s has no default and is not given", a.Name, of.Name.V)
		}
	}
}
