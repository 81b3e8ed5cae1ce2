package check

import (
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// target checks a left side n, binds its indices in fr, and returns the tensor that it defines.
func (f *formula) target(n expr.Node, fr *frame) (*tensor, *expr.Error) {
	id, ok := n.(*expr.Ident)
	if ok {
		return f.scalarTarget(id)
	}
	r := n.(*expr.Read)
	t := f.tensors[r.Name]
	if t == nil {
		if err := f.newName(r, r.Name); err != nil {
			return nil, err
		}
		t = &tensor{name: r.Name, node: r}
		if err := f.misspelled(r); err != nil {
			return nil, err
		}
	}
	if err := f.mayGive(r, t); err != nil {
		return t, err
	}
	if t.slot == nil {
		return t, f.localTarget(r, t, fr)
	}
	return t, f.slotTarget(r, t, fr)
}

// scalarTarget checks a left side without brackets, which defines a scalar.
func (f *formula) scalarTarget(n *expr.Ident) (*tensor, *expr.Error) {
	t := f.tensors[n.Name]
	switch {
	case t == nil:
		if err := f.newName(n, n.Name); err != nil {
			return nil, err
		}
		return &tensor{name: n.Name, node: n, scalar: true}, nil
	case t.slot != nil && t.known && len(t.elems) == 0:
		e := failf(n, expr.BadFormula, "%s is a tensor: write %s[]", n.Name, n.Name)
		e.Old, e.New = n.Name, n.Name+"[]"
		return t, e
	case !t.scalar:
		return t, failf(n, expr.BadFormula, "%s is a tensor: write its index in brackets", n.Name)
	}
	return t, nil
}

// newName returns an error unless a statement may define an intermediate tensor or a scalar of this name.
func (f *formula) newName(n expr.Node, name string) *expr.Error {
	what := f.sc.What(name)
	switch {
	case what == "attribute" || what == "argument":
		what = "an " + what
	case what != "":
		what = "a " + what
	case f.functions[name] != nil:
		what = "a function"
	case expr.IsConstant(name):
		what = "a number"
	}
	if d, _ := f.dimOf(name); what == "" && d != "" {
		what = "the index of " + d
	}
	switch {
	case what != "":
		return failf(n, expr.BadFormula, "%s is %s, so no statement can give it", name, what)
	case strings.ContainsAny(name, ".'"):
		e := failf(n, expr.UnknownName, "%s is not defined", name)
		if of, ok := strings.CutPrefix(name, "grad."); ok && f.tensors[of] != nil && f.tensors[of].slot != nil {
			e.Code, e.Message = expr.BadFormula, of+" has no gradient"
			e.Hint = "inputs and weights of floating-point types have one, unless they say trainable = false"
			return e
		}
		suggest(e, name, f.names(nil))
		return e
	}
	return nil
}

// misspelled returns an error if the name of a new tensor is nearly that of an output or saved slot that is
// not yet defined. It does so only if an index of the left side has no range, which is a sign that the slot
// was meant.
func (f *formula) misspelled(n *expr.Read) *expr.Error {
	var names []string
	for _, t := range f.order {
		if t.slot != nil && !t.given() && (t.slot.Role == "output" || t.slot.Role == "saved") && !f.future[t.name] {
			names = append(names, t.name)
		}
	}
	for _, it := range n.Groups[len(n.Groups)-1] {
		id, ok := it.(*expr.Ident)
		if !ok || f.rangeOf(strings.TrimRight(id.Name, "'")) != nil {
			continue
		}
		e := &expr.Error{Pos: n.Pos(), End: n.NameEnd, Code: expr.UnknownName, Message: "there is no slot " + n.Name}
		if suggest(e, n.Name, names) {
			f.wanted[e.New] = true
			return e
		}
	}
	return nil
}

// mayGive returns an error if no statement may define tensor t, such as an input, or a weight that no task
// writes.
func (f *formula) mayGive(n expr.Node, t *tensor) *expr.Error {
	if t.scalar {
		return failf(n, expr.BadFormula, "%s is a scalar: write it without brackets", t.name)
	}
	if t.slot == nil || f.states[t.name] {
		return nil
	}
	switch t.slot.Role {
	case "input":
		if t.isGradient() {
			return failf(n, expr.BadFormula, "%s is what backward is given, so no statement can give it", t.name)
		}
		return failf(n, expr.BadFormula, "%s is an input, so no statement can give it", t.name)
	case "weight":
		e := failf(n, expr.BadFormula, "%s is a weight that no task writes, so no statement can give it", t.name)
		e.Hint = "a task that writes it says so: access = { " + t.name + " = \"readwrite\" }"
		return e
	}
	return nil
}

// slotTarget checks a left side that defines elements of slot t: it binds the indices, and checks that they
// visit each element once.
func (f *formula) slotTarget(n *expr.Read, t *tensor, fr *frame) *expr.Error {
	shape, err := f.targetShape(n, t, fr)
	if err != nil {
		return err
	}
	group := n.Groups[len(n.Groups)-1]
	num, byNumber := soleNumber(group)
	if byNumber {
		err = f.enterNumber(num, t, shape, fr)
	} else {
		err = f.enterGroup(group, t, shape, fr)
	}
	if err != nil {
		return err
	}
	elems, group, err := f.access(n, t, n.Groups, fr)
	if err != nil {
		return err
	}
	if err := f.allTensors(n, t, fr); err != nil {
		return err
	}
	items, err := f.itemsOf(n, t, group, elems, fr)
	if err != nil || items == nil {
		return err
	}
	return f.covers(n, t, items, elems, fr)
}

// targetShape returns the shape of the tensor on a left side. For a variadic slot, it binds the index of the
// tensor, i in x[i][n, k].
func (f *formula) targetShape(n *expr.Read, t *tensor, fr *frame) ([]elem, *expr.Error) {
	if t.slot.Variadic == nil || len(n.Groups) != 2 || len(n.Groups[0]) != 1 {
		return t.elems, nil
	}
	at := n.Groups[0][0]
	if err := f.enter(at, elem{n: f.countOf(t.slot)}, true, fr); err != nil {
		return nil, err
	}
	number, err := f.integer(at, fr)
	return f.shapeOf(t.slot, number), err
}

// enterGroup binds the indices in the subscripts of a left side. shape provides the ranges of new indices.
func (f *formula) enterGroup(group []expr.Node, t *tensor, shape []elem, fr *frame) *expr.Error {
	if err := f.positions(t, group, shape); err != nil {
		return err
	}
	for i, it := range group {
		e, has := elem{}, false
		if len(group) == len(shape) {
			e, has = shape[i], true
		}
		if err := f.enter(it, e, has, fr); err != nil {
			return err
		}
	}
	return nil
}

// enterNumber binds the indices of a flat index on a left side, as in y[#i]. A single new index gets the
// number of elements as its range.
func (f *formula) enterNumber(n *expr.Number, t *tensor, shape []elem, fr *frame) *expr.Error {
	for _, it := range n.Items {
		if err := f.enter(it, elem{n: sizeOf(shape)}, t.known && len(n.Items) == 1, fr); err != nil {
			return err
		}
	}
	return nil
}

// allTensors returns an error unless a left side visits each tensor of a variadic slot, by an index over the
// number of tensors.
func (f *formula) allTensors(n *expr.Read, t *tensor, fr *frame) *expr.Error {
	if t.slot.Variadic == nil {
		return nil
	}
	at := n.Groups[0][0]
	if id, ok := at.(*expr.Ident); !ok || len(fr.indices(id.Name)) != 1 {
		return failf(at, expr.BadFormula, "want an index for the number of a tensor of %s, got %s", t.name, f.source(at))
	}
	v, err := f.integer(at, fr)
	if err != nil {
		return err
	}
	return f.coversOne(t, item{at, v}, elem{n: f.countOf(t.slot)}, fr)
}

// positions returns an error if a subscript with a known range is a run of indices where the shape has one
// dimension, or the reverse.
func (f *formula) positions(t *tensor, group []expr.Node, shape []elem) *expr.Error {
	for i, it := range group {
		id, ok := it.(*expr.Ident)
		if !ok || len(group) != len(shape) {
			continue
		}
		x, e := f.rangeOf(strings.TrimRight(id.Name, "'")), shape[i]
		if x == nil || (x.run != nil) == e.rest {
			continue
		}
		what := "one dimension"
		if x.run != nil {
			what = "the dimensions " + plainName(x.run.text)
		}
		return failf(it, expr.BadFormula, "%s ranges over %s, but this part of the shape of %s is %s", id.Name, what, t.name, plainName(e.String()))
	}
	return nil
}

func soleNumber(group []expr.Node) (*expr.Number, bool) {
	if len(group) != 1 {
		return nil, false
	}
	n, ok := group[0].(*expr.Number)
	return n, ok
}

// localTarget checks the left side of a statement that defines an intermediate tensor, and infers its shape
// from the ranges of the indices: y[n, k] has the shape [N, K]. A second definition must agree with the
// first.
func (f *formula) localTarget(n *expr.Read, t *tensor, fr *frame) *expr.Error {
	if len(n.Groups) > 1 {
		return failf(n, expr.BadFormula, "%s is one tensor, so it has one index in brackets", t.name)
	}
	var elems []elem
	var texts []string
	seen := map[string]bool{}
	for _, it := range n.Groups[0] {
		if err := f.enter(it, elem{}, false, fr); err != nil {
			return err
		}
		e, err := f.dimOfLocal(it, t, fr)
		if err != nil {
			return err
		}
		for _, name := range f.indicesIn(item{node: it}) {
			if seen[name] {
				return failf(it, expr.BadFormula, "%s stands twice on the left side, so not all elements of %s are given", name, t.name)
			}
			seen[name] = true
		}
		elems = append(elems, e)
		texts = append(texts, f.dimText(it, e))
	}
	if t.given() && t.known && !f.sameShape(t.elems, elems) {
		return failf(n, expr.BadFormula, "%s has the shape %s above, and %s here", t.name, shapeText(t.elems), shapeText(elems))
	}
	if t.elems, t.known = elems, true; t.shape == nil {
		t.shape = texts
	}
	return nil
}

// dimText returns a shape element as a spec would write it. It prefers the name of the dimension over which
// the index ranges.
func (f *formula) dimText(it expr.Node, e elem) string {
	if id, ok := it.(*expr.Ident); ok {
		switch d, _ := f.dimOf(strings.TrimRight(id.Name, "'")); {
		case d != "" && e.rest:
			return d + "..."
		case d != "":
			return d
		}
	}
	return e.String()
}

// dimOfLocal infers the dimension of an intermediate tensor from subscript it on the left side: the range of
// a plain index, a part of a run of indices, or the size of a mixed radix number such as h * D + d.
func (f *formula) dimOfLocal(it expr.Node, t *tensor, fr *frame) (elem, *expr.Error) {
	id, ok := it.(*expr.Ident)
	if !ok {
		return f.dimOfItem(it, t, fr)
	}
	bound := fr.indices(id.Name)
	if len(bound) != 1 || bound[0].part != (part{}) {
		return elem{}, f.noDim(it, t)
	}
	b := bound[0]
	if b.run != nil {
		return elem{rest: true, run: b.run}, nil
	}
	if lo, ok := b.los[0].Number(); !ok || lo != 0 {
		return elem{}, failf(it, expr.BadFormula, "%s begins at %s, but the elements of %s are numbered from 0", id.Name, plainName(b.los[0].String()), t.name)
	}
	n := b.his[0]
	if len(b.his) > 1 {
		n = f.extreme("min", b.his)
	}
	if !independent(&b.extent) {
		return elem{}, failf(it, expr.BadFormula, "how far %s ranges depends on other indices, so %s has no shape", id.Name, t.name)
	}
	return elem{n: n}, nil
}

// dimOfItem is dimOfLocal for a subscript that is an expression.
func (f *formula) dimOfItem(it expr.Node, t *tensor, fr *frame) (elem, *expr.Error) {
	switch n := it.(type) {
	case *expr.Binary:
		v, err := f.integer(it, fr)
		if err != nil {
			return elem{}, err
		}
		vars := f.indicesIn(item{node: it})
		for _, name := range vars {
			for _, b := range fr.indices(name) {
				if !independent(&b.extent) {
					return elem{}, f.noDim(it, t)
				}
			}
		}
		if size := f.radix(v.int, vars, fr); size != nil && len(vars) > 1 {
			return elem{n: size}, nil
		}
	case *expr.Call:
		if n.Func != "keep" && n.Func != "drop" && n.Func != "permute" {
			break
		}
		v, err := f.eval(it, fr, true)
		if err != nil {
			return elem{}, err
		}
		if v.kinds == kRun && v.run != nil && v.run.index {
			return elem{rest: true, run: v.run}, nil
		}
	}
	return elem{}, f.noDim(it, t)
}

// noDim returns the error for a subscript from which no dimension can be inferred.
func (f *formula) noDim(it expr.Node, t *tensor) *expr.Error {
	return failf(it, expr.BadFormula, "%s is no slot, so its shape follows from the left side: want an index by itself, got %s", t.name, f.source(it))
}

// sameShape reports whether two shapes are provably equal. Unknown elements match all.
func (f *formula) sameShape(a, b []elem) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].rest != b[i].rest || !f.matches(a[i], b[i]) {
			return false
		}
	}
	return true
}
