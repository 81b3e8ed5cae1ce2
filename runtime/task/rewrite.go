package task

// InPlace says that the tensor of a slot may take the memory of another, because the task reads each element
// before it writes it. In a backward task the slots stand for their gradients.
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
	// Share lists the other's inputs with the slots of this operator that hold the same tensors: an
	// output, which is what lies between them, or an input or weight. A slot that had no tensor takes
	// the other's.
	Share []FusionSlot `json:"share"`
	// Make lists the other's outputs with the outputs of this operator that make them afterwards.
	Make []FusionSlot `json:"make"`
	// When lists what attributes of the other operator must be.
	When []FusionWhen `json:"when,omitempty"`
	// Own lists what attributes of this operator must be.
	Own []FusionWhen `json:"own,omitempty"`
	// Absent lists attributes of this operator that must not be given.
	Absent []string `json:"absent,omitempty"`
	// Set holds, as a JSON object, attributes that this operator has afterwards. An optional one must
	// be absent before, a boolean must have been the opposite.
	Set string `json:"set,omitempty"`
	// Copy lists attributes of this operator, absent before, that take the value of one of the other's.
	Copy []FusionCopy `json:"copy,omitempty"`
	// Tolerance is how far results may be from those of the two operators, relative to the largest;
	// 0 means that they are equal bit for bit.
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

// FusionCopy gives the attribute Attr the value of another operator's attribute From.
type FusionCopy struct {
	Attr string `json:"attr"`
	From string `json:"from"`
}
