// Package op defines what a kernel gets besides its arguments: the range that it computes, and the worker and
// step of the run. It also defines the error that a kernel returns.
package op

import "fmt"

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

// Range is a part of a step's domain: a box of up to three dimensions. Lo and Hi bound dimension 0, which is
// the only one of most steps: indices Lo to Hi-1. Dim returns the bounds of any dimension.
type Range struct {
	Lo, Hi int
	// Bounds of dimensions 1 and 2. The upper ones are stored less 1, so that the zero value is [0, 1).
	lo1, last1, lo2, last2 int
}

// Box returns the range with the given bounds, [lo, hi) of each dimension; there are at most MaxRank.
func Box(bounds ...[2]int) Range {
	r := Range{Lo: bounds[0][0], Hi: bounds[0][1]}
	if len(bounds) > 1 {
		r.lo1, r.last1 = bounds[1][0], bounds[1][1]-1
	}
	if len(bounds) > 2 {
		r.lo2, r.last2 = bounds[2][0], bounds[2][1]-1
	}
	return r
}

// Dim returns the bounds of dimension d: indices lo to hi-1. A dimension that the step does not have holds
// the one index 0.
func (r Range) Dim(d int) (lo, hi int) {
	switch d {
	case 0:
		return r.Lo, r.Hi
	case 1:
		return r.lo1, r.last1 + 1
	}
	return r.lo2, r.last2 + 1
}

// String formats the range as [lo, hi), or as [lo, hi) x [lo, hi) if it has more dimensions than one.
func (r Range) String() string {
	s := fmt.Sprintf("[%d, %d)", r.Lo, r.Hi)
	if r.lo1|r.last1|r.lo2|r.last2 != 0 {
		s += fmt.Sprintf(" x [%d, %d)", r.lo1, r.last1+1)
	}
	if r.lo2|r.last2 != 0 {
		s += fmt.Sprintf(" x [%d, %d)", r.lo2, r.last2+1)
	}
	return s
}

// Ctx is the context in which a body runs.
type Ctx struct {
	// Worker numbers the worker that runs the range, from 0.
	Worker int
	// Step counts the runs of the plan so far: the training iteration, from 0.
	Step uint64
}

// Body is a step of a task with its kernel and arguments bound, ready to run.
type Body interface {
	// Run computes the range r. It may run beside other ranges of the same step.
	Run(ctx *Ctx, r Range) error
}

// Code names a kind of misuse, for programs.
type Code string

// Target names the kind of device that runs a kernel, such as "cpu" or "cuda". A kernel is registered for
// one target.
type Target string

// CPU is the target of kernels written in Go.
const CPU Target = "cpu"
