package loops

import (
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// A value that no real number of a tensor is a part of depends on indices, integers, attributes and constants
// only, such as the angle of a position. Single numbers are computed in float64, and so are strips of such
// values, whatever the type of the other strips: the digits of an angle that is far from 0 would be lost
// otherwise, and results would depend on the index that strips go over. They are rounded once, where they
// meet real numbers of tensors.

// wider reports whether a value has no real number of a tensor, and takes more than one rounding in strips of
// float32.
func (z *vectorizer[T]) wider(n *term.Term) bool {
	return z.c.own == dtype.F32 && n.Op != term.Element && n.Uses(z.v) && OfIntegers(n, z.c.exacts)
}

// OfIntegers reports whether a real number depends on indices, integers, attributes and constants only, and
// takes more than one rounding in float32. It may have elements of the tensors in exacts, which are local
// tensors of float64 that hold such values.
func OfIntegers(n *term.Term, exacts map[int]bool) bool {
	return n.Kind == term.Real && n.Op != term.Constant && !roundsOnce(n) && ofIntegers(n, exacts)
}

// ofIntegers reports whether a value depends on no random number, and on no real number of a tensor but those
// that keep all digits of such values.
func ofIntegers(n *term.Term, exacts map[int]bool) bool {
	ok := true
	n.Walk(func(m *term.Term) {
		ok = ok && (m.Op != term.Element || m.Kind != term.Real || m.Read.Count == 1 && exacts[m.Read.Tensor]) && m.Op != term.Step && !m.Func.Has(term.Random)
	})
	return ok
}

// roundsOnce reports whether a value is one operation on numbers that float32 holds, whose result is the same
// if it is computed in float64 and rounded then. That is so of sums, differences, products, quotients and
// square roots, since float64 has more than twice as many digits.
func roundsOnce(n *term.Term) bool {
	args := n.Args
	switch n.Op {
	case term.Add, term.Subtract, term.Multiply, term.Divide, term.Negate:
	case term.Choose:
		args = args[1:]
	case term.Power:
		if v, known := n.Args[1].Settled(); !known || v != 2 && v != 0.5 && v != -1 {
			return false
		}
	case term.Apply:
		if !n.Func.Has(term.Exact | term.RoundsOnce) {
			return false
		}
	default:
		return false
	}
	for _, a := range args {
		if !single(a) {
			return false
		}
	}
	return true
}

// single reports whether float32 holds a number.
func single(n *term.Term) bool {
	if v, known := n.Settled(); known {
		return float64(float32(v)) == v
	}
	if n.Kind == term.Boolean {
		return true
	}
	b := linear(n).bounds()
	return n.Kind == term.Integer && b.known && b.lo >= -exact32 && b.hi <= exact32
}

// inDouble compiles a value in strips of float64, and returns the register with its numbers rounded to T.
func (z *vectorizer[T]) inDouble(n *term.Term) int {
	r, run := z.register(false), z.double(n)
	z.step("a value in float64", r, func(s *state[T], n int) { convert(s.regs[r][:n], run(s, n)) })
	return r
}

// storeExact emits the writing of a value that is computed in strips of float64 to elements of float64.
func (z *vectorizer[T]) storeExact(t int, a *access, n *term.Term) {
	at, k, run := z.c.value(a.offset), a.offset.factor(z.v), z.double(n)
	z.step("a store of a value in float64", -1, func(s *state[T], n int) { simd.Scatter(s.mem[t].f64, run(s, n), at(s), k) })
}

// double compiles a value in strips of float64. The code returns n numbers from where the variables of a
// state stand.
func (z *vectorizer[T]) double(n *term.Term) func(s *state[T], n int) []float64 {
	z.fromMemory(n)
	c := z.c.inDouble()
	c.lenient = z.c.lenient
	d := newVectorizer(c, z.v)
	from := d.vector(d.real(n))
	c.finish(&d.strip)
	c.lenient = false
	z.c.fails, z.heavy = z.c.fails || c.fails, z.heavy || d.heavy
	var tensors []int
	n.Walk(func(m *term.Term) {
		for i := 0; m.Op == term.Element && i < m.Read.Count; i++ {
			tensors = append(tensors, m.Read.Tensor+i)
		}
	})
	code := d.strip
	return func(s *state[T], n int) []float64 {
		x := s.double
		x.step = s.step
		for _, t := range tensors {
			m := &s.mem[t]
			x.mem[t] = block[float64]{same: m.f64, f64: m.f64, i8: m.i8, u8: m.u8, i32: m.i32, i64: m.i64, bits: m.bits}
		}
		code.exec(x, n)
		return x.regs[from][:n]
	}
}

// inDouble returns the compiler of strips of float64, which have the same indices.
func (c *compiler[T]) inDouble() *compiler[float64] {
	if c.double == nil {
		c.double = &compiler[float64]{p: c.p, options: c.options, own: dtype.F64, tensors: c.tensors, places: c.places, kept: map[int]bool{}, narrow: c.narrow,
			exacts: c.exacts}
	}
	return c.double
}

// stateInDouble returns the state of strips of float64, which has the variables of a state.
func stateInDouble[T simd.Float](c *compiler[T], vars []int) *state[float64] {
	if c.double == nil {
		return nil
	}
	r := &runner[float64]{code: &code[float64]{compiler: c.double}, mem: make([]block[float64], len(c.tensors))}
	s := r.newState()
	s.vars = vars
	return s
}

// noteExact keeps local tensors in float64 that hold values of integers, so that these keep their digits.
func (c *compiler[T]) noteExact(statements []*statement) {
	given := map[int]int{}
	for _, s := range statements {
		given[s.target]++
	}
	for _, s := range statements {
		t := &c.tensors[s.target]
		if t.Local && !t.Planned && t.Type == dtype.Invalid && t.Memory == s.target && given[s.target] == 1 && !s.add &&
			s.reduction() == nil && OfIntegers(s.value, c.exacts) {
			t.Type, c.exacts[s.target] = dtype.F64, true
		}
	}
}
