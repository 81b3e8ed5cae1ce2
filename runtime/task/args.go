package task

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/op"
)

// Source says where the value of an argument comes from.
type Source uint8

const (
	FromExpression Source = iota // an expression over attributes and shapes
	FromAttrs                    // the operator's attributes as a whole
	FromShape                    // the partition of a slot's tensor, a partition.Partition; a list of them for a slot with several tensors
	FromIteration                // the training step, from 0
	FromSeed                     // of random numbers: the graph's seed, mixed with the node's name
	FromProfiling                // how the engine measures tasks: a Profiling
	FromHandle                   // the device that the task runs on: a Handle
	FromInit                     // per-device state, which the operator's init task made
	FromMemory                   // where init allocates memory for the state: a *Memory
	FromCall                     // the caller passes it
)

var sources = [...]string{"expression", "attrs", "shape", "iteration", "seed", "profiling", "handle", "init", "memory", "call"}

// String returns the name that specs use.
func (s Source) String() string {
	if int(s) < len(sources) {
		return sources[s]
	}
	return fmt.Sprintf("task.Source(%d)", uint8(s))
}

// MarshalText writes the name that specs use.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Arg is an argument as one task sees it: a value that is no tensor. Its slot says how many values a
// variadic one has.
type Arg struct {
	Slot int          `json:"slot"` // number of the slot, of role argument or state
	Type reflect.Type `json:"-"`    // of one value
	From Source       `json:"from"`
	Of   int          `json:"of,omitempty"` // the slot whose partition FromShape is
	// Default holds the value that an argument from the caller has if the caller passes none: a list in JSON,
	// as plans hold values.
	Default string `json:"default,omitempty"`
	// Unchecked arguments may hold pointers; others are plain data, which plans can carry.
	Unchecked bool `json:"unchecked,omitempty"`
}

// Profiling says how an engine measures the runs of a plan. The zero Profiling stands for no measurement.
type Profiling struct {
	On      bool
	Warmup  int // number of runs before measurement begins
	Measure int // runs that are measured then; 0: all
}

// Handle is a device as tasks see it.
type Handle struct {
	Device int // the number of the device
	// Library is what the backend gives tasks of the device, such as handles of libraries or what operators
	// share; nil if it gives nothing.
	Library any
}

// check reports an argument whose slot, type and source do not fit. before lists the arguments in front
// of it.
func (a *Arg) check(s *Signature, before []Arg) error {
	slot := &s.Operator.Slots[a.Slot]
	fail := func(want, got string) error {
		return &op.Error{Operator: s.Operator.FullName(), Task: s.Task, Slot: slot.Name, Want: want, Got: got}
	}
	role := RoleArgument
	if a.From == FromInit {
		role = RoleState
	}
	if slot.Role != role {
		return fail("a slot of role "+role.String()+" for an argument from "+a.From.String(), "one of role "+slot.Role.String())
	}
	for _, b := range before {
		if b.Slot == a.Slot {
			return fail("one argument for each slot", "a second one")
		}
	}
	if a.Type == nil {
		return fail("the type of the argument", "none")
	}
	if !a.Unchecked {
		if part := pointer(a.Type, nil); part != "" {
			want := "plain data, or an unchecked argument"
			if a.From == FromCall {
				want = "plain data, as plans carry what a caller passes"
			}
			return fail(want, fmt.Sprintf("%v, which holds %s", a.Type, part))
		}
	}
	if a.From == FromMemory && s.Kind != KindInit && s.Kind != KindCleanup {
		return fail("an argument from memory of an init or a cleanup task", "one of a task of kind "+s.Kind.String())
	}
	if a.From == FromCall {
		if part := lost(a.Type, nil); part != "" {
			return fail("a value that JSON can hold, as plans carry what a caller passes", fmt.Sprintf("%v, which holds %s", a.Type, part))
		}
	}
	if a.From == FromShape && (a.Of < 0 || a.Of >= len(s.Operator.Slots)) {
		return fail("the shape of a slot of the operator", fmt.Sprint(a.Of))
	}
	return nil
}

// pointer says what keeps a type from being plain data: "" if nothing does. Slices of plain data are
// plain, as they are copied. within lists the types that t is a part of.
func pointer(t reflect.Type, within []reflect.Type) string {
	if slices.Contains(within, t) {
		return ""
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer:
		return map[reflect.Kind]string{reflect.Pointer: "a pointer", reflect.Map: "a map", reflect.Chan: "a channel", reflect.Func: "a function",
			reflect.Interface: "an interface", reflect.UnsafePointer: "an unsafe pointer"}[t.Kind()]
	case reflect.Slice, reflect.Array:
		return pointer(t.Elem(), within)
	case reflect.Struct:
		for i := range t.NumField() {
			if part := pointer(t.Field(i).Type, within); part != "" {
				return part
			}
		}
	}
	return ""
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// lost says what of a type JSON would lose: "" if nothing. A type with a form of its own in JSON is written
// in that form. within lists the types that t is a part of.
func lost(t reflect.Type, within []reflect.Type) string {
	p := reflect.PointerTo(t)
	if p.Implements(jsonMarshaler) || p.Implements(textMarshaler) || slices.Contains(within, t) {
		return ""
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.Complex64, reflect.Complex128:
		return "complex numbers"
	case reflect.Slice, reflect.Array:
		return lost(t.Elem(), within)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				return "the unexported field " + f.Name
			}
			if part := lost(f.Type, within); part != "" {
				return part
			}
		}
	}
	return ""
}

// Check reports values that the argument cannot have: too many or too few, or of another type.
func (a *Arg) Check(s *Signature, values []any) error {
	slot := &s.Operator.Slots[a.Slot]
	fail := func(want, got string) error {
		return &op.Error{Operator: s.Operator.FullName(), Task: s.Task, Slot: slot.Name, Want: want, Got: got}
	}
	if n := slot.Holds(false); !n.Allows(len(values)) {
		return fail(n.String()+" values", fmt.Sprint(len(values)))
	}
	for _, v := range values {
		if reflect.TypeOf(v) != a.Type {
			return fail("a value of type "+a.Type.String(), fmt.Sprintf("%T", v))
		}
	}
	return nil
}

// Complete returns the values that the caller passes or, if it passes none, the default.
func (a *Arg) Complete(s *Signature, values []any) ([]any, error) {
	if values != nil || a.Default == "" {
		return values, nil
	}
	return a.Decode(s, json.RawMessage(a.Default))
}

// Encode returns values of the argument as JSON, as plans hold them.
func (a *Arg) Encode(values []any) (json.RawMessage, error) {
	if values == nil {
		values = []any{}
	}
	return attr.MarshalPlain(values)
}

// Decode reads the argument's values from JSON, as plans hold them.
func (a *Arg) Decode(s *Signature, data json.RawMessage) ([]any, error) {
	list := reflect.New(reflect.SliceOf(a.Type))
	if err := attr.UnmarshalPlain(data, list.Interface()); err != nil {
		return nil, &op.Error{Operator: s.Operator.FullName(), Task: s.Task, Slot: s.Operator.Slots[a.Slot].Name, Want: "values of type " + a.Type.String(), Got: err.Error()}
	}
	var values []any
	for i := range list.Elem().Len() {
		values = append(values, list.Elem().Index(i).Interface())
	}
	return values, a.Check(s, values)
}

// Arg returns the argument of a slot, or nil.
func (s *Signature) Arg(slot int) *Arg {
	for i := range s.Args {
		if s.Args[i].Slot == slot {
			return &s.Args[i]
		}
	}
	return nil
}
