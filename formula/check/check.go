// Package check holds the rules of formulas: names mean something, values are of fitting kinds, what is read
// lies in its tensor, and each element of a result is given once. It checks formulas for all shapes and all
// values of attributes, not those of one use. What a spec declares beside its formula comes as an Operator or
// an Enum; package internal/check makes these from specs and holds the rules of all else.
package check

import (
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/task"
)

// Kinds of specs that matter to formulas. A formula may apply operators of kind applicable.
const (
	applicable  = "operator"
	initializer = "initializer"
)

// Operator is what a spec declares that its formula, or one that applies it, may refer to. Texts are as the
// spec has them, and "" where it has none; so are the names of roles and types.
type Operator struct {
	Name     string
	Module   string // the path of the module; "" of that of the runtime
	Kind     string
	Formula  string
	Slots    []*Slot
	Attrs    []*Attr
	Args     []*Arg
	Dims     []Dim
	Requires []string // conditions that hold in every use
	Backward bool     // whether it has a task backward
	// Scope is needed of an operator whose formula is checked, not of one that a formula applies.
	Scope Scope
	// Partial says that some declarations could not be read. Then only the syntax of the formula is checked.
	Partial bool
}

// Scope says what names of a spec mean.
type Scope interface {
	expr.Env
	// What names what a name is, such as "slot" or "attribute", or returns "".
	What(name string) string
}

// Slot is a tensor slot.
type Slot struct {
	Name  string
	Role  string
	Type  string   // a variable or an element type
	Types []string // the element types that it may have; none if they are not known
	// Shape has the elements as the spec writes them. BadShape says that one of them is no text and no
	// number.
	Shape    []string
	HasShape bool
	BadShape bool
	Each     []string // the dimensions that this slot binds, of each of its tensors
	Present  string   // the condition under which it is there, or "caller"
	Variadic *Variadic
	Below    string // the bound of its elements
	Except   string // the one value that is not below it
	// Written says that a task changes the tensor, which is an input or a weight.
	Written bool
	// Trainable says that it gets a gradient.
	Trainable bool
}

// Variadic says how many tensors a slot holds, or how many values an argument.
type Variadic struct {
	Count string // an expression; "" if the caller decides
	Least int
}

// Attr is an attribute, or a field of a record.
type Attr struct {
	Name     string
	Type     string
	List     bool
	Optional bool
	Default  any      // nil if it must be given; an int64 of an integer
	Values   []string // of an enum of its own
	Enum     *Enum    // nil if it is none that is shared, or one that is not known
	EnumName string
	Fields   []*Attr
	Len      int64 // of a list, if HasLen
	HasLen   bool
	Slot     *Slot  // of an axis: whose dimension it is; nil if no slot has it
	Binds    string // of an axis: the dimension
	End      bool   // of an axis: it is the end of a range
}

// Arg is an argument of tasks.
type Arg struct {
	Name     string
	Type     string // in Go; "" if its source determines it
	From     task.Source
	Kind     expr.Kind // of the expression from which it comes
	Holds    expr.Kind // Int, Float or Bool if formulas can compute with its values, else Unknown
	Variadic *Variadic
}

// Dim is a dimension that a spec defines.
type Dim struct {
	Name string
	Text string
	X    expr.Node // Text as an expression with types; nil if it is wrong
}

// Enum is an enum that attributes of several operators share.
type Enum struct {
	Name    string
	Values  []string
	Formula string
	// Partial says that some values could not be read.
	Partial bool
}

// Module finds the specs that formulas name.
type Module interface {
	// Spec returns the spec of a name, the same one each time; nil if there is none.
	Spec(name string) *Operator
	// Names lists the names of all specs, or those of kind applicable only.
	Names(applicable bool) []string
	// Qualified lists the names with modules that a plain name may stand for.
	Qualified(plain string) []string
}

// Finding is an error in a formula.
type Finding struct {
	*expr.Error
	// About is the slot, or the value of an enum, that the error is about. Without one, the error stands in
	// the text of the formula.
	About string
}

// Own is a tensor that a formula gives and that is no slot.
type Own struct {
	Name     string
	Pos, End int      // where the formula gives it first
	Shape    []string // as that of a slot in a spec
	Kind     string   // what its elements are, such as "integer"; "" if that is not known
}

// Index is a place where a formula binds an index.
type Index struct {
	Name     string // with primes
	Pos, End int
	Range    string // what the index ranges over: N... of a run, or 0 .. K
}

// Facts are what follows from a formula on the way.
type Facts struct {
	Own     []Own // the tensors that are the formula's own
	Indices []Index
}

// Formula checks the formula of an operator. It returns what is wrong, and what follows.
func Formula(s *Operator, module Module) ([]Finding, Facts) {
	c := newSession(module)
	own := c.operator(s)
	return c.findings, Facts{own, c.indices}
}

// Values checks the formula of an enum: a function for each value.
func Values(e *Enum, module Module) []Finding {
	c := newSession(module)
	c.enum(e)
	return c.findings
}

// session checks one formula. It keeps the formulas of enums whose functions that formula applies.
type session struct {
	module   Module
	formulas map[*Enum]*formula
	findings []Finding
	indices  []Index   // of the formula that is checked
	main     *formula  // the formula that is checked
	place    expr.Node // the statement, or the function, that is checked
	gaveUp   bool      // whether it was reported that there are too many steps
}

func newSession(module Module) *session {
	return &session{module: module, formulas: map[*Enum]*formula{}}
}

// about adds an error about a slot, or about a value of an enum.
func (c *session) about(name string, err *expr.Error) {
	c.findings = append(c.findings, Finding{err, name})
}
