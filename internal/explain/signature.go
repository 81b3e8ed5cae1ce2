package explain

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// paramName returns the name that constraints and messages use.
func paramName(p *model.Param) string {
	if p.Grad {
		return "grad." + p.Name
	}
	return p.Name
}

// arity says how many tensors a launch passes for a parameter.
func arity(p *model.Param) string {
	absent := p.Slot.Optional || p.OnlyIf != nil || p.Grad && p.Perm.Writes()
	if v := p.Slot.Variadic; v != nil {
		return v.Words()
	}
	if absent {
		return "0 or 1"
	}
	return "1"
}

// argArity says how many values an argument has.
func argArity(a *model.Arg) string {
	s := task.Slot{Variadic: a.Variadic, Min: a.Min, Max: a.Max}
	return s.Holds(false).String()
}

func argNotes(a *model.Arg) string {
	note := a.Type + " from " + a.From
	switch {
	case a.Unchecked:
		note += "; unchecked"
	case strings.Contains(a.Type, "/"):
		note += "; plain data, which opgen vet checks"
	default:
		note += "; plain data"
	}
	return note
}

// constraints prints how launches of a task divide tensors.
func constraints(b *strings.Builder, t *model.Task) {
	switch {
	case !t.Invoked():
	case !t.Constraints.Declared:
		fmt.Fprintln(b, "  declares no constraints: invocations may add some")
	case len(t.Constraints.List) == 0:
		fmt.Fprintln(b, "  has no constraints, and invocations add none")
	default:
		for _, c := range t.Constraints.List {
			fmt.Fprintf(b, "  keeps to %v\n", c)
		}
	}
}
