// Package model holds the resolved model of an operator: everything that its spec says, and what
// follows from it. Emitters read nothing else, and opgen explain prints it.
package model

import (
	"fmt"

	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Module is what one run of the generator works on.
type Module struct {
	Operators []*Operator // by name
	Enums     []*Enum     // by name
}

// Enum is a shared enum, or one that belongs to an attribute.
type Enum struct {
	Name    string      `json:"name"`
	Package string      `json:"package,omitempty"` // of a shared enum
	GoName  string      `json:"go_name"`
	Doc     string      `json:"doc,omitempty"`
	Source  string      `json:"-"` // path of the spec
	Values  []EnumValue `json:"values"`
}

// EnumValue is a value of an enum.
type EnumValue struct {
	Name   string `json:"name"`
	GoName string `json:"go_name"`
	Doc    string `json:"doc,omitempty"`
}

// Operator is a resolved operator.
type Operator struct {
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
	Package  string    `json:"package"`
	GoName   string    `json:"go_name"` // of its kernel type
	Source   string    `json:"source"`
	Doc      string    `json:"doc"`
	Family   string    `json:"family,omitempty"`
	Category string    `json:"category,omitempty"`
	Formula  string    `json:"formula,omitempty"`
	Since    string    `json:"since,omitempty"`
	Deprec   string    `json:"deprecated,omitempty"`
	Types    []TypeVar `json:"types"`
	Attrs    []*Attr   `json:"attrs"`
	Dims     []Dim     `json:"dims"`
	Slots    []*Slot   `json:"slots"`
	Args     []*Arg    `json:"args,omitempty"`
	Requires []Require `json:"require,omitempty"`
	Tasks    []*Task   `json:"tasks"`
	Examples []Example `json:"examples,omitempty"`
	// Inference holds the attributes that inference changes, as a JSON object; "" if there are none.
	Inference string    `json:"inference,omitempty"`
	Fusions   []*Fusion `json:"fuse,omitempty"`
	Shards    []Shard   `json:"sharding,omitempty"`
}

// TypeVar is a dtype variable.
type TypeVar struct {
	Name  string       `json:"name"`
	Types []dtype.Type `json:"-"`
	Names []string     `json:"types"`
	// From lists what says the type if no input does: attributes, dtype variables and element types.
	From []string `json:"from,omitempty"`
}

// Kernels returns the types for which kernels are instantiated, those in which they compute.
func (v TypeVar) Kernels() []dtype.Type {
	var out []dtype.Type
	for _, t := range v.Types {
		if t = t.Host(); !dtype.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// floats returns the floating-point types that the variable may stand for.
func (v TypeVar) floats() TypeVar {
	f := TypeVar{Name: v.Name, From: v.From}
	for i, t := range v.Types {
		if t.IsFloat() {
			f.Types, f.Names = append(f.Types, t), append(f.Names, v.Names[i])
		}
	}
	return f
}

// Attr is an attribute.
type Attr struct {
	Name     string   `json:"name"`
	GoName   string   `json:"go_name"`
	Type     string   `json:"type"`
	Doc      string   `json:"doc,omitempty"`
	Optional bool     `json:"optional,omitempty"`
	List     bool     `json:"list,omitempty"`
	Default  any      `json:"default,omitempty"`
	Min      any      `json:"min,omitempty"`
	Max      any      `json:"max,omitempty"`
	Enum     *Enum    `json:"enum,omitempty"`
	Axis     *Axis    `json:"axis,omitempty"`
	Fields   []*Attr  `json:"fields,omitempty"`
	Values   []string `json:"-"`
}

// Axis says what an axis attribute names.
type Axis struct {
	Slot  string `json:"slot"`
	Binds string `json:"binds,omitempty"`
	End   bool   `json:"end,omitempty"`
}

// Dim is a dimension, or a run of them.
type Dim struct {
	Name string    `json:"name"`
	Rest bool      `json:"run,omitempty"`
	Each bool      `json:"each,omitempty"` // a list: what it is in each tensor of a variadic slot
	From string    `json:"from"`           // the slot that binds it, or "" if an expression defines it
	Text string    `json:"expr,omitempty"` // of that expression
	Node expr.Node `json:"-"`
}

// Slot is a tensor slot.
type Slot struct {
	Name      string            `json:"name"`
	GoName    string            `json:"go_name"`
	Role      task.Role         `json:"-"`
	RoleName  string            `json:"role"`
	Type      string            `json:"type"`
	Var       int               `json:"-"` // number of the dtype variable, -1 if Type is fixed
	Fixed     dtype.Type        `json:"-"`
	Shape     string            `json:"shape"` // as the spec writes it
	Doc       string            `json:"doc,omitempty"`
	Provided  bool              `json:"provided,omitempty"` // an initialiser's output
	Optional  bool              `json:"optional,omitempty"`
	OnRequest bool              `json:"on_request,omitempty"`
	Present   string            `json:"present,omitempty"`
	Trainable bool              `json:"trainable,omitempty"`
	Saved     string            `json:"saved,omitempty"` // "true", or the condition
	Variadic  *Variadic         `json:"variadic,omitempty"`
	PerWorker bool              `json:"per_worker,omitempty"`
	AuxLoss   bool              `json:"aux_loss,omitempty"`
	Init      *Init             `json:"init,omitempty"`
	Below     string            `json:"below,omitempty"`
	Pattern   *scope.Pattern    `json:"-"` // of inputs
	Dims      []scope.ShapeExpr `json:"-"` // of all others
	PresentIf expr.Node         `json:"-"`
	SavedIf   expr.Node         `json:"-"`
	BelowExpr expr.Node         `json:"-"`
	// DimNames holds the names of the shape's dimensions and runs, "" where one is an expression.
	DimNames []string `json:"-"`
	// Lane is the run of dimensions in front of the one that an axis attribute binds, "" if lanes
	// run along the last dimension.
	Lane string `json:"lanes_after,omitempty"`
}

// Variadic says how many tensors a slot holds.
type Variadic struct {
	Min   int       `json:"min,omitempty"`
	Max   int       `json:"max,omitempty"` // 0: any number
	Count string    `json:"count,omitempty"`
	Node  expr.Node `json:"-"` // of Count
}

// Words says how many tensors there are: "2 to 8", "at least 1", "len(splits)".
func (v *Variadic) Words() string {
	switch {
	case v.Count != "":
		return v.Count
	case v.Max == 0 && v.Min == 0:
		return "any number"
	case v.Max == 0:
		return fmt.Sprintf("at least %d", v.Min)
	case v.Max == v.Min:
		return fmt.Sprint(v.Min)
	}
	return fmt.Sprintf("%d to %d", v.Min, v.Max)
}

// Shard is a dimension along which an operator may be divided among devices.
type Shard struct {
	Dim     string    `json:"dim"`
	Partial bool      `json:"partial,omitempty"` // dividing it leaves partial sums
	When    string    `json:"when,omitempty"`
	WhenX   expr.Node `json:"-"`
}

// Words says what becomes of outputs if the dimension is divided.
func (s Shard) Words() string {
	if s.Partial {
		return "leaves partial sums"
	}
	return "divides outputs"
}

// Init names a weight's initialiser.
type Init struct {
	Operator string `json:"operator"`
	Package  string `json:"-"`
	Attrs    string `json:"attrs,omitempty"` // JSON
}

// Arg is an argument slot.
type Arg struct {
	Name      string      `json:"name"`
	GoName    string      `json:"go_name"`
	Type      string      `json:"type"` // the Go type of one value
	From      string      `json:"from"` // as the spec writes it
	Source    task.Source `json:"-"`
	Of        *Slot       `json:"-"` // of a shape
	Expr      expr.Node   `json:"-"` // of an expression
	Unchecked bool        `json:"unchecked,omitempty"`
	Variadic  bool        `json:"variadic,omitempty"`
	Min       int         `json:"min,omitempty"`
	Max       int         `json:"max,omitempty"` // task.Unbounded if there is no limit
	Doc       string      `json:"doc,omitempty"`
}

// State reports whether the argument is per-device state.
func (a *Arg) State() bool { return a.Source == task.FromInit }

// Require is a condition on attributes and shapes.
type Require struct {
	Name    string    `json:"name"`
	Text    string    `json:"that"`
	Message string    `json:"message"`
	Format  string    `json:"-"` // the message as a format of package fmt
	Names   []string  `json:"-"` // whose values the message reports
	Node    expr.Node `json:"-"`
}

// Task is a task with its signature.
type Task struct {
	Name   string    `json:"name"`
	GoName string    `json:"go_name"`
	Kind   task.Kind `json:"-"`
	ID     task.ID   `json:"id"`
	Doc    string    `json:"doc,omitempty"`
	// Types lists what the dtype variables may stand for in this task. Backward exists only where what
	// is differentiated is floating-point.
	Types  []TypeVar `json:"-"`
	Params []*Param  `json:"params"`
	Args   []*Arg    `json:"args,omitempty"`
	Steps  []*Step   `json:"steps"`
	Flops  string    `json:"flops,omitempty"`
	Bytes  string    `json:"bytes,omitempty"`
	FlopsX expr.Node `json:"-"`
	BytesX expr.Node `json:"-"`
	// InPlace lists what the task may do in place.
	InPlace []InPlace `json:"inplace,omitempty"`
	// Constraints of launches; unless they are declared, whoever invokes the task may add some.
	Constraints task.Constraints `json:"-"`
	Returns     *Arg             `json:"-"` // the per-device state that init makes
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

// Param is a slot as a task sees it.
type Param struct {
	Slot     *Slot      `json:"-"`
	Number   int        `json:"-"` // of the slot
	Name     string     `json:"slot"`
	GoName   string     `json:"-"`
	Grad     bool       `json:"grad,omitempty"`
	Perm     perm.Perm  `json:"perm"`
	Redop    perm.Redop `json:"redop,omitempty"`
	Scatter  bool       `json:"scatter,omitempty"`
	Inferred bool       `json:"inferred,omitempty"` // rather than written in the spec
	// OnlyIf is the condition under which backward is given a forward value.
	OnlyIf expr.Node `json:"-"`
	IfText string    `json:"only_if,omitempty"`
}

// Step is a step of a task.
type Step struct {
	Name   string `json:"name,omitempty"`
	GoName string `json:"method"`
	Over   string `json:"over"`
	Grain  string `json:"grain,omitempty"`
	When   string `json:"when,omitempty"`
	Doc    string `json:"doc,omitempty"`
	// Elementwise says that index i touches element i only.
	Elementwise bool      `json:"elementwise,omitempty"`
	OverX       expr.Node `json:"-"`
	GrainX      expr.Node `json:"-"`
	WhenX       expr.Node `json:"-"`
}

// Example is an attribute and shape combination.
type Example struct {
	Attrs  string             `json:"attrs"`
	Shapes map[string][][]int `json:"shapes"` // of each slot's tensors
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

// Floating lists the dtype variables of which the task allows only the floating-point types.
func (o *Operator) Floating(t *Task) []int {
	var vars []int
	for i, v := range o.Types {
		if len(t.Types[i].Types) < len(v.Types) {
			vars = append(vars, i)
		}
	}
	return vars
}

// Main returns the task that graphs invoke first: forward, or an optimiser's update.
func (o *Operator) Main() *Task {
	for _, t := range o.Tasks {
		if t.Kind == task.KindForward || t.Kind == task.KindUpdate {
			return t
		}
	}
	return nil
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
