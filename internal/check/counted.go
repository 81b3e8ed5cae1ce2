package check

import (
	"slices"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// counted checks an output of which values decide how many rows it has: its first extent has a bound, and
// another output holds the count.
func (o *operator) counted(s *spec.Slot) {
	bounded := false
	for i, n := range s.Shape {
		sc, _ := n.(*source.Scalar)
		if sc == nil {
			continue
		}
		text, _ := sc.Value.(string)
		if _, ok := scope.Bound(text); !ok {
			continue
		}
		switch {
		case s.Role.V != "output":
			o.list.Add(diag.BadRole, sc.Span, "values decide about extents of outputs, not of a slot of role %s", s.Role.V)
		case i > 0:
			o.list.Add(diag.BadExpr, sc.Span, "values decide about the first extent of a shape, not about another one")
		case s.Variadic != nil:
			o.list.Add(diag.ExclusiveKey, s.Variadic.Span, "values decide about an extent of %s, so it is one tensor", s.Name)
		case !s.Count.Set() && !s.Bad:
			o.list.Add(diag.MissingKey, sc.Span, "count is missing: the output that holds how many rows of %s count", s.Name)
		}
		bounded = true
	}
	if !s.Count.Set() || s.Role.V != "output" {
		return
	}
	if !bounded && !o.sc.Lenient() && len(o.sc.Shape(s)) == len(s.Shape) {
		o.list.Add(diag.ExclusiveKey, s.Count.Span(), "count has no meaning for %s, whose first extent is not of the form \"_ <= ...\"", s.Name)
	}
	o.countSlot(s)
}

// countSlot checks the output that holds a count.
func (o *operator) countSlot(s *spec.Slot) {
	i := slices.IndexFunc(o.s.Slots, func(c *spec.Slot) bool { return c.Name == s.Count.V })
	if i < 0 {
		o.sc.Suggest(o.list.Add(diag.Undefined, s.Count.Span(), "there is no slot %s", s.Count.V), s.Count.V, "slot")
		return
	}
	c := o.s.Slots[i]
	if c.Role.V != "output" || c.Type.V != "i64" || len(c.Shape) > 0 || !c.HasShape || c.Present.Set() || c.Variadic != nil {
		o.list.Add(diag.BadRole, s.Count.Span(), "a count is an output of type i64 and shape [] that is always there, %s is not", c.Name).
			See(c.Key, "declared here")
	}
}
