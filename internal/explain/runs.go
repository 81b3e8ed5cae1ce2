package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/model"
)

// Run says what runs a task on CPUs, and on NVIDIA GPUs.
type Run struct{ CPU, GPU string }

// Runs says what runs each task of an operator. Kernels that are made of the formula depend on the use, so
// Runs tells what there is at the examples, in f32 where that is possible.
func Runs(o *model.Operator) map[*model.Task]Run {
	var runs [][]*formula.Run // by example and task
	if o.CanDerive() {
		runs = example.Runs(o)
	}
	out := map[*model.Task]Run{}
	for i, t := range o.Tasks {
		cpu, gpu := "the kernel by hand", "no device code, so the host runs the kernel by hand"
		if o.CanDerive() {
			onCPU, onGPU := &summary{of: o}, &summary{of: o}
			for k, at := range runs {
				if at != nil {
					onCPU.onCPU(k, at[i])
					onGPU.onGPU(k, at[i])
				}
			}
			gpu = onGPU.text("device code of the formula", "the host")
			if o.Derived {
				cpu = onCPU.text("loops of the formula", "the interpreter")
			}
		}
		byHand := func(h model.CUDATask) bool { return h.Name == t.Name }
		if c := o.CUDA; c != nil && slices.ContainsFunc(c.Tasks, byHand) {
			gpu = "the device code by hand in " + c.File
		}
		out[t] = Run{cpu, gpu}
	}
	return out
}

// summary is what runs a task at the examples.
type summary struct {
	of    *model.Operator
	kinds []string // what code of the formula consists of
	some  bool     // whether there is such code at an example
	other []string // why there is none, with the example
}

// onCPU adds what runs the task on CPUs at example k.
func (s *summary) onCPU(k int, r *formula.Run) {
	if s.without(k, r.Interpreter) {
		return
	}
	for _, kind := range r.Loops {
		s.add(kind)
	}
}

// onGPU adds what runs the task on GPUs at example k.
func (s *summary) onGPU(k int, r *formula.Run) {
	if s.without(k, r.Host) {
		return
	}
	if r.Products {
		s.add("products of matrices by cuBLAS")
	}
}

// without notes why there is no code of the formula, and reports whether there is none.
func (s *summary) without(k int, why error) bool {
	if why == nil {
		s.some = true
		return false
	}
	reason := why.Error()
	if !slices.ContainsFunc(s.other, func(o string) bool { return strings.HasSuffix(o, ": "+reason) }) {
		at := useText(&s.of.Operator.Examples[k])
		s.other = append(s.other, fmt.Sprintf("at the example %s: %s", at, reason))
	}
	return true
}

func (s *summary) add(kind string) {
	if !slices.Contains(s.kinds, kind) {
		s.kinds = append(s.kinds, kind)
	}
}

// text says what runs the task: code, or another where there is none.
func (s *summary) text(code, other string) string {
	if !s.some && s.other == nil {
		return "the formula, but no example shows how"
	}
	var parts []string
	if s.some {
		if len(s.kinds) > 0 {
			code += " (" + strings.Join(s.kinds, ", ") + ")"
		}
		parts = append(parts, code)
	}
	for _, o := range s.other {
		parts = append(parts, other+" "+o)
	}
	return strings.Join(parts, "; ")
}

// Loops prints the loops that compute the tasks of an operator on CPUs at its first examples, as many as
// shown says, in f32 where that is possible. If portable is true, the listing is the same for all processors.
// Loops returns what listings of all examples count, and how many tasks the interpreter computes there.
func Loops(w io.Writer, o *model.Operator, shown int, portable bool) (n formula.Counts, interpreted int, err error) {
	var b strings.Builder
	for k, runs := range example.Runs(o) {
		for i, r := range runs {
			if r == nil {
				continue
			}
			text, counts := r.List(portable)
			n.Add(counts)
			if r.Interpreter != nil {
				interpreted++
				text = fmt.Sprintf("  the interpreter: %v\n", r.Interpreter)
			}
			if k < shown {
				fmt.Fprintf(&b, "%s, %s\n%s", o.Tasks[i].Name, useText(&o.Operator.Examples[k]), text)
			}
		}
	}
	_, err = io.WriteString(w, b.String())
	return n, interpreted, err
}

// Summary says in a line what listings count.
func Summary(n formula.Counts, interpreted int) string {
	return fmt.Sprintf("%d loops, %d instructions: %d outside of compiled loops, %d units or instructions one by one, "+
		"%d tasks by the interpreter", n.Units, n.Instructions, n.Outside, n.Numbers, interpreted)
}
