package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/spec"
)

// enumFormula checks the formula of an enum: a function for each value.
func (c *checker) enumFormula(s *spec.Spec) {
	if !s.Formula.Set() {
		return
	}
	f := c.shared(s)
	ast, errs := expr.ParseFormula(s.Formula.V)
	for _, err := range errs {
		f.report(err)
	}
	for _, st := range ast.Statements {
		f.report(failf(st.Targets[0], expr.BadFormula, "the formula of an enum holds functions only, one for each value"))
	}
	var names []string
	for _, v := range s.Values {
		names = append(names, v.Name.V)
	}
	f.defined(&expr.Formula{Functions: ast.Functions})
	for _, fn := range ast.Functions {
		if !slices.Contains(names, fn.Name) {
			f.noValue(fn, fn.Name, "the enum "+s.Name.V, names)
		} else if first := ast.Functions[0]; len(fn.Params) != len(first.Params) && slices.Contains(names, first.Name) {
			f.report(failf(nameNode(fn), expr.BadFormula, "%s has %d parameters, but %s has %d", fn.Name, len(fn.Params), first.Name, len(first.Params)))
		}
	}
	for _, v := range s.Values {
		if f.functions[v.Name.V] == nil && len(errs) == 0 && !s.Unread["values"] {
			c.list.Add(diag.BadFormula, v.Name.Span(), "the formula does not say what %s means", v.Name.V).Hinted("write %s(x) = ...", v.Name.V)
		}
	}
}

// shared returns the formula of an enum, with its functions.
func (c *checker) shared(s *spec.Spec) *formula {
	if c.formulas == nil {
		c.formulas = map[*spec.Spec]*formula{}
	}
	if f := c.formulas[s]; f != nil {
		return f
	}
	f := c.newFormula(s, nil)
	f.s = nil
	c.formulas[s] = f
	if s.Formula.Set() {
		ast, errs := expr.ParseFormula(s.Formula.V)
		f.unreadable = len(errs) > 0
		for _, fn := range ast.Functions {
			f.functions[fn.Name] = fn
		}
	}
	return f
}

// enumValues returns the values of an enum attribute, and the formula of the enum, or nil.
func (f *formula) enumValues(a *spec.Attr) ([]string, *formula) {
	var names []string
	for _, v := range a.Values {
		names = append(names, v.V)
	}
	e := a.Shared
	if e == nil {
		return names, nil
	}
	for _, v := range e.Values {
		names = append(names, v.Name.V)
	}
	return names, f.c.shared(e)
}

// enumAttr returns the enum attribute of a name, or the field of a record.
func (f *formula) enumAttr(name string) *spec.Attr {
	if f.s == nil {
		return nil
	}
	name, field, isField := strings.Cut(name, ".")
	for _, a := range f.s.Attrs {
		if a.Name != name {
			continue
		}
		if !isField {
			return a
		}
		for _, x := range a.Fields {
			if x.Name == field {
				return x
			}
		}
	}
	return nil
}

// applyEnum evaluates an enum attribute that is called: what each of its values means. ok is false if the
// name is not that of an attribute.
func (f *formula) applyEnum(n *expr.Call, fr *frame, index bool) (v value, ok bool, err *expr.Error) {
	a := f.enumAttr(n.Func)
	if a == nil {
		return value{}, false, nil
	}
	if a.Type.V != "enum" || a.List.V {
		e := failf(n, expr.BadType, "%s is not an enum, so it is no function", n.Func)
		return value{}, builtins[n.Func].usage == "", e
	}
	args, err := f.evalAll(n.Args, fr, index)
	if err != nil {
		return value{}, true, err
	}
	v, err = f.applyValues(n, a, args, fr, index)
	return v, true, err
}

// applyValues evaluates all functions of an enum attribute's values.
func (f *formula) applyValues(n *expr.Call, a *spec.Attr, args []value, fr *frame, index bool) (value, *expr.Error) {
	values, shared := f.enumValues(a)
	var missing []string
	out := value{}
	if a.Optional.V { // absent, it changes nothing
		if len(args) != 1 {
			return value{}, failf(n, expr.BadFormula, "%s may be absent, which leaves its one argument as it is; got %d", n.Func, len(args))
		}
		out.kinds = args[0].kinds
	}
	for _, name := range values {
		fn, owner := f.functions[n.Func+"."+name], f
		if fn == nil && shared != nil {
			fn, owner = shared.functions[name], shared
			if fn == nil && shared.unreadable {
				return value{kinds: kAny}, nil
			}
		}
		if fn == nil {
			missing = append(missing, name)
			continue
		}
		v, err := f.apply(n, fn, owner, args, fr, index)
		if err != nil {
			return value{}, err
		}
		out.kinds |= v.kinds
	}
	if len(missing) == 0 {
		if len(values) == 0 {
			out.kinds = kAny
		}
		return out, nil
	}
	e := failf(n, expr.BadFormula, "nothing says what %s means where it is %s", n.Func, strings.Join(missing, ", "))
	e.End = n.Pos() + len(n.Func)
	e.Hint = fmt.Sprintf("write %s.%s(x) = ...", n.Func, missing[0])
	if a.Enum.Set() {
		e.Hint += fmt.Sprintf(", or %s(x) = ... in the formula of %s", missing[0], a.Enum.V)
	}
	return value{}, e
}
