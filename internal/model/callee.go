package model

import (
	"encoding/json"
	"slices"

	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/runtime/task"
)

// linkCallees gives each operator the operators whose formulas it inlines, and those that these inline.
func linkCallees(operators []*Operator) {
	byName := map[string]*Operator{}
	for _, o := range operators {
		byName[o.Name] = o
	}
	for _, o := range operators {
		var add func(formula string)
		add = func(formula string) {
			for _, name := range expr.Inlined(formula) {
				c := byName[name]
				if c == nil || slices.ContainsFunc(o.Operator.Callees, func(x task.Callee) bool { return x.Name == name }) {
					continue
				}
				o.Operator.Callees = append(o.Operator.Callees, CalleeOf(c))
				add(c.Formula)
			}
		}
		add(o.Formula)
	}
}

// CalleeOf describes an operator to those that inline it.
func CalleeOf(o *Operator) task.Callee {
	c := task.Callee{Name: o.Name, Formula: o.Operator.Formula}
	for _, s := range o.Slots {
		if s.Role != task.RoleScratch {
			c.Slots = append(c.Slots, task.CalleeSlot{Name: s.Name, Role: s.Role, Shape: s.Shape, Present: s.Present})
		}
	}
	for _, a := range o.Attrs {
		x := task.CalleeAttr{Name: a.Name, Optional: a.Optional}
		if a.Default != nil {
			text, _ := json.Marshal(a.Default) // it was read from JSON
			x.Default = string(text)
		}
		if a.Axis != nil {
			x.Binds = a.Axis.Binds
		}
		c.Attrs = append(c.Attrs, x)
	}
	for _, d := range o.Dims {
		if d.Node != nil {
			c.Dims = append(c.Dims, task.Definition{Name: d.Name, Is: d.Text})
		}
	}
	for _, r := range o.Requires {
		c.Requires = append(c.Requires, task.Definition{Name: r.Message, Is: r.Text})
	}
	return c
}
