package check

import (
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
)

// special infers the value of a call of one of the functions in forms.
func (f *formula) special(n *expr.Call, fr *frame, index bool) (value, *expr.Error) {
	usage, least, most := "", 1, 1
	switch n.Func {
	case "has":
		usage = "has(attribute)"
	case "present", "count":
		usage = n.Func + "(slot)"
	case "or":
		usage, least, most = "or(attribute, value)", 2, 2
	case "convert":
		usage, least, most = "convert(x, type)", 2, 2
	default:
		usage, least, most = n.Func+"(x, y, ...)", 1, 1<<16
	}
	if len(n.Args) < least || len(n.Args) > most {
		return value{}, failf(n, expr.BadType, "want %s, got %s", usage, english.Count(len(n.Args), "argument"))
	}
	switch n.Func {
	case "present", "count":
		return f.ofSlot(n, fr)
	case "has", "or":
		return f.ofOptional(n, fr, index)
	case "convert":
		return f.convert(n, fr)
	}
	args, err := f.evalAll(n.Args, fr, index)
	if err != nil {
		return value{}, err
	}
	if len(n.Args) == 1 {
		return f.extremeOf(n, args[0])
	}
	v, ps := args[0], []poly{}
	for i, a := range args {
		if err := want(n.Args[i], a, kNumber); err != nil {
			return value{}, err
		}
		v.kinds = both(v.kinds, a.kinds)
		ps = append(ps, a.int)
	}
	return value{kinds: v.kinds, int: f.extreme(n.Func, ps)}, nil
}

// extremeOf infers the value of max(list) or min(list), for a list of integers.
func (f *formula) extremeOf(n *expr.Call, list value) (value, *expr.Error) {
	if err := want(n.Args[0], list, kRun); err != nil {
		if list.kinds&kNumber != 0 {
			err = failf(n, expr.BadType, "want %s(x, y, ...), got one number", n.Func)
		}
		err.Hint = overIndex(n.Func, "k")
		return value{}, err
	}
	if r := runOf(list); r != nil && !r.index && !r.each {
		v := f.opaque(n.Func + "(" + r.text + ")")
		if name := v.int.Single(); name != "" {
			i := f.atomInfo(name)
			i.bounds, i.greatest = r.text, n.Func == "max"
		}
		return v, nil
	}
	return integer(nil), nil
}

// opaque returns an atom for an integer about which only its sign is known: it is at least 0. Equal texts
// denote the same integer.
func (f *formula) opaque(text string) value {
	if len(text) > maxName {
		return integer(nil)
	}
	f.atomInfo(text).atLeast(0)
	return integer(atom(text))
}

// ofSlot infers the value of present(slot) or count(slot).
func (f *formula) ofSlot(n *expr.Call, fr *frame) (value, *expr.Error) {
	id, ok := n.Args[0].(*expr.Ident)
	t := (*tensor)(nil)
	if ok {
		t = f.tensors[id.Name]
		if a := f.passed(id.Name); a != nil && a.Variadic != nil {
			if n.Func == "present" {
				return value{kinds: kBool}, nil
			}
			return integer(f.valuesOf(a)), nil
		}
	}
	switch {
	case t == nil || t.slot == nil:
		v, err := f.eval(n.Args[0], fr, false)
		if err != nil {
			return value{}, err
		}
		return value{}, failf(n.Args[0], expr.BadType, "want the name of a slot, got %s", v.describe())
	case n.Func == "present":
		return value{kinds: kBool}, nil
	case t.slot.Variadic == nil:
		return value{}, failf(n.Args[0], expr.BadType, "%s is one tensor, so there is nothing to count", id.Name)
	}
	return integer(f.countOf(t.slot)), nil
}

// ofOptional infers the value of has(attribute) or or(attribute, default).
func (f *formula) ofOptional(n *expr.Call, fr *frame, index bool) (value, *expr.Error) {
	s, ok, err := f.optional(n.Args[0], fr, index)
	if err != nil {
		return value{}, err
	}
	if !ok {
		v, err := f.eval(n.Args[0], fr, index)
		if err != nil {
			return value{}, err
		}
		return value{}, failf(n.Args[0], expr.BadType, "want an optional attribute, got %s", v.describe())
	}
	x := value{kinds: kindsOf[s.Type.Kind], typ: s.Type}
	if !s.Type.Optional && s.Type.Kind != expr.Unknown {
		return value{}, failf(n.Args[0], expr.BadType, "want an optional attribute, got %s", x.describe())
	}
	if n.Func == "has" {
		return value{kinds: kBool}, nil
	}
	y, err := f.eval(n.Args[1], fr, index)
	if err != nil {
		return value{}, err
	}
	if x.kinds&kElement == 0 {
		return value{}, failf(n.Args[0], expr.BadType, "want an optional number or boolean, got %s", x.describe())
	}
	k := x.kinds
	if k&kFloat != 0 {
		k |= kInt
	}
	v := value{kinds: x.kinds}
	if x.kinds == kInt && y.int != nil {
		name := "or(" + show(n.Args[0]) + ", " + y.int.String() + ")"
		f.derived(name, y.int)
		v.int = atom(name)
	}
	return v, want(n.Args[1], y, k)
}

// optional returns the symbol of an attribute, or of a field of a record, that may be optional. ok is false
// if n denotes neither.
func (f *formula) optional(n expr.Node, fr *frame, index bool) (s expr.Symbol, ok bool, err *expr.Error) {
	switch n := n.(type) {
	case *expr.Ident:
		if f.sc != nil {
			s, ok = f.sc.Lookup(n.Name)
		}
	case *expr.Select:
		var x value
		if x, err = f.eval(n.X, fr, index); err == nil {
			s, ok = x.typ.Field(n.Field)
		}
	}
	return s, ok, err
}

// convert infers the value of convert(x, type), where type is a literal, a dtype variable or an attribute.
func (f *formula) convert(n *expr.Call, fr *frame) (value, *expr.Error) {
	x, err := f.eval(n.Args[0], fr, false)
	if err != nil {
		return value{}, err
	}
	if err := want(n.Args[0], x, kElement); err != nil {
		return value{}, err
	}
	if name, ok := literalText(n.Args[1]); ok {
		return value{kinds: elementKind(name)}, elementType(n.Args[1], name)
	}
	t, err := f.eval(n.Args[1], fr, false)
	if err != nil {
		return value{}, err
	}
	return value{kinds: kElement}, want(n.Args[1], t, kDType)
}
