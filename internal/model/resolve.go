package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Resolve builds the model of specs that were checked without a finding.
func Resolve(specs []*spec.Spec) *Module {
	r := &resolver{specs: map[string]*spec.Spec{}, enums: map[string]*Enum{}, enumSpecs: map[string]*spec.Spec{}}
	m := &Module{}
	for _, s := range specs {
		r.specs[s.Name.V] = s
		if s.Kind == spec.Enum {
			e := enum(s)
			r.enums[s.Name.V], r.enumSpecs[s.Name.V] = e, s
			m.Enums = append(m.Enums, e)
		}
	}
	for _, s := range specs {
		if s.Kind != spec.Enum {
			m.Operators = append(m.Operators, r.operator(s))
		}
	}
	slices.SortFunc(m.Operators, func(a, b *Operator) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Enums, func(a, b *Enum) int { return cmp.Compare(a.Name, b.Name) })
	return m
}

type resolver struct {
	specs     map[string]*spec.Spec
	enums     map[string]*Enum
	enumSpecs map[string]*spec.Spec
}

func enum(s *spec.Spec) *Enum {
	e := &Enum{Name: s.Name.V, Package: goname.Package(s.Name.V), GoName: goname.Exported(s.Name.V), Doc: s.Doc.V, Source: s.File.Path}
	for _, v := range s.Values {
		e.Values = append(e.Values, EnumValue{Name: v.Name.V, GoName: goname.Exported(v.Name.V), Doc: v.Doc.V})
	}
	return e
}

func (r *resolver) operator(s *spec.Spec) *Operator {
	sc := scope.New(s, r.enumSpecs, nil)
	o := &Operator{
		Name: s.Name.V, Kind: string(s.Kind), Package: goname.Package(s.Name.V), GoName: goname.Exported(s.Name.V),
		Source: s.File.Path, Doc: s.Doc.V, Family: s.Family.V, Category: s.Category.V, Since: s.Since.V, Deprec: s.Deprecated.V,
		Types: []TypeVar{}, Attrs: []*Attr{}, Dims: []Dim{},
	}
	for _, v := range s.Types {
		tv := TypeVar{Name: v.Name}
		for _, t := range v.Types {
			p, _ := dtype.Parse(t.V)
			tv.Types, tv.Names = append(tv.Types, p), append(tv.Names, t.V)
		}
		for _, f := range v.From {
			tv.From = append(tv.From, f.V)
		}
		o.Types = append(o.Types, tv)
	}
	for _, a := range s.Attrs {
		o.Attrs = append(o.Attrs, r.attr(s, a))
	}
	for _, p := range sc.Inputs {
		for _, e := range p.Elems {
			switch e.Kind {
			case scope.Bind, scope.BindEach, scope.AxisDim:
				o.Dims = append(o.Dims, Dim{Name: e.Name, Each: e.Each, From: p.Slot.Name})
			case scope.BindRest, scope.BindEachRest:
				o.Dims = append(o.Dims, Dim{Name: e.Name, Rest: true, Each: e.Each, From: p.Slot.Name})
			}
		}
	}
	for i, l := range sc.Lets {
		o.Dims = append(o.Dims, Dim{Name: l.Name, Rest: l.Rest, Text: s.Dims[i].Expr.V, Node: l.Node})
	}
	for _, sl := range s.Slots {
		o.Slots = append(o.Slots, r.slot(s, sc, sl, o.Types))
	}
	for _, a := range s.Args {
		o.Args = append(o.Args, &Arg{Name: a.Name, GoName: goname.Exported(a.Name), Type: a.Type.V, From: a.From.V, Doc: a.Doc.V})
	}
	for _, q := range s.Requires {
		format, names, _ := check.SplitMessage(q.Message.V)
		o.Requires = append(o.Requires, Require{Name: q.Name, Text: q.That.V, Message: q.Message.V, Format: format, Names: names, Node: sc.Expr(q.That, expr.Bool)})
	}
	for _, t := range s.Tasks {
		o.Tasks = append(o.Tasks, o.task(s, sc, t))
	}
	for _, x := range s.Examples {
		o.Examples = append(o.Examples, example(s, x))
	}
	o.rewrites(s)
	return o
}

func (r *resolver) attr(s *spec.Spec, a *spec.Attr) *Attr {
	m := &Attr{Name: a.Name, GoName: goname.Exported(a.Name), Type: a.Type.V, Doc: a.Doc.V, Optional: a.Optional.V, List: a.List.V,
		Default: value(a.Default), Min: value(a.Min), Max: value(a.Max)}
	switch a.Type.V {
	case "enum":
		if a.Enum.Set() {
			m.Enum = r.enums[a.Enum.V]
			break
		}
		m.Enum = &Enum{Name: a.Name, GoName: goname.Exported(a.Name), Doc: a.Doc.V}
		for _, v := range a.Values {
			m.Enum.Values = append(m.Enum.Values, EnumValue{Name: v.V, GoName: goname.Exported(v.V)})
		}
	case "axis", "axes":
		if of := check.AxisSlot(s, a); of != nil { // a field of a record has none
			m.Axis = &Axis{Slot: of.Name, Binds: a.Binds.V, End: a.End.V}
		}
	case "record":
		for _, f := range a.Fields {
			x := r.attr(s, f)
			if x.Enum != nil && x.Enum.Package == "" {
				x.Enum.Name = a.Name + "_" + f.Name
				x.Enum.GoName = m.GoName + x.GoName
			}
			m.Fields = append(m.Fields, x)
		}
	}
	return m
}

func value(n source.Node) any {
	if n == nil {
		return nil
	}
	var v any
	d := json.NewDecoder(strings.NewReader(check.JSON(n)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func (r *resolver) slot(s *spec.Spec, sc *scope.Scope, sl *spec.Slot, types []TypeVar) *Slot {
	m := &Slot{
		Name: sl.Name, GoName: goname.Exported(sl.Name), RoleName: sl.Role.V, Type: sl.Type.V, Doc: sl.Doc.V, Shape: shapeText(sl),
		Var: slices.IndexFunc(types, func(v TypeVar) bool { return v.Name == sl.Type.V }),
		// Presence.
		OnRequest: sl.Role.V == "output" && sl.Present.V == "caller",
		Optional:  sl.Present.Set(),
		PerWorker: sl.Per.V == "worker", AuxLoss: sl.AuxLoss.V, Below: sl.Below.V,
		BelowExpr: sc.Expr(sl.Below, expr.Int),
	}
	m.Role = map[string]task.Role{"input": task.RoleInput, "weight": task.RoleWeight, "output": task.RoleOutput, "saved": task.RoleSaved, "scratch": task.RoleScratch}[sl.Role.V]
	if m.Var < 0 {
		m.Fixed, _ = dtype.Parse(sl.Type.V)
	}
	if sl.Present.Set() {
		m.Present = sl.Present.V
		if sl.Present.V != "caller" {
			m.PresentIf = sc.Expr(sl.Present, expr.Bool)
		}
	}
	m.Provided = s.Kind == spec.Initializer && m.Role == task.RoleOutput
	if s.Kind == spec.Operator && (m.Role == task.RoleInput || m.Role == task.RoleWeight) {
		m.Trainable = floating(types, m)
		if sl.Trainable.Set() {
			m.Trainable = sl.Trainable.V
		}
	}
	if v := sl.Variadic; v != nil {
		m.Variadic = &Variadic{Min: int(v.Min.V), Max: int(v.Max.V), Count: v.Count.V, Node: sc.Expr(v.Count, expr.Int)}
	}
	r.saved(sc, sl, m)
	if sl.Init != nil {
		m.Init = &Init{Operator: sl.Init.Name.V, Package: goname.Package(sl.Init.Name.V)}
		if len(sl.Init.Attrs) > 0 {
			m.Init.Attrs = object(sl.Init.Attrs)
		}
	}
	for _, p := range sc.Inputs {
		if p.Slot == sl {
			m.Pattern, m.Lane = p, laneOfPattern(s, p.Elems)
		}
	}
	if m.Pattern == nil {
		m.Dims = sc.Shape(sl)
		m.Lane = laneOf(s, m.Dims)
	}
	return m
}

// saved works out whether backward is given a slot's value. FlexFlow's intended rule: it gets every
// input and weight, and an output only if it is declared to need it. A spec may say otherwise.
func (r *resolver) saved(sc *scope.Scope, sl *spec.Slot, m *Slot) {
	if m.Role == task.RoleInput || m.Role == task.RoleWeight || m.Role == task.RoleSaved {
		m.Saved = "true"
	}
	s, ok := sl.Saved.(*source.Scalar)
	if !ok {
		return
	}
	switch v := s.Value.(type) {
	case bool:
		m.Saved = ""
		if v {
			m.Saved = "true"
		}
	case string:
		m.Saved = v
		m.SavedIf = sc.Expr(spec.Str{V: v, Node: s}, expr.Bool)
	}
}

// laneOfPattern is laneOf for the pattern of an input: the first that has the shape binds it, others
// repeat it.
func laneOfPattern(s *spec.Spec, elems []scope.Elem) string {
	if len(elems) != 3 || elems[0].Kind != scope.BindRest && elems[0].Kind != scope.MatchAll || elems[2].Kind != scope.BindRest && elems[2].Kind != scope.MatchAll {
		return ""
	}
	if !slices.ContainsFunc(s.Attrs, func(a *spec.Attr) bool { return a.Type.V == "axis" && a.Binds.Set() && a.Binds.V == elems[1].Name }) {
		return ""
	}
	return elems[0].Name
}

// laneOf returns the run in front of the axis dimension, if a shape is [A..., R, B...] where an axis
// attribute binds R.
func laneOf(s *spec.Spec, shape []scope.ShapeExpr) string {
	if len(shape) != 3 || !shape[0].Rest || shape[1].Rest || !shape[2].Rest {
		return ""
	}
	run, ok1 := shape[0].Node.(*expr.Ident)
	dim, ok2 := shape[1].Node.(*expr.Ident)
	if ok1 && ok2 && slices.ContainsFunc(s.Attrs, func(a *spec.Attr) bool { return a.Type.V == "axis" && a.Binds.Set() && a.Binds.V == dim.Name }) {
		return run.Name
	}
	return ""
}

func shapeText(sl *spec.Slot) string {
	var parts []string
	for _, n := range sl.Shape {
		if s, ok := n.(*source.Scalar); ok {
			parts = append(parts, fmt.Sprint(s.Value))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

var kinds = map[string]task.Kind{"forward": task.KindForward, "backward": task.KindBackward, "update": task.KindUpdate}

func (o *Operator) task(s *spec.Spec, sc *scope.Scope, t *spec.Task) *Task {
	m := &Task{Name: t.Name, GoName: goname.Exported(t.Name), Kind: kinds[t.Name], ID: task.IDOf(s.Name.V, t.Name), Doc: t.Doc.V, Types: o.Types}
	declared := map[string]perm.Perm{}
	for _, a := range t.Access {
		declared[a.Slot], _ = perm.Parse(a.Value.V)
	}
	scatter := map[string]bool{}
	for _, g := range t.Grads {
		scatter[g.Slot] = g.Value.V == "scatter"
	}
	for i, sl := range o.Slots {
		p := &Param{Slot: sl, Number: i, Name: sl.Name, GoName: sl.GoName, Perm: inferred(m.Kind, sl), Inferred: true}
		if d, ok := declared[sl.Name]; ok {
			p.Inferred = d == p.Perm
			p.Perm = d
		}
		if m.Kind == task.KindBackward && p.Perm == perm.Read && sl.SavedIf != nil && p.Inferred {
			p.OnlyIf, p.IfText = sl.SavedIf, sl.Saved
		}
		if p.Perm != perm.None {
			m.Params = append(m.Params, p)
		}
	}
	if m.Kind == task.KindBackward {
		m.Types = o.differentiable()
		for i, sl := range o.Slots {
			p := &Param{Slot: sl, Number: i, Name: sl.Name, GoName: "Grad" + sl.GoName, Grad: true, Inferred: true}
			switch {
			case sl.Role == task.RoleOutput && floating(o.Types, sl):
				p.Perm = perm.Read
			case sl.Trainable:
				p.Perm, p.Scatter = perm.Write, scatter[sl.Name]
			default:
				continue
			}
			m.Params = append(m.Params, p)
		}
	}
	for _, n := range t.Args {
		for _, a := range o.Args {
			if a.Name == n.V {
				m.Args = append(m.Args, a)
			}
		}
	}
	if len(t.Steps) == 0 {
		m.Steps = []*Step{{GoName: m.GoName, Over: t.Over.V, Grain: t.Grain.V, Elementwise: t.Elementwise.V, OverX: sc.Expr(t.Over, expr.Int), GrainX: sc.Expr(t.Grain, expr.Int)}}
	}
	for _, st := range t.Steps {
		m.Steps = append(m.Steps, &Step{Name: st.Name, GoName: m.GoName + goname.Exported(st.Name), Over: st.Over.V, Grain: st.Grain.V, When: st.When.V, Doc: st.Doc.V, Elementwise: st.Elementwise.V,
			OverX: sc.Expr(st.Over, expr.Int), GrainX: sc.Expr(st.Grain, expr.Int), WhenX: sc.Expr(st.When, expr.Bool)})
	}
	for _, c := range s.Costs {
		if c.Task == t.Name {
			m.Flops, m.Bytes = c.Flops.V, c.Bytes.V
			m.FlopsX, m.BytesX = sc.Expr(c.Flops, expr.Float), sc.Expr(c.Bytes, expr.Float)
		}
	}
	return m
}

// floating reports whether a slot's tensor may be floating-point.
func floating(types []TypeVar, s *Slot) bool {
	if s.Var < 0 {
		return s.Fixed.IsFloat()
	}
	return slices.ContainsFunc(types[s.Var].Types, dtype.Type.IsFloat)
}

// differentiable returns what the dtype variables stand for in backward: those of outputs and of what
// is trained for floating-point types, if they have such.
func (o *Operator) differentiable() []TypeVar {
	types := slices.Clone(o.Types)
	for _, s := range o.Slots {
		if s.Var >= 0 && (s.Trainable || s.Role == task.RoleOutput) && floating(o.Types, s) {
			types[s.Var] = o.Types[s.Var].floats()
		}
	}
	return types
}

// inferred returns the permission that a task has for a slot unless the spec says otherwise.
func inferred(k task.Kind, s *Slot) perm.Perm {
	switch s.Role {
	case task.RoleScratch:
		return perm.None // a task that uses scratch memory says so
	case task.RoleInput, task.RoleWeight:
		if k == task.KindBackward && s.Saved == "" {
			return perm.None
		}
		return perm.Read
	case task.RoleOutput:
		if k == task.KindBackward {
			if s.Saved == "" {
				return perm.None
			}
			return perm.Read
		}
	case task.RoleSaved:
		if k == task.KindBackward {
			return perm.Read
		}
	}
	return perm.Write
}

func example(s *spec.Spec, x *spec.Example) Example {
	m := Example{Attrs: object(x.Attrs), Shapes: map[string][][]int{}}
	for _, e := range x.Inputs {
		shapes := []source.Node{e.Value}
		if i := slices.IndexFunc(s.Slots, func(sl *spec.Slot) bool { return sl.Name == e.Key }); s.Slots[i].Variadic != nil {
			shapes = e.Value.(*source.Array).Elems
		}
		m.Shapes[e.Key] = [][]int{}
		for _, n := range shapes {
			m.Shapes[e.Key] = append(m.Shapes[e.Key], extents(n))
		}
	}
	return m
}

// extents returns the extents of a shape.
func extents(n source.Node) []int {
	dims := []int{}
	for _, e := range n.(*source.Array).Elems {
		dims = append(dims, int(e.(*source.Scalar).Value.(int64)))
	}
	return dims
}

func object(entries []*source.Entry) string { return check.JSON(&source.Table{Entries: entries}) }
