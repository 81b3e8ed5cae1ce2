package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
)

// enum checks the formula of an enum, which must define each value by one function, such as RELU(x) = max(x,
// 0).
func (c *session) enum(e *Enum) {
	f := c.shared(e)
	c.main = f
	ast, errs := expr.ParseFormula(e.Formula)
	for _, err := range errs {
		f.report(err)
	}
	for _, st := range ast.Statements {
		f.report(failf(st.Targets[0], expr.BadFormula, "the formula of an enum holds functions only, one for each value"))
	}
	f.defined(&expr.Formula{Functions: ast.Functions})
	for _, fn := range ast.Functions {
		if !slices.Contains(e.Values, fn.Name) {
			f.noValue(fn, fn.Name, "the enum "+e.Name, e.Values)
		} else if first := ast.Functions[0]; len(fn.Params) != len(first.Params) && slices.Contains(e.Values, first.Name) {
			f.report(failf(nameNode(fn), expr.BadFormula, "%s has %d parameters, but %s has %d",
				fn.Name, len(fn.Params), first.Name, len(first.Params)))
		}
	}
	for _, v := range e.Values {
		if f.functions[v] == nil && term.OfValue(v) == "" && len(errs) == 0 && !e.Partial {
			c.about(v, &expr.Error{Code: expr.BadFormula, Message: "the formula does not say what " + v + " means",
				Hint: "write " + v + "(x) = ..."})
		}
	}
}

// shared returns the parsed formula of an enum, from a cache.
func (c *session) shared(e *Enum) *formula {
	if f := c.formulas[e]; f != nil {
		return f
	}
	f := c.newFormula(e.Formula)
	c.formulas[e] = f
	if e.Formula != "" {
		ast, errs := expr.ParseFormula(e.Formula)
		f.unreadable = len(errs) > 0
		for _, fn := range ast.Functions {
			f.functions[fn.Name] = fn
		}
	}
	return f
}

// meant returns the builtin function that a value denotes by its name if no line defines the value: EXP
// denotes exp(x). It returns nil if there is none, or if the function does not take args arguments.
func (c *session) meant(value string, args int) (*expr.Function, *formula) {
	line := term.OfValue(value)
	ast, _ := expr.ParseFormula(line)
	if len(ast.Functions) != 1 || len(ast.Functions[0].Params) != args {
		return nil, nil
	}
	return ast.Functions[0], c.newFormula(line)
}

// enumValues returns the values of an enum attribute. If the attribute has a shared enum, it also returns the
// formula of that enum; else nil.
func (f *formula) enumValues(a *Attr) ([]string, *formula) {
	if a.Enum == nil {
		return slices.Clone(a.Values), nil
	}
	return slices.Concat(a.Values, a.Enum.Values), f.c.shared(a.Enum)
}

// enumAttr returns the attribute of this name, or the field of a record attribute for NAME.FIELD; nil if
// there is none. The caller checks its type.
func (f *formula) enumAttr(name string) *Attr {
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

// applyEnum infers the value of the call of an enum attribute, such as activation(x). ok is false if the name
// denotes no attribute.
func (f *formula) applyEnum(n *expr.Call, fr *frame, index bool) (v value, ok bool, err *expr.Error) {
	a := f.enumAttr(n.Func)
	if a == nil {
		return value{}, false, nil
	}
	if a.Type != "enum" || a.List {
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

// applyValues checks the call of an enum attribute for each of its values, and returns the union of the kinds
// of the results. It is an error if no function defines one of the values.
func (f *formula) applyValues(n *expr.Call, a *Attr, args []value, fr *frame, index bool) (value, *expr.Error) {
	values, shared := f.enumValues(a)
	var missing []string
	out := value{}
	if a.Optional { // absent, it changes nothing
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
		if fn == nil && f.functions[strings.ToLower(name)] == nil { // a function of its own would be another one
			fn, owner = f.c.meant(name, len(args))
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
	if a.EnumName != "" {
		e.Hint += fmt.Sprintf(", or %s(x) = ... in the formula of %s", missing[0], a.EnumName)
	}
	return value{}, e
}
