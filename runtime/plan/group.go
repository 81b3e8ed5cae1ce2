package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Group lists the elementwise tasks that one fused task runs.
type Group struct {
	Form Form `json:"form"`
	// Parts lists the tasks, each with its own accesses. The fused task has the accesses of all together.
	Parts []Task `json:"parts"`
}

// Form says how the parts of a group share its indices.
type Form string

const (
	// Chain is a group whose parts run over the same indices. Each range goes through all parts, one after
	// the other.
	Chain Form = "chain"
	// Batch is a group in which the indices of the parts lie one after the other.
	Batch Form = "batch"
)

// named is the number of parts up to which the label of a chain names them all.
const named = 16

// groupLabel names a group by its parts.
func (p *Plan) groupLabel(g *Group) string {
	var nodes, tasks []string
	for i := range g.Parts {
		node, name, ok := strings.Cut(p.LabelOf(&g.Parts[i]), ": ")
		if !ok {
			name, node, _ = strings.Cut(node, " ") // a built-in operation: "fill loss"
		}
		nodes, tasks = append(nodes, node), append(tasks, name)
	}
	if g.Form == Batch && len(nodes) > 2 || len(nodes) > named {
		nodes = append(nodes[:1], fmt.Sprintf("%d others", len(nodes)-1))
	}
	return strings.Join(nodes, ", ") + ": " + strings.Join(slices.Compact(tasks), " + ")
}
