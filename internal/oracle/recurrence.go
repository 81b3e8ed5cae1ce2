package oracle

import (
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/dtype"
)

// cells are the elements of an array that are worked out when one asks for them, each once. So statements may
// read what they give, and what statements below give, in any order in which it can be given.
type cells struct {
	e      *evaluation
	scopes []*scope // by element: the indices at which it is given; nil of one that is not
	state  []asked
	give   func(i int, s *scope)
}

// asked says whether an element was asked for.
type asked uint8

const (
	unasked asked = iota
	open          // it is worked out now
	settled
)

// ask works out an element.
func (c *cells) ask(i int) {
	switch {
	case c == nil || c.state[i] == settled:
		return
	case c.state[i] == open:
		fail("an element needs itself")
	case c.scopes[i] == nil:
		fail("an element is read that is not given")
	}
	if len(c.e.asked) == deepest {
		panic(place{c, i})
	}
	c.state[i] = open
	c.e.asked = append(c.e.asked, place{c, i})
	c.give(i, c.scopes[i])
	c.e.asked = c.e.asked[:len(c.e.asked)-1]
	c.state[i] = settled
}

// place is an element of cells. One that needs others too deep for the stack is thrown.
type place struct {
	c *cells
	i int
}

// deepest is how deep elements may need others before what they need is worked out first.
const deepest = 500

// settle works out an element, and first those that it needs too deep.
func (e *evaluation) settle(p place) {
	for pending := []place{p}; len(pending) > 0; {
		if deep, again := e.attempt(pending[len(pending)-1]); again {
			pending = append(pending, deep)
		} else {
			pending = pending[:len(pending)-1]
		}
	}
}

// attempt works out an element, unless it needs another one too deep, which it returns.
func (e *evaluation) attempt(p place) (deep place, again bool) {
	memo, line, depth := e.memo, e.line, e.depth
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if deep, again = r.(place); !again {
			panic(r)
		}
		for _, a := range e.asked {
			a.c.state[a.i] = unasked
		}
		e.asked, e.memo, e.line, e.depth = nil, memo, line, depth
	}()
	p.c.ask(p.i)
	return place{}, false
}

// ahead lists a statement and those behind it on which it depends, if one of these is itself: the statements
// that have to be worked out together.
func (e *evaluation) ahead(st *expr.Statement, following []*expr.Statement) []*expr.Statement {
	out := []*expr.Statement{st}
	recurs := false
	for i := 0; i < len(out); i++ {
		names := map[string]bool{}
		e.mentions(out[i].X, names, 0)
		for _, other := range append([]*expr.Statement{st}, following...) {
			if !slices.ContainsFunc(other.Targets, func(t expr.Node) bool { return names[nameOf(t)] && !e.there(nameOf(t)) }) {
				continue
			}
			recurs = recurs || other == st
			if !slices.Contains(out, other) && !e.begun[other] && (other.When == nil || e.value(other.When, &scope{}, false).truth()) {
				out = append(out, other)
			}
		}
	}
	if !recurs {
		return nil
	}
	return out
}

// there reports whether a tensor has its elements.
func (e *evaluation) there(name string) bool {
	l := e.arrays[name]
	return len(l) > 0 && l[0] != nil && l[0].given
}

// mentions adds the names in an expression, and in the functions that it applies.
func (e *evaluation) mentions(n expr.Node, names map[string]bool, depth int) {
	expr.Walk(n, func(n expr.Node) {
		switch n := n.(type) {
		case *expr.Ident:
			names[n.Name] = true
		case *expr.Read:
			names[n.Name] = names[n.Name] || !n.Old
		case *expr.Call:
			if f := e.called(n.Func); f != nil && depth < maxDepth {
				own := map[string]bool{}
				e.mentions(f.X, own, depth+1)
				for _, p := range f.Params {
					delete(own, p.Name)
				}
				for name := range own {
					names[name] = true
				}
			}
		}
	})
}

// begin makes the arrays of statements whose elements are worked out when one asks for them.
func (e *evaluation) begin(group []*expr.Statement) {
	type part struct {
		st   *expr.Statement
		vars []item
		a    *array
	}
	var parts []part
	for _, st := range group { // a line may give an index of lines above its range
		for _, b := range st.For {
			e.tries(func() {
				lo, hi := e.rangeIn(b, &scope{})
				e.ranges[base(nameOf(b.X))] = interval{lo: []int64{lo}, hi: []int64{hi}}
			})
		}
		for _, t := range st.Targets {
			if r, ok := t.(*expr.Read); ok && len(r.Groups) == 1 {
				e.tries(func() {
					a, _ := e.destination(t, &scope{})
					e.rangesOfLeft(r.Name, r.Groups[0], a, &scope{})
				})
			}
		}
	}
	for _, st := range group {
		e.begun[st] = true
		e.note(st.X, map[*expr.Function]bool{})
		s, memo := &scope{}, map[string]value{}
		for _, b := range st.For {
			lo, hi := e.rangeIn(b, s)
			e.ranges[base(nameOf(b.X))] = interval{lo: []int64{lo}, hi: []int64{hi}}
		}
		for number, t := range st.Targets {
			r, ok := t.(*expr.Read)
			if !ok || len(r.Groups) != 1 {
				fail("%s is read before it is given", nameOf(t))
			}
			nodes := r.Groups[0]
			a, _ := e.destination(t, s)
			e.rangesOfLeft(r.Name, nodes, a, s)
			vars := e.variables(nodes, s)
			switch {
			case a == nil:
				a = newArray(integer, dtype.Invalid, e.ownShape(nodes, vars, s))
			case a.absent:
				a = newArray(integer, dtype.Invalid, a.shape)
			}
			a.given, a.cells = true, &cells{e: e, scopes: make([]*scope, a.size()), state: make([]asked, a.size())}
			e.loop(vars, s, nil, func(s *scope, _ []item) {
				place := a.place(coordinates(e.indexItems(nodes, s)))
				if place < 0 {
					fail("%s is given outside of its shape %v", r.Name, a.shape)
				}
				a.cells.scopes[place] = s
			})
			a.cells.give = func(i int, s *scope) {
				outer, line := e.memo, e.line
				e.memo = memo
				a.set(i, e.stored(a, e.partOfTarget(st, e.value(st.X, s, false), number)))
				if a.kind == real {
					a.varies = a.varies || a.reals[i].varies
				}
				e.memo, e.line = outer, line
			}
			e.arrays[r.Name] = []*array{a}
			parts = append(parts, part{st, vars, a})
		}
	}
	for range 2 * len(parts) { // kinds, and whether there are gradients, follow from those of others
		for _, p := range parts {
			s := e.sample(p.vars, &scope{})
			if p.a.typ == dtype.Invalid {
				if k := e.kindOf(p.st.X, s, false); k != p.a.kind {
					n := newArray(k, dtype.Invalid, p.a.shape)
					p.a.kind, p.a.reals, p.a.ints = n.kind, n.reals, n.ints
				}
			}
			p.a.varies = p.a.varies || p.a.kind == real && e.differs([]expr.Node{p.st.X}, s) != never
		}
	}
}

// finish works out all elements of what a statement gives.
func (e *evaluation) finish(st *expr.Statement) {
	for _, t := range st.Targets {
		for _, a := range e.arrays[nameOf(t)] {
			for i := range a.cells.state {
				e.settle(place{a.cells, i})
			}
		}
	}
}

// partOfTarget returns what one of several targets of a statement takes of its value.
func (e *evaluation) partOfTarget(st *expr.Statement, v value, part int) value {
	if st.Pair() != nil {
		return v.x.items[part].value
	}
	if len(st.Targets) > 1 {
		unsure := v.unsure
		v = v.x.items[part].value
		v.kind, v.unsure = integer, unsure
	}
	return v
}
