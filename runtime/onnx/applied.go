package onnx

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/task"
)

// applied is a use of an operator that is saved: a node of the program, or a part of one.
type applied struct {
	op    *graph.Operator
	name  string
	attrs map[string]any // values of expressions; absent ones are nil
	slots [][]operand    // the tensors of each slot
}

// operand is a tensor that is saved.
type operand struct {
	name  string
	kind  dtype.Type
	shape []int
	known bool // its value is in the file
}

func operandOf(t graph.Tensor) operand { return operand{t.Name(), t.Type(), t.Shape(), t.Variable()} }

// useOf describes a node, with its attributes and the arguments that its caller passed.
func useOf(n *graph.Node) (*applied, error) {
	a := &applied{op: n.Op, name: n.Name, slots: make([][]operand, len(n.Op.Slots))}
	var err error
	if a.attrs, err = valuesOf(n); err != nil {
		return nil, &NotSaved{n.Op.Name, n.Name, err.Error()}
	}
	for slot := range n.Op.Slots {
		if n.Resolved.Given().Places[slot] != nil {
			return nil, &NotSaved{n.Op.Name, n.Name, "single tensors of " + n.Op.Slots[slot].Name + " are absent"}
		}
		for _, t := range n.Tensors(slot) {
			if t.Valid() {
				a.slots[slot] = append(a.slots[slot], operandOf(t))
			}
		}
	}
	return a, nil
}

// valuesOf returns the attributes of a node and the arguments that its caller passed, as values of
// expressions.
func valuesOf(n *graph.Node) (map[string]any, error) {
	object, err := attr.Object(n.Attrs)
	if err != nil {
		return nil, err
	}
	floats := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(n.Attrs)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		floats[name] = strings.Contains(f.Type.String(), "float64")
	}
	out := map[string]any{}
	for name, v := range object {
		if out[name], err = exprValue(v, floats[name]); err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
	}
	for slot := range n.Op.Slots {
		if n.Op.Slots[slot].Role != task.RoleArgument {
			continue
		}
		if passed := n.Passed(slot); len(passed) == 1 {
			out[n.Op.Slots[slot].Name] = passed[0]
		} else if len(passed) > 1 {
			return nil, fmt.Errorf("argument %s: want one value, got %d", n.Op.Slots[slot].Name, len(passed))
		}
	}
	return out, nil
}

// exprValue returns a value of JSON as one of expressions.
func exprValue(v any, float bool) (any, error) {
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case json.Number:
		n, err := attr.ParseNumber(v.String())
		if i, ok := n.Int(); ok && !float {
			return int(i), err
		}
		return n.Float(), err
	case []any:
		ints, floats, texts := []int{}, []float64{}, []string{}
		for _, x := range v {
			e, err := exprValue(x, float)
			if err != nil {
				return nil, err
			}
			switch e := e.(type) {
			case int:
				ints = append(ints, e)
			case float64:
				floats = append(floats, e)
			case string:
				texts = append(texts, e)
			default:
				return nil, fmt.Errorf("want a list of numbers or strings, got %v", v)
			}
		}
		switch {
		case len(floats) > 0 || float:
			return floats, nil
		case len(texts) > 0:
			return texts, nil
		}
		return ints, nil
	}
	return v, nil // a record, which no expression reads
}

// allowed reports whether an attribute has one of the values that a fusion lists.
func allowed(w task.FusionWhen, v any) bool {
	var list []any
	return json.Unmarshal([]byte(w.Values), &list) == nil && slices.Contains(list, v)
}

// about computes functions of the tensors of a use.
func (a *applied) about(function, name string) (any, error) {
	slot := a.op.SlotNamed(name)
	if slot < 0 {
		return nil, fmt.Errorf("want a slot, got %s", name)
	}
	if function == "present" {
		return len(a.slots[slot]) > 0, nil
	}
	if len(a.slots[slot]) == 0 {
		return nil, fmt.Errorf("want a tensor for %s, got none", name)
	}
	if function == "alike" {
		return !slices.ContainsFunc(a.slots[slot], func(o operand) bool { return !slices.Equal(o.shape, a.slots[slot][0].shape) }), nil
	}
	return describe(function, a.slots[slot][0])
}

func describe(function string, o operand) (any, error) {
	switch function {
	case "shape":
		return append([]int{}, o.shape...), nil
	case "rank":
		return len(o.shape), nil
	case "type":
		return o.kind.String(), nil
	}
	return o.known, nil
}

// eval computes an expression of the attributes and slots of a use.
func (a *applied) eval(text string, about func(function, name string) (any, error)) (any, error) {
	x, err := mapping.Parse(text)
	if err != nil {
		return nil, err
	}
	v, err := x.Eval(func(name string) any { return a.attrs[name] }, about)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return v, nil
}
