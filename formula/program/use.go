package program

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// value is what a name or an expression stands for: one of the fields, or nothing if it is absent.
type value struct {
	node   *term.Term
	run    *run
	text   string           // the value of an enum, or an element type
	fields map[string]value // of a record
	known  bool             // whether it is text
}

// run is a list of indices or of extents.
type run struct {
	items   []*term.Term
	indices bool // rather than extents
}

func (v value) absent() bool { return v.node == nil && v.run == nil && v.fields == nil && !v.known }

func text(s string) value { return value{text: s, known: true} }

// environment gives the names of an operator their values in one use.
type environment struct {
	values map[string]value
	attrs  map[string]bool    // which of values are attributes
	dims   map[string]string  // dimensions by the names of their indices: "n" is of "N"
	lists  map[string][]value // dimensions of which each tensor of a variadic slot has its own, by tensor
}

// Use is one use of an operator, whose formula a program computes.
type Use struct {
	Operator string
	Formula  []string          // lines
	Parsed   *Parsed           // of Formula; Build reads it if it is nil
	Types    map[string]string // the element types of dtype variables
	Dims     map[string]any    // int, []int, or [][]int where each tensor of a variadic slot has its own
	// Definitions holds the expressions of dimensions that have one. Where extents stay symbols, such a
	// dimension becomes what its expression gives, unless that divides.
	Definitions map[string]expr.Node
	Attrs       map[string]any // as encoding/json decodes them, with json.Number; nil is absent
	// Args holds the values of arguments from expressions, and the seed: int, float64, bool, string or []int.
	Args map[string]any
	// Passed holds the values of arguments that the caller passes. A program reads them each time that it
	// runs.
	Passed  []Passed
	Slots   []*Slot
	Callees []task.Callee // the operators whose formulas the formula inlines
	Derived bool          // whether gradients that the formula gives by hand are left out
	Open    bool          // whether extents and integer attributes stay symbols
	// Unsettled says that all numbers of attributes stay symbols, and that what symbols are compared with
	// stays a condition, except behind when. The program holds for other values of symbols, too, and cannot
	// be computed before it is settled.
	Unsettled bool
}

// Slot is a slot of an operator with its tensors, none if it is absent.
type Slot struct {
	Name, Shape string
	Variadic    bool
	Trainable   bool
	Tensors     []Operand

	elements []shapeElement
	listed   bool // whether its tensors have shapes of their own
}

// Operand is the type and shape of a tensor of a slot, and the number of the slot.
type Operand struct {
	Type  dtype.Type
	Shape []int
	Slot  int
}

// newEnvironment returns the environment of a use of an operator.
func newEnvironment(u *Use) *environment {
	e := &environment{map[string]value{}, map[string]bool{}, map[string]string{}, map[string][]value{}}
	integerOf := func(_ string, v int) *term.Term { return term.Number(v) }
	if u.Open {
		integerOf = func(name string, v int) *term.Term {
			return &term.Term{Op: term.Symbol, Kind: term.Integer, Name: name, Int: v}
		}
	}
	run := func(name string, list []int) value {
		r := &run{}
		for i, v := range list {
			r.items = append(r.items, integerOf(SymbolOf(name, i), v))
		}
		return value{run: r}
	}
	for name, t := range u.Types {
		e.values[name] = text(t)
	}
	for name, v := range u.Dims {
		switch v := v.(type) {
		case int:
			e.values[name] = value{node: integerOf(name, v)}
		case []int:
			e.values[name] = run(name, v)
		case [][]int:
			for i, x := range v {
				e.lists[name] = append(e.lists[name], run(fmt.Sprintf("%s%d_", name, i), x))
			}
		}
		if lower := strings.ToLower(name); lower != name {
			e.dims[lower] = name
		}
	}
	for name, v := range u.Attrs {
		e.attrs[name] = true
		e.values[name] = decoded(v)
		// 0 and 1 stay numbers, since what they multiply or divide is simpler then.
		if n := e.values[name].node; n != nil && n.Op == term.Constant && n.Kind == term.Integer && n.Int != 0 && n.Int != 1 {
			e.values[name] = value{node: integerOf(name, n.Int)}
		}
		if u.Unsettled {
			e.values[name] = unknown(name, e.values[name])
		}
	}
	for name, v := range u.Args {
		switch v := v.(type) {
		case int:
			e.values[name] = value{node: integerOf(name, v)}
		case float64:
			e.values[name] = value{node: term.RealNumber(v)}
		case bool:
			e.values[name] = value{node: term.Condition(v)}
		case string:
			e.values[name] = text(v)
		case []int:
			e.values[name] = run(name, v)
		}
	}
	e.values["pi"] = value{node: term.RealNumber(math.Pi)}
	e.values["iteration"] = value{node: &term.Term{Op: term.Step, Kind: term.Integer}}
	return e
}

// SymbolOf returns the symbol of an extent of a run of dimensions.
func SymbolOf(run string, i int) string { return fmt.Sprintf("%s%d", run, i) }

// decoded returns the value of a JSON value.
func decoded(v any) value {
	switch v := v.(type) {
	case bool:
		return value{node: term.Condition(v)}
	case string:
		return text(v)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return value{node: term.Number(int(i))}
		}
		f, _ := v.Float64()
		return value{node: term.RealNumber(f)}
	case []any:
		r := &run{}
		for _, x := range v {
			if d := decoded(x); d.node != nil {
				r.items = append(r.items, d.node)
			}
		}
		return value{run: r}
	case map[string]any:
		fields := map[string]value{}
		for name, x := range v {
			fields[name] = decoded(x)
		}
		return value{fields: fields}
	}
	return value{}
}

// unknown returns the value of an attribute, in which symbols take the place of numbers.
func unknown(name string, v value) value {
	symbol := func(name string, n *term.Term) *term.Term {
		if n == nil || n.Op != term.Constant || n.Kind == term.Boolean {
			return n
		}
		return &term.Term{Op: term.Symbol, Kind: n.Kind, Name: name, Int: n.Int, Float: n.Float}
	}
	v.node = symbol(name, v.node)
	if v.run != nil {
		items := slices.Clone(v.run.items)
		for i, n := range items {
			items[i] = symbol(SymbolOf(name, i), n)
		}
		v.run = &run{items: items, indices: v.run.indices}
	}
	for field, x := range v.fields {
		v.fields[field] = unknown(name+"."+field, x)
	}
	return v
}

// kindOf returns the kind of the elements of a type.
func kindOf(t dtype.Type) term.Kind {
	switch {
	case t.IsFloat():
		return term.Real
	case t == dtype.Bool:
		return term.Boolean
	}
	return term.Integer
}

// elementsOf returns the elements of a shape as a spec writes it: [N, X...].
func elementsOf(text string) ([]shapeElement, error) {
	var out []shapeElement
	for _, e := range shape.Elements(text) {
		e = strings.TrimPrefix(e, "_ <= ") // what values decide is planned at its bound
		plain, isRun := strings.CutSuffix(e, "...")
		x, err := expr.Parse(plain)
		if err != nil {
			return nil, fmt.Errorf("shape %s: %w", e, err)
		}
		out = append(out, shapeElement{x, isRun})
	}
	return out, nil
}

// shapeElement is a dimension of a shape, or a run of them.
type shapeElement struct {
	x   expr.Node
	run bool
}
