package loops

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// filler is code that fills an integer strip. It may use integer strips from a number on as buffers.
type filler[T float32 | float64] func(s *state[T], out []int)

// wholes compiles an integer statement in integer strips. It returns nil if the address or the guard of a
// store needs scalar code.
func (k *unitCompiler[T]) wholes(st *statement) unit[T] {
	vars, t := k.bundle.vars, k.tensors[st.target]
	if len(k.bundle.statements) != 1 || k.bundle.folds != nil || len(vars) == 0 || st.value.Kind != term.Integer || st.left.Which != nil || !t.Type.IsInteger() {
		return nil
	}
	v, a := vars[len(vars)-1], accessOf(st.left)
	if a.offset.hidden(v) || a.offset.factor(v) == 0 || st.guard != nil && st.guard.Uses(v) {
		return nil
	}
	for _, d := range a.open {
		if a.idx[d].hidden(v) || a.idx[d].factor(v) != 0 {
			return nil
		}
	}
	k.lenient = st.lenient || st.skip
	defer func() { k.lenient = false }()
	z := newVectorizer(k.compiler, v)
	z.storeWhole(st, a)
	k.finish(&z.strip)
	return &pointwise[T]{outer: k.loops(k.free(), v), inner: k.loop(v), code: z.strip}
}

// storeWhole emits the computation and the store of integers.
func (z *vectorizer[T]) storeWhole(st *statement, a *access) {
	f := &wholeCompiler[T]{z: z}
	holds := func(*state[T]) bool { return true }
	if st.guard != nil {
		z.fromMemory(st.guard)
		holds = z.c.condition(st.guard)
	}
	for _, x := range st.left.Idx {
		z.fromMemory(x)
	}
	find := z.c.target(st)
	fill, k, typ := f.value(st.value, 1), a.offset.factor(z.v), z.c.tensors[st.target].Type
	var join func(x, y int) int
	switch {
	case st.joined():
		join = st.fold.IntegerJoin()
	case z.c.tensors[st.target].Add || st.add:
		join = reduction.Sum.IntegerJoin()
	}
	strip := f.strip(0)
	least, most, narrow := z.c.boundsFor(st)
	narrow = narrow && join == nil
	f.finish()
	z.step("integers", -1, func(s *state[T], n int) {
		if !holds(s) {
			return
		}
		id, at, inside := find(s)
		if !inside {
			return
		}
		x, to := strip(s)[:n], &s.mem[id]
		fill(s, x) // before the store: the code may load the same memory
		if narrow {
			boundAll(x, least, most)
		}
		switch typ {
		case dtype.I8:
			putWholes(to.i8, at, k, x, join)
		case dtype.U8:
			putWholes(to.u8, at, k, x, join)
		case dtype.I32:
			putWholes(to.i32, at, k, x, join)
		default:
			putWholes(to.i64, at, k, x, join)
		}
	}, f.uses...)
}

// putWholes stores strided integers, or accumulates them by join. Integers wrap around.
func putWholes[U integer](to []U, at, step int, x []int, join func(x, y int) int) {
	switch {
	case join != nil:
		for _, v := range x {
			to[at] = U(join(int(to[at]), v))
			at += step
		}
	case step == 1:
		for i, v := range x {
			to[at : at+len(x)][i] = U(v)
		}
	default:
		for _, v := range x {
			to[at] = U(v)
			at += step
		}
	}
}

// convertEach compiles an integer that is not affine in the variable, converted to T.
func (z *vectorizer[T]) convertEach(n *term.Term) (reg int) {
	f := &wholeCompiler[T]{z: z}
	fill := f.value(n, 1)
	strip := f.strip(0)
	f.finish()
	r := z.register(false)
	z.step("integers as numbers", r, func(s *state[T], n int) {
		x, out := strip(s)[:n], s.regs[r][:n]
		fill(s, x)
		for i, v := range x {
			out[i] = T(v)
		}
	}, f.uses...)
	return r
}

// compareEach compiles a comparison of integers that are not affine in the variable, as 1 or 0.
func (z *vectorizer[T]) compareEach(n *term.Term) (reg int) {
	f := &wholeCompiler[T]{z: z}
	first, second, op := f.value(n.Args[0], 2), f.value(n.Args[1], 2), n.Op
	one, other := f.strip(0), f.strip(1)
	f.finish()
	r := z.register(false)
	z.step("a comparison of integers", r, func(s *state[T], n int) {
		x, y, out := one(s)[:n], other(s)[:n], s.regs[r][:n]
		first(s, x)
		second(s, y)
		switch op {
		case term.Equal:
			for i, v := range x {
				out[i] = T(truth(v == y[i]))
			}
		case term.Unequal:
			for i, v := range x {
				out[i] = T(truth(v != y[i]))
			}
		case term.Less:
			for i, v := range x {
				out[i] = T(truth(v < y[i]))
			}
		default:
			for i, v := range x {
				out[i] = T(truth(v <= y[i]))
			}
		}
	}, f.uses...)
	return r
}

// truth returns 1 or 0.
func truth(v bool) int {
	if v {
		return 1
	}
	return 0
}

// wholeCompiler compiles an integer in integer strips.
type wholeCompiler[T simd.Float] struct {
	z      *vectorizer[T]
	uses   []int // registers of conditions
	strips int   // number of integer strips
	apart  bool  // whether it uses strips of its own, since it may run while other code fills strips
}

// finish reserves the integer strips of the compiled code.
func (f *wholeCompiler[T]) finish() { f.z.c.integers = max(f.z.c.integers, f.strips) }

// strip returns code for integer strip number.
func (f *wholeCompiler[T]) strip(number int) func(*state[T]) []int {
	if f.apart {
		n := f.z.c.apart
		f.z.c.apart++
		return func(s *state[T]) []int { return s.apart[n] }
	}
	f.strips = max(f.strips, number+1)
	return func(s *state[T]) []int { return s.integers[number] }
}

// value returns code for an integer, or for a condition as 1 or 0. Integer strips from number free on are
// unused.
func (f *wholeCompiler[T]) value(n *term.Term, free int) filler[T] {
	z := f.z
	if !n.Uses(z.v) {
		z.fromMemory(n)
		x := z.c.integer(n)
		return func(s *state[T], out []int) {
			v := x(s)
			for i := range out {
				out[i] = v
			}
		}
	}
	if n.Kind == term.Boolean && !fails(n) {
		return f.truth(n)
	}
	if n.Kind == term.Integer {
		sum := linear(n)
		if len(sum.rest) != 1 || sum.rest[0].factor != 1 || sum.base != 0 || len(sum.vars) > 0 {
			return f.sum(sum, free)
		}
		if n = sum.rest[0].of; n.Kind != term.Integer {
			return f.value(n, free)
		}
		if x := f.operation(n, free); x != nil {
			return x
		}
	}
	return f.lanes(n)
}

// lanes returns scalar code, element by element.
func (f *wholeCompiler[T]) lanes(n *term.Term) filler[T] {
	z := f.z
	z.fromMemory(n)
	x, at := z.c.integer(n), z.at
	return func(s *state[T], out []int) {
		first := s.vars[at]
		for i := range out {
			s.vars[at] = first + i
			out[i] = x(s)
		}
		s.vars[at] = first
	}
}

// truth returns code for a condition, which strip code computes before.
func (f *wholeCompiler[T]) truth(n *term.Term) filler[T] {
	r := f.z.vector(f.z.real(n))
	f.uses = append(f.uses, r)
	return func(s *state[T], out []int) {
		for i, v := range s.regs[r][:len(out)] {
			out[i] = int(v)
		}
	}
}

// sum returns code for an affine form with opaque integers.
func (f *wholeCompiler[T]) sum(sum form, free int) filler[T] {
	z := f.z
	same := form{base: sum.base, vars: sum.vars}
	type part struct {
		fill   filler[T]
		factor int
	}
	var parts []part
	strip := f.strip(free)
	for _, p := range sum.rest {
		if !p.of.Uses(z.v) {
			z.fromMemory(p.of)
			same.rest = append(same.rest, p)
			continue
		}
		parts = append(parts, part{f.value(p.of, free+1), p.factor})
	}
	first, k := z.c.value(same), sum.factor(z.v)
	return func(s *state[T], out []int) {
		count(out, first(s), k)
		x := strip(s)[:len(out)]
		for _, p := range parts {
			p.fill(s, x)
			if p.factor == 1 {
				for i, v := range x {
					out[i] += v
				}
				continue
			}
			for i, v := range x {
				out[i] += p.factor * v
			}
		}
	}
}

// operation returns code for an opaque integer, or nil if there is none.
func (f *wholeCompiler[T]) operation(n *term.Term, free int) filler[T] {
	switch n.Op {
	case term.Element:
		return f.element(n)
	case term.Choose:
		if fails(n) {
			return nil // only the selected operand may be evaluated
		}
		r := f.z.vector(f.z.real(n.Args[0]))
		f.uses = append(f.uses, r)
		x, y, strip := f.value(n.Args[1], free), f.value(n.Args[2], free+1), f.strip(free)
		return func(s *state[T], out []int) {
			x(s, out)
			other := strip(s)[:len(out)]
			y(s, other)
			for i, v := range s.regs[r][:len(out)] {
				if v == 0 {
					out[i] = other[i]
				}
			}
		}
	case term.Apply:
		convert := n.Func.Has(term.Conversion)
		switch {
		case convert && n.Args[0].Kind == term.Boolean && !fails(n):
			return f.truth(n.Args[0])
		case convert && n.Args[0].Op == term.Element && !fails(n):
			return f.converted(n)
		case convert || n.Args[0].Kind != term.Integer:
			return nil
		case n.Func == term.Abs:
			x := f.value(n.Args[0], free)
			return func(s *state[T], out []int) {
				x(s, out)
				for i, v := range out {
					out[i] = max(v, -v)
				}
			}
		case n.Func == term.Min:
			return f.both(n, free, func(out, y []int) {
				for i, v := range y {
					out[i] = min(out[i], v)
				}
			})
		case n.Func == term.Max:
			return f.both(n, free, func(out, y []int) {
				for i, v := range y {
					out[i] = max(out[i], v)
				}
			})
		}
	case term.Multiply:
		return f.both(n, free, func(out, y []int) {
			for i, v := range y {
				out[i] *= v
			}
		})
	case term.Power:
		return f.both(n, free, func(out, y []int) {
			for i, v := range y {
				out[i] = term.IntegerPower(out[i], v)
			}
		})
	case term.Quotient, term.Truncate, term.Modulo:
		op := n.Op
		f.z.c.fails = true
		return f.both(n, free, func(out, y []int) {
			for i, d := range y {
				if !term.Divisor(op, d) {
					fail("an integer is divided by %d", d)
				}
				out[i] = term.IntegerOf(op, out[i], d)
			}
		})
	}
	return nil
}

// converted returns code for real elements that are converted to integers.
func (f *wholeCompiler[T]) converted(n *term.Term) filler[T] {
	if t := n.Args[0].Read.Tensor; f.z.c.tensors[t].Type != f.z.c.own {
		return nil // its elements may have more digits
	}
	r, whole := f.z.vector(f.z.real(n.Args[0])), n.Func.Whole
	f.uses = append(f.uses, r)
	least, end := math.Inf(1), math.Inf(-1) // conversions of numbers in [least, end) truncate
	switch n.Func.To {
	case dtype.I8:
		least, end = -1<<7, 1<<7
	case dtype.U8:
		least, end = 0, 1<<8
	case dtype.I32:
		least, end = -1<<31, 1<<31
	case dtype.I64:
		least, end = -1<<63, 1<<63
	}
	lo, hi := T(least), T(end)
	return func(s *state[T], out []int) {
		for i, v := range s.regs[r][:len(out)] {
			if v >= lo && v < hi {
				out[i] = int(v)
			} else {
				out[i] = whole(float64(v))
			}
		}
	}
}

// both returns code for a binary operation; join computes it in place of the first operand.
func (f *wholeCompiler[T]) both(n *term.Term, free int, join func(out, y []int)) filler[T] {
	x, y, strip := f.value(n.Args[0], free), f.value(n.Args[1], free+1), f.strip(free)
	return func(s *state[T], out []int) {
		x(s, out)
		other := strip(s)[:len(out)]
		y(s, other)
		join(out, other)
	}
}

// element returns code for strided loads, or nil for other loads.
func (f *wholeCompiler[T]) element(n *term.Term) filler[T] {
	a, t, z := accessOf(n.Read), n.Read.Tensor, f.z
	if a.offset.hidden(z.v) || len(a.open) > 0 || n.Read.Which != nil {
		return nil
	}
	z.fromMemory(n)
	at, k := z.c.value(a.offset), a.offset.factor(z.v)
	switch z.c.tensors[t].Type {
	case dtype.I8:
		return func(s *state[T], out []int) { setElements(out, s.mem[t].i8, at(s), k) }
	case dtype.U8:
		return func(s *state[T], out []int) { setElements(out, s.mem[t].u8, at(s), k) }
	case dtype.I32:
		return func(s *state[T], out []int) { setElements(out, s.mem[t].i32, at(s), k) }
	case dtype.I64:
		return func(s *state[T], out []int) { setElements(out, s.mem[t].i64, at(s), k) }
	}
	return nil
}

// setElements loads strided elements.
func setElements[U integer](out []int, x []U, at, step int) {
	if step == 1 {
		for i, v := range x[at : at+len(out)] {
			out[i] = int(v)
		}
		return
	}
	for i := range out {
		out[i] = int(x[at])
		at += step
	}
}

// folded returns code that visits the strips of an integer reduction's body, over the last reduced index. It
// returns nil if the body needs strip code of T, such as conditions on real numbers.
func (c *compiler[T]) folded(r *term.Reduction) func(s *state[T], visit func(first int, values []int)) {
	if r.Guard != nil || r.Body.Kind != term.Integer || len(r.Vars) == 0 {
		return nil
	}
	v := r.Vars[len(r.Vars)-1]
	z := newVectorizer(c, v)
	f := &wholeCompiler[T]{z: z, apart: true}
	fill, strip := f.value(r.Body, 1), f.strip(0)
	if len(z.strip.code) > 0 {
		return nil
	}
	lo, hi, at := c.integer(v.Lo), c.integer(v.Hi), c.place(v)
	return func(s *state[T], visit func(first int, values []int)) {
		all := strip(s)
		for i, end := lo(s), hi(s); i < end; i += len(all) {
			s.vars[at] = i
			x := all[:min(len(all), end-i)]
			fill(s, x)
			visit(i, x)
		}
	}
}

// fails reports whether the evaluation of a value may fail: by a division by 0, or by an access out of
// bounds.
func fails(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) {
		switch {
		case m.Op == term.Element:
			found = found || len(accessOf(m.Read).open) > 0 || m.Read.Which != nil
		case term.Divides(m.Op) && m.Kind == term.Integer:
			d, known := m.Args[1].Known()
			found = found || !known || !term.Divisor(m.Op, d)
		case m.Op == term.Reduce:
			found = true
		}
	})
	return found
}
