package model

import (
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// formulaLines returns the lines of a formula, and behind them the functions of the shared enums that it
// applies. The name of such a function begins with that of the attribute, or of the record and its field:
// activation.RELU, regularizer.type.L1. A function that the formula has itself is not repeated.
func formulaLines(text string, attrs []*Attr) []string {
	lines := expr.FormulaLines(text)
	f, _ := expr.ParseFormula(text)
	own, applied := map[string]bool{}, map[string]bool{}
	apply := func(n expr.Node) {
		if c, ok := n.(*expr.Call); ok {
			applied[c.Func] = true
		}
	}
	for _, x := range f.Functions {
		own[x.Name] = true
	}
	f.Walk(apply)
	var add func(prefix string, attrs []*Attr)
	add = func(prefix string, attrs []*Attr) {
		for _, a := range attrs {
			name := prefix + a.Name
			add(name+".", a.Fields)
			if a.Enum == nil || !applied[name] {
				continue
			}
			for _, line := range expr.FormulaLines(a.Enum.Formula) {
				if value, _, _ := strings.Cut(line, "("); !own[name+"."+value] {
					lines = append(lines, name+"."+line)
				}
			}
		}
	}
	add("", attrs)
	return lines
}
