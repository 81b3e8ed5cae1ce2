package plan

import (
	"fmt"

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

// Errorf returns an error about the plan as a whole.
func (p *Plan) Errorf(format string, args ...any) *Error {
	return &Error{Plan: p.Name, Message: fmt.Sprintf(format, args...)}
}

// TaskErrorf returns an error about a task.
func (p *Plan) TaskErrorf(t int, format string, args ...any) *Error {
	e := p.Errorf(format, args...)
	e.Task = p.Label(t)
	if c := p.Tasks[t].Call; c >= 0 && c < len(p.Calls) {
		e.Operator = p.Calls[c].Operator
	}
	return e
}

// RootErrorf returns an error about a root.
func (p *Plan) RootErrorf(r region.Root, format string, args ...any) *Error {
	e := p.Errorf(format, args...)
	e.Root = p.Roots[r].Name
	return e
}

// At returns the error with the indices that it is about, unless box is nil, the root of access number access
// of task t and the slot to which that is bound.
func (e *Error) At(p *Plan, t, access int, box *region.Box) *Error {
	e.Root = p.Roots[p.Tasks[t].Access[access].Root].Name
	e.Slot = p.slot(t, access)
	if box != nil {
		e.Range = box.String()
	}
	return e
}

// slot returns the name of the slot to which an access of a task belongs, or "". Of several slots that share
// the root, it is the first.
func (p *Plan) slot(t, access int) string {
	c := p.Tasks[t].Call
	if c < 0 || c >= len(p.Calls) {
		return ""
	}
	call := &p.Calls[c]
	for i, bound := range call.Params {
		for _, b := range bound {
			if b.Root == NoRoot {
				continue
			}
			if access == 0 && i < len(call.Slots) {
				return call.Slots[i]
			}
			access--
		}
	}
	return ""
}
