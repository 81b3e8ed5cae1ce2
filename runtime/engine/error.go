package engine

import (
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
)

// TaskError is the failure of a task of a plan. It wraps the error of the kernel, or a *PanicError.
type TaskError struct {
	Plan     string
	Label    string // of the task, for people
	Node     string // "" for a built-in operation, like Operator and Task
	Operator string
	Task     string
	Slot     string // that the kernel's error names, or ""
	Range    op.Range
	Err      error
}

func (e *TaskError) Error() string {
	return fmt.Sprintf("plan %s, %s, range %v: %v", e.Plan, e.Label, e.Range, e.Err)
}

// Unwrap returns the kernel's error.
func (e *TaskError) Unwrap() error { return e.Err }

// locate fills in the call in which the error arose.
func (e *TaskError) locate(c *plan.Call) {
	e.Node, e.Operator, e.Task = c.Node, c.Operator, c.Task
	e.Slot = slotOf(e.Err)
}

// slotOf returns the slot that the error of a kernel names, or "". Methods of errors may panic, which is no
// reason to end the program.
func slotOf(err error) (slot string) {
	defer func() { _ = recover() }()
	var te *op.Error
	if errors.As(err, &te) && te != nil {
		return te.Slot
	}
	return ""
}

// PanicError is a panic of a kernel.
type PanicError = exec.Panic

// RangeError is the failure of a task, as a backend reports it. It wraps the error of the kernel, or a
// *PanicError.
type RangeError struct {
	Task  int
	Part  int // of a group, or -1 if it is not known; otherwise 0
	Range op.Range
	Err   error
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("task %d, range %v: %v", e.Task, e.Range, e.Err)
}

// Unwrap returns the kernel's error.
func (e *RangeError) Unwrap() error { return e.Err }

// failure returns the error of a run, with the task of the plan in which it arose.
func (in *Instance) failure(err error) error {
	var re *RangeError
	if !errors.As(err, &re) {
		return fmt.Errorf("plan %s stopped: %w", in.plan.Name, err)
	}
	t := &in.plan.Tasks[re.Task]
	label := in.plan.Label(re.Task)
	if t.Group != nil && re.Part >= 0 {
		t = &t.Group.Parts[re.Part]
		label = in.plan.LabelOf(t)
	}
	e := &TaskError{Plan: in.plan.Name, Label: label, Range: re.Range, Err: exec.Plain(re.Err)}
	if t.Group == nil && t.Builtin == nil && t.Call >= 0 {
		e.locate(&in.plan.Calls[t.Call])
	}
	return e
}
