package check

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/expr"
)

// complete reports required slots that no statement defines, and definitions that nothing reads: intermediate
// tensors and functions.
func (f *formula) complete(ast *expr.Formula) {
	used := usedIn(ast)
	unused := f.unusedValues(used)
	for _, t := range f.order {
		switch {
		case t.slot == nil || t.given() || f.wanted[t.name]:
		case t.slot.Role == "output" || t.slot.Role == "saved" || f.states[t.name]:
			f.missing(t, &unused)
		}
		f.exhaustive(t)
	}
	for _, t := range unused {
		f.report(failf(nameOf(t), expr.Unused, "nothing uses %s", t.name))
	}
	f.unusedFunctions(used)
}

// usedIn returns the names of tensors, scalars, indices and functions that the expressions of a formula use.
func usedIn(ast *expr.Formula) map[string]bool {
	used := map[string]bool{}
	see := func(n expr.Node) {
		switch n := n.(type) {
		case *expr.Ident:
			used[n.Name] = true
		case *expr.Read:
			used[n.Name] = true
		case *expr.Call:
			used[n.Func] = true
		}
	}
	for _, fn := range ast.Functions {
		expr.Walk(fn.X, see)
	}
	for _, s := range ast.Statements {
		expr.Walk(s.X, see)
		expr.Walk(s.When, see)
		for _, b := range s.For {
			expr.Walk(b, see)
		}
		for _, t := range s.Targets {
			if r, ok := t.(*expr.Read); ok {
				for _, n := range slices.Concat(r.Groups...) {
					expr.Walk(n, see)
				}
			}
		}
	}
	return used
}

// unusedFunctions reports functions that are never called, and functions for values (ATTR.VALUE) of an enum
// attribute that is never called.
func (f *formula) unusedFunctions(used map[string]bool) {
	for name, fn := range f.functions {
		attr, _, isValue := cutLast(name)
		switch {
		case f.broken[name]:
		case isValue && !used[attr]:
			f.report(failf(nameNode(fn), expr.Unused, "%s is not applied, so nothing uses this function", attr))
		case !isValue && !used[name]:
			f.report(failf(nameNode(fn), expr.Unused, "nothing uses the function %s", name))
		}
	}
}

// nameOf returns the name of a tensor on the left side of its first definition, as a node.
func nameOf(t *tensor) expr.Node {
	if r, ok := t.node.(*expr.Read); ok {
		return expr.NewIdent(r.Name, r.Pos(), r.NameEnd)
	}
	return t.node
}

// unusedValues returns the intermediate tensors that nothing reads. If one statement has several targets, a
// use of one of them counts as a use of all.
func (f *formula) unusedValues(used map[string]bool) []*tensor {
	var out []*tensor
	for _, t := range f.order {
		if t.slot != nil || used[t.name] || t.bad || len(t.by) == 0 {
			continue
		}
		with := false
		for _, n := range t.by[0].Targets {
			name, _ := targetName(n)
			other := f.tensors[name]
			with = with || used[name] || other != nil && other.slot != nil
		}
		if !with {
			out = append(out, t)
		}
	}
	return out
}

// missing reports slot t, which no statement defines. If the name of an unused intermediate tensor is nearly
// that of t, it reports a misspelling instead and removes that tensor from unused.
func (f *formula) missing(t *tensor, unused *[]*tensor) {
	for i, u := range *unused {
		e := failf(nameOf(u), expr.BadFormula, "nothing uses %s, and nothing gives %s", u.name, t.name)
		if suggest(e, u.name, []string{t.name}) {
			f.report(e)
			*unused = slices.Delete(*unused, i, i+1)
			return
		}
	}
	message := "no statement of the formula gives %s"
	if f.states[t.name] {
		message = "a task writes %s, but no statement of the formula gives it"
	}
	f.c.about(t.name, &expr.Error{Code: expr.BadFormula, Message: fmt.Sprintf(message, t.name)})
}
