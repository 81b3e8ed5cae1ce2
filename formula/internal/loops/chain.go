package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// chain computes a sum of values, each times a product that leaves out the factor at the result's index, such
// as the gradient of a cumulative product (see term.Chain). It makes one pass over the values and one over
// the factors, and accumulates in float64.
type chain[T simd.Float] struct {
	scan[T]      // over the values
	times    int // slot of the product's index
	from, to func(*state[T]) int
	factors  strip[T] // computes factors
	factor   int      // the register of the factors
}

// chainUnit compiles a chain.
func (k *unitCompiler[T]) chainUnit(st *rewrite.Statement, c *term.Chain) unit[T] {
	u := &chain[T]{scan: scan[T]{Scan: c.Scan, present: k.place(c.Present), count: rewrite.Extent(c.Present), over: k.place(c.Over),
		lo: k.integer(c.Lo), hi: k.integer(c.Hi), outer: k.loops(k.free(), c.Present)},
		times: k.place(c.Times), from: k.integer(c.From), to: k.integer(c.To)}
	u.in, u.x = k.countedStrip(c.Over, c.Scan.Guard, c.Value, 0)
	u.factors, u.factor = k.countedStrip(c.Times, c.Only, c.X, 1)
	u.out, u.y = k.resultStrip(st, c.Present)
	return u
}

// countedStrip returns code that computes x over a strip of index v, or other where guard fails. It also
// returns the register of the result.
func (k *unitCompiler[T]) countedStrip(v *term.Variable, guard, x *term.Term, other float64) (strip[T], int) {
	if guard != nil {
		x = term.Conditional(guard, x, term.RealNumber(other))
	}
	z := newVectorizer(k.compiler, v)
	reg := z.vector(z.real(x))
	k.finish(&z.strip)
	return z.strip, reg
}

// resultStrip returns code that stores statement st over a strip of index v, and the register from which it
// stores.
func (k *unitCompiler[T]) resultStrip(st *rewrite.Statement, v *term.Variable) (strip[T], int) {
	z := newVectorizer(k.compiler, v)
	reg := z.register(true)
	k.accumulators = append(k.accumulators, reg)
	z.store(st, operand[T]{reg: reg})
	k.finish(&z.strip)
	return z.strip, reg
}

func (u *chain[T]) run(s *state[T], lo, hi int) {
	y := s.regs[u.y]
	defer func() { s.regs[u.y] = y }()
	u.outer.each(s, 0, lo, hi, func(s *state[T]) { u.row(s, y) })
}

// row computes all results of one row. y is the register of results.
func (u *chain[T]) row(s *state[T], y []T) {
	first, end := u.bounds(s)
	if first >= end {
		u.constant(s, 0, u.count, 0, y)
		return
	}
	s.vars[u.over] = first
	from := u.from(s)
	s.vars[u.over] = end - 1
	to := max(from, u.to(s))
	n := end - first + to - from + u.count
	if cap(s.row) < n {
		s.row = make([]float64, n)
	}
	values, rest := s.row[:end-first], s.row[end-first:n]
	factors, results := rest[:to-from], rest[to-from:]
	fetch(s, &u.in, u.over, u.x, first, values)
	fetch(s, &u.factors, u.times, u.factor, from, factors)
	if u.Where == term.After {
		u.after(s, values, factors, results, first, from)
	} else {
		u.before(s, values, factors, results, first, from)
	}
	for p := 0; p < u.count; p += stripLength {
		n := min(stripLength, u.count-p)
		for i, v := range results[p : p+n] {
			y[i] = T(v)
		}
		u.give(s, p, y[:n])
	}
}

// fetch sets to to the values that code computes in register reg for consecutive values of an index, from
// first on. place is the slot of the index.
func fetch[T simd.Float](s *state[T], code *strip[T], place, reg, first int, to []float64) {
	for done := 0; done < len(to); done += stripLength {
		s.vars[place] = first + done
		n := min(stripLength, len(to)-done)
		code.exec(s, n)
		widen(to[done:done+n], s.regs[reg][:n])
	}
}

// after computes a chain whose sums are suffixes. A backward pass over the results sums the values, and
// multiplies by the factors behind the result's index. A forward pass multiplies by the factors before the
// index. An empty sum is 0 whatever the factors are.
func (u *chain[T]) after(s *state[T], values, factors, results []float64, first, from int) {
	sum, next := 0.0, len(values)
	for p := u.count - 1; p >= 0; p-- {
		if i := p + 1 - from; next < len(values) && i >= 0 && i < len(factors) {
			sum *= factors[i]
		}
		s.vars[u.present] = p
		for lo := u.lo(s) - first; next > lo && next > 0; {
			next--
			sum += values[next]
		}
		results[p] = sum
	}
	before := 1.0
	for p := range results {
		s.vars[u.present] = p
		if u.lo(s)-first >= len(values) {
			break
		}
		results[p] *= before
		if i := p - from; i >= 0 && i < len(factors) {
			before *= factors[i]
		}
	}
}

// before computes a chain whose sums are prefixes. It mirrors after.
func (u *chain[T]) before(s *state[T], values, factors, results []float64, first, from int) {
	sum, next, empty := 0.0, 0, 0
	for p := range results {
		if i := p - 1 - from; next > 0 && i >= 0 && i < len(factors) {
			sum *= factors[i]
		}
		s.vars[u.present] = p
		for hi := u.hi(s) - first; next < hi && next < len(values); next++ {
			sum += values[next]
		}
		if results[p] = sum; next == 0 {
			empty = p + 1
		}
	}
	behind := 1.0
	for i := len(factors) - 1; i >= max(u.count-from, 0); i-- {
		behind *= factors[i]
	}
	for p := u.count - 1; p >= empty; p-- {
		results[p] *= behind
		if i := p - from; i >= 0 && i < len(factors) {
			behind *= factors[i]
		}
	}
}
