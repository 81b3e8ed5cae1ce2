package model

import (
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
)

// formulaLines returns the lines of a formula, and behind them the functions of the shared enums that it
// applies, and those of values that mean a function of numbers by their names. The name of such a function
// begins with that of the attribute, or of the record and its field: activation.RELU, regularizer.type.L1. A
// function that the formula has itself is not repeated.
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
			meant := expr.FormulaLines(a.Enum.Formula)
			for _, v := range a.Enum.Values {
				meant = append(meant, term.OfValue(v.Name))
			}
			for _, line := range meant {
				if value, _, _ := strings.Cut(line, "("); value != "" && !own[name+"."+value] {
					lines = append(lines, name+"."+line)
					own[name+"."+value] = true
				}
			}
		}
	}
	add("", attrs)
	return lines
}
