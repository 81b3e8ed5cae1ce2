// Package check type-checks formulas: each name is defined, operands have fitting types, each subscript is
// provably in bounds, and statements define each element of a result exactly once. It proves this for all
// shapes and all values of attributes, and not for those of one use. Operator and Enum describe what a spec
// declares beside its formula. Package internal/check makes them from specs, and checks the rest of a spec.
package check

import (
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/task"
)

// Kinds of specs: operators, which a formula may apply, and initializers, whose tasks have no caller.
const (
	applicable  = "operator"
	initializer = "initializer"
)

// Operator describes the declarations of a spec to which its formula, or a formula that applies the operator,
// may refer. Expressions, roles and types are the texts of the spec, or "" where the spec omits them.
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
	// Scope resolves the names of the formula. It may be nil for an operator that another formula applies.
	Scope Scope
	// Partial says that some declarations could not be read. Then only the syntax of the formula is checked.
	Partial bool
}

// Scope resolves the names that a spec declares.
type Scope interface {
	expr.Env
	// What returns the kind of declaration that a name has, such as "slot" or "attribute", or "" if the spec
	// does not declare the name.
	What(name string) string
}

// Slot is a tensor slot.
type Slot struct {
	Name  string
	Role  string
	Type  string   // a variable or an element type
	Types []string // the element types that it may have; none if they are not known
	// Shape holds the elements of the shape as expressions of the spec, such as "N" or "X...". BadShape says
	// that an element is neither a text nor a number.
	Shape    []string
	HasShape bool
	BadShape bool
	Each     []string // the dimensions that this slot binds, of each of its tensors
	Present  string   // the condition under which it is there, or "caller"
	Variadic *Variadic
	Below    string // the bound of its elements
	Except   string // the one value that is not below it
	// Written says that a task writes the tensor of this input or weight.
	Written bool
	// Trainable says that the tensor has a gradient.
	Trainable bool
}

// Variadic describes how many tensors a variadic slot holds, or how many values a variadic argument holds.
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

// Arg is an argument of tasks, such as a learning rate or the seed.
type Arg struct {
	Name     string
	Type     string // in Go; "" if its source determines it
	From     task.Source
	Kind     expr.Kind // of the expression from which it comes
	Holds    expr.Kind // Int, Float or Bool if formulas can compute with its values, else Unknown
	Variadic *Variadic
}

// Dim is a dimension that [dims] of a spec defines by an expression.
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
	// Spec returns the spec of an operator or initializer by name, or nil. The same name always returns the
	// same pointer.
	Spec(name string) *Operator
	// Names lists the names of all specs; if applicable is set, only those of operators, which formulas can
	// apply.
	Names(applicable bool) []string
	// Qualified lists the names, each with a module, to which a plain name may refer.
	Qualified(plain string) []string
}

// Finding is an error in a formula, with its position in the text of the formula.
type Finding struct {
	*expr.Error
	// About names the slot or the enum value with the error, where the error has no position in the text. It
	// is "" otherwise.
	About string
}

// Own is an intermediate tensor: one that statements of the formula define and that is no slot.
type Own struct {
	Name     string
	Pos, End int      // where the formula gives it first
	Shape    []string // as that of a slot in a spec
	Kind     string   // what its elements are, such as "integer"; "" if that is not known
}

// Index is a place where a formula binds an index variable.
type Index struct {
	Name     string // with primes
	Pos, End int
	Range    string // what the index ranges over: N... of a run, or 0 .. K
}

// Facts are results of the check that tools show: intermediate tensors and the ranges of indices.
type Facts struct {
	Own     []Own // the tensors that are the formula's own
	Indices []Index
}

// Formula checks the formula of operator s. module resolves the operators that the formula applies. It
// returns the errors, and facts about the names of the formula.
func Formula(s *Operator, module Module) ([]Finding, Facts) {
	c := newSession(module)
	own := c.operator(s)
	return c.findings, Facts{own, c.indices}
}

// Values checks the formula of enum e, which has one function for each value, such as RELU(x) = max(x, 0).
func Values(e *Enum, module Module) []Finding {
	c := newSession(module)
	c.enum(e)
	return c.findings
}

// session is the state of the check of one formula. It caches the formulas of enums whose functions that
// formula calls.
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

// about adds a finding about the slot or the enum value of this name.
func (c *session) about(name string, err *expr.Error) {
	c.findings = append(c.findings, Finding{err, name})
}
