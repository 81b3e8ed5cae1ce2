package oracle

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// nameOf returns the name of a target.
func nameOf(target expr.Node) string {
	if r, ok := target.(*expr.Read); ok {
		return r.Name
	}
	return target.(*expr.Ident).Name
}

// run computes the statements of a formula.
func (e *evaluation) run(f *expr.Formula, source string) {
	for i, st := range f.Statements {
		e.line, _, _ = strings.Cut(source[st.Pos:], "\n")
		if !e.begun[st] {
			e.statement(st, f.Statements[i+1:])
		}
		if e.begun[st] {
			e.finish(st)
		}
	}
}

// statement computes a statement, if its condition holds and its targets are there. Statements that follow
// tell whether what it gives is needed, though its slot is absent.
func (e *evaluation) statement(st *expr.Statement, following []*expr.Statement) {
	e.memo = map[string]value{}
	s := &scope{}
	if st.When != nil && !e.value(st.When, s, false).truth() {
		return
	}
	if !e.wanted(st, following) {
		return
	}
	if group := e.ahead(st, following); group != nil {
		e.begin(group)
		return
	}
	e.note(st.X, map[*expr.Function]bool{})
	name, count := e.each(st)
	if name == "" {
		e.targets(st, s)
		return
	}
	for i := range count {
		e.memo = map[string]value{}
		e.targets(st, s.with(item{name: name, pos: -1, lo: 0, hi: int64(count)}, int64(i)))
	}
}

func (e *evaluation) wanted(st *expr.Statement, following []*expr.Statement) bool {
	for _, t := range st.Targets {
		name := nameOf(t)
		if strings.HasPrefix(name, "grad.") {
			return e.slots[name] != nil && len(e.slots[name].Tensors) > 0
		}
		if sl := e.slots[name]; sl == nil || len(sl.Tensors) > 0 {
			return true
		}
		for _, f := range following {
			used := false
			expr.Walk(f.X, func(n expr.Node) {
				switch n := n.(type) {
				case *expr.Read:
					used = used || n.Name == name
				case *expr.Ident:
					used = used || n.Name == name
				}
			})
			if used {
				return true
			}
		}
	}
	return false
}

// note keeps the ranges that reductions give to indices that are no dimension's, for the rest of the formula.
func (e *evaluation) note(n expr.Node, seen map[*expr.Function]bool) {
	expr.Walk(n, func(m expr.Node) {
		switch m := m.(type) {
		case *expr.Call:
			if f := e.called(m.Func); f != nil && !seen[f] {
				seen[f] = true
				e.note(f.X, seen)
			}
		case *expr.Reduce:
			for _, b := range m.Binders {
				id, ok := b.X.(*expr.Ident)
				if !ok || b.Hi == nil || e.hasRange(id.Name) {
					continue
				}
				e.tries(func() {
					lo, hi := e.rangeIn(b, &scope{})
					e.ranges[base(id.Name)] = interval{lo: []int64{lo}, hi: []int64{hi}}
				})
			}
		}
	})
}

// tries does what may fail, as a range that depends on what is not known yet does.
func (e *evaluation) tries(f func()) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(failure); !ok {
				panic(r)
			}
		}
	}()
	f()
}

// each returns the name that stands for the number of a tensor, for which a statement is repeated, and how
// often.
func (e *evaluation) each(st *expr.Statement) (string, int) {
	if r, ok := st.Targets[0].(*expr.Read); ok && e.slots[r.Name] != nil {
		if name := tensorName(r); name != "" {
			return name, len(e.slots[r.Name].Tensors)
		}
	}
	count := -1
	expr.Walk(st.X, func(n expr.Node) {
		r, ok := n.(*expr.Read)
		if ok && tensorName(r) == "i" && e.slots[r.Name] != nil && len(listed(e.elements[r.Name])) > 0 {
			count = len(e.slots[r.Name].Tensors)
		}
	})
	if count < 0 {
		return "", 0
	}
	return "i", count
}

// tensorName returns the name that numbers the tensor of x[i][...], or nothing.
func tensorName(r *expr.Read) string {
	if len(r.Groups) != 2 || len(r.Groups[0]) != 1 {
		return ""
	}
	id, ok := r.Groups[0][0].(*expr.Ident)
	if !ok {
		return ""
	}
	return id.Name
}

// targets computes the elements of a statement's targets. Several share an argmax, of which each takes an
// index.
func (e *evaluation) targets(st *expr.Statement, s *scope) {
	for _, b := range st.For {
		lo, hi := e.rangeIn(b, s)
		e.ranges[base(nameOf(b.X))] = interval{lo: []int64{lo}, hi: []int64{hi}}
	}
	made := map[string]*array{}
	var stored []func()
	for part, t := range st.Targets {
		name := nameOf(t)
		var nodes []expr.Node
		if r, ok := t.(*expr.Read); ok {
			nodes = r.Groups[len(r.Groups)-1]
		}
		number, byNumber := numberOf(nodes)
		a, at := e.destination(t, s)
		e.rangesOfLeft(name, nodes, a, s)
		if byNumber {
			nodes = number.Items
		}
		vars := e.variables(nodes, s)
		switch {
		case a == nil:
			a = newArray(e.kindOf(st.X, e.sample(vars, s), false), dtype.Invalid, e.ownShape(nodes, vars, s))
		case a.absent:
			a = newArray(e.kindOf(st.X, e.sample(vars, s), false), dtype.Invalid, a.shape)
		default:
			a = a.copied()
		}
		a.given = true
		made[name] = a
		stored = append(stored, func() {
			if e.arrays[name] == nil {
				e.arrays[name] = make([]*array, at+1)
			}
			e.arrays[name][at] = a
		})
		e.loop(vars, s, nil, func(s *scope, _ []item) {
			items := e.indexItems(nodes, s)
			place := 0
			if byNumber {
				place = int(rowMajor(items))
			} else if place = a.place(coordinates(items)); place < 0 {
				fail("%s is given outside of its shape %v", name, a.shape)
			}
			a.set(place, e.stored(a, e.partOfTarget(st, e.value(st.X, s, false), part)))
			if a.kind == real {
				a.varies = a.varies || a.reals[place].varies
			}
		})
		if a.kind == real {
			a.varies = a.varies || e.differs([]expr.Node{st.X}, s) != never
		}
	}
	for _, store := range stored {
		store()
	}
}

// sample returns a scope in which variables have some value, for what kinds do not depend on.
func (e *evaluation) sample(vars []item, s *scope) *scope {
	for _, v := range vars {
		s = s.with(v, v.lo)
	}
	return s
}

// copied returns an array with the same elements, so that a statement reads what was there before it.
func (a *array) copied() *array {
	out := *a
	out.reals, out.ints = slices.Clone(a.reals), slices.Clone(a.ints)
	return &out
}

// destination returns the tensor that a target gives, and its number in its slot; nil for a value of the
// formula's own that nothing gave before. A slot that is absent has no elements yet: its kind is that of the
// value.
func (e *evaluation) destination(t expr.Node, s *scope) (*array, int) {
	name := nameOf(t)
	at := 0
	if sl := e.slots[name]; sl != nil && sl.Variadic {
		at = int(e.value(t.(*expr.Read).Groups[0][0], s, true).integer())
		if at < 0 || at >= len(sl.Tensors) {
			fail("%s has no tensor %d", name, at)
		}
	}
	if l := e.arrays[name]; len(l) > at && l[at] != nil {
		return l[at], at
	}
	if sl := e.slots[name]; sl != nil { // absent, but needed
		if len(sl.Tensors) > at {
			t := sl.Tensors[at]
			return newArray(kindOf(t.Type), t.Type, t.Shape), at
		}
		return &array{absent: true, shape: e.shapeOf(e.elements[name], s)}, at
	}
	return nil, at
}

// rangesOfLeft gives names that stand alone on the left, and have no range, that of the slot's shape.
func (e *evaluation) rangesOfLeft(name string, nodes []expr.Node, a *array, s *scope) {
	if n, ok := numberOf(nodes); ok {
		if id, ok := n.Items[0].(*expr.Ident); ok && len(n.Items) == 1 && !e.hasRange(id.Name) && s.bound(id.Name, -1) == nil {
			if a == nil {
				fail("what %s ranges over cannot be told", id.Name)
			}
			e.ranges[base(id.Name)] = interval{lo: []int64{0}, hi: []int64{int64(shape.Prod(a.shape))}}
		}
		return
	}
	elements := e.elements[name]
	own := len(listed(elements)) > 0
	for j, n := range nodes {
		id, ok := n.(*expr.Ident)
		if !ok || e.slots[name] == nil || s.bound(id.Name, -1) != nil || e.hasRange(id.Name) && !e.perTensor[id.Name] {
			continue
		}
		if len(nodes) != len(elements) {
			fail("what %s ranges over cannot be told", id.Name)
		}
		x := interval{run: elements[j].run}
		for _, n := range e.shapeOf(elements[j:j+1], s) {
			x.lo, x.hi = append(x.lo, 0), append(x.hi, int64(n))
		}
		e.ranges[base(id.Name)], e.perTensor[id.Name] = x, own
	}
}

// ownShape returns the shape of a value of the formula's own: the ranges of its indices, and one more than
// the greatest value of an expression such as h * D + d.
func (e *evaluation) ownShape(nodes []expr.Node, vars []item, s *scope) []int {
	dims := []int{}
	var computed []int // dimensions
	for d, it := range e.indexItems(nodes, e.sample(vars, s)) {
		dims = append(dims, int(max(it.hi, 0)))
		if it.name == "" {
			dims[d] = 0
			computed = append(computed, d)
		}
	}
	if computed != nil {
		e.loop(vars, s, nil, func(s *scope, _ []item) {
			at := coordinates(e.indexItems(nodes, s))
			for _, d := range computed {
				dims[d] = max(dims[d], int(at[d])+1)
			}
		})
	}
	return dims
}

// variables lists the indices of expressions over which nothing goes yet, each once.
func (e *evaluation) variables(nodes []expr.Node, s *scope) []item {
	var out []item
	add := func(items []item) {
		for _, it := range items {
			if it.name != "" && !it.bound && !slices.ContainsFunc(out, func(o item) bool { return o.name == it.name && o.pos == it.pos }) {
				out = append(out, it)
			}
		}
	}
	var visit func(n expr.Node)
	visit = func(n expr.Node) {
		switch n := n.(type) {
		case *expr.Ident:
			if _, isAttr := e.attrs[n.Name]; !isAttr && s.bound(n.Name, -1) == nil && e.hasRange(n.Name) {
				add(e.index(n.Name, s).x.items)
			}
		case *expr.Read:
			if e.hasRange(n.Name) {
				add(e.itemsOf(n, s))
				return
			}
			for _, g := range n.Groups {
				for _, x := range g {
					visit(x)
				}
			}
		case *expr.Call:
			if slices.Contains([]string{"keep", "drop", "ones", "insert", "permute", "fit"}, n.Func) {
				add(e.itemsOf(n, s))
				return
			}
			for _, a := range n.Args {
				visit(a)
			}
		case *expr.Unary:
			visit(n.X)
		case *expr.Binary:
			visit(n.X)
			visit(n.Y)
		case *expr.Slice:
			visit(n.Lo)
			visit(n.Hi)
		case *expr.Number:
			for _, x := range n.Items {
				visit(x)
			}
		}
	}
	for _, n := range nodes {
		visit(n)
	}
	return out
}
