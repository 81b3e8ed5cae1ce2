// Package task describes operators and their tasks: init, forward, backward and cleanup, and the update of an
// optimizer. Losses, metrics and initializers are operators, too.
//
// An operator has slots: tensors and arguments, each with a role. A task's signature says which of
// them it takes and what it may do with each. Generated code registers, for every task, its
// signature and a function that turns an accessor (the resolved slots) into bodies. A body holds the
// kernel and its typed arguments; running it is one call, without look-up or allocation.
package task

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
)

// ID identifies a task. It is a hash of the operator's full name and the task's name, so adding an operator
// renumbers nothing, and operators of two modules may have the same name. The generator and Registry reject
// collisions.
type ID uint64

// IDOf returns the id of a task: FNV-1a of "operator.task", with the full name of the operator.
func IDOf(operator, task string) ID {
	h := fnv.New64a()
	h.Write([]byte(operator + "." + task))
	return ID(h.Sum64())
}

// String formats the id as 16 hexadecimal digits.
func (id ID) String() string { return fmt.Sprintf("%016x", uint64(id)) }

// MarshalText writes what String returns.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what String returns.
func (id *ID) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%x", (*uint64)(id))
	return err
}

// Kind says what a task is for.
type Kind uint8

const (
	KindForward  Kind = iota // computes outputs from inputs
	KindBackward             // computes gradients of inputs and weights from those of outputs
	KindInit                 // makes per-device state
	KindCleanup              // frees per-device state
	KindUpdate               // changes its inputs in place, as an optimizer does
)

var kinds = [...]string{"forward", "backward", "init", "cleanup", "update"}

// String returns the name that specs use.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("task.Kind(%d)", uint8(k))
}

// MarshalText writes the name that specs use.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Role says what a slot is to its operator.
type Role uint8

const (
	RoleInput    Role = iota // a tensor that the caller passes
	RoleWeight               // a tensor that the operator owns and that lives from step to step
	RoleOutput               // a tensor that the operator makes
	RoleSaved                // a tensor that forward keeps for backward
	RoleScratch              // memory of one task
	RoleArgument             // a value that is no tensor
	RoleState                // per-device state: handles and descriptors
)

var roles = [...]string{"input", "weight", "output", "saved", "scratch", "argument", "state"}

// String returns the name that specs use.
func (r Role) String() string {
	if int(r) < len(roles) {
		return roles[r]
	}
	return fmt.Sprintf("task.Role(%d)", uint8(r))
}

// MarshalText writes the name that specs use.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Unbounded is the upper limit of a variadic slot that has none.
const Unbounded = 1<<31 - 1

// Slot describes a slot of an operator.
type Slot struct {
	Name      string `json:"name"`
	Role      Role   `json:"role"`
	Type      string `json:"type"`                 // element type, or the variable that stands for it
	Shape     string `json:"shape,omitempty"`      // as the spec writes it; for messages
	Optional  bool   `json:"optional,omitempty"`   // may be absent
	OnRequest bool   `json:"on_request,omitempty"` // an output that is made only if the caller requests it; for a variadic slot, the caller requests a number of tensors
	Provided  bool   `json:"provided,omitempty"`   // an output whose shape the caller states, as for an initializer
	Variadic  bool   `json:"variadic,omitempty"`   // holds Min to Max tensors rather than one
	Gaps      bool   `json:"gaps,omitempty"`       // single tensors of a variadic slot may be absent
	Min       int    `json:"min,omitempty"`
	Max       int    `json:"max,omitempty"`
	Trainable bool   `json:"trainable,omitempty"`  // its tensor gets a gradient
	PerWorker bool   `json:"per_worker,omitempty"` // scratch memory of which each worker has its own copy
	GradOf    string `json:"grad_of,omitempty"`    // of scratch memory: the value of the formula whose gradient it holds
	AuxLoss   bool   `json:"aux_loss,omitempty"`   // a scalar output that training adds to the loss
	CountedBy string `json:"counted_by,omitempty"` // the output that holds how many of the planned rows of this one count
	Init      Init   `json:"init,omitzero"`        // how a weight begins
}

// Asked reports whether the slot is an output for which the caller chooses the number of tensors.
func (s *Slot) Asked() bool { return s.OnRequest && s.Variadic }

// Init names the initializer of a weight and gives its attributes as JSON.
type Init struct {
	Operator string `json:"operator"`
	Attrs    string `json:"attrs,omitempty"`
}

// Param is a slot as one task sees it.
type Param struct {
	Slot     int        `json:"slot"`           // number of the slot
	Grad     bool       `json:"grad,omitempty"` // the slot's gradient rather than its value
	Perm     perm.Perm  `json:"perm"`
	Redop    perm.Redop `json:"redop,omitempty"`
	Scatter  bool       `json:"scatter,omitempty"`  // a gradient that is added to element by element, starting from zero
	Optional bool       `json:"optional,omitempty"` // may be absent
}

// Step is one part of a task. The steps of a task run one after the other; each is cut into ranges
// that may run side by side.
type Step struct {
	Name string `json:"name,omitempty"`
	// Elementwise says that index i touches element i only, of every tensor that has as many elements
	// as there are indices, and that others are only read.
	Elementwise bool `json:"elementwise,omitempty"`
}

// Signature describes a task: its slots with permissions, its arguments, what its launches must keep
// to, and its steps. It must not be changed once it is registered.
type Signature struct {
	Operator *Operator `json:"-"`
	Task     string    `json:"name"`
	ID       ID        `json:"id"`
	Kind     Kind      `json:"kind"`
	Params   []Param   `json:"params"`
	Args     []Arg     `json:"args,omitempty"`
	// Constraints say how launches partition the task's tensors.
	Constraints Constraints `json:"constraints,omitzero"`
	// Returns lists the slots of the per-device states that an init task makes. Other tasks make none.
	Returns []int  `json:"returns,omitempty"`
	Steps   []Step `json:"steps"`
	// InPlace lists the tensors that may reuse the memory of others.
	InPlace []InPlace `json:"inplace,omitempty"`
	// Floating lists the dtype variables that stand for floating-point types in this task, though the
	// operator allows others: the task exists for those only.
	Floating []int `json:"floating,omitempty"`
}

// Supports reports whether the task exists for the given types of the operator's dtype variables.
func (s *Signature) Supports(types []dtype.Type) bool {
	return !slices.ContainsFunc(s.Floating, func(v int) bool { return !types[v].IsFloat() })
}

// Name returns "operator.task".
func (s *Signature) Name() string { return s.Operator.FullName() + "." + s.Task }

// Attrs are the attributes of an operator: a comparable struct of plain values. A struct that cannot have all
// values of its type has a method Validate, which reports the first attribute that is missing or outside its
// range.
type Attrs any

// Validate reports the first attribute that is missing or outside its range.
func Validate(attrs Attrs) error {
	if a, ok := attrs.(interface{ Validate() error }); ok {
		return a.Validate()
	}
	return nil
}

// Operator describes an operator to passes, engines and tools. It is generated and must not be
// changed.
type Operator struct {
	Name string `json:"name"`
	// Module is the path of the module that has the spec; "" is the module of the runtime.
	Module string `json:"module,omitempty"`
	Family string `json:"family,omitempty"` // the name under which FlexFlow groups it, if another
	Doc    string `json:"doc"`
	// Formula says what the operator computes, with a function or a statement in each line. Behind its own
	// lines stand the functions of the shared enums that it applies, such as activation.RELU(x) = max(x, 0).
	Formula []string `json:"formula,omitempty" go:"lines"`
	// Callees lists the operators whose formulas this one inlines, and those that these inline.
	Callees []Callee `json:"callees,omitempty"`
	Slots   []Slot   `json:"slots"`
	// AttrNames lists the attributes in the spec's order.
	AttrNames []string `json:"-"`
	// Types lists the allowed element types of each dtype variable, in the spec's order.
	Types []TypeVar `json:"types"`
	// Signatures lists the tasks in the spec's order.
	Signatures []*Signature `json:"tasks"`
	// DecodeAttrs reads attributes from a JSON object on top of the defaults and validates them.
	DecodeAttrs func(data []byte) (Attrs, error) `json:"-"`
	// Resolve computes the shapes and types of all slots from those of the inputs. It is given the operator
	// itself and attributes that were validated.
	Resolve func(*Operator, Attrs, Given) (*Resolution, error) `json:"-"`
	// Shards lists the dimensions along which the operator may be divided among devices.
	Shards []Shard `json:"sharding,omitempty"`
	// Examples are attribute and shape combinations from which tests are made.
	Examples []Example `json:"examples,omitempty"`
	// Inference holds, as a JSON object, the attributes that inference changes; "" if there are none.
	Inference string `json:"inference,omitempty"`
	// Fusions lists the work of other operators that this one can do as well.
	Fusions []Fusion `json:"fuse,omitempty"`
	// Gradient says of which operator this one computes the gradients; nil for operators of specs.
	Gradient *Gradient `json:"-"`
}

// FullName returns the name that no operator of another module has, as plans and messages give it: "linear"
// of an operator of the runtime's module, "example.com/nn.linear" of one of the module example.com/nn.
func (o *Operator) FullName() string {
	if o.Module == "" {
		return o.Name
	}
	return o.Module + "." + o.Name
}

// TypeVar is a dtype variable and the types it may stand for.
type TypeVar struct {
	Name  string       `json:"name"`
	Types []dtype.Type `json:"types"`
	// From lists sources of the type if no input determines it: attributes, other variables, or element
	// types. The first that has a type counts.
	From []string `json:"from,omitempty"`
}

// Example is one of a spec's examples.
type Example struct {
	Attrs  string           `json:"attrs"`  // JSON
	Shapes map[string][]int `json:"shapes"` // per input slot; a variadic slot's are numbered name.0, name.1, ...
	// Places holds, by slot, the places of these tensors in a list in which others are absent.
	Places map[string][]int `json:"places,omitempty"`
	// Counts holds the requested numbers of tensors of outputs for which the caller chooses the number.
	Counts map[string]int `json:"counts,omitempty"`
	// Args holds, as a JSON object, a list of values for each argument that the caller passes; "" if there
	// are none.
	Args string `json:"args,omitempty"`
	// Dims holds the dimensions that functions of the module give, which tools do not run.
	Dims map[string][]int `json:"dims,omitempty"`
}

// SlotNamed returns the number of the slot of the given name, or -1.
func (o *Operator) SlotNamed(name string) int {
	for i := range o.Slots {
		if o.Slots[i].Name == name {
			return i
		}
	}
	return -1
}

// SlotName returns the name of a slot, or Slot(n) if there is none of that number.
func (o *Operator) SlotName(slot int) string {
	if slot < 0 || slot >= len(o.Slots) {
		return fmt.Sprintf("Slot(%d)", slot)
	}
	return o.Slots[slot].Name
}

// Main returns the task that graphs invoke first: forward, or an optimizer's update. It returns nil if there
// is none.
func (o *Operator) Main() *Signature {
	if s := o.Signature(KindForward); s != nil {
		return s
	}
	return o.Signature(KindUpdate)
}

// Signature returns the first task of the given kind, or nil.
func (o *Operator) Signature(k Kind) *Signature {
	for _, s := range o.Signatures {
		if s.Kind == k {
			return s
		}
	}
	return nil
}
