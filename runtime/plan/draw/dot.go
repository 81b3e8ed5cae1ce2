// Package draw draws plans: their tasks as a graph, their memory over time, timelines, and all of it on a
// page for a browser.
package draw

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/plan"
)

// phaseColors are the colors of tasks, by phase; built-in operations have none of their own.
var phaseColors = map[string]string{
	"initialize": "#e8e3f4",
	"forward":    "#dbe9f6",
	"backward":   "#fce5cd",
	"update":     "#dcefdc",
	"":           "#eeeeee",
}

// phase returns the phase of a task, of a group that of its last part; "" of a built-in operation.
func phase(p *plan.Plan, i int) string {
	t := &p.Tasks[i]
	if t.Group != nil {
		t = &t.Group.Parts[len(t.Group.Parts)-1]
	}
	if t.Call >= 0 {
		return p.Calls[t.Call].Phase
	}
	return ""
}

// DOT writes a plan as a graph for Graphviz: a box for each call with the ranges of its steps, and for
// each built-in operation. An arrow leads from what wrote a tensor last to what reads it.
func DOT(w io.Writer, p *plan.Plan) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph %s {\n", quote(p.Name))
	fmt.Fprintln(out, "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11, color=\"#888888\"];")
	fmt.Fprintln(out, "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#666666\", fontcolor=\"#666666\"];")
	writer := make([]int, len(p.Roots)) // the box that wrote the root last, plus 1
	for i := 0; i < len(p.Tasks); {
		box, ranges := i, []string{}
		for ; i < len(p.Tasks) && (i == box || p.Tasks[i].Call >= 0 && p.Tasks[i].Call == p.Tasks[box].Call); i++ {
			t := &p.Tasks[i]
			ranges = append(ranges, fmt.Sprint(t.Ranges()))
		}
		fmt.Fprintf(out, "  t%d [label=%s, fillcolor=%q];\n", box, quote(p.Label(box)+"\nranges: "+strings.Join(ranges, ", ")), phaseColors[phase(p, box)])
		// Several tensors from the same box share an arrow. All steps of a call have the same tensors.
		access := p.Tasks[box].Access
		var from []int
		tensors := map[int][]string{}
		for _, a := range access {
			n := writer[a.Root]
			if n == 0 || !a.Perm.Reads() {
				continue
			}
			if tensors[n] == nil {
				from = append(from, n)
			}
			r := &p.Roots[a.Root]
			if label := r.Name + " " + r.Operand().String(); !slices.Contains(tensors[n], label) {
				tensors[n] = append(tensors[n], label)
			}
		}
		for _, n := range from {
			fmt.Fprintf(out, "  t%d -> t%d [label=%s];\n", n-1, box, quote(strings.Join(tensors[n], "\n")))
		}
		for _, a := range access {
			if a.Perm.Writes() {
				writer[a.Root] = box + 1
			}
		}
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// quote returns a text as a string of the DOT language.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
