// Package spec reads the syntax tree of a spec into typed declarations. It checks the structure: keys are
// known, and values have the right kind. Package check checks the meaning.
package spec

import (
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/source"
)

// Edition is the edition of the spec language that this version reads.
const Edition = 1

// Str is a string with its place; the zero Str is absent.
type Str struct {
	V    string
	Node *source.Scalar
}

// Set reports whether the string was given.
func (s Str) Set() bool { return s.Node != nil }

// Span returns the place of the string.
func (s Str) Span() source.Span {
	if s.Node == nil {
		return source.Span{}
	}
	return s.Node.Span
}

// Bool is a boolean with its place.
type Bool struct {
	V    bool
	Span source.Span
}

// Set reports whether the boolean was given.
func (b Bool) Set() bool { return b.Span.File != nil }

// Int is an integer with its place.
type Int struct {
	V    int64
	Span source.Span
}

// Set reports whether the integer was given.
func (i Int) Set() bool { return i.Span.File != nil }

// Kind says what a spec declares.
type Kind string

const (
	Operator    Kind = "operator"    // forward and usually backward
	Optimizer   Kind = "optimizer"   // updates a weight from its gradient
	Initializer Kind = "initializer" // gives a weight its first value
	Enum        Kind = "enum"        // a set of names that attributes of several operators share
)

// kindNames lists the kinds.
var kindNames = []string{string(Operator), string(Optimizer), string(Initializer), string(Enum)}

// Spec is one spec file.
type Spec struct {
	File       *source.File
	Module     *Module // whose spec it is; nil in tests of single specs
	Base       string  // file name without .toml
	Kind       Kind
	KindNode   Str
	Name       Str
	Doc        Str
	Family     Str
	Category   Str
	Formula    Str
	Since      Str
	Deprecated Str
	Types      []*TypeVar
	Attrs      []*Attr
	Dims       []*Let
	Slots      []*Slot
	Args       []*Arg
	Requires   []*Require
	Tasks      []*Task
	Tiles      []*Tiles
	Costs      []*Cost
	CUDA       *CUDA // nil if no device code was written by hand
	ShapeFunc  bool  // whether the key shape_func is there, which is not supported yet
	Shards     []*Shard
	ONNX       []*ONNX
	Examples   []*Example
	// InPlace holds what forward may do in place, InPlaceGrads what backward may.
	InPlace      []*InPlace
	InPlaceGrads []*InPlace
	InPlaceKey   Bool // whether the spec has the key inplace, which may hold nothing
	Fusions      []*Fusion
	Inference    []*source.Entry // attributes with their values in inference
	Validate     Str             // a call of a Go function that checks attributes
	Values       []*EnumValue    // of an Enum
	ValuesSpan   source.Span
	Own          []Value // the tensors that are the formula's own; package check finds them
	Indices      []Index // where the formula binds indices; package check finds them
	// Unread holds the keys of tables that could not be read. What they would have declared is not
	// reported as missing.
	Unread map[string]bool
}

// Module is a module that has specs.
type Module struct {
	Path      string // the path of the module; "" of the module of the runtime, whose operators have no prefix
	Generated string // the import path of the folder of its generated packages
}

// FullName returns the name that no spec of another module has.
func (s *Spec) FullName() string {
	if s.Module == nil || s.Module.Path == "" {
		return s.Name.V
	}
	return s.Module.Path + "." + s.Name.V
}

// Import returns the import path of the generated package, "" if the module is not known.
func (s *Spec) Import() string {
	if s.Module == nil {
		return ""
	}
	return s.Module.Generated + "/" + goname.Package(s.Name.V)
}

// Where returns the place for findings about the whole spec: its name or, without one, the beginning of the
// file.
func (s *Spec) Where() source.Span {
	if s.Name.Set() {
		return s.Name.Span()
	}
	return source.Span{File: s.File}
}

// TypeVar is a dtype variable.
type TypeVar struct {
	Name  string
	Key   source.Span
	Bad   bool // reading it gave findings
	Types []Str
	// TypesSpan is the place of the types.
	TypesSpan source.Span
	// From says what binds the variable if no input does: attributes, other variables or element
	// types. The first that is present counts.
	From []Str
}

// Value is a tensor that a formula gives and that is no slot. Its shape has the form of that of a slot.
type Value struct {
	Name  string
	Pos   source.Span
	Shape []string
	Kind  string // of its elements, such as "integer"; "" if it is not known
}

// Index is a place where a formula binds an index, and what the index ranges over: N... of a run, or 0 .. K.
type Index struct {
	Name  string // with primes
	Pos   source.Span
	Range string
}

// EnumValue is a value of an enum.
type EnumValue struct {
	Name Str
	Doc  Str
}

// Roles lists the roles of tensor slots.
var Roles = []string{"input", "weight", "output", "saved", "scratch"}

// Attr is an attribute, or a field of a record.
type Attr struct {
	Name     string
	Key      source.Span
	Span     source.Span
	Bad      bool // reading it gave findings
	Type     Str
	Doc      Str
	Optional Bool
	List     Bool
	Default  source.Node
	Min, Max source.Node
	Len      Int // of a list: how many values it has
	Values   []Str
	// ValuesSpan is the place of the values, if the attribute lists any.
	ValuesSpan source.Span
	Enum       Str   // a shared enum
	Shared     *Spec // that enum; package check looks it up
	Of         Str   // of an axis: the slot
	Binds      Str   // of an axis: the dimension
	End        Bool
	Fields     []*Attr
}

// Let is a dimension defined by an expression, or a run of dimensions defined by a call of a Go function.
type Let struct {
	Name string
	Key  source.Span
	Expr Str
	Func Str
}

// Slot is a tensor slot.
type Slot struct {
	Name      string
	Key       source.Span
	Span      source.Span
	Bad       bool // reading it gave findings
	Role      Str
	Type      Str
	Shape     []source.Node // strings or integers
	HasShape  bool
	ShapeSpan source.Span
	Doc       Str
	Present   Str
	Variadic  *Variadic
	Trainable Bool
	Saved     source.Node // boolean or expression
	Init      *Init
	Per       Str
	GradOf    string // of scratch memory that follows from the formula: the value whose gradient it holds
	AuxLoss   Bool
	Below     Str
	Except    Str
	Count     Str // of an output: the output that holds how many of its rows count
}

// Variadic says how many tensors a slot holds.
type Variadic struct {
	Span     source.Span
	Min, Max Int
	// Count is the number of an output's tensors, an expression. Without one, the caller says how
	// many there are.
	Count Str
	// Optional says that single tensors of the caller's list may be absent.
	Optional Bool
	// Mixed allows tensors of different element types.
	Mixed Bool
}

// MaybeEmpty reports whether the slot may hold no tensor because it is variadic.
func (s *Slot) MaybeEmpty() bool {
	return s.Variadic != nil && s.Variadic.Min.V < 1 && !s.Variadic.Count.Set()
}

// Asked reports whether the slot is an output of which the caller asks for as many tensors as it wants.
func (s *Slot) Asked() bool {
	return s.Role.V == "output" && s.Variadic != nil && !s.Variadic.Count.Set()
}

// Mixed reports whether the slot's tensors may have different element types.
func (s *Slot) Mixed() bool { return s.Variadic != nil && s.Variadic.Mixed.V }

// Init names an initializer and its attributes.
type Init struct {
	Span  source.Span
	Name  Str
	Of    *Spec // the initializer; package check looks it up
	Attrs []*source.Entry
}

// Arg is an argument slot.
type Arg struct {
	Name      string
	Key       source.Span
	Bad       bool // reading it gave findings
	Type      Str  // a Go type; may be left out where From determines it
	From      Str
	Doc       Str
	Unchecked Bool
	Variadic  *Variadic
	Default   source.Node // nil if the caller must pass a value
}

// Require is a condition with a message.
type Require struct {
	Name    string
	Key     source.Span
	That    Str
	Message Str
}

// Task is a task.
type Task struct {
	Name   string
	Key    source.Span
	Bad    bool // reading it gave findings
	Kind   Str
	Doc    Str
	Over   Str   // of the first dimension
	Inner  []Str // of the others
	Grain  Str
	Access []*Access
	Grads  []*Access
	Args   []Str
	Listed bool // whether the spec lists the arguments
	Steps  []*Step
	// Elementwise says that index i touches element i only, of every tensor that has as many elements
	// as there are indices, and does not write others.
	Elementwise Bool
	// Constraints say how launches divide tensors. If they are not Declared, invocations of the task
	// may add some.
	Constraints []*Constraint
	Declared    bool
	Returns     []Str // of init: the arguments that it makes
}

// Access gives a slot a permission, or a gradient its mode.
type Access struct {
	Slot  string
	Key   source.Span
	Value Str
}

// Step is a step of a task.
type Step struct {
	Name  string
	Key   source.Span
	Over  Str   // of the first dimension
	Inner []Str // of the others
	Grain Str
	When  Str
	Doc   Str
	// Elementwise is that of Task, for a step.
	Elementwise Bool
}

// Shard is a dimension along which an operator may be divided among devices.
type Shard struct {
	Dim  Str
	When Str
	// Partial says that dividing the dimension leaves partial sums.
	Partial bool
}

// Cost says what a task costs.
type Cost struct {
	Task  string
	Key   source.Span
	Flops Str
	Bytes Str // without it, the bytes of the tensors that the task reads and writes
}
