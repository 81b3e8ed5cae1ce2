package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/task"
)

// ident infers the value of a name: a parameter, an index, a declaration of the spec, a scalar of the
// formula, or pi.
func (f *formula) ident(n *expr.Ident, fr *frame) (value, *expr.Error) {
	if v, ok := fr.param(n.Name); ok {
		return v, nil
	}
	if bound := fr.indices(n.Name); len(bound) > 0 {
		return f.boundIndex(n, bound)
	}
	if v, ok, err := f.declared(n, fr); ok {
		return v, err
	}
	if t := f.tensors[n.Name]; t != nil {
		return f.scalar(n, t)
	}
	if expr.IsConstant(n.Name) {
		return value{kinds: kFloat}, nil
	}
	if f.future[n.Name] {
		return f.later(n, n.Name)
	}
	base := strings.TrimRight(n.Name, "'")
	if f.rangeOf(base) != nil {
		e := failf(n, expr.BadFormula, "nothing binds the index %s here", n.Name)
		e.Hint = "an index stands on the left side, or a sum or another reduction goes over it"
		return value{}, e
	}
	return value{}, f.undefined(n, n.Name, fr)
}

// undefined returns the error for a name without a declaration, with the nearest name in scope as a hint.
func (f *formula) undefined(n expr.Node, name string, fr *frame) *expr.Error {
	e := &expr.Error{Pos: n.Pos(), End: n.Pos() + len(name), Code: expr.UnknownName, Name: name, Message: name + " is not defined"}
	switch name {
	case "iteration":
		e.Hint = "declare it: [args.iteration] with from = \"iteration\""
		return e
	case "seed":
		e.Hint = "declare it: [args.seed] with from = \"seed\""
		return e
	}
	letter := strings.TrimRight(name, "'")
	if !suggest(e, name, f.names(fr)) && len(letter) == 1 && letter == strings.ToLower(letter) && !f.defining && !fr.closed {
		e.Hint = "an index stands on the left side, or a sum or another reduction goes over it"
	}
	return e
}

// later returns the error for the use of a tensor or scalar before the statement that defines it. In the
// definition of a function it returns an unknown value instead, since the function may be called after that
// statement.
func (f *formula) later(n expr.Node, name string) (value, *expr.Error) {
	if f.defining {
		return value{kinds: kAny}, nil
	}
	e := failf(n, expr.BadFormula, "%s is used before it is given", name)
	e.Hint = "put the line that gives " + name + " above this one"
	if slices.Contains(f.giving, name) {
		e.Message = name + " is used by the line that gives it"
		e.Hint = "a recurrence has an index and reads an earlier element, such as h[t - 1]; or give the values names of their own"
	}
	return value{}, e
}

// names lists all names in scope, for hints.
func (f *formula) names(fr *frame) []string {
	names := fr.names()
	if f.sc != nil {
		names = append(names, f.sc.Names()...)
	}
	for _, t := range f.order {
		names = append(names, t.name)
	}
	return names
}

// boundIndex infers the value of an index by its bindings. A run of indices must be bound as a whole, or in
// parts that complete each other.
func (f *formula) boundIndex(n expr.Node, bound []*binding) (value, *expr.Error) {
	for i, b := range bound {
		whole := b.part == part{}
		for _, c := range bound[:i] {
			whole = whole || b.part.completes(c.part)
		}
		if whole && b.run != nil {
			b = &binding{name: b.name, extent: *f.rangeOf(strings.TrimRight(b.name, "'"))}
		}
		if whole {
			return b.value(), nil
		}
	}
	return value{}, failf(n, expr.BadFormula, "only a part of the index %s is bound here", bound[0].name)
}

func (b *binding) value() value {
	if b.run != nil {
		return value{kinds: kRun, run: b.run.asIndex(), index: true}
	}
	return value{kinds: kInt, int: atom(indexMark + b.name), index: true}
}

// declared infers the value of a name that the spec declares, other than a slot. ok is false if the spec does
// not declare the name.
func (f *formula) declared(n *expr.Ident, fr *frame) (v value, ok bool, err *expr.Error) {
	if f.sc == nil {
		return value{}, false, nil
	}
	s, ok := f.sc.Lookup(n.Name)
	switch {
	case ok && f.passed(n.Name) != nil:
		v, err = f.passedValue(n, f.passed(n.Name))
		return v, true, err
	case !ok || s.Type.Kind == expr.Slot:
		return value{}, false, nil
	case s.Class == expr.Position:
		return value{}, false, nil
	case s.Type.Kind == expr.Argument:
		v, err = f.argument(n)
		return v, true, err
	case s.Class == expr.Dim:
		return f.dim(n.Name, s), true, nil
	}
	if v = f.given(n.Name, s, fr); s.Axis && v.kinds == kInt {
		f.axis(n.Name)
	}
	return v, true, nil
}

// given infers the value of an attribute, or of a field of a record. text is the expression, such as
// name.field, which becomes an atom for an integer.
func (f *formula) given(text string, s expr.Symbol, fr *frame) value {
	v := value{kinds: kindsOf[s.Type.Kind], typ: s.Type}
	if v.kinds == 0 {
		v.kinds = kOther
	}
	if s.Type.Optional && f.known("has("+text+")", fr) {
		v.typ.Optional = false
	}
	switch v.kinds {
	case kInt:
		v.int = atom(text)
		if s.HasMin {
			f.atomInfo(text).atLeast(s.Min)
		}
	case kRun, kOther:
		if v.run = named(text); v.run != nil && s.Len > 0 {
			v.run.rank = constant(s.Len)
		}
	}
	return v
}

// axis records the bounds of an axis attribute: it is at least 0 and less than the rank of its slot, or at
// most the rank if it is the end of a range of axes.
func (f *formula) axis(name string) {
	i := f.atomInfo(name)
	a := f.enumAttr(name)
	if i.hasMin || a == nil || f.s == nil {
		return
	}
	slot := a.Slot
	if slot == nil || f.tensors[slot.Name] == nil || slot.Variadic != nil {
		return
	}
	rank := constant(0)
	for _, e := range f.tensors[slot.Name].elems {
		rank = rank.Add(e.rank())
	}
	if a.End {
		rank = rank.Add(constant(1))
	}
	i.atLeast(0)
	if rank != nil {
		i.extent = below(rank)
	}
}

// known reports whether a condition, as a normalized text, holds at fr: a test established it, or it occurs
// in [require].
func (f *formula) known(fact string, fr *frame) bool {
	return fr.knows(fact) || slices.ContainsFunc(f.required, func(n expr.Node) bool {
		found := false
		expr.Walk(n, func(n expr.Node) { found = found || show(n) == fact })
		return found
	})
}

// argument infers the value of an argument of tasks that the caller does not pass. Formulas may use arguments
// from expressions, the training step (iteration) and the seed.
func (f *formula) argument(n *expr.Ident) (value, *expr.Error) {
	for _, a := range f.s.Args {
		if a.Name != n.Name {
			continue
		}
		switch k := kindsOf[a.Kind]; {
		case a.From == task.FromIteration || a.From == task.FromSeed:
			f.atomInfo(n.Name).atLeast(0)
			f.atomInfo(n.Name).free = a.From == task.FromSeed
			return integer(atom(n.Name)), nil
		case a.From == task.FromExpression && k == kRun:
			return value{kinds: kRun, run: named(n.Name)}, nil
		case a.From == task.FromExpression && k == kInt:
			return integer(atom(n.Name)), nil
		case a.From == task.FromExpression && k != 0:
			return value{kinds: k}, nil
		}
	}
	e := failf(n, expr.BadType, "%s is an argument that tasks get as it is", n.Name)
	e.Hint = "a formula may use the iteration, the seed, and arguments from expressions and from the caller"
	return value{}, e
}

// dim infers the value of a dimension, or a run of dimensions, by its definition in [dims] if it has one.
func (f *formula) dim(name string, s expr.Symbol) value {
	if v, ok := f.lets[name]; ok {
		return v
	}
	v := value{kinds: kindsOf[s.Type.Kind]}
	switch v.kinds {
	case kInt:
		v.int = atom(name)
		f.atomInfo(name).atLeast(0)
	case kRun:
		v.run = named(name)
		if v.run == nil {
			break
		}
		if f.each[name] != nil {
			v.run.rank = f.countOf(f.each[name])
		}
		v.run.each = s.Type.Kind == expr.Shapes
	}
	f.lets[name] = v // a definition that refers to itself ends here
	for _, l := range f.s.Dims {
		if l.Name != name || l.X == nil {
			continue
		}
		d, err := f.eval(l.X, &frame{closed: true, spec: true}, true)
		if err == nil && v.kinds == kInt && d.int != nil {
			v.int = d.int
		} else if err == nil && v.kinds == kRun && d.run != nil {
			v.run = d.run
		}
	}
	f.lets[name] = v
	return v
}

// scalar infers the value of a scalar that a statement of the formula defines.
func (f *formula) scalar(n *expr.Ident, t *tensor) (value, *expr.Error) {
	switch {
	case t.bad:
		return value{kinds: kAny}, nil
	case !t.scalar && len(t.elems) == 0 && t.known:
		e := failf(n, expr.BadFormula, "%s is a tensor: write %s[]", t.name, t.name)
		e.Old, e.New = t.name, t.name+"[]"
		return value{}, e
	case !t.scalar:
		return value{}, failf(n, expr.BadFormula, "%s is a tensor: write its index in brackets", t.name)
	case !t.given():
		return f.later(n, t.name)
	}
	return value{kinds: t.kinds, int: t.int}, nil
}

// rangeOf returns the range of an index, by its name without primes: the dimension of that name (k ranges
// over K), or the range that a statement declared. It returns nil if the name has no range.
func (f *formula) rangeOf(base string) *extent {
	if d, v := f.dimOf(base); d != "" {
		switch {
		case v.kinds == kRun && f.each[d] != nil && v.run != nil && v.run.each:
			return &extent{run: f.element(v.run, atom(indexMark+"i"))}
		case v.kinds == kRun && f.each[d] != nil:
			return below(f.at(v.run, atom(indexMark+"i")))
		case v.kinds == kRun:
			return &extent{run: v.run}
		}
		return below(v.int)
	}
	return f.ranges[base]
}

// dimOf returns the dimension whose index has the given name, such as K for k, with its value. It returns ""
// if there is none.
func (f *formula) dimOf(base string) (string, value) {
	if f.sc == nil || f.sc.What(base) == "attribute" {
		return "", value{}
	}
	for _, n := range f.sc.Names() {
		if s, ok := f.sc.Lookup(n); ok && s.Class == expr.Dim && strings.ToLower(n) == base && n != base && expr.IsDimName(n) {
			return n, f.dim(n, s)
		}
	}
	return "", value{}
}

// bindable returns an error if a declaration has the name of an index that is to be bound.
func (f *formula) bindable(n expr.Node, name string) *expr.Error {
	base := strings.TrimRight(name, "'")
	what := ""
	if f.sc != nil {
		what = f.sc.What(base)
	}
	if t := f.tensors[base]; t != nil && t.slot == nil {
		what = "value"
	}
	switch what {
	case "slot", "attribute", "argument", "dimension", "dtype variable", "value":
		e := failf(n, expr.BadFormula, "%s is the name of a %s, so no index can have it", base, what)
		if what == "attribute" || what == "argument" {
			e.Message = base + " is the name of an " + what + ", so no index can have it"
		}
		e.Hint = "name the index otherwise"
		if what == "dimension" {
			e.Hint = "the index over " + base + " is " + strings.ToLower(base)
		}
		return e
	}
	return nil
}

// bind adds an index, or part p of a run of indices, with range x to the bindings of fr.
func (f *formula) bind(n expr.Node, name string, p part, x extent, fr *frame) *expr.Error {
	if err := f.bindable(n, name); err != nil {
		return err
	}
	if b := fr.inUse(name, p); b != nil {
		e := failf(n, expr.BadFormula, "the index %s is in use here", name)
		e.Hint = "write " + name + "'"
		return e
	}
	if _, ok := fr.param(name); ok {
		return failf(n, expr.BadFormula, "%s is a parameter, so no index can have its name", name)
	}
	fr.bound = append(fr.bound, &binding{name, p, x})
	f.note(n, name, p, x)
	return nil
}

// note records the range of an index at the position of its name, for tools, if that position is in the
// checked formula.
func (f *formula) note(n expr.Node, name string, p part, x extent) {
	c, at, end := f.c, n.Pos(), n.Pos()+len(name)
	if f != c.main || end > len(f.text) || f.text[at:end] != name ||
		slices.ContainsFunc(c.indices, func(i Index) bool { return i.Pos == at }) {
		return
	}
	if text := x.text(p); text != "" {
		c.indices = append(c.indices, Index{name, at, end, text})
	}
}

// text returns the range of part p of an index as text, such as "N..." for a run, or "0 .. K". It returns ""
// if the range is unknown.
func (x extent) text(p part) string {
	if x.run != nil {
		text := plainName(x.run.text)
		switch {
		case p.fn == "[":
			return text + "[" + p.lo + ":" + p.hi + "]"
		case p.fn != "":
			return p.fn + "(" + text + ", " + p.axes + ")"
		case expr.IsDimName(text):
			return text + "..."
		}
		return text
	}
	lo, hi := bounds("max", x.los), bounds("min", x.his)
	if lo == "" || hi == "" {
		return ""
	}
	return lo + " .. " + hi
}

// bounds returns the text of fn, which is max or min, of bounds. It returns "" if one is unknown.
func bounds(fn string, list []poly) string {
	var out []string
	for _, p := range list {
		if p == nil {
			return ""
		}
		out = append(out, plainName(p.String()))
	}
	if len(out) == 1 {
		return out[0]
	}
	return fn + "(" + strings.Join(out, ", ") + ")"
}

// perTensor finds the dimensions that differ between the tensors of a variadic slot. If a shape has such a
// dimension, as in C[i], the index i gets the number of tensors as its range.
func (f *formula) perTensor() {
	f.each = map[string]*Slot{}
	for _, sl := range f.s.Slots {
		for _, name := range sl.Each {
			f.each[name] = sl
		}
	}
	for _, sl := range f.s.Slots {
		if f.ranges["i"] == nil && sl.differs() {
			f.ranges["i"] = below(f.countOf(sl))
		}
	}
}

// countOf returns the number of tensors of a variadic slot as a symbolic integer, or nil if it is unknown.
func (f *formula) countOf(sl *Slot) poly {
	if sl.Variadic != nil && sl.Variadic.Count != "" {
		if n, err := expr.Parse(sl.Variadic.Count); err == nil {
			if v, err := f.eval(n, &frame{closed: true, spec: true}, true); err == nil {
				return v.int
			}
		}
		return nil
	}
	name := "count(" + sl.Name + ")"
	if sl.Variadic != nil {
		f.atomInfo(name).atLeast(int64(max(sl.Variadic.Least, 0)))
	}
	return atom(name)
}
