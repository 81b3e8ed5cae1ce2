package loops

import (
	"github.com/opgen/opgen/internal/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// adder is code that adds an integer to every element of a strip of integers.
type adder[T float32 | float64] func(s *state[T], out []int)

// indices returns code that fills strips with the values of an integer, of which a part is not linear in the variable: elements of tensors of
// integers, quotients and remainders. It returns nil for others.
func (z *vectorizer[T]) indices(f form) adder[T] {
	same := form{base: f.base, vars: f.vars}
	var parts []adder[T]
	for _, p := range f.rest {
		if !p.of.Uses(z.v) {
			same.rest = append(same.rest, p)
			continue
		}
		a := z.part(p)
		if a == nil {
			return nil
		}
		parts = append(parts, a)
	}
	first, k := z.c.value(same), f.factor(z.v)
	return func(s *state[T], out []int) {
		v := first(s)
		for i := range out {
			out[i] = v
			v += k
		}
		for _, add := range parts {
			add(s, out)
		}
	}
}

// part returns code that adds a multiple of an integer that is not linear in the variable; nil if there is none for it.
func (z *vectorizer[T]) part(p addend) adder[T] {
	switch n := p.of; n.Op {
	case term.Element:
		a, t, factor := accessOf(n.Read), n.Read.Tensor, p.factor
		if a.offset.hidden(z.v) || len(a.open) > 0 || n.Read.Which != nil {
			return nil
		}
		z.fromMemory(n)
		at, k := z.c.value(a.offset), a.offset.factor(z.v)
		switch z.c.tensors[t].Type {
		case dtype.I32:
			return func(s *state[T], out []int) { addElements(out, s.mem[t].i32, at(s), k, factor) }
		case dtype.I64:
			return func(s *state[T], out []int) { addElements(out, s.mem[t].i64, at(s), k, factor) }
		}
	case term.Quotient, term.Modulo:
		d, known := n.Args[1].Known()
		f := linear(n.Args[0])
		if !known || d <= 0 || f.hidden(z.v) {
			return nil
		}
		first, k := z.c.value(f), f.factor(z.v)
		quotient, rest := p.factor, 0
		if n.Op == term.Modulo {
			quotient, rest = 0, p.factor
		}
		return func(s *state[T], out []int) { addDigits(out, first(s), k, d, quotient, rest) }
	}
	return nil
}

// addElements adds multiples of elements at equal distances.
func addElements[U int32 | int64](out []int, x []U, at, step, factor int) {
	for i := range out {
		out[i] += factor * int(x[at])
		at += step
	}
}

// addDigits adds multiples of the quotients and of the remainders of first, first+step, ... by d.
func addDigits(out []int, first, step, d, quotient, rest int) {
	q := shape.FloorDiv(first, d)
	r := first - q*d
	more := shape.FloorDiv(step, d)
	step -= more * d
	for i := range out {
		out[i] += quotient*q + rest*r
		q += more
		if r += step; r >= d {
			r -= d
			q++
		}
	}
}

// finder is code that finds the elements of a strip one by one.
type finder[T float32 | float64] struct {
	offset adder[T]
	tests  []outside[T]
}

// outside tells which elements lie outside a dimension.
type outside[T float32 | float64] struct {
	index  adder[T]
	extent int
}

// found returns code that finds elements whose places are not linear in the variable; nil if strips of integers do not hold them.
func (z *vectorizer[T]) found(a *access) *finder[T] {
	f := &finder[T]{offset: z.indices(a.offset)}
	if f.offset == nil {
		return nil
	}
	for _, d := range a.open {
		index := z.indices(a.idx[d])
		if index == nil {
			return nil
		}
		f.tests = append(f.tests, outside[T]{index, a.ext[d]})
	}
	z.c.integers = 2
	return f
}

// places returns the places of the elements of a strip, and reports whether none lies outside. The place of one that does is -1.
func (f *finder[T]) places(s *state[T], n int) (at []int, inside bool) {
	at, inside = s.integers[0][:n], true
	f.offset(s, at)
	for _, t := range f.tests {
		index := s.integers[1][:n]
		t.index(s, index)
		for i, v := range index {
			if uint(v) >= uint(t.extent) {
				at[i], inside = -1, false
			}
		}
	}
	return at, inside
}

// gathered compiles an element of which the place is not linear in the variable. It returns false for elements of other types than that in
// which the loops compute, and for places that strips of integers do not hold.
func (z *vectorizer[T]) gathered(n *term.Term, a *access) (reg int, ok bool) {
	r := n.Read
	if r.Which != nil || z.c.tensors[r.Tensor].Type != z.c.own || r.Else != nil && r.Else.Uses(z.v) {
		return 0, false
	}
	f := z.found(a)
	if f == nil {
		return 0, false
	}
	t, x, one := r.Tensor, z.register(false), z.c.reached(r)
	var other func(*state[T]) float64
	if r.Else != nil {
		z.fromMemory(r.Else)
		other = z.c.real(r.Else)
	}
	z.emit(x, func(s *state[T], n int) {
		at, inside := f.places(s, n)
		out, from := s.regs[x][:n], s.mem[t].same
		if inside {
			for i, k := range at {
				out[i] = from[k]
			}
			return
		}
		var v T
		if other != nil {
			v = T(other(s))
		}
		for i, k := range at {
			if k >= 0 {
				out[i] = from[k]
				continue
			}
			z.single(s, i, one) // fails unless elements outside have a value
			out[i] = v
		}
	})
	return x, true
}

// placed emits the writing of a strip to elements whose places are not linear in the variable, in their order. It returns false where
// strips of integers do not hold the places, and where the statement has a condition.
func (z *vectorizer[T]) placed(st *statement, x operand[T]) bool {
	a, t := accessOf(st.left), z.c.tensors[st.target]
	if st.guard != nil || st.left.Which != nil || t.Type != z.c.own || !a.offset.hidden(z.v) {
		return false
	}
	f := z.found(a)
	if f == nil {
		return false
	}
	r, target, one, add := z.vector(x), st.target, z.c.target(st), t.Add || st.add
	z.emit(-1, func(s *state[T], n int) {
		at, inside := f.places(s, n)
		to := s.mem[target].same
		for i, v := range s.regs[r][:n] {
			if !inside && at[i] < 0 {
				z.single(s, i, func(s *state[T]) (int, int, bool) {
					t, k := one(s)
					return t, k, true
				})
			}
			if add {
				v += to[at[i]]
			}
			to[at[i]] = v
		}
	}, r)
	return true
}

// single finds element i of a strip by itself: code that must not find elements outside fails with a message about this one.
func (z *vectorizer[T]) single(s *state[T], i int, find func(*state[T]) (tensor, at int, inside bool)) {
	first := s.vars[z.at]
	s.vars[z.at] = first + i
	find(s)
	s.vars[z.at] = first
}
