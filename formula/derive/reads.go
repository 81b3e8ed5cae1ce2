package derive

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/region"
)

// Anywhere stands for a subscript that depends on values of tensors: it may be any index of the axis.
const Anywhere = math.MinInt

// Reads enumerates the elements on which elements of results depend, for the extents of a use.
type Reads struct {
	p *program.Program
	// given maps a tensor to the statements that define it.
	given map[int][]*program.Statement
	// outside reports whether elements of a tensor are visited, and not followed to the statements that
	// define them.
	outside func(tensor int) bool
	visit   func(tensor int, at []int)
	seen    map[string]bool // elements of other tensors that were followed so far
	left    int             // combinations of indices that may still be tried
}

// NewReads returns an enumeration of the elements that statements read. It calls visit for elements of
// tensors for which outside holds, and follows other elements to the statements that define them. It tries at
// most most combinations of indices, and then stops without an error.
func NewReads(p *program.Program, statements []*program.Statement, most int, outside func(tensor int) bool, visit func(tensor int, at []int)) *Reads {
	r := &Reads{p: p, given: map[int][]*program.Statement{}, outside: outside, visit: visit, left: most}
	for _, s := range statements {
		r.given[s.Target] = append(r.given[s.Target], s)
	}
	return r
}

// Of visits the elements on which the elements in a box of a tensor depend. For an index that is a subscript
// of the tensor by itself, it tries the first and the last value in the box only, since subscripts are mostly
// affine.
func (r *Reads) Of(tensor int, box region.Box) {
	r.seen = map[string]bool{}
	r.define(tensor, box)
}

// define visits what the statements that define tensor read for the elements in box.
func (r *Reads) define(tensor int, box region.Box) {
	for _, s := range r.given[tensor] {
		ends := map[*term.Variable][2]int{}
		if !s.Left.ByNumber {
			for d, i := range s.Left.Idx {
				if i.Op == term.Index && d < len(box.Lo) {
					ends[i.Var] = [2]int{box.Lo[d], box.Hi[d] - 1}
				}
			}
		}
		values := map[*term.Variable]*term.Term{}
		r.each(s.Vars, ends, values, func() {
			at, certain := r.place(s.Left, values)
			if !certain || !within(box, at) || s.Guard != nil && r.holds(s.Guard, values) == no {
				return
			}
			r.value(s.Guard, values)
			r.value(s.Value, values)
		})
	}
}

func within(b region.Box, at []int) bool {
	for d, i := range at {
		if d >= len(b.Lo) || i < b.Lo[d] || i >= b.Hi[d] {
			return false
		}
	}
	return true
}

// each calls f for all combinations of values of vars. Of a variable in ends, it tries those two values only.
func (r *Reads) each(vars []*term.Variable, ends map[*term.Variable][2]int, values map[*term.Variable]*term.Term, f func()) {
	if len(vars) == 0 {
		r.left--
		f()
		return
	}
	v := vars[0]
	lo, known := integer(v.Lo, values)
	hi, both := integer(v.Hi, values)
	if !known || !both {
		return
	}
	try := func(i int) {
		if i >= lo && i < hi {
			values[v] = term.Number(i)
			r.each(vars[1:], ends, values, f)
			delete(values, v)
		}
	}
	if e, ok := ends[v]; ok {
		if try(e[0]); e[1] > e[0] {
			try(e[1])
		}
		return
	}
	for i := lo; i < hi && r.left > 0; i++ {
		try(i)
	}
}

// integer evaluates an integer at values of its variables. It returns false if the integer depends on more
// than these.
func integer(n *term.Term, values map[*term.Variable]*term.Term) (int, bool) {
	if i, ok := n.Known(); ok {
		return i, true
	}
	return term.Norm(n.Substitute(values)).Known()
}

// truth is the value of a condition in three-valued logic.
type truth int

const (
	maybe truth = iota
	yes
	no
)

// holds evaluates a condition at values of its variables.
func (r *Reads) holds(n *term.Term, values map[*term.Variable]*term.Term) truth {
	switch v, known := n.Substitute(values).Truth(); {
	case !known:
		return maybe
	case v:
		return yes
	}
	return no
}

// place evaluates the subscripts of an element, from a flat index if the element has one. A subscript that
// depends on tensors is Anywhere. certain is false if another subscript is unknown.
func (r *Reads) place(x *term.Read, values map[*term.Variable]*term.Term) (at []int, certain bool) {
	for _, i := range x.Idx {
		n, known := integer(i, values)
		switch {
		case !known && x.ByNumber, !known && !i.Reads():
			return nil, false
		case !known:
			n = Anywhere
		}
		at = append(at, n)
	}
	if !x.ByNumber {
		return at, true
	}
	flat := 0
	for d, i := range at {
		n, known := x.Ext[d].Known()
		if !known {
			return nil, false
		}
		flat = flat*n + i
	}
	extents := r.p.Tensors[x.Tensor].Shape
	at = make([]int, len(extents))
	for d := len(extents) - 1; d >= 0; d-- {
		n, known := extents[d].Known()
		if !known || n == 0 {
			return nil, false
		}
		at[d], flat = flat%n, flat/n
	}
	return at, flat == 0
}

// value visits the elements that a term reads, at values of its variables.
func (r *Reads) value(n *term.Term, values map[*term.Variable]*term.Term) {
	if n == nil || r.left <= 0 {
		return
	}
	all := func(list ...*term.Term) {
		for _, x := range list {
			r.value(x, values)
		}
	}
	switch n.Op {
	case term.Element:
		all(n.Read.Idx...)
		all(n.Read.Which)
		r.read(n.Read, values)
	case term.Choose:
		holds := r.holds(n.Args[0], values)
		all(n.Args[0])
		if holds != no {
			all(n.Args[1])
		}
		if holds != yes {
			all(n.Args[2])
		}
	case term.And, term.Or:
		all(n.Args[0])
		if holds := r.holds(n.Args[0], values); holds == maybe || (holds == yes) == (n.Op == term.And) {
			all(n.Args[1])
		}
	case term.Reduce:
		x := n.Reduction
		all(x.At...)
		r.each(x.Vars, nil, values, func() {
			if x.Guard == nil || r.holds(x.Guard, values) != no {
				all(x.Guard, x.Body, x.Number)
			}
		})
	default:
		all(n.Args...)
	}
}

// read visits the element that x loads, or follows it to the statements that define it.
func (r *Reads) read(x *term.Read, values map[*term.Variable]*term.Term) {
	at, certain := r.place(x, values)
	if !certain {
		return
	}
	for _, i := range x.Idx {
		if i.Op == term.Element && len(r.given[i.Read.Tensor]) > 0 {
			return // as an argmax, whose own reads are visited
		}
	}
	first, n := x.Tensor, x.Count
	if x.Which != nil {
		if which, known := integer(x.Which, values); known && which >= 0 && which < n {
			first, n = first+which, 1
		}
	}
	for t := first; t < first+n; t++ {
		if owner := r.p.Tensors[t].Old; owner >= 0 {
			r.element(owner, at, x, values)
		} else {
			r.element(t, at, x, values)
		}
	}
}

// element visits the element of tensor t at index at. If the index is out of bounds, it visits the reads of
// the default of x instead.
func (r *Reads) element(t int, at []int, x *term.Read, values map[*term.Variable]*term.Term) {
	box := region.Box{Lo: make([]int, len(at)), Hi: make([]int, len(at))}
	for d, i := range at {
		n, known := r.p.Tensors[t].Shape[d].Known()
		switch {
		case !known:
			return
		case i == Anywhere:
			box.Hi[d] = n
		case i < 0 || i >= n:
			r.value(x.Else, values)
			return
		default:
			box.Lo[d], box.Hi[d] = i, i+1
		}
	}
	if r.outside(t) {
		r.visit(t, at)
		return
	}
	if key := fmt.Sprint(t, at); len(r.given[t]) > 0 && !r.seen[key] {
		r.seen[key] = true
		r.define(t, box)
	}
}
