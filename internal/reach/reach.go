// Package reach finds the elements on which an element of a result depends, according to a formula in a use
// of its operator.
package reach

import (
	"maps"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/shape"
)

// Use says whether the result depends on an element.
type Use uint8

// The kinds of dependence, in ascending order.
const (
	Unused Use = iota
	Maybe      // it depends on the values of other elements
	Used
)

// Elements holds the use of each element, by tensor and row-major flat index.
type Elements map[int][]Use

// most bounds the terms and elements visited.
const most = 1 << 17

// Of returns the elements of undefined tensors (inputs, weights and old values) on which the element of
// tensor at index depends. ok is false if there are too many to visit, or if a range depends on the values
// of elements.
func Of(p *program.Program, tensor int, index []int) (all Elements, ok bool) {
	w := &walker{p: p, all: Elements{}, seen: map[visit]Use{}, left: most}
	w.element(tensor, index, Used)
	return w.all, w.left > 0
}

// visit is the key of a visited element that statements define. An index of -1 stands for all.
type visit struct {
	tensor int
	index  string
}

// walker is the state of the search for one element.
type walker struct {
	p    *program.Program
	all  Elements
	seen map[visit]Use
	left int
}

// known maps variables to their values.
type known map[*term.Variable]int

// element marks an element, or visits its definition. An index of -1 stands for all.
func (w *walker) element(t int, index []int, how Use) {
	l := w.p.Tensors[t]
	if l.Old >= 0 {
		t, l = l.Old, w.p.Tensors[l.Old]
	} else if l.Given {
		w.given(t, index, how)
		return
	}
	dims := extents(l.Shape)
	uses := w.all[t]
	if uses == nil {
		uses = make([]Use, shape.Prod(dims))
		w.all[t] = uses
	}
	for number := range uses {
		at := shape.Index(number, dims)
		if !slices.ContainsFunc(index, func(i int) bool { return i < 0 }) {
			if slices.Equal(at, index) {
				uses[number] = max(uses[number], how)
				return
			}
			continue
		}
		if w.left--; w.left <= 0 {
			return
		}
		same := true
		for d, i := range index {
			same = same && (i < 0 || i == at[d])
		}
		if same {
			uses[number] = max(uses[number], min(how, Maybe))
		}
	}
}

// given visits the statements that define an element.
func (w *walker) given(t int, index []int, how Use) {
	key := visit{t, shape.Format(index)}
	if w.seen[key] >= how || w.left <= 0 {
		return
	}
	w.seen[key] = how
	for _, s := range w.p.Statements {
		if s.Target != t {
			continue
		}
		values, how, gives := known{}, how, true
		for d, x := range s.Left.Idx {
			n, isNumber := x.Known()
			switch {
			case s.Left.ByNumber || index[d] < 0:
			case isNumber:
				gives = gives && n == index[d]
			case x.Op == term.Index:
				values[x.Var] = index[d]
			default:
				how = Maybe
			}
		}
		if s.Left.ByNumber && len(s.Left.Idx) == 1 && s.Left.Idx[0].Op == term.Index && !slices.Contains(index, -1) {
			number := 0
			for d, n := range extents(w.p.Tensors[t].Shape) {
				number = number*n + index[d]
			}
			values[s.Left.Idx[0].Var] = number
		}
		if gives {
			w.loop(s.Vars, values, func(v known) { w.value(s.Value, v, how) })
		}
	}
}

// loop calls visit for all values of the variables that are not in values.
func (w *walker) loop(vars []*term.Variable, values known, visit func(known)) {
	if len(vars) == 0 {
		visit(values)
		return
	}
	if _, ok := values[vars[0]]; ok {
		w.loop(vars[1:], values, visit)
		return
	}
	lo, ok := integer(vars[0].Lo, values)
	hi, both := integer(vars[0].Hi, values)
	if !ok || !both {
		w.left = 0
	}
	inner := maps.Clone(values)
	for i := lo; i < hi && w.left > 0; i++ {
		w.left--
		inner[vars[0]] = i
		w.loop(vars[1:], inner, visit)
	}
}

// value visits the elements that a term reads. It evaluates conditions that depend on indices only.
func (w *walker) value(n *term.Term, values known, how Use) {
	if n == nil || w.left <= 0 {
		return
	}
	w.left--
	switch n.Op {
	case term.Element:
		w.read(n.Read, values, how)
	case term.Reduce:
		r := n.Reduction
		w.loop(r.Vars, values, func(v known) {
			how := how
			if r.Guard != nil {
				w.value(r.Guard, v, how)
				switch holds, sure := truth(r.Guard, v); {
				case !sure:
					how = Maybe
				case !holds:
					return
				}
			}
			w.value(r.Body, v, how)
		})
		for _, x := range r.At {
			w.value(x, values, how)
		}
	case term.Choose:
		w.value(n.Args[0], values, how)
		holds, sure := truth(n.Args[0], values)
		if !sure {
			how = Maybe
		}
		if !sure || holds {
			w.value(n.Args[1], values, how)
		}
		if !sure || !holds {
			w.value(n.Args[2], values, how)
		}
	default:
		for _, x := range n.Args {
			w.value(x, values, how)
		}
	}
}

// read visits the element of a read, and the elements that its subscripts read.
func (w *walker) read(r *term.Read, values known, how Use) {
	index := make([]int, len(r.Idx))
	for d, x := range r.Idx {
		w.value(x, values, how)
		i, ok := integer(x, values)
		if !ok {
			i = -1
		} else if e, _ := r.Ext[min(d, len(r.Ext)-1)].Known(); !r.ByNumber && (i < 0 || i >= e) {
			w.value(r.Else, values, how)
			return
		}
		index[d] = i
	}
	if r.Else != nil && slices.Contains(index, -1) {
		w.value(r.Else, values, Maybe)
	}
	first, count := r.Tensor, 1
	if r.Which != nil {
		w.value(r.Which, values, how)
		if k, ok := integer(r.Which, values); ok {
			first += k
		} else {
			count, how = r.Count, Maybe
		}
	}
	for t := first; t < first+count; t++ {
		own := extents(w.p.Tensors[t].Shape)
		switch {
		case r.ByNumber || len(own) != len(index):
			w.numbered(t, r, index, own, how)
		default:
			w.element(t, index, how)
		}
	}
}

// numbered visits an element with a flat index.
func (w *walker) numbered(t int, r *term.Read, index, own []int, how Use) {
	number := 0
	for d, i := range index {
		if i < 0 {
			any := slices.Repeat([]int{-1}, len(own))
			w.element(t, any, Maybe)
			return
		}
		e, _ := r.Ext[d].Known()
		number = number*e + i
	}
	if number < shape.Prod(own) {
		w.element(t, shape.Index(number, own), how)
	}
}

// extents returns the values of extents.
func extents(dims []*term.Term) []int {
	out := make([]int, len(dims))
	for i, d := range dims {
		out[i], _ = d.Known()
	}
	return out
}

// integer evaluates an integer. ok is false if it depends on elements.
func integer(n *term.Term, values known) (v int, ok bool) {
	if v, ok := n.Known(); ok {
		return v, true
	}
	switch n.Op {
	case term.Index:
		v, ok = values[n.Var]
		return v, ok
	case term.Choose:
		holds, sure := truth(n.Args[0], values)
		switch {
		case !sure:
			return 0, false
		case holds:
			return integer(n.Args[1], values)
		}
		return integer(n.Args[2], values)
	case term.Element, term.Reduce:
		return 0, false
	}
	to := map[*term.Variable]*term.Term{}
	for v, i := range values {
		to[v] = term.Number(i)
	}
	x := n.Substitute(to)
	if x.Kind != term.Integer || x.Reads() {
		return 0, false
	}
	return term.Norm(x).Known()
}

// truth evaluates a condition. sure is false if it depends on elements.
func truth(n *term.Term, values known) (holds, sure bool) {
	switch n.Op {
	case term.Constant:
		return n.Truth()
	case term.Not:
		holds, sure = truth(n.Args[0], values)
		return !holds, sure
	case term.And, term.Or:
		x, first := truth(n.Args[0], values)
		y, second := truth(n.Args[1], values)
		decides := n.Op == term.Or // the operand value that decides: true for ||
		if first && x == decides || second && y == decides {
			return decides, true
		}
		return !decides, first && second
	case term.Equal, term.Unequal, term.Less, term.AtMost:
		x, first := integer(n.Args[0], values)
		y, second := integer(n.Args[1], values)
		if n.Args[0].Kind != term.Integer || n.Args[1].Kind != term.Integer || !first || !second {
			return false, false
		}
		return map[term.Op]bool{term.Equal: x == y, term.Unequal: x != y, term.Less: x < y, term.AtMost: x <= y}[n.Op], true
	}
	return false, false
}
