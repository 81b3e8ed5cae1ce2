// Package op is what a kernel sees of its surroundings: the range that it is to do, the worker that it
// runs on, and the error that it returns.
package op

// Error is a misuse of an operator: which operator, task and slot, what was expected and what came.
type Error struct {
	Code     Code // for programs; "" where none is defined
	Operator string
	Task     string // "" if it is about the operator as a whole
	Slot     string // "" if it is about no single slot
	Want     string
	Got      string
	Message  string // instead of Want and Got, a sentence: the message of a spec's condition
}

func (e *Error) Error() string {
	s := "operator " + e.Operator
	switch {
	case e.Operator == "":
		s = "task " + e.Task
	case e.Task != "":
		s += ", task " + e.Task
	}
	if e.Slot != "" {
		s += ", slot " + e.Slot
	}
	if e.Message != "" {
		return s + ": " + e.Message
	}
	s += ": want " + e.Want
	if e.Got != "" {
		s += ", got " + e.Got
	}
	return s
}

// Range is a part of a step: indices Lo to Hi-1 of what the step runs over.
type Range struct{ Lo, Hi int }

// Ctx is what a body knows about its surroundings.
type Ctx struct {
	// Worker numbers the worker that runs the range, from 0.
	Worker int
	// Step counts the runs of the plan so far: the training iteration, from 0.
	Step uint64
}

// Body is a step of a task with its kernel and arguments bound, ready to run.
type Body interface {
	// Run does the range r. It may run beside other ranges of the same step.
	Run(ctx *Ctx, r Range) error
}

// Code names a kind of misuse, for programs.
type Code string

// Target names the kind of device that runs a kernel, such as "cpu" or "cuda". A kernel is registered for
// one target.
type Target string

// CPU is the target of kernels written in Go.
const CPU Target = "cpu"
