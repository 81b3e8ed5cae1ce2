package breaking

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/opgen/opgen/internal/model"
)

// attrs compares attributes, or the fields of a record whose name is of.
func (p *pair) attrs(of string, old, now []*model.Attr) {
	for _, a := range old {
		name := of + a.Name
		i := slices.IndexFunc(now, func(n *model.Attr) bool { return n.Name == a.Name })
		if i < 0 {
			p.fail(plans, p.now.Pos, "the attribute %s is gone", name)
			continue
		}
		n := now[i]
		if was, is := kind(a), kind(n); was != is {
			p.fail(plans, n.Pos, "the attribute %s was of type %s, is of type %s", name, was, is)
			continue
		}
		p.attr(name, a, n)
	}
	for _, n := range now {
		if required(n) && !slices.ContainsFunc(old, func(a *model.Attr) bool { return a.Name == n.Name }) {
			p.fail(plans, n.Pos, "the attribute %s%s is new and has no default", of, n.Name)
		}
	}
}

// required reports whether a value must be given.
func required(a *model.Attr) bool { return a.Default == nil && !a.Optional }

// kind returns the type of an attribute as specs write it.
func kind(a *model.Attr) string {
	text := a.Type
	if a.Enum != nil && a.Enum.Package != "" {
		text += " " + a.Enum.Name
	}
	if a.List {
		text = "list of " + text
	}
	if a.Optional {
		text = "optional " + text
	}
	if a.Axis != nil {
		text += fmt.Sprintf(" of %s", a.Axis.Slot)
	}
	return text
}

// attr compares attributes of the same type.
func (p *pair) attr(name string, a, n *model.Attr) {
	switch {
	case required(n) && !required(a):
		p.fail(plans, n.Pos, "the attribute %s had the default %v, has none", name, a.Default)
	case !required(a) && !required(n) && !reflect.DeepEqual(a.Default, n.Default):
		p.fail(code, n.Pos, "the attribute %s had the default %v, has %v: who leaves it out gets another value", name, shown(a.Default), shown(n.Default))
	}
	if narrower(a.Min, n.Min, 1) {
		p.fail(plans, n.Pos, "the attribute %s is at least %v%s", name, n.Min, before("at least", a.Min))
	}
	if narrower(a.Max, n.Max, -1) {
		p.fail(plans, n.Pos, "the attribute %s is at most %v%s", name, n.Max, before("at most", a.Max))
	}
	if n.Len != nil && (a.Len == nil || *a.Len != *n.Len) {
		p.fail(plans, n.Pos, "the list %s has %d values, had %s", name, *n.Len, length(a.Len))
	}
	if a.Enum != nil {
		for _, v := range a.Enum.Values {
			if !slices.ContainsFunc(n.Enum.Values, func(x model.EnumValue) bool { return x.Name == v.Name }) {
				p.fail(plans, n.Pos, "the attribute %s has no value %s any more", name, v.Name)
			}
		}
	}
	p.attrs(name+".", a.Fields, n.Fields)
}

// before returns the bound of the old version, as a clause.
func before(what string, bound any) string {
	if bound == nil {
		return ", had no such bound"
	}
	return fmt.Sprintf(", was %s %v", what, bound)
}

// length returns how many values a list has, as a phrase.
func length(n *int) string {
	if n == nil {
		return "any number"
	}
	return fmt.Sprint(*n)
}

// shown returns a value as messages show it.
func shown(v any) any {
	if v == nil {
		return "none"
	}
	return v
}

// narrower reports whether a bound allows less than before. sign is 1 for a lower bound, -1 for an upper one.
func narrower(old, now any, sign float64) bool {
	if now == nil {
		return false
	}
	if old == nil {
		return true
	}
	return sign*number(now) > sign*number(old)
}

// number returns the value of a bound.
func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
