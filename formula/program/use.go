package program

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// value is the result of the evaluation of an expression when the program is built. At most one field is set;
// none is if the value is absent.
type value struct {
	node   *term.Term
	run    *run
	text   string           // an enum value or the name of an element type
	fields map[string]value // of a record
	known  bool             // whether text is set
}

// run is a list of the indices or of the extents of the dimensions X....
type run struct {
	items   []*term.Term
	indices bool // whether the run holds indices, and not extents
}

func (v value) absent() bool { return v.node == nil && v.run == nil && v.fields == nil && !v.known }

func text(s string) value { return value{text: s, known: true} }

// environment binds the names of an operator to their values in one use.
type environment struct {
	values map[string]value
	attrs  map[string]bool    // names of attributes among values
	dims   map[string]string  // name of an index -> dimension, such as "n" to "N"
	lists  map[string][]value // dimension -> its values, by tensor of a variadic slot
}

// Use is one use of an operator: its formula with attributes, types and shapes.
type Use struct {
	Operator string
	Formula  []string          // lines of the formula
	Parsed   *Parsed           // Formula after parsing; Build parses it if this is nil
	Types    map[string]string // dtype variable -> element type
	Dims     map[string]any    // int, []int for a run, or [][]int for a run per tensor of a variadic slot
	// Definitions holds the definitions of dimensions, as expressions. In an open program, such a dimension
	// becomes its definition, unless the definition contains a division.
	Definitions map[string]expr.Node
	Attrs       map[string]any // as encoding/json decodes them, with json.Number; nil is absent
	// Args holds the seed and the arguments that the spec computes: int, float64, bool, string or []int.
	Args map[string]any
	// Passed holds the arguments that the caller passes. A program reads their values at each run.
	Passed  []Passed
	Slots   []*Slot
	Callees []task.Callee // operators that the formula may inline
	Derived bool          // whether to leave out hand-written gradients
	Open    bool          // whether extents and integer attributes stay symbolic
	// Unsettled keeps all numeric attributes symbolic, and comparisons of symbols unfolded except in `when`.
	// Such a program holds for other values of the symbols, too. It must be settled before it runs.
	Unsettled bool
	// Then, unless it is nil, transforms the lowered program. Build returns its result.
	Then func(*Program) (*Program, error)
}

// Slot is a slot of an operator with its tensors: none if it is absent, one, or several if it is variadic.
type Slot struct {
	Name, Shape string
	Type        string // an element type or a dtype variable, which lists without tensors have, too
	Variadic    bool
	Trainable   bool
	Output      bool // an output, which each use defines if it is there
	Tensors     []Operand

	elements []shapeElement
	listed   bool // whether the shape differs between the tensors
}

// Operand is one tensor of a slot: its element type and shape, and the number of the slot.
type Operand struct {
	Type  dtype.Type
	Shape []int
	Slot  int
}

// newEnvironment returns the environment of a use.
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
		// 0 and 1 stay constants, since products and quotients with them fold.
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
	for name, v := range expr.Constants {
		e.values[name] = value{node: term.RealNumber(v)}
	}
	e.values["iteration"] = value{node: &term.Term{Op: term.Step, Kind: term.Integer}}
	return e
}

// SymbolOf returns the name of the symbol for extent i of a run of dimensions, such as X0 for X.
func SymbolOf(run string, i int) string { return fmt.Sprintf("%s%d", run, i) }

// decoded converts the result of encoding/json to a value.
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

// unknown returns attribute value v with its numbers replaced by symbols.
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

// kindOf returns the kind of elements of type t.
func kindOf(t dtype.Type) term.Kind {
	switch {
	case t.IsFloat():
		return term.Real
	case t == dtype.Bool:
		return term.Boolean
	}
	return term.Integer
}

// elementsOf parses a shape of a spec, such as [N, X...], into its elements.
func elementsOf(text string) ([]shapeElement, error) {
	var out []shapeElement
	for _, e := range shape.Elements(text) {
		e = strings.TrimPrefix(e, "_ <= ") // a data-dependent extent is planned at its bound
		plain, isRun := strings.CutSuffix(e, "...")
		x, err := expr.Parse(plain)
		if err != nil {
			return nil, fmt.Errorf("shape %s: %w", e, err)
		}
		out = append(out, shapeElement{x, isRun})
	}
	return out, nil
}

// shapeElement is one dimension of a shape, or a run of them.
type shapeElement struct {
	x   expr.Node
	run bool
}
