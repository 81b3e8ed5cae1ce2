package formula

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/task"
)

// passedTo returns the arguments of an operator whose values the caller passes, each once.
func passedTo(o *task.Operator, passed *task.Passed) []program.Passed {
	var out []program.Passed
	for _, sig := range o.Signatures {
		for _, a := range sig.Args {
			if a.From != task.FromCall || slices.ContainsFunc(out, func(p program.Passed) bool { return p.Slot == a.Slot }) {
				continue
			}
			s := &o.Slots[a.Slot]
			out = append(out, program.Passed{Name: s.Name, Slot: a.Slot, Type: a.Type, Variadic: s.Variadic, Values: passed.Values(a.Slot)})
		}
	}
	return out
}

// placePassed allocates memory for the tensors of passed arguments.
func (l *layout) placePassed() {
	for i, t := range l.program.Tensors {
		if t.Passed != nil {
			typ := program.ElementType(t.Kind)
			l.tensors[i] = rewrite.Tensor{Type: typ, Memory: i}
			l.memory[i] = make([]byte, count(t)*typ.Size())
			l.given[i] = true
		}
	}
}

// follow subscribes to changes of passed arguments, and copies new values into the memory of their tensors.
// No task of the node runs during a change.
func (l *layout) follow() {
	for i, t := range l.program.Tensors {
		if t.Passed == nil || l.accessor.Passed == nil {
			continue
		}
		memory := l.memory[i]
		l.accessor.Passed.Follow(t.Passed.Slot, func(values []any) {
			switch t.Kind {
			case term.Real:
				for k, out := 0, as[float64](memory); k < len(out); k++ {
					out[k] = program.Number(values[k])
				}
			case term.Integer:
				for k, out := 0, as[int64](memory); k < len(out); k++ {
					out[k] = program.Whole(values[k])
				}
			default:
				for k, out := 0, as[bool](memory); k < len(out); k++ {
					out[k] = program.Holds(values[k])
				}
			}
		})
	}
}
