package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

func (o *operator) slot(s *spec.Slot) {
	o.name(s.Name, "slot", s.Key)
	if s.Role.Set() && !slices.Contains(spec.Roles, s.Role.V) {
		d := o.list.Add(diag.BadValue, s.Role.Span(), "there is no role %q", s.Role.V)
		if d.Nearest(s.Role.V, spec.Roles) == "" {
			d.Hinted("roles are %s; arguments that are not tensors belong in [args]", strings.Join(spec.Roles, ", "))
		}
	}
	if s.Type.Set() {
		o.slotType(s.Type)
	}
	if !slices.Contains(spec.Roles, s.Role.V) {
		return // its other keys depend on its role
	}
	if o.s.Kind == spec.Initializer && s.Role.V != "output" {
		o.list.Add(diag.BadRole, s.Role.Span(), "an initializer has one slot, the output that it fills; it has no %s", s.Role.V)
		return
	}
	o.slotKeys(s)
	if !scope.Provided(o.s, s) {
		o.derived(s)
	} else if s.Present.Set() || s.MaybeEmpty() {
		o.maybeUntyped(s)
	}
	if s.Present.Set() {
		if s.Present.V == "caller" {
			if s.Role.V != "input" && s.Role.V != "output" {
				o.list.Add(diag.BadRole, s.Present.Span(), "the caller decides about inputs and outputs, not about a %s slot", s.Role.V)
			}
		} else {
			o.sc.GivenExpr(s.Present, expr.Bool)
		}
	}
	if sc, ok := s.Saved.(*source.Scalar); ok {
		if v, ok := sc.Value.(string); ok {
			o.sc.Expr(spec.Str{V: v, Node: sc}, expr.Bool)
		}
	}
	if s.Below.Set() {
		o.sc.GivenExpr(s.Below, expr.Int)
	}
	if s.Except.Set() {
		o.sc.GivenExpr(s.Except, expr.Int)
		if !s.Below.Set() && s.Role.V == "input" {
			o.list.Add(diag.BadRole, s.Except.Span(), "except allows a value outside of the bound that below gives, and %s has none", s.Name).
				Hinted("give the slot below = ..., or leave except out: without a bound all values are allowed")
		}
	}
	o.counted(s)
	if s.Variadic != nil {
		o.variadic(s)
	}
	if s.Init != nil && s.Role.V == "weight" {
		o.initializer(s)
	}
}

// derived checks the shape of a slot whose shape follows from others.
func (o *operator) derived(s *spec.Slot) {
	shape := o.sc.Shape(s)
	if s.AuxLoss.V && s.HasShape && len(shape) > 0 {
		o.list.Add(diag.BadRole, s.AuxLoss.Span, "an auxiliary loss is a scalar, shape []")
	}
	if s.AuxLoss.V && o.certain(s) && !o.floatType(s.Type) {
		o.list.Add(diag.BadRole, s.AuxLoss.Span, "an auxiliary loss is floating-point, not %s", s.Type.V)
	}
	for _, v := range typeNames(s.Type.V) {
		switch {
		case o.sc.What(v) != "dtype variable" || o.unbound[v]:
		case s.Mixed() && o.s.ShapeFunc: // what that would tell is not known
		case s.Mixed():
			o.unbound[v] = true // to report it once
			o.list.Add(diag.BadType, s.Type.Span(), "each tensor of %s has an element type of its own, and nothing determines which", s.Name)
		case !s.Mixed() && !o.typeBound(v):
			o.unbound[v] = true
			o.list.Add(diag.BadType, s.Type.Span(), "no input that is always present has the element type %s, so nothing determines it", v).
				Hinted("say what determines it, such as an attribute: %s = { in = [...], from = \"...\" }", v)
		}
	}
}

// maybeUntyped checks that the element type of a slot that may be absent is known without it: kernels are
// chosen by all types.
func (o *operator) maybeUntyped(s *spec.Slot) {
	for _, v := range typeNames(s.Type.V) {
		if o.sc.What(v) != "dtype variable" || o.unbound[v] || s.Mixed() || o.typeBound(v) {
			continue
		}
		o.unbound[v] = true
		d := o.list.Add(diag.BadType, s.Type.Span(), "nothing determines the element type %s where %s is absent", v, s.Name)
		for _, w := range o.s.Types {
			if w.Name != v && o.typeBound(w.Name) {
				d.Hinted("say what does: %s = { in = [...], from = \"%s\" }", v, w.Name)
				return
			}
		}
		d.Hinted("say what does, such as an attribute: %s = { in = [...], from = \"...\" }", v)
	}
}

// slotKeys checks that a slot has only keys that have a meaning for its role.
func (o *operator) slotKeys(s *spec.Slot) {
	only := func(has bool, span source.Span, key string, allowed ...string) {
		if has && !slices.Contains(allowed, s.Role.V) {
			o.list.Add(diag.BadRole, span, "%s has no meaning for a slot of role %s, only for %s", key, s.Role.V, strings.Join(allowed, ", "))
		}
	}
	only(s.Trainable.Set(), s.Trainable.Span, "trainable", "input", "weight")
	if s.Saved != nil {
		only(true, source.SpanOf(s.Saved), "saved", "input", "weight", "output")
	}
	if s.Init != nil {
		only(true, s.Init.Span, "init", "weight")
	}
	only(s.Per.Set(), s.Per.Span(), "per", "scratch")
	only(s.Below.Set(), s.Below.Span(), "below", "input")
	only(s.Except.Set(), s.Except.Span(), "except", "input")
	if s.Below.Set() && s.Role.V == "input" && o.certain(s) && o.floatType(s.Type) {
		o.list.Add(diag.BadRole, s.Below.Span(), "below bounds integers, %s holds %s", s.Name, s.Type.V)
	}
	only(s.AuxLoss.Set(), s.AuxLoss.Span, "aux_loss", "output")
	only(s.Count.Set(), s.Count.Span(), "count", "output")
	if s.Variadic != nil {
		only(true, s.Variadic.Span, "variadic", "input", "output")
	}
	if s.Per.Set() && s.Per.V != "worker" {
		o.list.Add(diag.BadValue, s.Per.Span(), "want per = \"worker\", got %q", s.Per.V)
	}
	if s.Role.V == "weight" && s.Init == nil && !s.Bad {
		o.list.Add(diag.MissingKey, s.Span, "init is missing: the initializer of %s", s.Name)
	}
	if s.Trainable.V && o.certain(s) && !o.s.MayBeFloat(s.Type) {
		o.list.Add(diag.BadGrad, s.Trainable.Span, "%s is not floating-point, so %s cannot be trained", s.Type.V, s.Name)
	}
}

// limits checks how many tensors or values there may be.
func (o *operator) limits(v *spec.Variadic, what string) {
	switch {
	case v.Min.V < 0:
		o.list.Add(diag.BadArity, v.Min.Span, "min is %d, but a number of %ss is at least 0", v.Min.V, what)
	case v.Max.Set() && v.Max.V < 1:
		o.list.Add(diag.BadArity, v.Max.Span, "max is %d, so there could be no %s", v.Max.V, what)
	case v.Max.Set() && v.Min.V > v.Max.V:
		o.list.Add(diag.BadArity, v.Min.Span, "min is above max").See(v.Max.Span, "max")
	}
}

func (o *operator) variadic(s *spec.Slot) {
	v := s.Variadic
	o.limits(v, "tensor")
	if s.Present.Set() {
		o.list.Add(diag.ExclusiveKey, s.Present.Span(), "a variadic slot is empty rather than absent: give min = 0")
	}
	if v.Count.Set() {
		if s.Role.V == "input" {
			o.list.Add(diag.BadArity, v.Count.Span(), "the caller determines how many tensors an input has; count is for outputs")
		}
		if v.Min.Set() || v.Max.Set() {
			o.list.Add(diag.ExclusiveKey, v.Count.Span(), "count is the number of tensors, so min and max have no meaning")
		}
		o.sc.GivenExpr(v.Count, expr.Int)
	}
	switch {
	case !v.Optional.V:
	case s.Role.V != "input":
		o.list.Add(diag.BadArity, v.Optional.Span, "the caller leaves out tensors of inputs, and %s is an %s", s.Name, s.Role.V)
	case v.Min.V > 0:
		o.list.Add(diag.ExclusiveKey, v.Min.Span, "each tensor of %s may be absent, so min has no meaning", s.Name)
	}
	if what := o.sc.What("i"); what != "" {
		o.list.Add(diag.Reserved, o.sc.Where("i"), "%s cannot be named i: in shapes, i numbers the tensors of %s", what, s.Name)
	}
	switch {
	case o.s.Kind != spec.Operator:
		o.list.Add(diag.BadRole, v.Span, "%s has no variadic slots", english.Article(kindWords[o.s.Kind]))
	case v.Mixed.V:
		o.list.Add(diag.NotYet, v.Mixed.Span, "slots whose tensors have element types of their own are not supported yet")
	}
}

// kindWords names the kinds of specs in messages.
var kindWords = map[spec.Kind]string{spec.Operator: "operator", spec.Optimizer: "optimizer", spec.Initializer: "initializer"}

func (o *operator) initializer(s *spec.Slot) {
	in := s.Init
	if !in.Name.Set() {
		return
	}
	of := in.Of
	if of != nil && of.Kind == "" {
		return // it could not be read; already reported
	}
	if of == nil && o.ambiguous(in.Name.V, in.Name.Span()) {
		return
	}
	if of == nil || of.Kind != spec.Initializer {
		what := "there is no spec named " + in.Name.V
		if of != nil {
			what = in.Name.V + " is a spec of kind " + string(of.Kind)
		}
		d := o.list.Add(diag.BadInit, in.Name.Span(), "want the name of a spec of kind initializer; %s", what)
		names := o.names(spec.Initializer)
		if d.Nearest(in.Name.V, names) == "" && len(names) > 0 {
			d.Hinted("initializers are %s", strings.Join(names, ", "))
		}
		return
	}
	// The spec gives no seed, since the graph derives it from the weight's name.
	o.given(of, in.Attrs, in.Span, diag.BadInit, "seed")
	for _, out := range of.Slots {
		fills := typesOf(of, out.Type)
		for _, t := range typesOf(o.s, s.Type) {
			if len(fills) > 0 && !slices.Contains(fills, t) {
				o.list.Add(diag.BadInit, in.Span, "%s does not fill tensors of %s, which %s may be", in.Name.V, t, s.Name).Hinted("%s fills %s", in.Name.V, strings.Join(fills, ", "))
				return
			}
		}
	}
}

// typesOf returns the element types that a slot's type may stand for.
func typesOf(s *spec.Spec, t spec.Str) []string {
	for _, v := range s.Types {
		if v.Name == t.V {
			var names []string
			for _, n := range v.Types {
				names = append(names, n.V)
			}
			return names
		}
	}
	return []string{t.V}
}
