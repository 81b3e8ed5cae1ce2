package loops

import (
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// adder is code that adds an integer value to every element of an integer strip.
type adder[T float32 | float64] func(s *state[T], out []int)

// indices returns code that fills integer strips with the values of a form. Elements of integer tensors,
// quotients and remainders may depend on the variable. It returns nil for other forms.
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
		count(out, first(s), k)
		for _, add := range parts {
			add(s, out)
		}
	}
}

// count sets out to first, first+step, ...
func count(out []int, first, step int) {
	for i := range out {
		out[i] = first
		first += step
	}
}

// part returns code that adds a multiple of an opaque integer, or nil if there is none for it.
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
		case dtype.I8:
			return func(s *state[T], out []int) { addElements(out, s.mem[t].i8, at(s), k, factor) }
		case dtype.U8:
			return func(s *state[T], out []int) { addElements(out, s.mem[t].u8, at(s), k, factor) }
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

// addElements adds multiples of strided elements.
func addElements[U integer](out []int, x []U, at, step, factor int) {
	for i := range out {
		out[i] += factor * int(x[at])
		at += step
	}
}

// addDigits adds multiples of the quotients and of the remainders of first, first+step, ... by d, by
// strength reduction.
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

// finder computes the offsets of a gather or scatter.
type finder[T float32 | float64] struct {
	offset adder[T]
	tests  []outside[T]
}

// outside is a bounds check of one dimension.
type outside[T float32 | float64] struct {
	index  adder[T]
	extent int
}

// found returns a finder for an access whose offset is not affine in the variable; nil if integer strips
// cannot compute it.
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
	z.c.integers = max(z.c.integers, 2)
	return f
}

// places returns the offsets of n elements, -1 for those out of bounds, and whether all are in bounds.
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

// gathered compiles a gather. It returns false if elements have another type than T, or if integer strips
// cannot compute the offsets.
func (z *vectorizer[T]) gathered(n *term.Term, a *access) (reg int, ok bool) {
	r := n.Read
	if r.Which != nil || z.c.tensors[r.Tensor].Type != z.c.own || r.Else != nil && r.Else.Uses(z.v) {
		return 0, false
	}
	if x, ok := z.repeated(r.Tensor, a); ok {
		return x, true
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
	direct := z.lookup(a)
	z.step("elements that are looked up", x, func(s *state[T], n int) {
		out, from := s.regs[x][:n], s.mem[t].same
		if direct != nil && direct.gather(s, out, from) {
			return
		}
		at, inside := f.places(s, n)
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
			z.single(s, i, one) // fails unless the access has a default
			out[i] = v
		}
	})
	return x, true
}

// repeated compiles a load of elements that are each repeated several times: the subscript is the quotient
// of an index by a constant. It returns false for other loads.
func (z *vectorizer[T]) repeated(tensor int, a *access) (reg int, ok bool) {
	same, times, factor := form{base: a.offset.base, vars: a.offset.vars}, 0, 0
	var of form
	for _, p := range a.offset.rest {
		d := 0
		if p.of.Op == term.Quotient {
			d, _ = p.of.Args[1].Known()
		}
		switch {
		case !p.of.Uses(z.v):
			same.rest = append(same.rest, p)
		case times > 0 || d <= 1:
			return 0, false
		default:
			of, times, factor = linear(p.of.Args[0]), d, p.factor
		}
	}
	if times == 0 || len(a.open) > 0 || a.offset.factor(z.v) != 0 || of.hidden(z.v) || of.factor(z.v) != 1 {
		return 0, false
	}
	at, first, x := z.c.value(same), z.c.value(of), z.register(false)
	z.step("elements that are repeated", x, func(s *state[T], n int) {
		i := first(s)
		q := shape.FloorDiv(i, times)
		repeat(s.regs[x][:n], s.mem[tensor].same, at(s)+factor*q, factor, times, i-q*times)
	})
	return x, true
}

// repeat sets z to strided elements of x, each repeated times times. done repetitions of the first one are
// skipped.
func repeat[T simd.Float](z, x []T, at, step, times, done int) {
	for len(z) > 0 {
		if n := len(z) / 2; times == 2 && step == 1 && done == 0 && n > 0 {
			simd.Twice(z[:2*n], x[at:at+n])
			z, at = z[2*n:], at+n
		}
		n, v := min(times-done, len(z)), T(0)
		if n > 0 {
			v = x[at]
		}
		for i := range z[:n] {
			z[i] = v
		}
		z, at, done = z[n:], at+step, 0
	}
}

// lookup is the usual form of a gather's offset: a multiple of an index that a tensor holds for each
// element, plus an affine part.
type lookup[T float32 | float64] struct {
	base   func(*state[T]) int
	step   int
	tensor int // the tensor of indices
	first  func(*state[T]) int
	wide   bool // whether the indices are int64
	factor int
	extent int // exclusive upper bound of the indices
}

// lookup matches the offset of a gather, or returns nil.
func (z *vectorizer[T]) lookup(a *access) *lookup[T] {
	var one *addend
	same := form{base: a.offset.base, vars: a.offset.vars}
	for i, p := range a.offset.rest {
		switch {
		case !p.of.Uses(z.v):
			same.rest = append(same.rest, p)
		case one != nil || p.of.Op != term.Element:
			return nil
		default:
			one = &a.offset.rest[i]
		}
	}
	if one == nil || len(a.open) != 1 {
		return nil
	}
	r, idx := one.of.Read, a.idx[a.open[0]]
	at, typ := accessOf(r), z.c.tensors[r.Tensor].Type
	if len(at.open) > 0 || r.Which != nil || at.offset.factor(z.v) != 1 || typ != dtype.I32 && typ != dtype.I64 ||
		!idx.same(form{rest: []addend{{one.of, 1}}}) {
		return nil
	}
	return &lookup[T]{base: z.c.value(same), step: a.offset.factor(z.v), tensor: r.Tensor, first: z.c.value(at.offset), wide: typ == dtype.I64,
		factor: one.factor, extent: a.ext[a.open[0]]}
}

// gather loads elements into z; false if an index is out of bounds.
func (l *lookup[T]) gather(s *state[T], z, x []T) bool {
	base, first := l.base(s), l.first(s)
	if l.wide {
		return gatherBy(z, x, s.mem[l.tensor].i64[first:], base, l.step, l.factor, l.extent)
	}
	return gatherBy(z, x, s.mem[l.tensor].i32[first:], base, l.step, l.factor, l.extent)
}

func gatherBy[T simd.Float, U int32 | int64](z, x []T, index []U, at, step, factor, extent int) bool {
	index = index[:len(z)]
	if step != 0 || factor != 1 {
		if !simd.Below(index, extent) {
			return false
		}
		for i, k := range index {
			z[i] = x[at+int(k)*factor]
			at += step
		}
		return true
	}
	// One loop that checks and uses the indices is faster than two loops, which load them twice.
	x = x[at : at+extent]
	n := uint(len(x))
	for len(z) >= 4 && len(index) >= 4 {
		a, b, c, d := uint(index[0]), uint(index[1]), uint(index[2]), uint(index[3])
		if a >= n || b >= n || c >= n || d >= n {
			return false
		}
		z[0], z[1], z[2], z[3] = x[a], x[b], x[c], x[d]
		z, index = z[4:], index[4:]
	}
	for i, k := range index {
		if uint(k) >= n {
			return false
		}
		z[i] = x[k]
	}
	return true
}

// add scatter-adds x in order. It returns the number of elements before one out of bounds.
func (l *lookup[T]) add(s *state[T], z, x []T) int {
	base, first := l.base(s), l.first(s)
	if l.wide {
		return addBy(z, x, s.mem[l.tensor].i64[first:], base, l.step, l.factor, l.extent)
	}
	return addBy(z, x, s.mem[l.tensor].i32[first:], base, l.step, l.factor, l.extent)
}

func addBy[T simd.Float, U int32 | int64](z, x []T, index []U, at, step, factor, extent int) int {
	index = index[:len(x)]
	if step == 0 && factor == 1 {
		z, x = z[at:at+extent], x[:len(index)]
		for i, k := range index {
			if uint(k) >= uint(len(z)) {
				return i
			}
			z[k] += x[i]
		}
		return len(x)
	}
	for i, k := range index {
		if uint(k) >= uint(extent) {
			return i
		}
		z[at+int(k)*factor] += x[i]
		at += step
	}
	return len(x)
}

// placed emits a scatter in order. It returns false if integer strips cannot compute the offsets, or if the
// statement selects among tensors.
func (z *vectorizer[T]) placed(st *statement, x operand[T]) bool {
	a, t := accessOf(st.left), z.c.tensors[st.target]
	if st.left.Which != nil || st.guard != nil && !st.skip || t.Type != z.c.own && !(t.Type == dtype.F64 && st.add) || !a.offset.hidden(z.v) {
		return false
	}
	f := z.found(a)
	if f == nil {
		return false
	}
	var direct *lookup[T]
	add := t.Add || st.add
	if add && !st.joined() && st.guard == nil && t.Type == z.c.own {
		direct = z.lookup(a)
	}
	r, target, one := z.vector(x), st.target, z.c.target(st)
	uses, mask := []int{r}, -1
	if st.guard != nil {
		mask = z.vector(z.real(st.guard))
		uses = append(uses, mask)
	}
	join, wide := reduction.Sum.Join(), t.Type != z.c.own
	if st.joined() {
		join = st.fold.Join()
	}
	plain := add && !st.joined() && !wide
	z.step("stores to places that are looked up", -1, func(s *state[T], n int) {
		to, from, done := s.mem[target].same, s.regs[r][:n], 0
		if direct != nil {
			if done = direct.add(s, to, from); done == n {
				return
			}
		}
		at, _ := f.places(s, n)
		for i := done; i < n; i++ {
			k, v := at[i], from[i]
			switch {
			case k < 0:
				z.single(s, i, one) // fails unless stores out of bounds are skipped
			case mask >= 0 && s.regs[mask][i] == 0:
			case plain:
				to[k] += v
			case wide:
				s.mem[target].f64[k] = join(s.mem[target].f64[k], float64(v))
			case add:
				to[k] = T(join(float64(to[k]), float64(v)))
			default:
				to[k] = v
			}
		}
	}, uses...)
	return true
}

// single locates element i of a strip by scalar code, which reports an error if the element is out of
// bounds.
func (z *vectorizer[T]) single(s *state[T], i int, find func(*state[T]) (tensor, at int, inside bool)) {
	first := s.vars[z.at]
	s.vars[z.at] = first + i
	find(s)
	s.vars[z.at] = first
}
