package loops

import (
	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// rowNumber computes a scalar argument for each row.
type rowNumber[T simd.Float] struct {
	number[T]
	at     func(*state[T]) int // offset of the scalar if it is a load of a float64 element; otherwise nil
	tensor int                 // of the element
	apart  int                 // distance between elements of two rows
	// all computes the scalar for several rows at once, into s.numbers[values:]; nil if it must be computed
	// for each row.
	all    rowTerm[T]
	values int
}

// rowTerm sets to to a real value at len(to) consecutive values of an index, from first on.
type rowTerm[T simd.Float] func(s *state[T], first int, to []float64)

// rowNumber returns code that computes scalar n at consecutive values of index w.
func (c *compiler[T]) rowNumber(n number[T], w *term.Variable) rowNumber[T] {
	out := rowNumber[T]{number: n}
	if n.settled || n.term == nil {
		return out
	}
	was := c.lenient
	c.lenient = n.lenient // speculative as in the strip
	defer func() { c.lenient = was }()
	if e := c.wideElement(n.term); e != nil {
		out.at, out.tensor, out.apart = c.value(e.offset), e.tensor, e.offset.Factor(w)
	} else if out.all = c.rowTerm(n.term, w); out.all != nil {
		out.values = c.rowValues()
	}
	return out
}

// rowValues allocates a buffer for one scalar of all rows.
func (c *compiler[T]) rowValues() int {
	c.numbers += jit.MostRows
	return c.numbers - jit.MostRows
}

// rowTerm returns code that computes a real value at consecutive values of index w in one call, with the
// results of compiler.real. It returns nil for terms that need scalar code.
func (c *compiler[T]) rowTerm(n *term.Term, w *term.Variable) rowTerm[T] {
	switch {
	case n.Kind == term.Boolean:
		return nil
	case !n.Uses(w):
		x := c.real(n)
		return func(s *state[T], _ int, to []float64) {
			v := x(s)
			for i := range to {
				to[i] = v
			}
		}
	case n.Kind == term.Integer:
		return c.rowIntegers(rewrite.Linear(n), w)
	}
	switch n.Op {
	case term.Element:
		return c.rowElements(n.Read, w)
	case term.Negate:
		return c.rowUnary(n.Args[0], w, func(x float64) float64 { return -x })
	case term.Apply:
		if len(n.Args) == 1 {
			return c.rowApply(n, w)
		}
		return nil
	case term.Power:
		if v, ok := n.Args[1].Settled(); ok && v == 2 {
			return c.rowUnary(n.Args[0], w, func(x float64) float64 { return x * x })
		}
		return nil
	case term.Add, term.Subtract, term.Multiply, term.Divide:
		return c.rowBinary(n, w)
	}
	return nil
}

// rowIntegers returns code for an integer that is affine in w. It returns nil for others.
func (c *compiler[T]) rowIntegers(f rewrite.Form, w *term.Variable) rowTerm[T] {
	if f.Hidden(w) {
		return nil
	}
	x, place, apart := c.value(f), c.place(w), f.Factor(w)
	return func(s *state[T], first int, to []float64) {
		s.vars[place] = first
		v := x(s)
		for i := range to {
			to[i] = float64(v + apart*i)
		}
	}
}

// rowElements returns code that loads float32 or float64 elements with a constant stride, or computes what
// takes the place of those that are out of bounds. It returns nil for other loads.
func (c *compiler[T]) rowElements(r *term.Read, w *term.Variable) rowTerm[T] {
	a, t := rewrite.AccessOf(r), c.tensors[r.Tensor].Type
	if r.Which != nil || len(a.Offset.Rest) > 0 || t != dtype.F32 && t != dtype.F64 {
		return nil
	}
	at, place, tensor, apart := c.value(a.Offset), c.place(w), r.Tensor, a.Offset.Factor(w)
	load := func(s *state[T], first int, to []float64) {
		s.vars[place] = first
		from(to, s.mem[tensor].f32, at(s), apart)
	}
	if t == dtype.F64 {
		load = func(s *state[T], first int, to []float64) {
			s.vars[place] = first
			from(to, s.mem[tensor].f64, at(s), apart)
		}
	}
	if len(a.Open) == 0 {
		return load
	}
	return c.rowWithin(r, a, w, load)
}

// rowWithin returns code that calls load for the elements that are in bounds.
func (c *compiler[T]) rowWithin(r *term.Read, a *rewrite.Access, w *term.Variable, load rowTerm[T]) rowTerm[T] {
	other := func(_ *state[T], _ int, to []float64) { clear(to) }
	switch {
	case r.Else != nil:
		if other = c.rowTerm(r.Else, w); other == nil {
			return nil
		}
	case !c.lenient:
		return nil
	}
	type test struct {
		at          func(*state[T]) int // of the first row
		factor, ext int
	}
	var tests []test
	for _, d := range a.Open {
		if len(a.Idx[d].Rest) > 0 {
			return nil
		}
		tests = append(tests, test{c.value(a.Idx[d]), a.Idx[d].Factor(w), a.Ext[d]})
	}
	place := c.place(w)
	return func(s *state[T], first int, to []float64) {
		s.vars[place] = first
		lo, hi := 0, len(to)
		for _, t := range tests {
			l, h := within(t.at(s), t.factor, t.ext, len(to))
			lo, hi = max(lo, l), min(hi, h)
		}
		if lo >= hi {
			lo, hi = len(to), len(to)
		}
		if lo > 0 {
			other(s, first, to[:lo])
		}
		if lo < hi {
			load(s, first+lo, to[lo:hi])
		}
		if hi < len(to) {
			other(s, first+hi, to[hi:])
		}
	}
}

// from sets to to elements of memory, apart elements from each other.
func from[T simd.Float](to []float64, memory []T, at, apart int) {
	for i := range to {
		to[i] = float64(memory[at])
		at += apart
	}
}

func (c *compiler[T]) rowUnary(n *term.Term, w *term.Variable, f func(float64) float64) rowTerm[T] {
	x := c.rowTerm(n, w)
	if x == nil {
		return nil
	}
	return func(s *state[T], first int, to []float64) {
		x(s, first, to)
		for i, v := range to {
			to[i] = f(v)
		}
	}
}

// rowApply returns code for a function of one argument. The argument is in a buffer, since a new slice would
// be allocated for each call.
func (c *compiler[T]) rowApply(n *term.Term, w *term.Variable) rowTerm[T] {
	x := c.rowTerm(n.Args[0], w)
	if x == nil {
		return nil
	}
	f, at := n.Func.Real, c.numbers
	c.numbers++
	return func(s *state[T], first int, to []float64) {
		x(s, first, to)
		argument := s.numbers[at:][:1:1]
		for i, v := range to {
			argument[0] = v
			to[i] = f(argument...)
		}
	}
}

func (c *compiler[T]) rowBinary(n *term.Term, w *term.Variable) rowTerm[T] {
	x, y := c.rowTerm(n.Args[0], w), c.rowTerm(n.Args[1], w)
	if x == nil || y == nil {
		return nil
	}
	op, values := n.Op, c.rowValues()
	return func(s *state[T], first int, to []float64) {
		x(s, first, to)
		with := s.numbers[values:][:len(to)]
		y(s, first, with)
		switch op {
		case term.Add:
			for i, v := range with {
				to[i] += v
			}
		case term.Subtract:
			for i, v := range with {
				to[i] -= v
			}
		case term.Multiply:
			for i, v := range with {
				to[i] *= v
			}
		default:
			for i, v := range with {
				to[i] /= v
			}
		}
	}
}

// set stores the scalar, for each of rows rows from row first on, into every step-th element of to. If again
// is true, the scalar before has computed the values, and this one stores their rounding errors.
func (n *rowNumber[T]) set(s *state[T], place, first, rows int, again bool, to []T, step int) {
	switch {
	case n.settled:
		v := n.of(n.get(s))
		for row := range rows {
			to[row*step] = v
		}
	case n.at != nil:
		s.vars[place] = first
		n.put(s.mem[n.tensor].f64, n.at(s), n.apart, rows, to, step)
	case n.all != nil:
		values := s.numbers[n.values:][:rows]
		if !again {
			n.all(s, first, values)
		}
		n.put(values, 0, 1, rows, to, step)
	default:
		for row := range rows {
			s.vars[place] = first + row
			to[row*step] = n.of(n.get(s))
		}
	}
}

// put stores strided values of rows, or their rounding errors, into every step-th element of to.
func (n *rowNumber[T]) put(values []float64, at, apart, rows int, to []T, step int) {
	k := 0
	if n.low {
		for range rows {
			v := values[at]
			to[k] = lowOf(v, T(v))
			at, k = at+apart, k+step
		}
		return
	}
	for range rows {
		to[k] = T(values[at])
		at, k = at+apart, k+step
	}
}
