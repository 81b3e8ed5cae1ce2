// Package shortform says which short forms an operator has: functions that are Apply for a value of the enum
// which says what the operator computes.
package shortform

import (
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/goname"
)

// Names returns the Go names of the short forms for the values of an enum, without what all values begin with
// up to an underscore: EW_ADD and EW_SUB become Add and Sub. A value without a letter or digit of its own
// gives "".
func Names(values []string) []string {
	prefix := values[0]
	prefix = prefix[:strings.LastIndex(prefix, "_")+1]
	for _, v := range values {
		for !strings.HasPrefix(v, prefix) || v == prefix {
			prefix = prefix[:strings.LastIndex(strings.TrimSuffix(prefix, "_"), "_")+1]
		}
	}
	if len(values) == 1 {
		prefix = ""
	}
	var names []string
	for _, v := range values {
		names = append(names, goname.Exported(strings.TrimPrefix(v, prefix)))
	}
	return names
}

// Needed returns the names that the function of an enum's value, such as op_type.RELU, reads in a formula
// whether or not there is a value: what it asks for with has or or is not among them.
func Needed(formula []string, function string) []string {
	f, _ := expr.ParseFormula(strings.Join(formula, "\n"))
	var out []string
	for _, fn := range f.Functions {
		if fn.Name != function {
			continue
		}
		var read []string
		asked := map[string]bool{}
		expr.Walk(fn.X, func(n expr.Node) {
			switch n := n.(type) {
			case *expr.Ident:
				read = append(read, n.Name)
			case *expr.Call:
				if n.Func == "has" || n.Func == "or" {
					if id, ok := n.Args[0].(*expr.Ident); ok {
						asked[id.Name] = true
					}
				}
			}
		})
		for _, name := range read {
			if !asked[name] {
				out = append(out, name)
			}
		}
	}
	return out
}
