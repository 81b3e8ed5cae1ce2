package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// entry saves a use as one node, by an entry that is read from the operator to ONNX: the values of ONNX's
// attributes are those with which the entry gives the operator's.
func (s *saver) entry(a *applied, e *mapping.Entry) error {
	known := map[string]any{"opset": s.opset, "inputs": len(e.Inputs)}
	for _, v := range e.Save {
		value, err := a.eval(v.Value, a.about)
		if err != nil {
			return err
		}
		if v.Name != "when" {
			known[v.Name] = value
		} else if value != true {
			return fmt.Errorf("it computes it when %s", v.Value)
		}
	}
	slots, outputs := map[string]bool{}, 0
	for _, o := range e.Inputs {
		slots[o.Slot] = true
		if slot := a.op.SlotNamed(o.Slot); slot >= 0 && a.op.Slots[slot].Variadic {
			known["inputs"] = len(e.Inputs) - 1 + len(a.slots[slot])
		}
	}
	for i, o := range e.Outputs {
		slots[o.Slot] = true
		if slot := a.op.SlotNamed(o.Slot); slot >= 0 {
			if n := len(a.slots[slot]); n > 0 && s.anyRead(a.slots[slot]) {
				outputs = i + n
			}
		}
	}
	known["outputs"] = outputs
	for slot := range a.op.Slots {
		d := &a.op.Slots[slot]
		if len(a.slots[slot]) > 0 && !slots[d.Name] && (d.Role == task.RoleInput || d.Role == task.RoleWeight || d.Role == task.RoleOutput && s.anyRead(a.slots[slot])) {
			return fmt.Errorf("it has no place for %s", d.Name)
		}
	}
	var goals []mapping.Goal
	for _, o := range slices.Concat(e.Inputs, e.Outputs) {
		if o.Slot != "" && o.Permute != "" {
			goals = append(goals, mapping.Goal{Text: o.Permute})
		}
	}
	if e.When != "" {
		goals = append(goals, mapping.Goal{Text: e.When, Want: true})
	}
	if e.Times != "" {
		x, err := mapping.Parse(e.Times)
		if err != nil {
			return err
		}
		v, err := x.Eval(func(name string) any { return known[name] }, a.about)
		times, _ := v.([]int)
		if err != nil || len(times) != 1 {
			return fmt.Errorf("want it to apply the operator once, got %v times", v)
		}
		known["i"] = times[0]
	}
	for _, t := range e.Attrs {
		goals = append(goals, mapping.Goal{Text: t.Value, Want: a.attrs[t.Name]})
	}
	var failed error
	search := &mapping.Search{Known: known, Let: e.Let, About: func(function, name string) (any, error) {
		if function == "present" && slices.ContainsFunc(e.Inputs, func(o mapping.Operand) bool { return o.Const == name }) {
			return known[name] != nil, nil
		}
		return a.about(function, name)
	}}
	search.Accept = func(found map[string]any) bool {
		failed = s.try(a, e, outputs, known, found)
		return failed == nil
	}
	ok, err := search.Solve(goals)
	switch {
	case ok || err != nil:
		return err
	case failed != nil:
		return failed
	}
	return errNoValues
}

// errNoValues is the error of an entry with which no attributes of ONNX give those of a use.
var errNoValues = errors.New("no attributes of it give those of the node")

func (s *saver) anyRead(list []operand) bool {
	return slices.ContainsFunc(list, func(o operand) bool { return s.read[o.name] })
}

// try adds a node with the values that a search found, after it was read again.
func (s *saver) try(a *applied, e *mapping.Entry, outputs int, known, found map[string]any) error {
	nodes, initializers := len(s.graph.Node), len(s.graph.Initializer)
	undo := func(err error) error {
		s.graph.Node, s.graph.Initializer = s.graph.Node[:nodes], s.graph.Initializer[:initializers]
		return err
	}
	given := maps.Clone(known)
	maps.DeleteFunc(given, func(name string, _ any) bool {
		return slices.Contains([]string{"opset", "inputs", "outputs", "i"}, name)
	})
	maps.Copy(given, found)
	n := &onnxpb.NodeProto{OpType: new(e.Op), Name: new(a.name)}
	if e.Domain != "" {
		n.Domain = new(e.Domain)
	}
	kind := dtype.F32
	for _, o := range e.Inputs {
		if slot := a.op.SlotNamed(o.Slot); o.Slot != "" && len(a.slots[slot]) > 0 {
			kind = a.slots[slot][0].kind
			break
		}
	}
	for _, o := range e.Inputs {
		if o.Slot != "" {
			n.Input = append(n.Input, inputNames(a.slots[a.op.SlotNamed(o.Slot)])...)
			continue
		}
		v := given[o.Const]
		delete(given, o.Const)
		if v == nil {
			n.Input = append(n.Input, "")
			continue
		}
		t, err := s.constantOf(a, o, v, kind)
		if err != nil {
			return undo(err)
		}
		name := s.fresh(a.name + "." + cmp.Or(o.Const, "constant"))
		if err := s.constant(name, t); err != nil {
			return undo(err)
		}
		n.Input = append(n.Input, name)
	}
	for len(n.Input) > 0 && n.Input[len(n.Input)-1] == "" {
		n.Input = n.Input[:len(n.Input)-1]
	}
	for _, o := range e.Outputs {
		list := a.slots[a.op.SlotNamed(o.Slot)]
		for _, t := range list {
			if len(n.Output) < outputs {
				n.Output = append(n.Output, t.name)
			}
		}
		if len(list) == 0 && len(n.Output) < outputs {
			n.Output = append(n.Output, "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if given[name] == nil {
			continue
		}
		p, err := attributeProto(name, given[name])
		if err != nil {
			return undo(err)
		}
		n.Attribute = append(n.Attribute, p)
	}
	if err := s.verify(a, e, n); err != nil {
		return undo(err)
	}
	s.add(n, a)
	return nil
}

// add adds a node, whose outputs are those of a use.
func (s *saver) add(n *onnxpb.NodeProto, a *applied) {
	s.graph.Node = append(s.graph.Node, n)
	if n.GetDomain() != "" {
		s.domains[n.GetDomain()] = true
	}
	for slot := range a.op.Slots {
		if a.op.Slots[slot].Role == task.RoleOutput {
			for _, o := range a.slots[slot] {
				s.tensors[o.name] = s.open(o)
			}
		}
	}
}

// open returns a value that is known in a run only.
func (s *saver) open(o operand) *value {
	t := graph.New(0).Input(o.name, o.kind, o.shape...)
	return &value{name: o.name, tensor: t}
}

// inputNames returns the names of the tensors of a slot; "" if it has none.
func inputNames(list []operand) []string {
	if len(list) == 0 {
		return []string{""}
	}
	var names []string
	for _, o := range list {
		names = append(names, o.name)
	}
	return names
}

// constantOf returns a constant input: integers are of i64, and floats of the element type of the node's
// tensors, unless the entry names another type.
func (s *saver) constantOf(a *applied, o mapping.Operand, v any, kind dtype.Type) (safetensors.Tensor, error) {
	if o.Type != "" {
		name, err := a.eval(o.Type, a.about)
		if err != nil {
			return safetensors.Tensor{}, err
		}
		if kind, err = dtype.Parse(fmt.Sprint(name)); err != nil {
			return safetensors.Tensor{}, err
		}
	} else {
		kind = kindOf(v, kind)
	}
	t, err := tensorOfNumbers(v, kind)
	if err != nil {
		return t, fmt.Errorf("input %s: %w", o.Const, err)
	}
	if o.Shape != "" {
		shape, err := a.eval(o.Shape, a.about)
		if err != nil {
			return t, err
		}
		t.Shape, _ = shape.([]int)
	}
	return t, nil
}

// attributeProto returns an attribute of a node.
func attributeProto(name string, v any) (*onnxpb.AttributeProto, error) {
	p := &onnxpb.AttributeProto{Name: &name}
	switch v := v.(type) {
	case int:
		p.Type, p.I = onnxpb.AttributeProto_INT.Enum(), new(int64(v))
	case bool:
		p.Type, p.I = onnxpb.AttributeProto_INT.Enum(), new(map[bool]int64{true: 1}[v])
	case float64:
		p.Type, p.F = onnxpb.AttributeProto_FLOAT.Enum(), new(float32(v))
	case string:
		p.Type, p.S = onnxpb.AttributeProto_STRING.Enum(), []byte(v)
	case []int:
		p.Type = onnxpb.AttributeProto_INTS.Enum()
		for _, n := range v {
			p.Ints = append(p.Ints, int64(n))
		}
	case []float64:
		p.Type = onnxpb.AttributeProto_FLOATS.Enum()
		for _, x := range v {
			p.Floats = append(p.Floats, float32(x))
		}
	case []string:
		p.Type = onnxpb.AttributeProto_STRINGS.Enum()
		for _, x := range v {
			p.Strings = append(p.Strings, []byte(x))
		}
	default:
		return nil, fmt.Errorf("attribute %s: want a number, a string or a list, got %v", name, v)
	}
	return p, nil
}
