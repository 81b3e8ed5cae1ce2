package task

import "fmt"

// Bound bounds the integers of an input. Values are in [0, Below) or, if HasExcept is set, equal to Except,
// such as the label of rows that do not count.
type Bound struct {
	Below     int
	Except    int
	HasExcept bool
}

// Holds reports whether a value is allowed.
func (b Bound) Holds(v int) bool { return v >= 0 && v < b.Below || b.HasExcept && v == b.Except }

// Possible reports whether any value is allowed.
func (b Bound) Possible() bool { return b.Below > 0 || b.HasExcept }

// Draw returns a random allowed value, or 0 if none is allowed. below(n) must return a random number from 0
// to n-1. A quarter of the values are the exception, if there is one.
func (b Bound) Draw(below func(n int) int) int {
	switch {
	case b.HasExcept && (b.Below <= 0 || below(4) == 0):
		return b.Except
	case b.Below <= 0:
		return 0
	}
	return below(b.Below)
}

// String describes the allowed values.
func (b Bound) String() string {
	text := fmt.Sprintf("an index from 0 to %d", b.Below-1)
	if b.HasExcept {
		text += fmt.Sprintf(", or %d", b.Except)
	}
	return text
}
