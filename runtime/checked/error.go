package checked

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/op"
)

// Rule names a rule that kernels must follow.
type Rule string

// The rules. A range may be run several times, so a kernel that keeps something from run to run breaks Same.
const (
	// Below: values of an integer input lie in [0, bound), or are the exception. The fault is the input's
	// rather than the kernel's.
	Below Rule = "below"
	// Guard: a kernel writes nothing outside of its tensors.
	Guard Rule = "guard"
	// ReadOnly: a tensor that a task may only read keeps its elements.
	ReadOnly Rule = "read only"
	// Unread: results do not depend on what memory for writing or scratch memory held before.
	Unread Rule = "unread"
	// Written: all ranges together write every element of an output.
	Written Rule = "written"
	// Apart: one range of a step at most writes an element.
	Apart Rule = "apart"
	// Put: each element of a gradient is put exactly once, and put in the mode of the gradient.
	Put Rule = "put"
	// Add: a gradient that is scattered into is added to.
	Add Rule = "add"
	// Inside: a range touches only the elements that belong to its indices.
	Inside Rule = "inside"
	// InPlace: results are the same if a tensor takes the memory of another, as the spec permits.
	InPlace Rule = "in place"
	// Same: the same range gives the same bits.
	Same Rule = "same"
	// Worker: a range uses the scratch memory of its own worker.
	Worker Rule = "worker"
)

// Error is a rule that a task breaks in a range.
type Error struct {
	Rule     Rule
	Node     string
	Operator string
	Task     string
	Step     string // "" for a step without a name
	Slot     string // the tensor's; that of a gradient begins with "grad."
	Index    []int  // of the element; nil if the error is about no single one
	Range    op.Range
	Want     string
	Got      string
	// More is the number of further elements of the tensor for which the same holds.
	More int
}

func (e *Error) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "node %s, operator %s, task %s", e.Node, e.Operator, e.Task)
	if e.Step != "" {
		fmt.Fprintf(&s, ", step %s", e.Step)
	}
	fmt.Fprintf(&s, ", range %v, slot %s", e.Range, e.Slot)
	if e.Index != nil {
		fmt.Fprintf(&s, ", index %v", e.Index)
	}
	fmt.Fprintf(&s, ": want %s, got %s", e.Want, e.Got)
	if e.More > 0 {
		fmt.Fprintf(&s, " (and %d more)", e.More)
	}
	return s.String()
}

// Errors lists the rules that a task broke.
type Errors []*Error

func (list Errors) Error() string {
	var lines []string
	for _, e := range list {
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors.
func (list Errors) Unwrap() []error {
	errs := make([]error, len(list))
	for i, e := range list {
		errs[i] = e
	}
	return errs
}

// limit is the number of errors of a task that are kept.
const limit = 16

// findings collects errors: one for each rule and slot.
type findings struct{ list Errors }

func (f *findings) add(e *Error) {
	for _, known := range f.list {
		if known.Rule == e.Rule && known.Slot == e.Slot {
			known.More++
			return
		}
	}
	if len(f.list) < limit {
		f.list = append(f.list, e)
	}
}

// merge adds errors about rules and slots of which there is none yet.
func (f *findings) merge(others findings) {
	known := len(f.list)
	for _, e := range others.list {
		if !slices.ContainsFunc(f.list[:known], func(k *Error) bool { return k.Rule == e.Rule && k.Slot == e.Slot }) && len(f.list) < limit {
			f.list = append(f.list, e)
		}
	}
}

// has reports whether an error about a rule is among the findings.
func (f *findings) has(r Rule) bool {
	for _, e := range f.list {
		if e.Rule == r {
			return true
		}
	}
	return false
}

func (f *findings) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return f.list
}
