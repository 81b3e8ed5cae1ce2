package check

import (
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/task"
)

// passed returns the argument of this name if the caller passes its value at each run, or nil.
func (f *formula) passed(name string) *Arg {
	if f.s == nil {
		return nil
	}
	i := slices.IndexFunc(f.s.Args, func(a *Arg) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	if f.s.Args[i].From != task.FromCall {
		return nil
	}
	return f.s.Args[i]
}

// passedKinds returns the kind of an argument that the caller passes. It is an error if formulas cannot
// compute with the argument's Go type.
func (f *formula) passedKinds(n expr.Node, a *Arg) (kinds, *expr.Error) {
	if f.s.Kind == initializer {
		return 0, failf(n, expr.BadFormula, "the task of an initializer has no caller that could pass %s", a.Name)
	}
	switch a.Holds {
	case expr.Int, expr.Float, expr.Bool:
		return kindsOf[a.Holds], nil
	}
	if a.Type == "" {
		return kAny, nil // reported elsewhere
	}
	e := failf(n, expr.BadType, "%s is of type %s, which formulas cannot compute with", a.Name, a.Type)
	e.Hint = "a formula may use what the caller passes if it is of type bool, of a type of integers but uint and uint64, or of type float32 or float64"
	return 0, e
}

// passedValue infers the value of an argument that the caller passes. It is an error if the argument is a
// list.
func (f *formula) passedValue(n *expr.Ident, a *Arg) (value, *expr.Error) {
	k, err := f.passedKinds(n, a)
	switch {
	case err != nil:
		return value{}, err
	case a.Variadic != nil:
		e := failf(n, expr.BadFormula, "%s holds several values: want the number of one in brackets", a.Name)
		e.Hint = "write " + a.Name + "[i]"
		return value{}, e
	case k == kInt:
		f.atomInfo(a.Name).free = true
		return integer(atom(a.Name)), nil
	}
	return value{kinds: k}, nil
}

// readPassed infers the value of an element of a list argument that the caller passes, as in lr[i].
func (f *formula) readPassed(n *expr.Read, a *Arg, fr *frame) (value, *expr.Error) {
	k, err := f.passedKinds(n, a)
	switch {
	case err != nil:
		return value{}, err
	case a.Variadic == nil:
		return value{}, failf(n, expr.BadFormula, "%s is one value: write it without brackets", a.Name)
	case n.Old:
		return value{}, failf(n, expr.BadFormula, "%s is not a slot, so there is no old %s", a.Name, a.Name)
	case len(n.Groups) != 1 || len(n.Groups[0]) != 1:
		return value{}, failf(n, expr.BadFormula, "%s is a list of values: want one number in brackets", a.Name)
	}
	var outside value
	if n.Else != nil {
		if outside, err = f.eval(n.Else, fr, false); err != nil {
			return value{}, err
		}
		if err := want(n.Else, outside, kElement); err != nil {
			return value{}, err
		}
	}
	number, err := f.integer(n.Groups[0][0], fr)
	if err != nil {
		return value{}, err
	}
	if n.Else == nil {
		t := &tensor{name: a.Name}
		if err := f.inside(n, t, []item{{n.Groups[0][0], number}}, []elem{{n: f.valuesOf(a)}}, fr); err != nil {
			return value{}, err
		}
	}
	v := value{kinds: k}
	if n.Else != nil {
		v.kinds = elseOf(k, outside.kinds)
	}
	if v.kinds == kInt && n.Else == nil {
		name := f.unique(n, fr)
		f.atomInfo(name).free = true
		v.int = atom(name)
	}
	return v, nil
}

// valuesOf returns the length of a list argument as a symbolic integer.
func (f *formula) valuesOf(a *Arg) poly {
	name := "count(" + a.Name + ")"
	f.atomInfo(name).atLeast(int64(max(a.Variadic.Least, 0)))
	return atom(name)
}
