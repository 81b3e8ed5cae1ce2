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
	Module   string // path of the module that declares it; "" for the module of the runtime
	Kind     string
	Formula  string
	Slots    []*Slot
	Attrs    []*Attr
	Args     []*Arg
	Dims     []Dim
	Requires []string // conditions that hold in every use
	Backward bool     // whether it has a backward task
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
	Type  string   // a dtype variable or an element type
	Types []string // the element types that the slot may have; empty if they are unknown
	// Shape holds the elements of the shape as expressions of the spec, such as "N" or "X...". BadShape says
	// that an element is neither a text nor a number.
	Shape    []string
	HasShape bool
	BadShape bool
	Each     []string // dimensions that the slot binds, with a value for each of its tensors
	Present  string   // condition under which the slot is present, or "caller" if the caller decides
	Variadic *Variadic
	Below    string // exclusive upper bound of the elements, as an expression
	Except   string // the one value that Below does not bound
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
	Default  any      // nil if the attribute is required; an int64 for integers
	Values   []string // values of an enum that the attribute itself declares
	Enum     *Enum    // the shared enum; nil if the type is another one, or an unknown enum
	EnumName string
	Fields   []*Attr
	Len      int64 // length of the list, if HasLen
	HasLen   bool
	Slot     *Slot  // of an axis: the slot whose dimension it selects; nil if there is none
	Binds    string // of an axis: the dimension that it binds
	End      bool   // of an axis: whether it is the end of a range of axes
}

// Arg is an argument of tasks, such as a learning rate or the seed.
type Arg struct {
	Name     string
	Type     string // type in Go; "" if From determines it
	From     task.Source
	Kind     expr.Kind // kind of the expression from which the value comes
	Holds    expr.Kind // Int, Float or Bool if formulas can compute with the values; otherwise Unknown
	Variadic *Variadic
}

// Dim is a dimension that [dims] of a spec defines by an expression.
type Dim struct {
	Name string
	Text string
	X    expr.Node // Text, parsed and typed; nil if it has an error
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

// Own is an intermediate tensor, which statements of the formula define and which is no slot.
type Own struct {
	Name     string
	Pos, End int      // position of its first definition
	Shape    []string // as in the spec of a slot
	Kind     string   // kind of its elements, such as "integer"; "" if unknown
}

// Index is a place where a formula binds an index variable.
type Index struct {
	Name     string // including primes
	Pos, End int
	Range    string // its range, such as 0 .. K, or N... for an index of a run
}

// Facts are results of the check that tools show: intermediate tensors and the ranges of indices.
type Facts struct {
	Own     []Own // intermediate tensors
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
	indices  []Index   // of the formula that is being checked
	main     *formula  // the formula that is being checked
	place    expr.Node // the statement or the function that is being checked
	gaveUp   bool      // whether the error that the check takes too many steps was reported
}

func newSession(module Module) *session {
	return &session{module: module, formulas: map[*Enum]*formula{}}
}

// about adds a finding about the slot or the enum value of this name.
func (c *session) about(name string, err *expr.Error) {
	c.findings = append(c.findings, Finding{err, name})
}
