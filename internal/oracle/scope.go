package oracle

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// interval is the range of an index, or the ranges of those of a run.
type interval struct {
	lo, hi []int64
	run    bool
}

// frame holds the present value of an index that something goes over.
type frame struct {
	up     *frame
	name   string
	pos    int // in the run of that name; -1 if the name is no run's
	v      int64
	lo, hi int64
}

// scope is where names are looked up.
type scope struct {
	frames *frame
	params map[string]*argument // of the function around; nil outside
}

// argument is what a function was applied to. It is worked out where it is asked for, since a call stands for
// the expression.
type argument struct {
	node  expr.Node
	scope *scope
	index bool
	known bool
	value value
}

// with returns the scope in which an index has a value.
func (s *scope) with(it item, v int64) *scope {
	return &scope{&frame{s.frames, it.name, it.pos, v, it.lo, it.hi}, s.params}
}

// bound returns the present value of an index.
func (s *scope) bound(name string, pos int) *frame {
	for f := s.frames; f != nil; f = f.up {
		if f.pos == pos && f.name == name {
			return f
		}
	}
	return nil
}

// array is a tensor of the evaluation.
type array struct {
	kind  kind
	typ   dtype.Type // dtype.Invalid of a value of the formula's own
	shape []int
	reals []number
	ints  []value
	// varies says that the elements have gradients.
	varies bool
	given  bool   // whether the elements are there
	cells  *cells // of an array whose elements are worked out when one asks for them
	absent bool   // whether it stands for an absent slot, of which only the shape is known
}

func newArray(k kind, t dtype.Type, dims []int) *array {
	a := &array{kind: k, typ: t, shape: dims}
	if n := shape.Prod(dims); k == real {
		a.reals = make([]number, n)
	} else {
		a.ints = make([]value, n)
	}
	return a
}

// at returns an element.
func (a *array) at(i int) value {
	a.cells.ask(i)
	if a.kind == real {
		return realValue(a.reals[i])
	}
	return a.ints[i]
}

// set stores an element.
func (a *array) set(i int, v value) {
	switch a.kind {
	case real:
		n := v.number()
		if a.typ != dtype.Invalid && !short(n.v) {
			n.err += abs(n.v)
		}
		a.reals[i] = n
	case boolean:
		a.ints[i] = v
	default:
		if v.kind == real {
			fail("want an integer, got a real number")
		}
		if a.typ != dtype.Invalid {
			v = wrapped(v, a.typ)
		}
		v.kind = integer
		a.ints[i] = v
	}
}

// place returns the row-major number of an index, or -1 if it lies outside.
func (a *array) place(idx []int64) int {
	out := 0
	for d, i := range idx {
		if i < 0 || i >= int64(a.shape[d]) {
			return -1
		}
		out = out*a.shape[d] + int(i)
	}
	return out
}

// name returns what a name stands for.
func (e *evaluation) name(name string, s *scope) value {
	if a, ok := s.params[name]; ok {
		if !a.known {
			a.value, a.known = e.value(a.node, a.scope, a.index), true
		}
		return a.value
	}
	if v, ok := e.attrs[name]; ok {
		return v
	}
	if a, ok := e.arrays[name]; ok && e.slots[name] == nil && len(a) == 1 && len(a[0].shape) == 0 {
		return a[0].at(0)
	}
	if f := s.bound(name, -1); f != nil {
		return whole(f.v)
	}
	if e.hasRange(name) {
		v := e.index(name, s)
		if v.kind != list {
			fail("nothing goes over %s", name)
		}
		return v
	}
	if v, ok := e.values[name]; ok {
		return v
	}
	if a, ok := e.arrays[name]; ok && len(a) == 1 {
		if len(a[0].shape) > 0 {
			fail("want an index behind %s", name)
		}
		return e.element(a[0], 0, name)
	}
	if t, err := dtype.Parse(name); err == nil {
		return textValue(t.String())
	}
	fail("%s is not defined", name)
	return value{}
}

// base returns the name of an index without primes.
func base(name string) string { return strings.TrimRight(name, "'") }

// hasRange reports whether a name is that of an index.
func (e *evaluation) hasRange(name string) bool {
	_, ok := e.ranges[base(name)]
	return ok || e.dims[base(name)] != ""
}

// rangeOf returns the range of an index.
func (e *evaluation) rangeOf(name string, s *scope) interval {
	if x, ok := e.ranges[base(name)]; ok {
		return x
	}
	dim := e.dims[base(name)]
	v := e.values[dim]
	if lists, ok := e.lists[dim]; ok {
		f := s.bound("i", -1)
		if f == nil {
			fail("each tensor has a %s of its own: want i beside %s", dim, name)
		}
		v = lists[f.v]
	}
	var x interval
	switch v.kind {
	case list:
		x.run = true
		for _, it := range v.items() {
			x.lo, x.hi = append(x.lo, 0), append(x.hi, it.integer())
		}
	case integer:
		x.lo, x.hi = []int64{0}, []int64{v.i}
	default:
		fail("%s has no range", name)
	}
	return x
}

// index returns the index, or the run of them, of a name. One that nothing goes over has no value.
func (e *evaluation) index(name string, s *scope) value {
	x := e.rangeOf(name, s)
	items := make([]item, len(x.lo))
	for j := range x.lo {
		it := item{name: name, pos: j, lo: x.lo[j], hi: x.hi[j]}
		if !x.run {
			it.pos = -1
		}
		if f := s.bound(name, it.pos); f != nil {
			it.value, it.bound, it.lo, it.hi = whole(f.v), true, f.lo, f.hi
		} else {
			it.value = value{kind: absent}
		}
		items[j] = it
	}
	if x.run {
		return listOf(items, true)
	}
	return value{kind: integer, x: &extra{items: items, index: true}}
}

// indexItems returns the indices of a list of expressions, in which runs stand for all of theirs.
func (e *evaluation) indexItems(nodes []expr.Node, s *scope) []item {
	var out []item
	for _, n := range nodes {
		out = append(out, e.itemsOf(n, s)...)
	}
	return out
}

func (e *evaluation) itemsOf(n expr.Node, s *scope) []item {
	if id, ok := n.(*expr.Ident); ok {
		if a := s.params[id.Name]; a != nil {
			return e.itemsOf(a.node, a.scope)
		}
		if _, isAttr := e.attrs[id.Name]; !isAttr && e.arrays[id.Name] == nil {
			if f := s.bound(id.Name, -1); f != nil {
				return []item{{value: whole(f.v), name: id.Name, pos: -1, lo: f.lo, hi: f.hi, bound: true}}
			}
			if e.hasRange(id.Name) {
				return e.index(id.Name, s).x.items
			}
		}
	}
	if r, ok := n.(*expr.Read); ok && e.arrays[r.Name] == nil && e.slots[r.Name] == nil {
		if v := e.partOf(r, s); v.kind == list {
			return v.x.items
		} else if v.kind == integer {
			return []item{{value: whole(v.integer()), pos: -1}}
		}
	}
	v := e.value(n, s, true)
	if v.kind == list {
		return v.x.items
	}
	if v.kind != integer {
		fail("want an index, got %v", v.kind)
	}
	return []item{{value: whole(v.integer()), pos: -1}}
}

// coordinates returns the values of indices, over all of which something goes.
func coordinates(items []item) []int64 {
	out := make([]int64, len(items))
	for i, it := range items {
		if it.name != "" && !it.bound {
			fail("nothing goes over %s", it.name)
		}
		if it.value.kind != integer {
			fail("want an index, got %v", it.value.kind)
		}
		out[i] = it.value.integer()
	}
	return out
}

// shapeOf returns the extents that elements of a shape stand for. s tells the number of the tensor.
func (e *evaluation) shapeOf(elements []shapeElement, s *scope) []int {
	dims := []int{}
	for _, x := range elements {
		v := e.value(x.node, s, true)
		if v.kind == list {
			for _, it := range v.items() {
				dims = append(dims, int(it.integer()))
			}
		} else {
			dims = append(dims, int(v.integer()))
		}
	}
	return dims
}

// shapeElement is a dimension of a shape, or a run of them.
type shapeElement struct {
	node expr.Node
	run  bool
}

// elementsOf reads a shape as a spec writes it.
func elementsOf(text string) []shapeElement {
	var out []shapeElement
	for _, t := range shape.Elements(text) {
		t = strings.TrimPrefix(t, "_ <= ")
		plain, run := strings.CutSuffix(t, "...")
		n, err := expr.Parse(plain)
		if err != nil {
			fail("shape %s: %v", text, err)
		}
		out = append(out, shapeElement{n, run})
	}
	return out
}

// listed returns the dimensions in shapes of which each tensor of a variadic slot has its own.
func listed(elements []shapeElement) []string {
	var out []string
	for _, x := range elements {
		if i, ok := x.node.(*expr.Index); ok {
			if id, ok := i.X.(*expr.Ident); ok && !slices.Contains(out, id.Name) {
				out = append(out, id.Name)
			}
		}
	}
	return out
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}
