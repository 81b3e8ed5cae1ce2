// Package op defines what a kernel gets besides its arguments: the range that it computes, and the worker and
// step of the run. It also defines the error that a kernel returns.
package op

import (
	"fmt"
	"sync/atomic"
)

// Error is a misuse of an operator. It names the operator, the task and the slot, and what was expected and
// what came.
type Error struct {
	Code     Code // for programs; "" where none is defined
	Operator string
	Task     string // "" for an error about the operator as a whole
	Slot     string // "" for an error about no single slot
	Want     string
	Got      string
	Message  string // a sentence in place of Want and Got: the message of a spec's condition
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
	// Bounds of dimensions 1 and 2. Both bounds share a word, since a range is passed in registers, of which
	// a call has few.
	dim1, dim2 bounds
}

// bounds holds the lower bound of a dimension in its low half, and the upper bound less 1 in its high half.
// So the zero value is [0, 1).
type bounds uint64

func boundsOf(lo, hi int) bounds { return bounds(uint32(lo)) | bounds(uint32(hi-1))<<32 }

func (b bounds) span() (lo, hi int) { return int(int32(b)), int(int32(b>>32)) + 1 }

// Box returns the range with the given bounds, [lo, hi) of each dimension. There are at most MaxRank
// dimensions. The bounds of dimensions 1 and 2 are at most math.MaxInt32.
func Box(spans ...[2]int) Range {
	r := Range{Lo: spans[0][0], Hi: spans[0][1]}
	if len(spans) > 1 {
		r.dim1 = boundsOf(spans[1][0], spans[1][1])
	}
	if len(spans) > 2 {
		r.dim2 = boundsOf(spans[2][0], spans[2][1])
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
		return r.dim1.span()
	}
	return r.dim2.span()
}

// String formats the range as [lo, hi), or as [lo, hi) x [lo, hi) if it has more dimensions than one.
func (r Range) String() string {
	s := fmt.Sprintf("[%d, %d)", r.Lo, r.Hi)
	if r.dim1 != 0 || r.dim2 != 0 {
		lo, hi := r.dim1.span()
		s += fmt.Sprintf(" x [%d, %d)", lo, hi)
	}
	if r.dim2 != 0 {
		lo, hi := r.dim2.span()
		s += fmt.Sprintf(" x [%d, %d)", lo, hi)
	}
	return s
}

// Ctx is the context in which a body runs.
type Ctx struct {
	// Worker numbers the worker that runs the range, from 0.
	Worker int
	// Step counts the runs of the plan so far: the training iteration, from 0.
	Step uint64
	// Run is the number of the run, from NextRun. All ranges of a run read the same inputs. It is 0 if ranges
	// do not state their run.
	Run uint64
	// Stop reports whether the run is to end before its results are there, since another range has failed or
	// the caller has given up. It is nil where that cannot happen. See Stopped.
	Stop func() bool
}

// Stopped reports whether what a body computes is no longer needed. A body that takes long may ask from time
// to time, which takes some nanoseconds, and return nil early.
func (c *Ctx) Stopped() bool { return c.Stop != nil && c.Stop() }

var runs atomic.Uint64

// NextRun returns the number of a run, which no other run of the process has.
func NextRun() uint64 { return runs.Add(1) }

// Body is a step of a task with its kernel and arguments bound, ready to run.
type Body interface {
	// Run computes the range r. It may run beside other ranges of the same step.
	Run(ctx *Ctx, r Range) error
}

// Whole is a body that may compute a step at once.
type Whole interface {
	Body
	// Whole reports whether Run computes all of the step in the range that begins at index 0 of each
	// dimension, and nothing in others. Nothing that uses results of a range may then begin before the step
	// ends.
	Whole() bool
}

// Phased is a body that computes a step in phases. Each phase needs all results of the phases before. Several
// workers share the ranges of a phase, one phase after the other. Run, which is called for one range without
// others, computes all phases at once, as Whole says.
type Phased interface {
	Whole
	// Phases returns how many phases there are, 1 or more.
	Phases() int
	// RunPhase computes the range r of a phase, numbered from 0. All ranges of the phases before have ended.
	RunPhase(ctx *Ctx, phase int, r Range) error
}

// IsWhole reports whether a body computes all of a step in the first range.
func IsWhole(b Body) bool {
	w, ok := b.(Whole)
	return ok && w.Whole()
}

// Rows is a body that may compute tiles of rows of its results, as they follow from a formula.
type Rows interface {
	Body
	// Rows reports whether ranges are boxes of rows.
	Rows() bool
}

// Contained is a body that calls nothing but opgen: it does not end its goroutine, and does not call the
// engine that runs it.
type Contained interface {
	Body
	// Contained reports whether that is so.
	Contained() bool
}

// IsContained reports whether a body says that it calls nothing but opgen.
func IsContained(b Body) bool {
	c, ok := b.(Contained)
	return ok && c.Contained()
}

// Code names a kind of misuse, for programs.
type Code string

// Target names the kind of device that runs a kernel, such as "cpu" or "cuda". A kernel is registered for
// one target.
type Target string

// CPU is the target of kernels written in Go.
const CPU Target = "cpu"
