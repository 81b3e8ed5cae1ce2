package task

// Passed holds the values of the arguments that the caller of a node passes. An engine sets new ones between
// runs.
type Passed struct {
	values map[int][]any
	follow map[int][]func([]any)
}

// NewPassed returns a Passed with values by slot.
func NewPassed(values map[int][]any) *Passed {
	return &Passed{values: values}
}

// Values returns the values of a slot.
func (p *Passed) Values(slot int) []any {
	if p == nil {
		return nil
	}
	return p.values[slot]
}

// All returns the values by slot. The caller must not change them.
func (p *Passed) All() map[int][]any { return p.values }

// Follow calls f with the values of a slot, now and each time that they are set.
func (p *Passed) Follow(slot int, f func(values []any)) {
	if p.follow == nil {
		p.follow = map[int][]func([]any){}
	}
	p.follow[slot] = append(p.follow[slot], f)
	f(p.values[slot])
}

// Set sets the values of a slot. Their number and types must be those of the current values. No task of the
// node may run meanwhile.
func (p *Passed) Set(slot int, values []any) {
	if p.values == nil {
		p.values = map[int][]any{}
	}
	p.values[slot] = values
	for _, f := range p.follow[slot] {
		f(values)
	}
}
