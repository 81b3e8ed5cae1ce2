package model

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// Resolve returns the model of specs. Checking them must have given no findings. used are the models of the
// modules whose specs they name.
func Resolve(checked *check.Result, used ...*Module) *Module {
	m := &Module{Operators: []*Operator{}, Enums: []*Enum{}}
	for _, u := range used {
		m.Used = append(m.Used, u.Operators...)
	}
	shared := enums{}
	for _, s := range checked.Enums {
		m.Enums = append(m.Enums, shared.of(s))
	}
	for _, sc := range checked.Scopes {
		shared.add(sc.Spec)
	}
	m.Operators = make([]*Operator, len(checked.Scopes))
	parallel.Do(len(m.Operators), func(i int) { m.Operators[i] = operator(checked.Scopes[i], shared) })
	slices.SortFunc(m.Operators, func(a, b *Operator) int { return cmp.Compare(a.Name, b.Name) })
	m.linkCallees(checked.Named)
	slices.SortFunc(m.Enums, func(a, b *Enum) int { return cmp.Compare(a.Name, b.Name) })
	return m
}

// enums holds the models of shared enums, of which each has one.
type enums map[*spec.Spec]*Enum

func (m enums) of(s *spec.Spec) *Enum {
	if m[s] == nil {
		m[s] = enum(s)
	}
	return m[s]
}

// add makes the models of the enums that the attributes of a spec have, so that operators only read them.
func (m enums) add(s *spec.Spec) {
	for _, a := range s.Attrs {
		for _, x := range append([]*spec.Attr{a}, a.Fields...) {
			if x.Shared != nil {
				m.of(x.Shared)
			}
		}
	}
}

func enum(s *spec.Spec) *Enum {
	e := &Enum{Name: s.Name.V, Package: goname.Package(s.Name.V), Import: s.Import(), GoName: goname.Exported(s.Name.V), Doc: s.Doc.V, Formula: s.Formula.V,
		Source: s.File.Path, Text: s.File.Text, Pos: s.Name.Span().Pos()}
	for _, v := range s.Values {
		e.Values = append(e.Values, EnumValue{v.Name.V, goname.Exported(v.Name.V), v.Doc.V, v.Name.Span().Pos()})
	}
	return e
}

func operator(sc *scope.Scope, shared enums) *Operator {
	s := sc.Spec
	o := &Operator{
		Operator: describe(s), Kind: string(s.Kind), Package: goname.Package(s.Name.V), GoName: goname.Exported(s.Name.V),
		Source: s.File.Path, Text: s.File.Text, Category: s.Category.V, Formula: s.Formula.V, Since: s.Since.V, Deprec: s.Deprecated.V,
		Types: []TypeVar{}, Attrs: []*Attr{}, Dims: []Dim{}, Pos: s.Name.Span().Pos(),
	}
	for i, v := range s.Types {
		o.Types = append(o.Types, typeVar(&o.Operator.Types[i], v.Key.Pos()))
	}
	for _, a := range s.Attrs {
		o.Attrs = append(o.Attrs, attr(s, a, shared))
	}
	o.Operator.Formula = formulaLines(o.Formula, o.Attrs)
	for _, p := range sc.Inputs {
		for _, e := range p.Elems {
			switch e.Kind {
			case scope.Bind, scope.BindEach, scope.AxisDim:
				o.Dims = append(o.Dims, Dim{Name: e.Name, Each: e.Each, From: p.Slot.Name, Pos: e.Span.Pos()})
			case scope.BindRest, scope.BindEachRest:
				o.Dims = append(o.Dims, Dim{Name: e.Name, Rest: true, Each: e.Each, From: p.Slot.Name, Pos: e.Span.Pos()})
			}
		}
	}
	for i, l := range sc.Lets {
		o.Dims = append(o.Dims, Dim{Name: l.Name, Rest: l.Rest, Text: s.Dims[i].Expr.V + s.Dims[i].Func.V, Node: l.Node, Pos: s.Dims[i].Key.Pos()})
	}
	for i, sl := range s.Slots {
		o.Slots = append(o.Slots, o.slot(sc, i, sl))
	}
	if n, ok := sc.Typed(s.Validate).(*expr.GoCall); ok {
		o.Validate, o.ValidateX = s.Validate.V, n
	}
	for i, a := range s.Args {
		o.Args = append(o.Args, o.arg(sc, len(s.Slots)+i, a))
	}
	for _, q := range s.Requires {
		format, names, _ := rules.SplitMessage(q.Message.V)
		o.Requires = append(o.Requires, Require{Name: q.Name, Text: q.That.V, Message: q.Message.V, Format: format, Names: names,
			Node: sc.Typed(q.That), Pos: q.Key.Pos()})
	}
	for i, t := range s.Tasks {
		o.Tasks = append(o.Tasks, o.task(sc, o.Signatures[i], t))
	}
	for i, x := range s.Shards {
		o.Shards = append(o.Shards, Shard{Shard: &o.Operator.Shards[i], When: x.When.V, WhenX: sc.Typed(x.When)})
	}
	for _, x := range s.ONNX {
		e := x.Entry
		e.Operator = s.Name.V
		o.ONNX = append(o.ONNX, e)
	}
	for i, f := range s.Fusions {
		o.Fusions = append(o.Fusions, Fusion{Fusion: &o.Operator.Fusions[i], Doc: f.Doc.V, Pos: f.Key.Pos()})
	}
	o.CUDA = o.cuda(sc)
	return o
}

// numbers returns the numbers and expressions of a list of a constraint.
func numbers(sc *scope.Scope, l *spec.Ints) []expr.Node {
	var out []expr.Node
	for i, x := range l.Exprs {
		if x.Set() {
			out = append(out, sc.Typed(x))
		} else {
			out = append(out, constant(strconv.Itoa(l.V[i])))
		}
	}
	return out
}

func typeVar(v *task.TypeVar, at source.Pos) TypeVar {
	t := TypeVar{TypeVar: v, Pos: at}
	for _, x := range v.Types {
		t.Names = append(t.Names, x.String())
	}
	return t
}

func attr(s *spec.Spec, a *spec.Attr, shared enums) *Attr {
	m := &Attr{Name: a.Name, GoName: goname.Exported(a.Name), Type: a.Type.V, Doc: a.Doc.V, Optional: a.Optional.V, List: a.List.V,
		Default: value(a, a.Default), Min: value(nil, a.Min), Max: value(nil, a.Max), Pos: a.Key.Pos()}
	if a.Len.Set() {
		m.Len = new(int(a.Len.V))
	}
	switch a.Type.V {
	case "enum":
		if a.Shared != nil {
			m.Enum, m.EnumName = shared.of(a.Shared), a.Enum.V
			break
		}
		m.Enum = &Enum{Name: a.Name, GoName: goname.Exported(a.Name), Doc: a.Doc.V, Pos: a.Key.Pos()}
		for _, v := range a.Values {
			m.Enum.Values = append(m.Enum.Values, EnumValue{Name: v.V, GoName: goname.Exported(v.V), Pos: v.Span().Pos()})
		}
	case "axis", "axes":
		if of := rules.AxisSlot(s, a); of != nil { // a field of a record has none
			m.Axis = &Axis{Slot: of.Name, Binds: a.Binds.V, End: a.End.V}
		}
	case "record":
		for _, f := range a.Fields {
			x := attr(s, f, shared)
			if x.Enum != nil && x.Enum.Package == "" {
				x.Enum.Name = a.Name + "_" + f.Name
				x.Enum.GoName = m.GoName + x.GoName
			}
			m.Fields = append(m.Fields, x)
		}
		m.Default = m.Complete(m.Default)
	}
	return m
}

// value returns a value of an attribute, or what bounds it, as package json decodes it.
func value(a *spec.Attr, n source.Node) any {
	if n == nil {
		return nil
	}
	var v any
	d := json.NewDecoder(strings.NewReader(attrJSON(a, n)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func (o *Operator) slot(sc *scope.Scope, number int, sl *spec.Slot) *Slot {
	m := &Slot{
		Slot: &o.Operator.Slots[number], Number: number, GoName: goname.Exported(sl.Name), Doc: sl.Doc.V, Pos: sl.Key.Pos(),
		Var:    slices.IndexFunc(o.Types, func(v TypeVar) bool { return v.Name == sl.Type.V }),
		Saved:  rules.Saved(sl),
		Below:  sl.Below.V,
		BelowX: sc.Typed(sl.Below), Except: sl.Except.V, ExceptX: sc.Typed(sl.Except),
	}
	if sl.Init != nil {
		m.InitImport = sl.Init.Of.Import()
	}
	if m.Var < 0 {
		m.Fixed, _ = dtype.Parse(sl.Type.V)
	}
	if sl.Present.Set() {
		m.Present, m.PresentIf = sl.Present.V, sc.Typed(sl.Present)
	}
	if v := sl.Variadic; v != nil {
		m.Count, m.CountX = v.Count.V, sc.Typed(v.Count)
	}
	if cond, ok := sl.Saved.(*source.Scalar); ok {
		m.SavedIf = sc.Typed(spec.Str{Node: cond})
	}
	for _, n := range sl.Shape {
		m.DimNames = append(m.DimNames, scope.DimName(n))
	}
	for _, p := range sc.Inputs {
		if p.Slot == sl {
			m.Pattern, m.Lane = p, laneOfPattern(sc, p.Elems)
		}
	}
	if m.Pattern == nil {
		m.Dims = sc.Shape(sl)
		m.Lane = laneOf(sc, m.Dims)
	}
	return m
}

// around is the runs of dimensions in front of and behind the one that an axis attribute binds.
type around struct{ front, back string }

// lanesBetween returns the runs around each dimension that an axis attribute binds. Every slot has lanes
// along the dimension that it has between them.
func lanesBetween(sc *scope.Scope) []around {
	var out []around
	for _, p := range sc.Inputs {
		if at, ok := scope.LaneDim(p.Elems); ok && len(p.Elems) == 3 && at == 1 {
			out = append(out, around{p.Elems[0].Name, p.Elems[2].Name})
		}
	}
	return out
}

// laneOfPattern is laneOf for the shape of an input.
func laneOfPattern(sc *scope.Scope, elems []scope.Elem) string {
	run := func(e scope.Elem) bool { return e.Kind == scope.BindRest || e.Kind == scope.MatchAll }
	if len(elems) != 3 || !run(elems[0]) || run(elems[1]) || !run(elems[2]) ||
		!slices.Contains(lanesBetween(sc), around{elems[0].Name, elems[2].Name}) {
		return ""
	}
	return elems[0].Name
}

// laneOf returns the run in front of the dimension along which lanes run: A, if the shape is [A..., K, B...]
// and an axis attribute binds R in an input of the shape [A..., R, B...]. It returns "" for other shapes.
func laneOf(sc *scope.Scope, shape []scope.ShapeExpr) string {
	if len(shape) != 3 || !shape[0].Rest || shape[1].Rest || !shape[2].Rest {
		return ""
	}
	front, ok1 := shape[0].Node.(*expr.Ident)
	back, ok2 := shape[2].Node.(*expr.Ident)
	if ok1 && ok2 && slices.Contains(lanesBetween(sc), around{front.Name, back.Name}) {
		return front.Name
	}
	return ""
}

func (o *Operator) task(sc *scope.Scope, sig *task.Signature, t *spec.Task) *Task {
	m := &Task{Signature: sig, Name: t.Name, GoName: goname.Exported(t.Name), Doc: t.Doc.V, Pos: t.Key.Pos()}
	for i, v := range o.Types {
		if slices.Contains(sig.Floating, i) {
			v = typeVar(&task.TypeVar{Name: v.Name, From: v.From, Types: floats(v.TypeVar.Types)}, v.Pos)
		}
		m.Types = append(m.Types, v)
	}
	for i, p := range rules.Params(sc.Spec, t) {
		sl := o.Slots[p.Param.Slot]
		x := &Param{Param: &sig.Params[i], Slot: sl, Name: sl.Name, GoName: sl.GoName, Inferred: p.Inferred}
		if p.Grad {
			x.GoName = "Grad" + sl.GoName
		}
		if p.Optional {
			x.OnlyIf, x.IfText = sl.SavedIf, sl.Saved
		}
		m.Params = append(m.Params, x)
	}
	for _, a := range rules.TaskArgs(sc.Spec, t) {
		m.Args = append(m.Args, o.argNamed(a.Name))
	}
	for _, n := range t.Returns {
		m.Returns = append(m.Returns, o.argNamed(n.V))
	}
	for i, c := range t.Constraints {
		for _, f := range c.Kind.Form().Fields {
			if l := c.Lists[f.Name]; l != nil && l.Exprs != nil {
				m.Numbers = append(m.Numbers, Numbers{i, f.Name, numbers(sc, l)})
			}
		}
	}
	step := func(name string, over spec.Str, inner []spec.Str, grain, when, doc spec.Str, at source.Span) {
		s := &Step{Step: &sig.Steps[len(m.Steps)], GoName: m.GoName + goname.Exported(name), Doc: doc.V, Pos: at.Pos(),
			Over: cmp.Or(over.V, "1"), OverX: sc.Typed(over), Grain: grain.V, GrainX: sc.Typed(grain), When: when.V, WhenX: sc.Typed(when), Tiles: o.tiles(sc, m, t, name)}
		if s.OverX == nil {
			s.OverX, s.open = constant("1"), grain.V == "" && name == ""
		}
		for _, n := range inner {
			s.Over += " x " + n.V
			s.InnerX = append(s.InnerX, sc.Typed(n))
		}
		m.Steps = append(m.Steps, s)
	}
	for _, st := range t.Steps {
		step(st.Name, st.Over, st.Inner, st.Grain, st.When, st.Doc, st.Key)
	}
	if len(t.Steps) == 0 {
		step("", t.Over, t.Inner, t.Grain, spec.Str{}, spec.Str{}, t.Key)
	}
	for _, c := range sc.Spec.Costs {
		if c.Task == t.Name {
			m.Flops, m.FlopsX = c.Flops.V, sc.Typed(c.Flops)
			m.Bytes, m.BytesX = c.Bytes.V, sc.Typed(c.Bytes)
		}
	}
	return m
}

// arg resolves an argument. number is the position of its slot.
func (o *Operator) arg(sc *scope.Scope, number int, a *spec.Arg) *Arg {
	m := &Arg{Slot: &o.Operator.Slots[number], Number: number, GoName: goname.Exported(a.Name), From: a.From.V,
		Unchecked: a.Unchecked.V, Block: rules.Block(a), Doc: a.Doc.V, Expr: sc.Typed(a.From), Pos: a.Key.Pos()}
	m.Default = defaultArg(a)
	var of string
	if m.Source, of = rules.SourceOf(a); m.Source == task.FromShape {
		m.Of = o.Slots[o.SlotNamed(of)]
	}
	return m
}

// argNamed returns the argument of a name, or nil.
func (o *Operator) argNamed(name string) *Arg {
	for _, a := range o.Args {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// constant returns an integer as an expression, such as the 1 over which a task runs that says nothing else.
func constant(integer string) expr.Node {
	n, err := expr.Parse(integer)
	if err == nil {
		err = expr.Check(n, nil, expr.Int)
	}
	if err != nil {
		panic(err) // of a constant
	}
	return n
}
