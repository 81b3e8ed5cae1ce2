package check

import (
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/spec"
)

// shards checks the dimensions along which an operator may be divided: each belongs to a slot, and the effect
// on outputs is the one that the spec gives.
func (o *operator) shards() {
	first := map[string]*spec.Shard{}
	for _, s := range o.s.Shards {
		o.sc.Expr(s.When, expr.Bool)
		name := s.Dim.V
		if other := first[name]; other != nil {
			o.list.Add(diag.Duplicate, s.Dim.Span(), "dimension %s is listed twice", name).See(other.Dim.Span(), "the other one")
			continue
		}
		first[name] = s
		if sym, ok := o.sc.Lookup(name); !ok || sym.Class != expr.Dim && sym.Class != expr.Attr {
			if o.sc.Lenient() {
				continue
			}
			d := o.list.Add(diag.Undefined, s.Dim.Span(), "there is no dimension %s", name)
			o.sc.Suggest(d, name, "dimension")
			continue
		}
		in, out := o.haveDim(name, "input", "weight"), o.haveDim(name, "output")
		whole := 0 // outputs without the dimension
		for _, s := range o.s.Slots {
			if s.Role.V == "output" && !scope.HasDim(s, name) {
				whole++
			}
		}
		if o.s.Kind == spec.Optimizer {
			out = in // an optimizer writes its weight, which is an input
		}
		switch {
		case o.s.Unread["slots"] || o.sc.Lenient():
		case len(in)+len(out) == 0:
			o.list.Add(diag.BadValue, s.Dim.Span(), "no tensor has a dimension %s that could be divided", name)
		case s.Partial && whole == 0 && len(out) > 0:
			o.list.Add(diag.BadValue, s.Dim.Span(), "%s has the dimension %s, so dividing it leaves no partial sums", out[0].Name, name).
				See(out[0].ShapeSpan, "its shape").Hinted("list it under split")
		case !s.Partial && len(out) == 0:
			o.list.Add(diag.BadValue, s.Dim.Span(), "no output has the dimension %s, so dividing it leaves partial sums", name).Hinted("list it under reduce")
		}
	}
}

// haveDim returns the slots of some roles that have a dimension, or a run, of the given name.
func (o *operator) haveDim(name string, roles ...string) []*spec.Slot {
	var slots []*spec.Slot
	for _, s := range o.s.Slots {
		if slices.Contains(roles, s.Role.V) && scope.HasDim(s, name) {
			slots = append(slots, s)
		}
	}
	return slots
}
