// Package model holds the resolved model of an operator: the description that generated code holds at run
// time, with Go names, documentation, typed expressions and positions. Emitters, opgen explain, reference
// pages and plug-ins read it.
package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Module is the model of all operators and enums of a Go module.
type Module struct {
	Operators []*Operator `json:"operators"` // by name
	Enums     []*Enum     `json:"enums"`     // by name
	// Used holds the operators of the modules that this one uses.
	Used []*Operator `json:"-"`
}

// Enum is a shared enum, or one that belongs to an attribute.
type Enum struct {
	Name    string      `json:"name"`
	Package string      `json:"package,omitempty"` // of a shared enum
	Import  string      `json:"-"`                 // the import path of that package, "" if it is not known
	GoName  string      `json:"go_name"`
	Doc     string      `json:"doc,omitempty"`
	Formula string      `json:"formula,omitempty"` // what the values of a shared enum compute
	Source  string      `json:"-"`                 // path of the spec
	Text    string      `json:"-"`                 // of the spec
	Values  []EnumValue `json:"values"`            // in the order of the spec; the first has the number 1
	Pos     source.Pos  `json:"pos"`
}

// EnumValue is a value of an enum.
type EnumValue struct {
	Name   string     `json:"name"`
	GoName string     `json:"go_name"`
	Doc    string     `json:"doc,omitempty"`
	Pos    source.Pos `json:"pos"`
}

// Operator is a resolved operator: its description at run time, and all else that the spec gives. A field
// with the name of a field of the description holds more than that field.
type Operator struct {
	*task.Operator
	Kind     string          `json:"kind"`                 // "operator", "optimizer" or "initializer"
	Package  string          `json:"package"`              // its Go package
	GoName   string          `json:"go_name"`              // of its kernel type
	Source   string          `json:"source"`               // path of the spec
	Text     string          `json:"-"`                    // of the spec
	Category string          `json:"category,omitempty"`   // for reference pages
	Formula  string          `json:"formula,omitempty"`    // what it computes, as the spec says it
	Derived  bool            `json:"derived,omitempty"`    // its kernel is the formula, since none is written by hand
	Since    string          `json:"since,omitempty"`      // the version that had it first
	Deprec   string          `json:"deprecated,omitempty"` // why, and what replaces it
	Types    []TypeVar       `json:"types"`                // the dtype variables
	Attrs    []*Attr         `json:"attrs"`                // the attributes
	Dims     []Dim           `json:"dims"`                 // the dimensions that its shapes bind or define
	Slots    []*Slot         `json:"slots"`                // the tensor slots
	Args     []*Arg          `json:"args,omitempty"`       // the arguments that are no tensors
	Requires []Require       `json:"require,omitempty"`    // conditions on attributes and shapes
	Validate string          `json:"validate,omitempty"`   // the call of a Go function that checks attributes
	Tasks    []*Task         `json:"tasks"`                // in the order of the spec
	Fusions  []Fusion        `json:"fuse,omitempty"`       // the operators that can be fused into it
	ONNX     []mapping.Entry `json:"onnx,omitempty"`       // the operators of other systems that it computes
	Shards   []Shard         `json:"sharding,omitempty"`   // the dimensions along which it may be divided
	CUDA     *CUDA           `json:"cuda,omitempty"`       // its device code by hand
	Pos      source.Pos      `json:"pos"`

	ValidateX *expr.GoCall `json:"-"`
}

// TypeVar is a dtype variable.
type TypeVar struct {
	*task.TypeVar
	Names []string   `json:"types"` // the names of its types in specs
	Pos   source.Pos `json:"pos"`
}

// Kernels returns the types for which kernels are instantiated: the types in which kernels compute.
func (v TypeVar) Kernels() []dtype.Type {
	var out []dtype.Type
	for _, t := range v.Types {
		if t = t.Host(); !dtype.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// Attr is an attribute.
type Attr struct {
	Name     string     `json:"name"`
	GoName   string     `json:"go_name"`
	Type     string     `json:"type"` // "int", "float", "number", "bool", "string", "enum", "dtype", "axis", "axes", "dims" or "record"
	Doc      string     `json:"doc,omitempty"`
	Optional bool       `json:"optional,omitempty"` // may be absent
	List     bool       `json:"list,omitempty"`     // holds a list of values
	Default  any        `json:"default,omitempty"`  // the value if none is given; absent if one must be given
	Min      any        `json:"min,omitempty"`      // the least value, of a list that of each element
	Max      any        `json:"max,omitempty"`      // the greatest value, of a list that of each element
	Len      *int       `json:"len,omitempty"`      // of a list: how many values it has
	Enum     *Enum      `json:"enum,omitempty"`     // of an enum: its values
	EnumName string     `json:"-"`                  // the name of Enum in expressions of the spec, which two modules may share
	Axis     *Axis      `json:"axis,omitempty"`     // of an axis: what it names
	Fields   []*Attr    `json:"fields,omitempty"`   // of a record
	Pos      source.Pos `json:"pos"`
}

// Complete returns a value of a record with the defaults of the fields that it leaves out.
func (a *Attr) Complete(v any) any {
	given, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := maps.Clone(given)
	for _, f := range a.Fields {
		if out[f.Name] == nil && f.Default != nil {
			out[f.Name] = f.Default
		}
	}
	return out
}

// number returns a value in which infinities are numbers of JSON that are out of the range of float64, since
// readers of the value do not know the type of the attribute.
func (a *Attr) number(v any) any {
	switch v := v.(type) {
	case string:
		if a.Type == "float" || a.Type == "number" {
			return json.Number(map[string]string{"inf": "1e999", "-inf": "-1e999"}[v])
		}
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, a.number(x))
		}
		return out
	case map[string]any:
		out := maps.Clone(v)
		for _, f := range a.Fields {
			if x, ok := out[f.Name]; ok {
				out[f.Name] = f.number(x)
			}
		}
		return out
	}
	return v
}

// Axis says what an axis attribute names.
type Axis struct {
	Slot  string `json:"slot"`            // whose shape has the axis
	Binds string `json:"binds,omitempty"` // the dimension that it names
	End   bool   `json:"end,omitempty"`   // may also be the position after the last axis
}

// Dim is a dimension, or a run of dimensions.
type Dim struct {
	Name string     `json:"name"`
	Rest bool       `json:"run,omitempty"`  // stands for any number of dimensions
	Each bool       `json:"each,omitempty"` // a list: what it is in each tensor of a variadic slot
	From string     `json:"from"`           // the slot that binds it, or "" if an expression defines it
	Text string     `json:"expr,omitempty"` // of that expression
	Node expr.Node  `json:"-"`
	Pos  source.Pos `json:"pos"`
}

// Slot is a tensor slot.
type Slot struct {
	*task.Slot
	Number  int        `json:"number"` // position in the operator's list of slots
	GoName  string     `json:"go_name"`
	Doc     string     `json:"doc,omitempty"`
	Var     int        `json:"-"` // number of the dtype variable, -1 if Type is fixed
	Fixed   dtype.Type `json:"-"`
	Present string     `json:"present,omitempty"` // "caller", or the condition
	Saved   string     `json:"saved,omitempty"`   // "true", or the condition
	Count   string     `json:"count,omitempty"`   // how many tensors a variadic output has
	Below   string     `json:"below,omitempty"`   // the upper bound of its integers
	Except  string     `json:"except,omitempty"`  // the one that may lie outside of the bound
	// Lane is the run of dimensions in front of the one along which lanes run, "" if lanes
	// run along the last dimension.
	Lane string     `json:"lanes_after,omitempty"`
	Pos  source.Pos `json:"pos"`

	// InitImport is the import path of the package of the initializer, "" if it is not known.
	InitImport string `json:"-"`

	Pattern   *scope.Pattern    `json:"-"` // of inputs
	Dims      []scope.ShapeExpr `json:"-"` // of all others
	PresentIf expr.Node         `json:"-"`
	SavedIf   expr.Node         `json:"-"`
	CountX    expr.Node         `json:"-"`
	BelowX    expr.Node         `json:"-"`
	ExceptX   expr.Node         `json:"-"`
	// DimNames holds the names of the shape's dimensions and runs, "" where one is an expression.
	DimNames []string `json:"-"`
}

// Tensors returns how many tensors a variadic slot holds, as a phrase: "2 to 8", "one or more",
// "len(splits)", "any number, each optional".
func (s *Slot) Tensors() string {
	if s.Gaps {
		return s.number() + ", each optional"
	}
	return s.number()
}

func (s *Slot) number() string {
	switch {
	case s.Count != "":
		return s.Count
	case s.Max == task.Unbounded && s.Min == 0:
		return "any number"
	case s.Max == task.Unbounded && s.Min == 1:
		return "one or more"
	case s.Max == task.Unbounded:
		return fmt.Sprintf("at least %d", s.Min)
	case s.Max == s.Min:
		return fmt.Sprint(s.Min)
	}
	return fmt.Sprintf("%d to %d", s.Min, s.Max)
}

// Shard is a dimension along which an operator may be divided among devices.
type Shard struct {
	*task.Shard
	When  string    `json:"when,omitempty"` // the condition under which it may be divided
	WhenX expr.Node `json:"-"`
}

// Words returns the effect on outputs if the dimension is divided, as a phrase.
func (s Shard) Words() string {
	if s.Partial {
		return "leaves partial sums"
	}
	return "divides outputs"
}

// Fusion is the fusion of another operator into this one.
type Fusion struct {
	*task.Fusion
	Doc string     `json:"doc,omitempty"`
	Pos source.Pos `json:"pos"`
}

// Arg is an argument. The type of its slot is the Go type of one value.
type Arg struct {
	*task.Slot
	Number    int         `json:"number"` // position in the operator's list of slots, which begins with tensors
	GoName    string      `json:"go_name"`
	From      string      `json:"from"`                // as the spec writes it
	Source    task.Source `json:"source"`              // which kind of source that is
	Of        *Slot       `json:"-"`                   // of a shape
	Expr      expr.Node   `json:"-"`                   // of an expression
	Unchecked bool        `json:"unchecked,omitempty"` // need not be plain data
	Block     bool        `json:"block,omitempty"`     // is state in memory of the device, which device code by hand gets
	Default   string      `json:"default,omitempty"`   // what it is if the caller passes nothing: a list in JSON
	Doc       string      `json:"doc,omitempty"`
	Pos       source.Pos  `json:"pos"`
}

// DefaultText returns the value that the argument has by default, as JSON.
func (a *Arg) DefaultText() string {
	return strings.TrimSuffix(strings.TrimPrefix(a.Default, "["), "]")
}

// State reports whether the argument is per-device state.
func (a *Arg) State() bool { return a.Role == task.RoleState }

// Require is a condition on attributes and shapes.
type Require struct {
	Name    string     `json:"name"`
	Text    string     `json:"that"`    // the condition
	Message string     `json:"message"` // what to report if it does not hold
	Pos     source.Pos `json:"pos"`
	Format  string     `json:"-"` // the message as a format of package fmt
	Names   []string   `json:"-"` // whose values the message reports
	Node    expr.Node  `json:"-"`
}

// Task is a task with its signature.
type Task struct {
	*task.Signature
	Name   string `json:"name"`
	GoName string `json:"go_name"`
	Doc    string `json:"doc,omitempty"`
	// Types lists the types that the dtype variables may have in this task. Backward exists for
	// floating-point types only.
	Types   []TypeVar  `json:"-"`
	Params  []*Param   `json:"params"` // the slots that the task gets
	Args    []*Arg     `json:"-"`
	Returns []*Arg     `json:"-"`     // the per-device states that init makes
	Steps   []*Step    `json:"steps"` // what runs, one after the other
	Numbers []Numbers  `json:"-"`
	Flops   string     `json:"flops,omitempty"` // an expression: floating-point operations
	Bytes   string     `json:"bytes,omitempty"` // an expression: bytes that are moved
	Pos     source.Pos `json:"pos"`
	FlopsX  expr.Node  `json:"-"`
	BytesX  expr.Node  `json:"-"`
}

// Numbers is a list of a constraint that holds expressions.
type Numbers struct {
	Constraint int // its number
	List       string
	Exprs      []expr.Node
}

// Invoked reports whether graphs invoke the task. The others make and free per-device state.
func (t *Task) Invoked() bool { return t.Kind != task.KindInit && t.Kind != task.KindCleanup }

// Reduces reports whether the task folds values into a tensor.
func (t *Task) Reduces() bool {
	for _, p := range t.Params {
		if p.Perm == perm.Reduce {
			return true
		}
	}
	return false
}

// Param is a slot of a task, with its permission.
type Param struct {
	*task.Param
	Slot     *Slot  `json:"-"`
	Name     string `json:"slot"`
	GoName   string `json:"go_name"`
	Inferred bool   `json:"inferred,omitempty"` // rather than written in the spec
	// OnlyIf is the condition under which backward gets the value of a forward tensor.
	OnlyIf expr.Node `json:"-"`
	IfText string    `json:"only_if,omitempty"` // the condition under which it is passed
}

// Step is a step of a task.
type Step struct {
	*task.Step
	GoName string     `json:"method"`          // the method of the kernel
	Over   string     `json:"over"`            // an expression: the number of indices
	Grain  string     `json:"grain,omitempty"` // an expression: indices in a range
	When   string     `json:"when,omitempty"`  // the condition under which the step runs
	Doc    string     `json:"doc,omitempty"`
	Pos    source.Pos `json:"pos"`
	// Loops says that loops of the formula compute the step, and decide what they go over.
	Loops bool `json:"loops,omitempty"`
	// OnCPUs says that loops of the formula compute the step on CPUs, over what the spec says.
	OnCPUs bool      `json:"-"`
	OverX  expr.Node `json:"-"`
	open   bool      // whether the spec says neither what the step runs over nor its grain
	// InnerX holds the extents of the step's dimensions after the first.
	InnerX []expr.Node `json:"-"`
	Tiles  *Tiles      `json:"-"`
	GrainX expr.Node   `json:"-"`
	WhenX  expr.Node   `json:"-"`
}

// Derive says whether the operator's kernels are derived from its formula.
func (o *Operator) Derive(derived bool) {
	o.Derived = derived
	for _, t := range o.Tasks {
		for _, s := range t.Steps {
			loops := derived && s.Tiles == nil && !t.Reduces()
			s.Loops = loops && s.open && o.CUDA == nil
			s.OnCPUs = loops && !s.Loops && len(t.Steps) == 1
		}
	}
}

// Task returns the task of a kind, or nil.
func (o *Operator) Task(k task.Kind) *Task {
	for _, t := range o.Tasks {
		if t.Kind == k {
			return t
		}
	}
	return nil
}

// CanDerive reports whether the formula can be the kernel. A formula does not make or free per-device state.
func (o *Operator) CanDerive() bool {
	return o.Formula != "" && o.Task(task.KindInit) == nil && o.Task(task.KindCleanup) == nil
}

// Passed returns the arguments that the caller passes.
func (o *Operator) Passed() []*Arg {
	var out []*Arg
	for _, a := range o.Args {
		if a.Source == task.FromCall {
			out = append(out, a)
		}
	}
	return out
}

// Inputs returns the input slots.
func (o *Operator) Inputs() []*Slot {
	var in []*Slot
	for _, s := range o.Slots {
		if s.Role == task.RoleInput {
			in = append(in, s)
		}
	}
	return in
}
