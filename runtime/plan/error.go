package plan

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/region"
)

// Error is a fault of a plan: where it lies, as far as that is known, and what it is.
type Error struct {
	Plan string
	// Task is the label of a task, and Other that of a second one; "" if the fault lies in none.
	Task, Other string
	Operator    string // of Task; "" for a built-in operation
	Slot        string // of Operator, to which the root is bound
	// Root names the tensor and Range the indices that it is about; "" if there are none.
	Root, Range string
	Message     string
}

func (e *Error) Error() string {
	s := "plan " + e.Plan
	if e.Task != "" {
		s += ", " + e.Task
	}
	if e.Slot != "" {
		s += ", slot " + e.Slot
	}
	if e.Other != "" {
		s += " and " + e.Other
	}
	s += ": " + e.Message
	if e.Root != "" {
		s += ": " + e.Root
		if e.Range != "" {
			s += e.Range
		}
	}
	return s
}

// fault returns an error about the plan as a whole.
func (p *Plan) fault(format string, args ...any) *Error {
	return &Error{Plan: p.Name, Message: fmt.Sprintf(format, args...)}
}

// faultOf returns an error about a task.
func (p *Plan) faultOf(t int, format string, args ...any) *Error {
	e := p.fault(format, args...)
	e.Task = p.Label(t)
	if c := p.Tasks[t].Call; c >= 0 && c < len(p.Calls) {
		e.Operator = p.Calls[c].Operator
	}
	return e
}

// about adds to an error the root of one of its task's accesses, and the slot if that is known.
func (p *Plan) about(e *Error, t, access int, box region.Box) *Error {
	a := p.Tasks[t].Access[access]
	e.Root = p.Roots[a.Root].Name
	e.Range = ranges(box)
	e.Slot = p.slot(t, access)
	return e
}

// slot returns the name of the slot to which an access of a task belongs, or "": of several that share the
// root, the first.
func (p *Plan) slot(t, access int) string {
	c := p.Tasks[t].Call
	if c < 0 || c >= len(p.Calls) {
		return ""
	}
	if params := p.Calls[c].accessed(); access < len(params) && params[access] < len(p.Calls[c].Slots) {
		return p.Calls[c].Slots[params[access]]
	}
	return ""
}

// accessed returns, for each access of the call's tasks, the parameter to which it belongs.
func (c *Call) accessed() []int {
	var params []int
	for i, bound := range c.Params {
		for _, b := range bound {
			if b.Root != NoRoot {
				params = append(params, i)
			}
		}
	}
	return params
}

// inPlace reports whether the tensor of one of two parameters lies where that of the other lay.
func (c *Call) inPlace(i, j int) bool {
	return slices.Contains(c.InPlace, Pair{i, j}) || slices.Contains(c.InPlace, Pair{j, i})
}

// ranges formats a box as [lo:hi, ...].
func ranges(b region.Box) string {
	s := "["
	for d := range b.Lo {
		if d > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%d:%d", b.Lo[d], b.Hi[d])
	}
	return s + "]"
}
