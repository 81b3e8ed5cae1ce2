package main

import (
	"bytes"
	"fmt"
	"html"
	"slices"

	"github.com/opgen/opgen/internal/taskbench"
	"github.com/opgen/opgen/runtime/cost"
)

// limit is the least time that the roofline model allows: all operations at the rate of matrix products, and
// all bytes at that of a copy, at the same time. In nanoseconds.
type limit struct{ arithmetic, memory float64 }

// newLimit returns the limit of a task.
func newLimit(m cost.Machine, u *taskbench.Use, number int) limit {
	flops, bytes := u.Cost(number)
	return limit{flops * 1e9 / m.F32, bytes * 1e9 / m.Bandwidth}
}

// and returns the limit of two tasks.
func (l limit) and(m limit) limit { return limit{l.arithmetic + m.arithmetic, l.memory + m.memory} }

// share returns which part of a time the limit is.
func (l limit) share(ns float64) float64 { return max(l.arithmetic, l.memory) / ns }

// by returns what sets the limit.
func (l limit) by() string {
	if l.arithmetic > l.memory {
		return "arithmetic"
	}
	return "memory"
}

// byShare returns the rows of operators, those nearest to their limits first.
func byShare(rows []row) []row {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b row) int {
		if a.limits[0].share(a.forward.own) > b.limits[0].share(b.forward.own) {
			return -1
		}
		return 1
	})
}

// printLimits prints how near operators come to what the machine allows.
func (s *section) printLimits(w *bytes.Buffer) {
	fmt.Fprintf(w, "Rooflines: the least time that this machine allows, divided by that of this module. A copy moves %.0f GB/s, a product of matrices does %.0f GFLOP/s. "+
		"The specs say how many operations and bytes a task takes. An exponential counts as one operation, and what a cache holds moves faster than a copy, so shares are above 1 or far below. Convolutions with filters of 3 x 3 may take fewer products than specs count.\n\n",
		s.machine.Bandwidth/1e9, s.machine.F32/1e9)
	fmt.Fprint(w, "| operator | limited by | share | and backward, limited by | share |\n|---|---|---:|---|---:|\n")
	for _, r := range byShare(s.operators) {
		fmt.Fprintf(w, "| %s | %s | %.2f |", r.title, r.limits[0].by(), r.limits[0].share(r.forward.own))
		if r.both.own > 0 {
			fmt.Fprintf(w, " %s | %.2f |\n", r.limits[1].by(), r.limits[1].share(r.both.own))
		} else {
			fmt.Fprint(w, " | |\n")
		}
	}
	fmt.Fprintln(w)
}

// roofline returns the shares of the forward tasks with the first number of threads as an SVG picture: a bar
// for each operator, and a line where the limit is.
func (r *report) roofline() string {
	var w bytes.Buffer
	var rows []row
	if len(r.sections) > 0 {
		rows = byShare(r.sections[0].operators)
	}
	most := 1.0
	if len(rows) > 0 {
		most = max(most, rows[0].limits[0].share(rows[0].forward.own))
	}
	at := func(share float64) float64 { return share / most * plotWidth }
	height := (len(rows) + 3) * lineHeight
	fmt.Fprintf(&w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", labelWidth+plotWidth+30, height)
	fmt.Fprintln(&w, `<rect width="100%" height="100%" fill="white"/>`)
	for i, x := range rows {
		y, l := (i+1)*lineHeight, x.limits[0]
		fmt.Fprintf(&w, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labelWidth-5, y+11, html.EscapeString(x.title))
		fmt.Fprintf(&w, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", labelWidth, y+2, at(l.share(x.forward.own)), lineHeight-4,
			map[string]string{"memory": "steelblue", "arithmetic": "darkorange"}[l.by()])
	}
	fmt.Fprintf(&w, `<line x1="%[1]d" y1="%[2]d" x2="%[1]d" y2="%[3]d" stroke="black"/><text x="%[1]d" y="12" text-anchor="middle">1</text>`+"\n",
		labelWidth+int(at(1)), lineHeight, height-lineHeight)
	fmt.Fprintf(&w, `<text x="%d" y="%d">least time that memory (blue) or arithmetic (orange) allows / time of the forward task</text>`+"\n</svg>\n", labelWidth, height-3)
	return w.String()
}
