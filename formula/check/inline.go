package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/runtime/task"
)

// application is the application of an operator of the module to tensors within a formula, such as softmax(x,
// axis = 1).
type application struct {
	*formula
	n       *expr.Call
	s       *Operator
	fr      *frame
	tensors map[string]*tensor // by slot
	attrs   map[string]expr.Node
	values  map[string]value // values of the applied operator's attributes and dimensions
}

// inline infers the value of an element of an applied operator's output, as in softmax(x, axis = 1)[n, k]. An
// error names the operators, since their specs may be the cause.
func (f *formula) inline(n *expr.Inline, fr *frame) (value, *expr.Error) {
	v, err := f.inlined(n, fr)
	if err != nil {
		expr.Walk(n.Call, func(x expr.Node) {
			if c, ok := x.(*expr.Call); ok {
				err.Operators = append(err.Operators, c.Func)
			}
		})
	}
	return v, err
}

func (f *formula) inlined(n *expr.Inline, fr *frame) (value, *expr.Error) {
	t, err := f.applied(n.Call, n.Output, fr)
	if err != nil {
		return value{}, err
	}
	items, err := f.itemsOf(n, t, n.At, t.elems, fr)
	if err != nil {
		return value{}, err
	}
	if items != nil {
		if err := f.inside(n, t, items, t.elems, fr); err != nil {
			return value{}, err
		}
	}
	return value{kinds: t.elements()}, nil
}

// applied infers the output of an operator that is applied to tensors. output names the output, or is "" for
// the first one.
func (f *formula) applied(n *expr.Call, output string, fr *frame) (*tensor, *expr.Error) {
	s, err := f.operatorNamed(n)
	if err != nil {
		return nil, err
	}
	a := &application{formula: f, n: n, s: s, fr: fr, tensors: map[string]*tensor{}, attrs: map[string]expr.Node{}, values: map[string]value{}}
	for _, step := range []func() *expr.Error{a.arguments, a.attributes, a.dims, a.complete} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return a.result(output)
}

// operatorNamed resolves the operator that n calls. It is an error if a formula cannot apply it: it has no
// formula, a variadic slot, an argument from the caller, or it applies the present operator (recursion).
func (f *formula) operatorNamed(n *expr.Call) (*Operator, *expr.Error) {
	at := expr.NewIdent(n.Func, n.Pos(), n.Pos()+len(n.Func))
	s := f.c.module.Spec(n.Func)
	switch {
	case s == nil:
		e := failf(at, expr.UnknownName, "there is no operator %s", n.Func)
		if len(f.c.module.Qualified(n.Func)) > 1 {
			return nil, f.ambiguous(n)
		}
		suggest(e, n.Func, f.c.module.Names(false))
		return nil, e
	case f.s == nil:
		return nil, failf(at, expr.BadFormula, "the formula of an enum cannot apply an operator")
	case s.Kind != applicable:
		return nil, failf(at, expr.BadFormula, "%s is no operator, so a formula cannot apply it", n.Func)
	case s.Formula == "":
		return nil, failf(at, expr.BadFormula, "%s has no formula, so none can apply it", n.Func)
	case f.c.applies(s, f.s, map[*Operator]bool{}):
		return nil, failf(at, expr.BadFormula, "%s is defined by itself", f.s.Name)
	}
	for _, a := range s.Args {
		if a.From == task.FromCall {
			return nil, failf(at, expr.BadFormula, "the caller passes %s of %s, so a formula cannot apply it", a.Name, n.Func)
		}
	}
	for _, sl := range s.Slots {
		if sl.Variadic != nil {
			return nil, failf(at, expr.BadFormula, "%s holds a list of tensors, %s, so a formula cannot apply it", n.Func, sl.Name)
		}
	}
	return s, nil
}

// applies reports whether s is other, or the formula of s applies other, directly or transitively.
func (c *session) applies(s, other *Operator, seen map[*Operator]bool) bool {
	if s == nil || seen[s] || s.Module != other.Module { // modules use each other in one direction
		return false
	}
	if s == other {
		return true
	}
	seen[s] = true
	return slices.ContainsFunc(expr.Inlined(s.Formula), func(n string) bool { return c.applies(c.module.Spec(n), other, seen) })
}

// arguments binds the arguments of the call to inputs and weights, by position or by name, and to attributes
// by name.
func (a *application) arguments() *expr.Error {
	var operands []*Slot
	names := []string{}
	for _, sl := range a.s.Slots {
		if sl.Role == "input" || sl.Role == "weight" {
			operands = append(operands, sl)
			names = append(names, sl.Name)
		}
	}
	if len(a.n.Args) > len(operands) {
		return failf(a.n, expr.BadType, "%s takes %s, got %d", a.s.Name, english.Count(len(operands), "tensor"), len(a.n.Args))
	}
	for i, x := range a.n.Args {
		if err := a.operand(operands[i], x); err != nil {
			return err
		}
	}
	for _, at := range a.s.Attrs {
		names = append(names, at.Name)
	}
	for _, x := range a.n.Named {
		name := expr.NewIdent(x.Name, x.Pos(), x.Pos()+len(x.Name))
		i := slices.IndexFunc(operands, func(sl *Slot) bool { return sl.Name == x.Name })
		switch {
		case !slices.Contains(names, x.Name):
			e := failf(name, expr.UnknownName, "%s has no input, weight or attribute %s", a.s.Name, x.Name)
			suggest(e, x.Name, names)
			return e
		case a.tensors[x.Name] != nil || a.attrs[x.Name] != nil:
			return failf(name, expr.BadFormula, "%s is given twice", x.Name)
		case i < 0:
			a.attrs[x.Name] = x.X
		default:
			if err := a.operand(operands[i], x.X); err != nil {
				return err
			}
		}
	}
	return nil
}

// operand binds the tensor that expression n denotes to slot sl: a slot, an intermediate tensor, or the
// output of a nested application.
func (a *application) operand(sl *Slot, n expr.Node) *expr.Error {
	var t *tensor
	switch n := n.(type) {
	case *expr.Call:
		var err *expr.Error
		if t, err = a.applied(n, "", a.fr); err != nil {
			return err
		}
	case *expr.Ident:
		if t = a.formula.tensors[n.Name]; t == nil && a.future[n.Name] {
			if _, err := a.later(n, n.Name); err != nil {
				return err
			}
			t = &tensor{name: n.Name} // of any kind and shape, until the function is called
		}
		if t == nil {
			break
		}
		if t.scalar || t.slot != nil && t.slot.Variadic != nil {
			return failf(n, expr.BadType, "%s is not one tensor, so %s cannot be applied to it", n.Name, a.s.Name)
		}
		if err := a.readable(&expr.Read{Name: n.Name}, t, a.fr); err != nil {
			err.Pos, err.End = n.Pos(), n.End()
			return err
		}
		if g := a.recurring.of(a.checked); g != nil && g.Names[n.Name] {
			return failf(n, expr.BadFormula, "%s is part of a recurrence, so no operator can be applied to all of it here", n.Name)
		}
	}
	if t == nil {
		return a.noTensor(sl, n)
	}
	if k := slotKinds(sl); t.elements()&k == 0 && !(k&kFloat != 0 && t.elements()&kInt != 0) {
		return failf(n, expr.BadType, "%s of %s holds %s, got %s", sl.Name, a.s.Name, plural(k), plural(t.elements()))
	}
	a.tensors[sl.Name] = t
	return nil
}

// noTensor returns the error for an expression n that stands for slot sl, but is no tensor.
func (a *application) noTensor(sl *Slot, n expr.Node) *expr.Error {
	e := failf(n, expr.BadType, "want a tensor for %s of %s, got %s", sl.Name, a.s.Name, a.source(n))
	e.Hint = "the name of a slot, of a value that a line above gives, or another operator with its arguments"
	if id, ok := n.(*expr.Ident); ok {
		if _, isParam := a.fr.param(id.Name); isParam {
			e.Message = fmt.Sprintf("want a tensor for %s of %s, got the parameter %s, which stands for no tensor", sl.Name, a.s.Name, id.Name)
			e.Hint = "write the name of the tensor in the function: " + a.s.Name + "(NAME)"
		}
		return e
	}
	if r, ok := n.(*expr.Read); ok && a.formula.tensors[r.Name] != nil && r.Else == nil {
		e.Hint = "write " + r.Name + " without its index, which stands behind the operator: " + a.s.Name + "(" + r.Name + ")[...]"
		return e
	}
	var indices []string
	whole := false // whether a tensor stands without an index
	expr.Walk(n, func(x expr.Node) {
		if id, ok := x.(*expr.Ident); ok {
			whole = whole || a.formula.tensors[id.Name] != nil
			if len(a.fr.indices(id.Name)) > 0 && !slices.Contains(indices, id.Name) {
				indices = append(indices, id.Name)
			}
		}
	})
	switch {
	case whole:
		e.Hint = fmt.Sprintf("define a value element by element in a line above, and write %s(value)", a.s.Name)
	case len(indices) > 0:
		e.Hint = fmt.Sprintf("define a value in a line above, value[%s] = %s, and write %s(value)", strings.Join(indices, ", "), a.source(n), a.s.Name)
	}
	return e
}

// complete returns an error if a required input or weight has no tensor, or if the shape of a weight is
// wrong.
func (a *application) complete() *expr.Error {
	for _, sl := range a.s.Slots {
		t := a.tensors[sl.Name]
		if sl.Role == "input" && t == nil && sl.Present == "" || sl.Role == "weight" && t == nil && sl.Present == "" {
			return failf(a.n, expr.BadFormula, "%s needs a tensor for %s", a.s.Name, sl.Name)
		}
		if sl.Role != "weight" || t == nil || !t.known {
			continue
		}
		if elems, known := a.shapeIn(sl); known && !a.sameShape(elems, t.elems) {
			return failf(a.n, expr.BadFormula, "%s of %s has the shape %s here, got %s", sl.Name, a.s.Name, shapeText(elems), shapeText(t.elems))
		}
	}
	return nil
}

// result returns the output of the application as a tensor, with the kinds and the shape that follow from the
// inputs.
func (a *application) result(output string) (*tensor, *expr.Error) {
	var names []string
	for _, sl := range a.s.Slots {
		if sl.Role != "output" {
			continue
		}
		if names = append(names, sl.Name); output != "" && output != sl.Name {
			continue
		}
		t := &tensor{name: a.s.Name + "(...)", known: true, kinds: slotKinds(sl)}
		for _, in := range a.s.Slots {
			from := a.tensors[in.Name]
			if from == nil {
				continue
			}
			if in.Type == sl.Type && t.kinds&from.elements() != 0 {
				t.kinds &= from.elements()
			}
			if in.Role == "input" && shapesOf(in) == shapesOf(sl) { // the same, even where ranks are not known
				t.elems, t.known = from.elems, from.known
				return t, nil
			}
		}
		t.elems, t.known = a.shapeIn(sl)
		return t, nil
	}
	e := failf(a.n, expr.UnknownName, "%s has no output %s", a.s.Name, output)
	suggest(e, output, names)
	return nil, e
}
