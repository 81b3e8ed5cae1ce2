package explain

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/internal/model"
)

// paramName returns the name that constraints and messages use.
func paramName(p *model.Param) string {
	if p.Grad {
		return "grad." + p.Name
	}
	return p.Name
}

// arity returns how many tensors a launch passes for a parameter.
func arity(p *model.Param) string {
	switch {
	case p.Slot.Variadic:
		return p.Slot.Tensors()
	case p.Slot.Optional || p.Optional || p.Grad && p.Perm.Writes():
		return "0 or 1"
	}
	return "1"
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
	if a.Default != "" {
		note += "; by default " + a.DefaultText()
	}
	return note
}

// constraints prints what a task declares about how launches partition tensors.
func constraints(b *strings.Builder, t *model.Task) {
	switch {
	case !t.Constraints.Declared:
	case len(t.Constraints.List) == 0:
		fmt.Fprintln(b, "  has no constraints, and invocations add none")
	default:
		for _, c := range t.Constraints.List {
			fmt.Fprintf(b, "  keeps to %v\n", c)
		}
	}
}
