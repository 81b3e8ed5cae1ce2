package spec

import (
	"slices"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
)

// Example is a use of the operator, from which tests are made.
type Example struct {
	Span   source.Span
	Bad    bool // reading it gave findings
	Attrs  []*source.Entry
	Args   []*source.Entry // what the caller passes
	Inputs []*source.Entry
}

// examples reads an element of the section examples. It stands for several examples if an attribute has a
// list of values where it takes one: one for each value, and one for each combination where several have
// lists.
func (r *reader) examples(s *Spec, t *tableReader) []*Example {
	x := &Example{Span: t.t.Span}
	var lists []int // numbers of the attributes that have a list of values
	t.each("attrs", func(e *source.Entry) {
		if a, ok := e.Value.(*source.Array); ok && s.takesOne(e.Key) {
			if len(a.Elems) == 0 {
				r.list.Add(diag.BadValue, a.Span, "%s: want a value, or at least one in a list for as many examples", e.Key)
				x.Bad = true
				return
			}
			lists = append(lists, len(x.Attrs))
		}
		x.Attrs = append(x.Attrs, e)
	})
	t.each("args", func(e *source.Entry) { x.Args = append(x.Args, e) })
	x.Bad = x.Bad || len(t.unread) > 0
	for _, e := range t.t.Entries {
		if e.Key != "attrs" && e.Key != "args" {
			x.Inputs = append(x.Inputs, e)
		}
	}
	all := []*Example{x}
	for _, i := range lists {
		var more []*Example
		for _, y := range all {
			for _, v := range y.Attrs[i].Value.(*source.Array).Elems {
				z := *y
				z.Attrs = slices.Clone(y.Attrs)
				z.Attrs[i] = &source.Entry{Key: y.Attrs[i].Key, KeySpan: y.Attrs[i].KeySpan, Value: v}
				more = append(more, &z)
			}
		}
		all = more
	}
	return all
}

// takesOne reports whether an attribute has one value that is no list.
func (s *Spec) takesOne(name string) bool {
	return slices.ContainsFunc(s.Attrs, func(a *Attr) bool {
		return a.Name == name && !a.List.V && a.Type.Set() && !slices.Contains([]string{"axes", "dims"}, a.Type.V)
	})
}
