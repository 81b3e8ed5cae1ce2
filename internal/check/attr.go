package check

import (
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// laterTypes lists types of attributes that are read but not generated yet.
var laterTypes = []string{"graph", "tensor", "sparse", "type"}

func (o *operator) attr(a *spec.Attr, field bool) {
	what := "attribute"
	if field {
		what = "field"
	}
	o.name(a.Name, what, a.Key)
	if !a.Type.Set() {
		return
	}
	types := spec.AttrTypes
	if field {
		types = spec.FieldTypes
	}
	later := slices.Contains(laterTypes, a.Type.V)
	known := later || slices.Contains(spec.AttrTypes, a.Type.V)
	if !later && !slices.Contains(types, a.Type.V) {
		message := "there is no attribute type %q"
		if known {
			message = "a field cannot be of type %s"
		}
		d := o.list.Add(diag.BadValue, a.Type.Span(), message, a.Type.V)
		names := slices.Sorted(slices.Values(types))
		if known || d.Nearest(a.Type.V, names) == "" {
			d.Hinted("types are %s", strings.Join(names, ", "))
		}
		return
	}
	if later {
		o.list.Add(diag.NotYet, a.Type.Span(), "attributes of type %s are not supported yet", a.Type.V)
		return
	}
	o.attrKeys(a)
	o.bounds(a)
	if (a.Type.V == "axis" || a.Type.V == "axes") && !field {
		o.axis(a)
	}
	if a.Default != nil {
		if a.Optional.V {
			o.list.Add(diag.ExclusiveKey, source.SpanOf(a.Default), "%s is optional, so it is absent by default and cannot have another default", a.Name)
		}
		if bad := o.value(a, a.Default); bad != nil {
			o.flaw(diag.BadDefault, "default of "+a.Name, bad)
		}
	}
	for _, f := range a.Fields {
		o.attr(f, true)
	}
}

// attrKeys checks that the keys of an attribute fit its type.
func (o *operator) attrKeys(a *spec.Attr) {
	only := func(has bool, span source.Span, key string, types ...string) {
		if has && !slices.Contains(types, a.Type.V) {
			o.list.Add(diag.ExclusiveKey, span, "%s has no meaning for an attribute of type %s, only for %s", key, a.Type.V, strings.Join(types, ", "))
		}
	}
	if a.Min != nil {
		only(true, source.SpanOf(a.Min), "min", "int", "float", "number", "dims")
	}
	if a.Max != nil {
		only(true, source.SpanOf(a.Max), "max", "int", "float", "number", "dims")
	}
	if a.Len.Set() && !a.List.V {
		only(true, a.Len.Span, "len", "dims", "axes")
	}
	if a.Len.V < 0 {
		o.list.Add(diag.BadValue, a.Len.Span, "a list has 0 values or more, not %d", a.Len.V)
	}
	only(a.ValuesSpan.File != nil, a.ValuesSpan, "values", "enum")
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
			if e := o.specs[a.Enum.V]; (e == nil || e.Kind != spec.Enum && e.Kind != "") && !o.ambiguous(a.Enum.V, a.Enum.Span()) {
				d := o.list.Add(diag.Undefined, a.Enum.Span(), "there is no spec of kind enum named %s", a.Enum.V)
				d.Suggest(a.Enum.V, "enums", o.names(spec.Enum))
			}
		case a.Bad && len(a.Values) == 0:
		case a.ValuesSpan.File == nil:
			o.list.Add(diag.MissingKey, a.Span, "values is missing: the names of the enum's values; or enum, the name of a shared enum")
		default:
			o.enumValues(a.Values, "attribute "+a.Name, a.ValuesSpan)
		}
	case "record":
		if len(a.Fields) == 0 && !a.Bad {
			o.list.Add(diag.MissingKey, a.Span, "record %s has no fields", a.Name)
		}
	}
}

func (o *operator) bounds(a *spec.Attr) {
	if !slices.Contains([]string{"int", "float", "number", "dims"}, a.Type.V) {
		return
	}
	kind := a.Type.V
	if kind == "dims" {
		kind = "int" // of each element
	}
	for _, b := range []source.Node{a.Min, a.Max} {
		if b == nil {
			continue
		}
		v, isNumber := number(b)
		if !isNumber || kind == "int" && source.Kind(b) != "integer" {
			o.list.Add(diag.WrongKind, source.SpanOf(b), "a bound of %s is %s, got %s", a.Name, wanted[kind], english.Article(source.Kind(b)))
			return
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			o.list.Add(diag.BadValue, source.SpanOf(b), "a bound of %s is a finite number; leave out the key if there is no bound", a.Name)
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

func (o *operator) axis(a *spec.Attr) {
	if a.Binds.Set() && !expr.IsDimName(a.Binds.V) {
		o.list.Add(diag.BadName, a.Binds.Span(), "want the name of a dimension, got %q", a.Binds.V)
	}
	if a.Binds.Set() && a.Optional.V {
		o.list.Add(diag.ExclusiveKey, a.Optional.Span, "an axis that binds a dimension is always given, so it is not optional").Hinted("give it a default")
	}
	if a.Binds.Set() && a.End.V {
		o.list.Add(diag.ExclusiveKey, a.End.Span, "an axis that binds a dimension names that dimension, not the end of a range")
	}
	of := rules.AxisSlot(o.s, a)
	switch {
	case o.sc.Lenient():
	case of != nil && a.Of.Set() && a.Binds.Set() && !rules.HasAxisDim(of, a.Binds.V):
		o.list.Add(diag.UnboundDim, a.Binds.Span(), "the shape of %s has no dimension %s", of.Name, a.Binds.V).See(of.ShapeSpan, "its shape")
	case of != nil:
	case a.Of.Set():
		d := o.list.Add(diag.Undefined, a.Of.Span(), "%s is not a slot whose shape the caller gives", a.Of.V)
		var inputs []string
		for _, p := range o.sc.Inputs {
			inputs = append(inputs, p.Slot.Name)
		}
		d.Suggest(a.Of.V, "such slots", inputs)
	case !a.Binds.Set(): // otherwise its dimension is unbound, too
		o.list.Add(diag.Undefined, a.Key, "%s %s belongs to no input", a.Type.V, a.Name)
	}
}
