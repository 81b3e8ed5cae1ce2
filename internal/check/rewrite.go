package check

import (
	"slices"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// rewrites checks the tables of a spec about memory in place, inference and fusions.
func (o *operator) rewrites() {
	if o.s.Unread["slots"] || o.s.Unread["attrs"] {
		return
	}
	for _, p := range o.s.InPlace {
		o.inPlace(p, "output", "input", "forward writes an output where an input lay")
	}
	for _, p := range o.s.InPlaceGrads {
		o.inPlace(p, "input", "output", "backward writes the gradient of an input where that of an output lay")
	}
	o.inference()
	for _, f := range o.s.Fusions {
		o.name(f.Name, "fusion", f.Key)
		if !f.Bad {
			o.fusion(f)
		}
	}
}

// slotOf returns the slot of a spec that has a name, or nil with a finding.
func (o *operator) slotOf(of *spec.Spec, name string, span source.Span) *spec.Slot {
	var names []string
	for _, s := range of.Slots {
		if s.Name == name {
			return s
		}
		names = append(names, s.Name)
	}
	d := o.list.Add(diag.Undefined, span, "%s has no slot %s", of.Name.V, name)
	d.Suggest(name, "slots", names)
	return nil
}

func (o *operator) inPlace(p *spec.InPlace, role, ofRole, rule string) {
	if !p.Of.Set() {
		return
	}
	s, of := o.slotOf(o.s, p.Slot, p.Key), o.slotOf(o.s, p.Of.V, p.Of.Span())
	if s == nil || of == nil || !o.certain(s) || !o.certain(of) {
		return
	}
	switch {
	case s.Role.V != role:
		o.list.Add(diag.BadRole, p.Key, "%s, but %s is %s slot", rule, s.Name, english.Article(s.Role.V)).See(s.Role.Span(), "the role of %s", s.Name)
	case of.Role.V != ofRole && !(role == "output" && of.Role.V == "weight" && p.View.V): // a view changes no weight
		o.list.Add(diag.BadRole, p.Of.Span(), "%s, but %s is %s slot", rule, of.Name, english.Article(of.Role.V)).See(of.Role.Span(), "the role of %s", of.Name)
	case s.Type.V != of.Type.V:
		o.list.Add(diag.BadValue, p.Of.Span(), "tensors of one type may share memory, but %s is %s and %s is %s", s.Name, s.Type.V, of.Name, of.Type.V)
	case (s.Variadic != nil) != (of.Variadic != nil):
		o.list.Add(diag.ExclusiveKey, p.Of.Span(), "tensors of a variadic slot share memory with those of another one, but only one of %s and %s is variadic", s.Name, of.Name)
	case role == "input" && slices.ContainsFunc(o.s.Tasks, func(t *spec.Task) bool { return rules.Scatters(t, s.Name) }):
		o.list.Add(diag.BadGrad, p.Key, "the gradient of %s is scattered into, so it starts from zeros and not from the gradient of %s", s.Name, of.Name)
	}
}

// attrOf returns the attribute of a spec that has a name, or nil with a finding.
func (o *operator) attrOf(of *spec.Spec, name string, span source.Span) *spec.Attr {
	var names []string
	for _, a := range of.Attrs {
		if a.Name == name {
			return a
		}
		names = append(names, a.Name)
	}
	d := o.list.Add(diag.Undefined, span, "%s has no attribute %s", of.Name.V, name)
	d.Suggest(name, "attributes", names)
	return nil
}

// attrValue checks that an attribute may have a value.
func (o *operator) attrValue(a *spec.Attr, n source.Node) {
	if bad := o.value(a, n); bad != nil && !a.Bad {
		o.flaw(diag.BadValue, a.Name, bad)
	}
}

func (o *operator) inference() {
	for _, e := range o.s.Inference {
		if a := o.attrOf(o.s, e.Key, e.KeySpan); a != nil {
			o.attrValue(a, e.Value)
		}
	}
}

func (o *operator) fusion(f *spec.Fusion) {
	other := f.Of
	switch {
	case other == nil && o.ambiguous(f.Other.V, f.Other.Span()):
		return
	case other == nil:
		d := o.list.Add(diag.Undefined, f.Other.Span(), "there is no operator %s", f.Other.V)
		d.Nearest(f.Other.V, o.names(spec.Operator))
		return
	case other.Kind == "" || other.Unread["slots"] || other.Unread["attrs"]:
		return
	case other.Kind != spec.Operator || o.s.Kind != spec.Operator:
		o.list.Add(diag.BadValue, f.Other.Span(), "operators are fused with operators, but %s is of kind %s", f.Other.V, other.Kind)
		return
	}
	for _, p := range f.Share {
		theirs, ours := o.slotOf(other, p.Slot, p.Key), o.slotOf(o.s, p.Value.V, p.Value.Span())
		if theirs != nil && hasRole(theirs) && theirs.Role.V != "input" {
			o.list.Add(diag.BadRole, p.Key, "%s of %s is %s slot; share lists inputs, and make lists outputs", p.Slot, f.Other.V, english.Article(theirs.Role.V))
		}
		if ours != nil && (ours.Role.V == "saved" || ours.Role.V == "scratch") {
			o.list.Add(diag.BadRole, p.Value.Span(), "%s is %s slot, and no other operator reads such a slot", ours.Name, english.Article(ours.Role.V))
		}
	}
	for _, p := range f.Make {
		theirs, ours := o.slotOf(other, p.Slot, p.Key), o.slotOf(o.s, p.Value.V, p.Value.Span())
		if theirs != nil && hasRole(theirs) && theirs.Role.V != "output" {
			o.list.Add(diag.BadRole, p.Key, "%s of %s is %s slot; only outputs are made", p.Slot, f.Other.V, english.Article(theirs.Role.V))
		}
		if ours != nil && hasRole(ours) && ours.Role.V != "output" {
			o.list.Add(diag.BadRole, p.Value.Span(), "%s is %s slot; only outputs are made", ours.Name, english.Article(ours.Role.V))
		}
	}
	for _, s := range other.Slots {
		made := func(list []*spec.Access) bool {
			return slices.ContainsFunc(list, func(p *spec.Access) bool { return p.Slot == s.Name })
		}
		if s.Role.V == "output" && !s.Present.Set() && !made(f.Make) {
			o.list.Add(diag.MissingKey, f.Key, "make does not say which slot makes %s of %s", s.Name, f.Other.V)
		}
		if s.Role.V == "input" && !s.Present.Set() && !made(f.Share) {
			o.list.Add(diag.MissingKey, f.Key, "share does not say which slot is %s of %s", s.Name, f.Other.V)
		}
		if s.Role.V == "weight" {
			o.list.Add(diag.BadValue, f.Other.Span(), "%s has the weight %s, which this operator would not own", f.Other.V, s.Name)
		}
	}
	o.fusionAttrs(f, other)
}

// hasRole reports whether a slot has a role that there is. If not, another check reports it.
func hasRole(s *spec.Slot) bool { return slices.Contains(spec.Roles, s.Role.V) }

func (o *operator) fusionAttrs(f *spec.Fusion, other *spec.Spec) {
	o.fusionValues(other, f.When)
	o.fusionValues(o.s, f.Own)
	for _, n := range f.Absent {
		if a := o.attrOf(o.s, n.V, n.Span()); a != nil && !a.Optional.V {
			o.list.Add(diag.BadValue, n.Span(), "%s is never absent: it is not optional", n.V)
		}
	}
	for _, e := range f.Set {
		a := o.attrOf(o.s, e.Key, e.KeySpan)
		if a == nil || a.Bad {
			continue
		}
		if !a.Optional.V && a.Type.V != "bool" {
			o.list.Add(diag.BadValue, e.KeySpan, "a fusion sets absent optional attributes and inverts booleans; %s is neither", e.Key)
			continue
		}
		from, ok := e.Value.(*source.Scalar)
		name, isName := "", false
		if ok {
			name, isName = from.Value.(string)
		}
		if !isName {
			o.attrValue(a, e.Value)
			continue
		}
		if b := o.attrOf(other, name, from.Span); b != nil && !b.Bad && b.Type.V != a.Type.V {
			o.list.Add(diag.BadValue, from.Span, "%s is of type %s, %s of %s is of type %s", a.Name, a.Type.V, b.Name, f.Other.V, b.Type.V)
		}
	}
}

// fusionValues checks attributes of an operator with the values that a fusion lets them have.
func (o *operator) fusionValues(of *spec.Spec, conditions []*source.Entry) {
	for _, e := range conditions {
		a := o.attrOf(of, e.Key, e.KeySpan)
		if a == nil {
			continue
		}
		values := []source.Node{e.Value}
		if list, ok := e.Value.(*source.Array); ok {
			values = list.Elems
		}
		for _, v := range values {
			o.attrValue(a, v)
		}
	}
}
