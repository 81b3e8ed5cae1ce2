// Package mapping says which operators of other systems the operators of a catalogue compute: the entries of
// the sections [onnx] of specs, and the expressions in them.
package mapping

import (
	"fmt"
	"maps"
	"slices"
)

// Storage is the operator of ONNX whose entry names the operator that makes a tensor of a variable. Constants
// of a network are such variables. Its expressions read extents and elements, the shape and the element type.
const Storage = "Constant"

// Entry maps an operator of ONNX to an operator of a catalogue. Expressions are of package mapping; "" stands
// for none.
type Entry struct {
	Domain   string `json:"domain,omitempty"` // "" is ai.onnx
	Op       string `json:"op"`               // the name there
	Since    int    `json:"since"`            // the first version of the operator set to which the entry applies
	Until    int    `json:"until,omitempty"`  // the last one; 0 for none
	Operator string `json:"operator"`         // its name in the catalogue
	// When is the condition under which the entry applies. The first entry of an operator whose condition
	// holds is used.
	When string `json:"when,omitempty"`
	// Times lists integers, for each of which the operator is applied once more, to its first output. Other
	// expressions read the integer as i. Without integers, the output is the first input.
	Times   string    `json:"times,omitempty"`
	Let     []Attr    `json:"let,omitempty"`    // names for expressions, which the others read
	Inputs  []Operand `json:"inputs"`           // in the order of the operator; a variadic slot takes all that follow
	Outputs []Operand `json:"outputs"`          // in the order of the operator
	Attrs   []Attr    `json:"attrs,omitempty"`  // attributes, and arguments that the caller passes
	Ignore  []string  `json:"ignore,omitempty"` // attributes that change nothing here
	// Save holds values of attributes and constants of ONNX for the way back, from an operator of the
	// catalogue to a node: expressions of the operator's attributes and slots, where those in front cannot be
	// read from right to left.
	Save []Attr `json:"save,omitempty"`
	// Body holds nodes of ONNX that compute what the operator does, for the way back alone: see Body. Op is
	// "" then.
	Body string `json:"body,omitempty"`
}

// Operand is an input or an output of an entry.
type Operand struct {
	// Slot takes or makes the tensor; "" for a constant and for a tensor that is not used.
	Slot string `json:"slot,omitempty"`
	// Const is the name by which expressions read an input, whose value must be known before the graph runs.
	Const string `json:"const,omitempty"`
	Type  string `json:"type,omitempty"` // the element type to which the tensor is converted in front of the slot, or behind it
	// Shape is the shape that the tensor gets, in front of the slot or behind it; -1 stands for one extent
	// that follows from the others.
	Shape   string `json:"shape,omitempty"`
	Expand  string `json:"expand,omitempty"`  // the shape to which an input is repeated, behind Shape
	Permute string `json:"permute,omitempty"` // the order of its dimensions, in front of the slot behind Shape, or behind it before Shape
}

// Attr is an attribute of the catalogue's operator, or an argument that its caller passes.
type Attr struct {
	Name  string `json:"name"`  // of the attribute or argument
	Value string `json:"value"` // an expression
}

// Applies reports whether an entry is for an operator of a version of its operator set.
func (e *Entry) Applies(domain, op string, version int) bool {
	return e.Op == op && op != "" && e.Domain == domain && version >= e.Since && (e.Until == 0 || version <= e.Until)
}

// Reads returns the names that the expressions of the entry read, sorted, without those of functions.
func (e *Entry) Reads() ([]string, error) {
	found := map[string]bool{}
	for what, text := range e.expressions() {
		x, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		for _, name := range x.Names() {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// expressions returns the expressions of the entry, by what they are for.
func (e *Entry) expressions() map[string]string {
	out := map[string]string{"when": e.When, "times": e.Times}
	for _, a := range e.Let {
		out["let "+a.Name] = a.Value
	}
	for _, a := range e.Attrs {
		out[a.Name] = a.Value
	}
	for i, list := range [][]Operand{e.Inputs, e.Outputs} {
		for k, o := range list {
			at := fmt.Sprintf("%s %d", []string{"input", "output"}[i], k)
			out["the type of "+at], out["the shape of "+at], out["the order of "+at] = o.Type, o.Shape, o.Permute
			out["the extents of "+at] = o.Expand
		}
	}
	maps.DeleteFunc(out, func(_, text string) bool { return text == "" })
	return out
}
