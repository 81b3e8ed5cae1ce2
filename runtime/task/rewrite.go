package task

// InPlace says that the tensor of a slot may reuse the memory of another slot's tensor, since the task reads
// each element before it writes it. In a backward task the slots stand for their gradients.
type InPlace struct {
	Slot int `json:"slot"`
	Of   int `json:"of"`
	// View says that the elements are the same in the same order: if the memory is shared, the task
	// has nothing to do for them.
	View bool `json:"view,omitempty"`
}

// Fusion says that an operator can do the work of another as well, if nothing else reads the tensor
// between them. The other operator is named rather than referred to, since generated packages do not
// import each other for it.
type Fusion struct {
	Name  string `json:"name"`
	Other string `json:"other"`
	// Share maps inputs of the other operator to the slots of this operator that hold the same tensors: an
	// output, which is the tensor between both, or an input or weight. A slot without a tensor takes the
	// other operator's.
	Share []FusionSlot `json:"share"`
	// Make lists the other's outputs with the outputs of this operator that make them afterwards.
	Make []FusionSlot `json:"make"`
	// When lists what attributes of the other operator must be.
	When []FusionWhen `json:"when,omitempty"`
	// Own lists what attributes of this operator must be.
	Own []FusionWhen `json:"own,omitempty"`
	// Absent lists attributes of this operator that must not be given.
	Absent []string `json:"absent,omitempty"`
	// Set holds, as a JSON object, attributes that this operator has after the fusion. An optional attribute
	// must have been absent, and a boolean must have been the opposite.
	Set string `json:"set,omitempty"`
	// Copy lists attributes of this operator, absent before the fusion, that take the value of an attribute
	// of the other operator.
	Copy []FusionCopy `json:"copy,omitempty"`
	// Tolerance bounds the difference from the results of the two operators, relative to the largest result;
	// 0 means that bits are equal.
	Tolerance float64 `json:"tolerance,omitempty"`
}

// FusionSlot is a slot of another operator, and one of this.
type FusionSlot struct {
	Other string `json:"other"`
	Own   int    `json:"own"`
}

// FusionWhen is an attribute of one of the operators and the values that it may have, a JSON array.
type FusionWhen struct {
	Attr   string `json:"attr"`
	Values string `json:"values"`
}

// FusionCopy sets attribute Attr to the value of attribute From of the other operator.
type FusionCopy struct {
	Attr string `json:"attr"`
	From string `json:"from"`
}
