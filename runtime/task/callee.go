package task

// Callee is an operator whose formula another one inlines: what its formula needs for a use with tensors of
// the other.
type Callee struct {
	Name string `json:"name"` // of the operator, as the formula that inlines it calls it
	// Full is the full name of the operator, "" if it is Name.
	Full    string   `json:"full,omitempty"`
	Formula []string `json:"formula" go:"lines"` // as in Operator
	// Slots holds the slots of tensors, but no scratch memory.
	Slots []CalleeSlot `json:"slots"`
	Attrs []CalleeAttr `json:"attrs,omitempty"` // the attributes, in the spec's order
	// Dims holds the dimensions with an expression, and Requires the conditions of [require] with their
	// messages.
	Dims []Definition `json:"dims,omitempty"`
	// Requires holds what must hold for the shapes and attributes of a use.
	Requires []Definition `json:"requires,omitempty"`
	// Callees lists the operators that its formula inlines, and those that these inline, of an operator of
	// another module, in which names may stand for other operators. The rest is in the list that holds the
	// Callee.
	Callees []Callee `json:"callees,omitempty"`
}

// CalleeSlot is a slot of a Callee.
type CalleeSlot struct {
	Name    string `json:"name"`              // of the slot
	Role    Role   `json:"role"`              // what the slot is for
	Shape   string `json:"shape"`             // as in Slot
	Present string `json:"present,omitempty"` // the condition under which it is there, or caller
}

// CalleeAttr is an attribute of a Callee.
type CalleeAttr struct {
	Name     string `json:"name"`               // of the attribute
	Default  string `json:"default,omitempty"`  // JSON; "" if there is none
	Optional bool   `json:"optional,omitempty"` // whether it may be absent
	Binds    string `json:"binds,omitempty"`    // of an axis: the dimension
}

// Definition is a name, or a message, with an expression.
type Definition struct {
	Name string `json:"name"` // of a dimension, or the message
	Is   string `json:"is"`   // the expression
}
