package check

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/expr"
)

// complete checks that statements give all that they have to, and that what they give is used.
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

// usedIn returns the names that a formula uses: of what is read, and of functions.
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

// unusedFunctions reports functions that are not called, and those of enum attributes that are not.
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

// nameOf returns the name of a value where the formula gives it.
func nameOf(t *tensor) expr.Node {
	if r, ok := t.node.(*expr.Read); ok {
		return expr.NewIdent(r.Name, r.Pos(), r.NameEnd)
	}
	return t.node
}

// unusedValues returns the values that nothing reads. One that is given with others counts as read if one of
// them is.
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

// missing reports a slot that no statement gives. If the name of an unused value is near, it was meant.
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
