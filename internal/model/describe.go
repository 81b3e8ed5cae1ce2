package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// describe returns the description of an operator that generated code holds at run time. Slots of tensors
// come before those of arguments. Functions and the Go types of arguments are nil, since they exist in
// generated code only.
func describe(s *spec.Spec) *task.Operator {
	o := &task.Operator{Name: s.Name.V, Module: modulePath(s), Family: s.Family.V, Doc: strings.TrimSpace(s.Doc.V), Types: []task.TypeVar{}}
	for _, v := range s.Types {
		t := task.TypeVar{Name: v.Name, From: texts(v.From)}
		for _, name := range v.Types {
			p, _ := dtype.Parse(name.V)
			t.Types = append(t.Types, p)
		}
		o.Types = append(o.Types, t)
	}
	for _, sl := range s.Slots {
		o.Slots = append(o.Slots, describeSlot(s, sl))
	}
	for _, a := range s.Args {
		o.Slots = append(o.Slots, describeArg(s, a))
	}
	for _, a := range s.Attrs {
		o.AttrNames = append(o.AttrNames, a.Name)
	}
	for _, x := range s.Shards {
		o.Shards = append(o.Shards, task.Shard{Dim: x.Dim.V, Partial: x.Partial})
	}
	for _, x := range s.Examples {
		o.Examples = append(o.Examples, describeExample(o, s, x))
	}
	if len(s.Inference) > 0 {
		o.Inference = object(s.Attrs, s.Inference)
	}
	for _, f := range s.Fusions {
		o.Fusions = append(o.Fusions, describeFusion(o, s, f))
	}
	for _, t := range s.Tasks {
		o.Signatures = append(o.Signatures, describeTask(o, s, t))
	}
	return o
}

// modulePath returns the path that the names of a spec's operator have in front.
func modulePath(s *spec.Spec) string {
	if s.Module == nil {
		return ""
	}
	return s.Module.Path
}

var (
	roles = map[string]task.Role{"input": task.RoleInput, "weight": task.RoleWeight, "output": task.RoleOutput, "saved": task.RoleSaved, "scratch": task.RoleScratch}
	kinds = map[string]task.Kind{"forward": task.KindForward, "backward": task.KindBackward, "update": task.KindUpdate, "init": task.KindInit, "cleanup": task.KindCleanup}
)

func describeSlot(s *spec.Spec, sl *spec.Slot) task.Slot {
	d := task.Slot{Name: sl.Name, Role: roles[sl.Role.V], Type: sl.Type.V, Shape: shapeText(sl), Optional: sl.Present.Set(),
		OnRequest: sl.Role.V == "output" && sl.Present.V == "caller" || sl.Asked(),
		Provided:  s.Kind == spec.Initializer && sl.Role.V == "output",
		Trainable: s.Kind == spec.Operator && s.Trainable(sl),
		PerWorker: sl.Per.V == "worker", GradOf: sl.GradOf, AuxLoss: sl.AuxLoss.V, CountedBy: sl.Count.V}
	if sl.Variadic != nil {
		d.Variadic, d.Gaps = true, sl.Variadic.Optional.V
		d.Min, d.Max = rules.Limits(s, sl.Variadic)
	}
	if sl.Init != nil {
		d.Init.Operator = sl.Init.Of.FullName()
		if len(sl.Init.Attrs) > 0 {
			d.Init.Attrs = object(sl.Init.Of.Attrs, sl.Init.Attrs)
		}
	}
	return d
}

func describeArg(s *spec.Spec, a *spec.Arg) task.Slot {
	d := task.Slot{Name: a.Name, Role: task.RoleArgument, Type: rules.TypeOf(s, a)}
	if from, _ := rules.SourceOf(a); from == task.FromInit {
		d.Role = task.RoleState
	}
	if a.Variadic != nil {
		d.Variadic = true
		d.Min, d.Max = rules.Limits(s, a.Variadic)
	}
	return d
}

func describeTask(o *task.Operator, s *spec.Spec, t *spec.Task) *task.Signature {
	d := &task.Signature{Operator: o, Task: t.Name, ID: task.IDOf(o.FullName(), t.Name), Kind: kinds[t.Name], Params: []task.Param{}}
	for _, p := range rules.Params(s, t) {
		d.Params = append(d.Params, p.Param)
	}
	for _, a := range rules.TaskArgs(s, t) {
		from, of := rules.SourceOf(a)
		d.Args = append(d.Args, task.Arg{Slot: o.SlotNamed(a.Name), From: from, Of: max(o.SlotNamed(of), 0), Default: defaultArg(a), Unchecked: a.Unchecked.V})
	}
	d.Constraints.Declared = t.Declared
	for _, c := range t.Constraints {
		d.Constraints.List = append(d.Constraints.List, c.Value())
	}
	for _, n := range t.Returns {
		d.Returns = append(d.Returns, o.SlotNamed(n.V))
	}
	for _, st := range t.Steps {
		d.Steps = append(d.Steps, task.Step{Name: st.Name, Elementwise: st.Elementwise.V})
	}
	if len(t.Steps) == 0 {
		d.Steps = []task.Step{{Elementwise: t.Elementwise.V}}
	}
	pairs := map[task.Kind][]*spec.InPlace{task.KindForward: s.InPlace, task.KindBackward: s.InPlaceGrads}
	for _, p := range pairs[d.Kind] {
		d.InPlace = append(d.InPlace, task.InPlace{Slot: o.SlotNamed(p.Slot), Of: o.SlotNamed(p.Of.V), View: p.View.V})
	}
	if d.Kind == task.KindBackward {
		d.Floating = floating(o)
	}
	return d
}

// floating returns the numbers of the dtype variables that backward restricts to floating-point types. They
// are the types of outputs or trainable slots, and allow floating-point types and others.
func floating(o *task.Operator) []int {
	var vars []int
	for i, v := range o.Types {
		differentiable := slices.ContainsFunc(o.Slots, func(s task.Slot) bool {
			return s.Type == v.Name && (s.Trainable || s.Role == task.RoleOutput)
		})
		if floats := len(floats(v.Types)); differentiable && floats > 0 && floats < len(v.Types) {
			vars = append(vars, i)
		}
	}
	return vars
}

func floats(types []dtype.Type) []dtype.Type {
	return slices.DeleteFunc(slices.Clone(types), func(t dtype.Type) bool { return !t.IsFloat() })
}

func describeFusion(o *task.Operator, s *spec.Spec, f *spec.Fusion) task.Fusion {
	d := task.Fusion{Name: f.Name, Other: f.Of.FullName(), Absent: texts(f.Absent)}
	pairs := func(list []*spec.Access) (out []task.FusionSlot) {
		for _, p := range list {
			out = append(out, task.FusionSlot{Other: p.Slot, Own: o.SlotNamed(p.Value.V)})
		}
		return out
	}
	d.Share, d.Make = pairs(f.Share), pairs(f.Make)
	conditions := func(of []*spec.Attr, list []*source.Entry) (out []task.FusionWhen) {
		for _, e := range list {
			values, ok := e.Value.(*source.Array)
			if !ok {
				values = &source.Array{Elems: []source.Node{e.Value}}
			}
			out = append(out, task.FusionWhen{Attr: e.Key, Values: attrJSON(attrOf(of, e.Key), values)})
		}
		return out
	}
	d.When, d.Own = conditions(f.Of.Attrs, f.When), conditions(s.Attrs, f.Own)
	var literal []*source.Entry
	for _, e := range f.Set {
		if from, ok := e.Value.(*source.Scalar); ok {
			if name, ok := from.Value.(string); ok {
				d.Copy = append(d.Copy, task.FusionCopy{Attr: e.Key, From: name})
				continue
			}
		}
		literal = append(literal, e)
	}
	if len(literal) > 0 {
		d.Set = object(s.Attrs, literal)
	}
	if f.Tolerance != nil {
		fmt.Sscan(source.JSON(f.Tolerance), &d.Tolerance)
	}
	return d
}

func describeExample(o *task.Operator, s *spec.Spec, x *spec.Example) task.Example {
	d := task.Example{Attrs: object(s.Attrs, x.Attrs), Shapes: map[string][]int{}}
	d.Args = exampleArgs(o, x.Args)
	for _, e := range x.Inputs {
		if o.SlotNamed(e.Key) < 0 { // a dimension that a Go function gives
			if d.Dims == nil {
				d.Dims = map[string][]int{}
			}
			d.Dims[e.Key] = extents(e.Value)
			continue
		}
		if s, ok := e.Value.(*source.Scalar); ok { // how many tensors of an output
			if d.Counts == nil {
				d.Counts = map[string]int{}
			}
			n, _ := s.Value.(int64)
			d.Counts[e.Key] = int(n)
			continue
		}
		if !o.Slots[o.SlotNamed(e.Key)].Variadic {
			d.Shapes[e.Key] = extents(e.Value)
			continue
		}
		var places []int
		for i, n := range e.Value.(*source.Array).Elems {
			if _, absent := n.(*source.Scalar); !absent {
				d.Shapes[fmt.Sprintf("%s.%d", e.Key, len(places))] = extents(n)
				places = append(places, i)
			}
		}
		if places = task.Gaps(places); places != nil {
			if d.Places == nil {
				d.Places = map[string][]int{}
			}
			d.Places[e.Key] = places
		}
	}
	return d
}

// exampleArgs returns, as JSON, lists of the values that an example gives for arguments; "" if there are
// none.
func exampleArgs(o *task.Operator, args []*source.Entry) string {
	if len(args) == 0 {
		return ""
	}
	t := &source.Table{}
	for _, e := range args {
		v := e.Value
		if !o.Slots[o.SlotNamed(e.Key)].Variadic {
			v = &source.Array{Elems: []source.Node{v}}
		}
		t.Entries = append(t.Entries, &source.Entry{Key: e.Key, Value: v})
	}
	return source.JSON(t)
}

// defaultArg returns, as JSON, a list of the value that an argument has by default; "" if it has none.
func defaultArg(a *spec.Arg) string {
	if a.Default == nil {
		return ""
	}
	return source.JSON(&source.Array{Elems: []source.Node{a.Default}})
}

// extents returns the extents of a shape.
func extents(n source.Node) []int {
	dims := []int{}
	for _, e := range n.(*source.Array).Elems {
		dims = append(dims, int(e.(*source.Scalar).Value.(int64)))
	}
	return dims
}

func shapeText(sl *spec.Slot) string {
	var parts []string
	for _, n := range sl.Shape {
		if s, ok := n.(*source.Scalar); ok {
			text := fmt.Sprint(s.Value)
			if bound, ok := scope.Bound(text); ok {
				text = "_ <= " + strings.TrimSpace(bound)
			}
			parts = append(parts, text)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func texts(list []spec.Str) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.V)
	}
	return out
}

// object returns values of attributes as JSON.
func object(attrs []*spec.Attr, entries []*source.Entry) string {
	values := map[string]json.RawMessage{}
	for _, e := range entries {
		values[e.Key] = json.RawMessage(attrJSON(attrOf(attrs, e.Key), e.Value))
	}
	data, err := json.Marshal(values)
	if err != nil {
		return "null"
	}
	return string(data)
}

// attrJSON returns a value of an attribute, or a list of values, as JSON. Of a number of any type, 2.0 stays
// other than 2.
func attrJSON(a *spec.Attr, n source.Node) string {
	if a == nil {
		return source.JSON(n)
	}
	switch n := n.(type) {
	case *source.Table:
		return object(a.Fields, n.Entries)
	case *source.Array:
		var values []string
		for _, e := range n.Elems {
			values = append(values, attrJSON(a, e))
		}
		return "[" + strings.Join(values, ",") + "]"
	}
	if a.Type.V == "number" {
		return source.Exact(n)
	}
	return source.JSON(n)
}

// attrOf returns the attribute, or the field, of a name; nil if there is none.
func attrOf(attrs []*spec.Attr, name string) *spec.Attr {
	if i := slices.IndexFunc(attrs, func(a *spec.Attr) bool { return a.Name == name }); i >= 0 {
		return attrs[i]
	}
	return nil
}
