package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// attrKinds maps the type of an attribute to the kinds of its values.
var attrKinds = map[string]kinds{"int": kInt, "axis": kInt, "float": kNumber, "number": kNumber, "bool": kBool, "string": kString, "enum": kEnum | kString,
	"axes": kRun, "dims": kRun, "dtype": kDType | kString, "record": kRecord}

// attributes infers the attributes of the applied operator: the arguments of the call, or defaults.
func (a *application) attributes() *expr.Error {
	for _, at := range a.s.Attrs {
		n := a.attrs[at.Name]
		if n == nil {
			if at.Default == nil && !at.Optional {
				return failf(a.n, expr.BadFormula, "%s needs the attribute %s", a.s.Name, at.Name)
			}
			a.values[at.Name] = a.preset(at)
			continue
		}
		v, err := a.eval(n, a.fr, false)
		if err != nil {
			return err
		}
		k := attrKinds[at.Type]
		if at.List {
			k = kRun | kOther
		}
		if v.typ.Optional && at.Optional {
			v.typ.Optional = false
		}
		if err := want(n, v, k); err != nil {
			return err
		}
		if err := a.enumValue(at, n); err != nil {
			return err
		}
		a.values[at.Name] = v
	}
	return nil
}

// enumValue returns an error if literal n is no value of enum attribute at.
func (a *application) enumValue(at *Attr, n expr.Node) *expr.Error {
	l, ok := n.(*expr.Lit)
	if !ok || at.Type != "enum" {
		return nil
	}
	names, _ := a.enumValues(at)
	text, _ := l.Value.(string)
	for _, name := range names {
		if name == text {
			return nil
		}
	}
	e := failf(n, expr.UnknownName, "%s of %s has no value %s", at.Name, a.s.Name, text)
	if !suggestString(e, text, names) {
		e.Hint = "values are " + strings.Join(names, ", ")
	}
	return e
}

// preset returns the default of an attribute that the call leaves out. Only integers have a known value.
func (a *application) preset(at *Attr) value {
	v := value{kinds: attrKinds[at.Type]}
	if at.List {
		v.kinds = kOther
	}
	if i, ok := at.Default.(int64); ok && v.kinds == kInt {
		v.int = constant(i)
	}
	return v
}

// dims infers the dimensions of the applied operator, by unification of the shapes of its inputs with those
// of their tensors, and then from the definitions in [dims].
func (a *application) dims() *expr.Error {
	for _, sl := range a.s.Slots {
		if t := a.tensors[sl.Name]; sl.Role == "input" && t != nil && t.known {
			if !a.match(sl, t.elems) {
				return failf(a.n, expr.BadFormula, "%s of %s has the shape %s, got %s", sl.Name, a.s.Name, shapesOf(sl), shapeText(t.elems))
			}
		}
	}
	for _, d := range a.s.Dims {
		if n, err := expr.Parse(d.Text); err == nil {
			if parts, ok := a.picked(n); ok {
				a.bindRun(d.Name, parts)
			} else {
				a.values[d.Name] = a.within(n)
			}
		}
	}
	return nil
}

// shapesOf returns the shape of a slot as text, such as "[N, X...]".
func shapesOf(sl *Slot) string {
	return "[" + strings.Join(sl.Shape, ", ") + "]"
}

// shapeIn returns the shape of a slot of the applied operator, in terms of the dimensions of the present
// formula. known is false if the rank is unknown.
func (a *application) shapeIn(sl *Slot) (out []elem, known bool) {
	if sl.BadShape {
		return nil, false
	}
	for _, element := range sl.Shape {
		text, rest := strings.CutSuffix(element, "...")
		e := elem{rest: rest}
		x, err := expr.Parse(text)
		if err == nil {
			v := a.within(x)
			e.run, e.n = runOf(v), v.int
		}
		if parts, ok := a.picked(x); rest && ok {
			out = append(out, parts...)
			continue
		}
		if parts, ok := a.joined[textOf(e)]; ok {
			out = append(out, parts...)
			continue
		}
		if rest && (e.run == nil || strings.Contains(e.run.text, "([")) {
			return nil, false
		}
		out = append(out, e)
	}
	return out, true
}

// picked expands keep(X, axes) or drop(X, axes) to the chosen dimensions, if X has known dimensions and the
// axes are constants. Otherwise it returns false.
func (a *application) picked(n expr.Node) ([]elem, bool) {
	c, ok := n.(*expr.Call)
	if !ok || c.Func != "keep" && c.Func != "drop" || len(c.Args) != 2 {
		return nil, false
	}
	elems := a.joined[textOf(elem{rest: true, run: runOf(a.within(c.Args[0]))})]
	axes, ok := a.axes(c.Args[1], len(elems))
	if len(elems) == 0 || !ok || slices.ContainsFunc(elems, func(e elem) bool { return e.rest }) {
		return nil, false
	}
	out := []elem{}
	for i, e := range elems {
		if slices.Contains(axes, i) == (c.Func == "keep") {
			out = append(out, e)
		}
	}
	return out, true
}

// axes returns the constant axes in a list or in the attribute that n names, with negative ones counted from
// the end. It returns false if one is unknown or out of range.
func (a *application) axes(n expr.Node, rank int) ([]int, bool) {
	if id, ok := n.(*expr.Ident); ok {
		n = a.attrs[id.Name]
	}
	l, ok := n.(*expr.List)
	if !ok {
		return nil, false
	}
	var out []int
	for _, e := range l.Elems {
		v, err := a.eval(e, a.fr, true)
		i, known := v.int.Number()
		if i < 0 {
			i += int64(rank)
		}
		if err != nil || !known || i < 0 || i >= int64(rank) {
			return nil, false
		}
		out = append(out, int(i))
	}
	return out, true
}

// textOf returns the text of the run that a shape element is, or "" if the element is one dimension or
// unknown.
func textOf(e elem) string {
	if !e.rest || e.run == nil {
		return ""
	}
	return e.run.text
}

// within evaluates an expression of the applied operator's spec with the values of its dimensions and
// attributes. The result is of unknown kind if a name in it has no value.
func (a *application) within(n expr.Node) value {
	for _, name := range expr.Names(n) {
		if _, ok := a.values[name]; !ok {
			return value{kinds: kAny}
		}
	}
	v, err := a.eval(n, &frame{closed: true, spec: true, params: a.values}, true)
	if err != nil {
		return value{kinds: kAny}
	}
	return v
}

// match unifies the shape of input sl with elems, the shape of its tensor: it binds a plain dimension to one
// element, and a run to the remaining ones. It returns false if the tensor has too few dimensions.
func (a *application) match(sl *Slot, elems []elem) bool {
	if sl.BadShape {
		return true
	}
	pattern := sl.Shape
	for len(pattern) > 0 && !strings.HasSuffix(pattern[0], "...") {
		first, rest, ok := a.front(elems)
		if !ok {
			return false
		}
		a.bindOne(pattern[0], first)
		pattern, elems = pattern[1:], rest
	}
	for len(pattern) > 0 && !strings.HasSuffix(pattern[len(pattern)-1], "...") {
		last, rest, ok := a.back(elems)
		if !ok {
			return false
		}
		a.bindOne(pattern[len(pattern)-1], last)
		pattern, elems = pattern[:len(pattern)-1], rest
	}
	switch {
	case len(pattern) == 0:
		return len(elems) == 0
	case len(pattern) == 1:
		a.bindRun(pattern[0], elems)
		return true
	case len(pattern) == 3:
		return a.around(pattern, elems)
	}
	return true // what the runs are cannot be told
}

// around unifies the pattern [A..., D, B...] with a shape. The value of the axis attribute that binds D
// determines its position; without a constant value, nothing is bound.
func (a *application) around(pattern []string, elems []elem) bool {
	axis := int64(0)
	known := false
	for _, at := range a.s.Attrs {
		if at.Binds == pattern[1] {
			axis, known = a.values[at.Name].int.Number()
		}
	}
	if !known {
		return true
	}
	var before, behind []elem
	var middle elem
	ok := true
	if axis < 0 {
		rest := elems
		for ; axis < -1 && ok; axis++ {
			var e elem
			e, rest, ok = a.back(rest)
			behind = append([]elem{e}, behind...)
		}
		if ok {
			middle, before, ok = a.back(rest)
		}
	} else {
		rest := elems
		for ; axis > 0 && ok; axis-- {
			var e elem
			e, rest, ok = a.front(rest)
			before = append(before, e)
		}
		if ok {
			middle, behind, ok = a.front(rest)
		}
	}
	if ok {
		a.bindRun(pattern[0], before)
		a.bindOne(pattern[1], middle)
		a.bindRun(pattern[2], behind)
	}
	return ok
}

// front splits a shape into its first dimension and the rest. If the shape begins with a run X..., these are
// X[0] and X[1:]....
func (a *application) front(elems []elem) (elem, []elem, bool) {
	if len(elems) == 0 {
		return elem{}, nil, false
	}
	e, rest := elems[0], elems[1:]
	if !e.rest {
		return e, rest, true
	}
	if e.run == nil {
		return elem{}, elems, true
	}
	one := constant(1)
	return elem{n: a.at(e.run, constant(0))}, append([]elem{{rest: true, run: a.slice(e.run, &one, nil)}}, rest...), true
}

// back splits a shape into its last dimension and the rest, as front does for the first one.
func (a *application) back(elems []elem) (elem, []elem, bool) {
	if len(elems) == 0 {
		return elem{}, nil, false
	}
	e, rest := elems[len(elems)-1], elems[:len(elems)-1]
	if !e.rest {
		return e, rest, true
	}
	if e.run == nil {
		return elem{}, elems, true
	}
	last := e.run.rank.Sub(constant(1))
	return elem{n: a.at(e.run, last)}, append(append([]elem{}, rest...), elem{rest: true, run: a.slice(e.run, nil, &last)}), true
}

// bindOne binds a dimension of the applied operator, unless it has a value. An expression in a shape, such as
// "2 * K", is bound under its text and never looked up.
func (a *application) bindOne(name string, e elem) {
	if _, known := a.values[name]; !known {
		a.values[name] = integer(e.n)
	}
}

// bindRun binds a run of dimensions of the applied operator to shape elements, unless it has a value.
func (a *application) bindRun(name string, elems []elem) {
	name = strings.TrimSuffix(name, "...")
	if _, known := a.values[name]; known {
		return
	}
	v := value{kinds: kRun}
	if len(elems) == 1 && elems[0].rest {
		v.run = elems[0].run
	} else if text := shapeText(elems); !strings.Contains(text, "_") {
		if v.run = named(text); v.run != nil {
			v.run.rank, v.run.size = constant(0), sizeOf(elems)
			for _, e := range elems {
				v.run.rank = v.run.rank.Add(e.rank())
			}
			a.joined[text] = elems
		}
	}
	a.values[name] = v
}
