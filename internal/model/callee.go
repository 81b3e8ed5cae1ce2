package model

import (
	"encoding/json"
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// linkCallees gives each operator the operators whose formulas it inlines, and those that these inline. named
// holds the specs by the names that formulas have for them.
func (m *Module) linkCallees(named map[string]*spec.Spec) {
	all := map[string]*Operator{}
	for _, o := range slices.Concat(m.Operators, m.Used) {
		all[o.FullName()] = o
	}
	parallel.Do(len(m.Operators), func(i int) {
		o := m.Operators[i]
		var add func(formula string)
		add = func(formula string) {
			for _, name := range expr.Inlined(formula) {
				if named[name] == nil || slices.ContainsFunc(o.Operator.Callees, func(x task.Callee) bool { return x.Name == name }) {
					continue
				}
				c := all[named[name].FullName()]
				if c == nil {
					continue
				}
				o.Operator.Callees = append(o.Operator.Callees, CalleeOf(c, name, o))
				if c.Module == o.Module {
					add(c.Formula)
				}
			}
		}
		add(o.Formula)
	})
}

// CalleeOf describes an operator to another one that inlines it under a name.
func CalleeOf(o *Operator, name string, by *Operator) task.Callee {
	c := task.Callee{Name: name, Formula: o.Operator.Formula}
	if o.FullName() != name {
		c.Full = o.FullName()
	}
	if o.Module != by.Module {
		c.Callees = o.Operator.Callees
	}
	for _, s := range o.Slots {
		if s.Role != task.RoleScratch {
			c.Slots = append(c.Slots, task.CalleeSlot{Name: s.Name, Role: s.Role, Shape: s.Shape, Present: s.Present})
		}
	}
	for _, a := range o.Attrs {
		x := task.CalleeAttr{Name: a.Name, Optional: a.Optional}
		if a.Default != nil {
			text, _ := json.Marshal(a.number(a.Default)) // it was read from JSON
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
