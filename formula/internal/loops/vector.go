package loops

import (
	"math"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/rng"
)

// vectorizer compiles values of which one variable goes over the elements of strips. While a strip is
// computed, the variable stands at the strip's first element.
type vectorizer[T simd.Float] struct {
	c      *compiler[T]
	v      *term.Variable
	at     int // the place of v
	strip  strip[T]
	known  map[string]operand[T] // values that the code has computed, by what they are
	views  []view                // strips that are parts of tensors
	loaded map[int]bool          // the tensors of which elements are read from memory
	// heavy says that the code computes for longer than memory takes. Ordinary stores go on meanwhile, and
	// those past the caches do not.
	heavy  bool
	affine map[int]affine[T] // the operations with numbers that lead to registers
}

// operand is a value: a number, which is the same in all of a strip, or a register.
type operand[T simd.Float] struct {
	scalar func(*state[T]) float64 // nil for a register
	reg    int
	// settled, lenient and term are those of a number.
	settled, lenient bool
	term             *term.Term
	// split says that the number is computed in float64 and is worth two numbers of T where it is subtracted.
	split bool
}

// view is a register that holds a part of a tensor's memory.
type view struct{ reg, memory int }

func newVectorizer[T simd.Float](c *compiler[T], v *term.Variable) *vectorizer[T] {
	return &vectorizer[T]{c: c, v: v, at: c.place(v), known: map[string]operand[T]{}, strip: strip[T]{over: v, views: map[int]bool{}, parts: map[int]*part{}, replaced: map[int]bool{},
		numbers: map[int]bool{}},
		loaded: map[int]bool{}, affine: map[int]affine[T]{}}
}

// register returns a new register. That of a view has no buffer of its own.
func (z *vectorizer[T]) register(view bool) int {
	r := z.c.registers
	z.c.registers++
	z.strip.views[r] = view
	return r
}

func (z *vectorizer[T]) emit(def int, run func(s *state[T], n int), uses ...int) {
	z.strip.code = append(z.strip.code, instruction[T]{run: run, uses: uses, def: def})
}

// real compiles a number or a condition.
func (z *vectorizer[T]) real(n *term.Term) operand[T] {
	if !n.Uses(z.v) {
		z.fromMemory(n)
		_, exact := n.Settled()
		return operand[T]{scalar: z.c.real(n), split: !exact && !z.c.sameType(n), settled: exact, term: n,
			lenient: z.c.lenient}
	}
	key := z.c.key(n)
	if x, ok := z.known[key]; ok {
		return x
	}
	x := operand[T]{}
	if z.wider(n) {
		x.reg = z.inDouble(n)
	} else {
		x.reg = z.compute(n)
	}
	z.known[key] = x
	return x
}

// sameType reports whether a number is an element of the strips' type, which has no digits beyond theirs.
func (c *compiler[T]) sameType(n *term.Term) bool {
	return n.Op == term.Element && n.Kind == term.Real && n.Read.Count == 1 && n.Read.Else == nil && c.tensors[n.Read.Tensor].Type == c.own
}

// compute compiles a value that is not the same in all of a strip, and returns its register.
func (z *vectorizer[T]) compute(n *term.Term) int {
	switch n.Kind {
	case term.Boolean:
		return z.condition(n)
	case term.Integer:
		return z.integer(n)
	}
	switch n.Op {
	case term.Element:
		return z.load(n)
	case term.Choose:
		return z.choose(n)
	case term.Negate:
		return z.unary(simd.Neg, n.Args[0])
	case term.Add, term.Subtract, term.Multiply, term.Divide:
		return z.arithmetic(n)
	case term.Power:
		return z.power(n)
	case term.Apply:
		return z.apply(n)
	}
	return z.lanes(n)
}

// fromMemory notes that code for single elements reads the tensors of a value. It reads their memory, and no
// strips.
func (z *vectorizer[T]) fromMemory(n *term.Term) {
	n.Walk(func(m *term.Term) {
		if m.Op == term.Element {
			for i := range m.Read.Count {
				z.loaded[m.Read.Tensor+i] = true
				z.strip.numbers[z.c.tensors[m.Read.Tensor+i].Memory] = true
			}
		}
	})
}

// lanes compiles a value element by element.
func (z *vectorizer[T]) lanes(n *term.Term) int {
	z.fromMemory(n)
	x, at, r := z.c.real(n), z.at, z.register(false)
	z.emit(r, func(s *state[T], n int) {
		first := s.vars[at]
		out := s.regs[r][:n]
		for i := range out {
			s.vars[at] = first + i
			out[i] = T(x(s))
		}
		s.vars[at] = first
	})
	return r
}

// integer compiles an integer as a real number.
func (z *vectorizer[T]) integer(n *term.Term) int {
	if n.Op == term.Element {
		return z.load(n)
	}
	f := linear(n)
	if f.hidden(z.v) {
		return z.convertEach(n)
	}
	x, k, r := z.c.value(f), f.factor(z.v), z.register(false)
	z.emit(r, func(s *state[T], n int) {
		v := x(s)
		for i := range s.regs[r][:n] {
			s.regs[r][i] = T(v)
			v += k
		}
	})
	return r
}

// vector returns the register of an operand; that of a number is filled with it.
func (z *vectorizer[T]) vector(x operand[T]) int {
	if x.scalar == nil {
		return x.reg
	}
	r, f := z.register(false), x.scalar
	z.emit(r, func(s *state[T], n int) {
		fill(s.regs[r][:n], T(f(s)))
	})
	z.does(operationOf(func(_ *vectors, _, k []value) value { return k[0] }, x.number()))
	return r
}

// fill sets all elements to v.
func fill[T simd.Float](z []T, v T) {
	if v == 0 && !math.Signbit(float64(v)) {
		clear(z)
		return
	}
	for i := range z[:min(16, len(z))] {
		z[i] = v
	}
	for done := 16; done < len(z); done *= 2 {
		copy(z[done:], z[:done])
	}
}

func (z *vectorizer[T]) unary(op simd.Unary, n *term.Term) int { return z.unaryOf(op, z.real(n)) }

func (z *vectorizer[T]) unaryOf(op simd.Unary, x operand[T]) int {
	f, a, r := simd.UnaryOf[T](op), z.vector(x), z.register(false)
	z.emit(r, func(s *state[T], n int) { f(s.regs[r][:n], s.regs[a][:n]) }, a)
	z.does(unaryOperation[T](op))
	return r
}

// binary emits a function of two operands, of which one at least is a register.
func (z *vectorizer[T]) binary(op simd.Binary, x, y operand[T]) int {
	number, vector := y, x
	if op != simd.Sub && x.scalar != nil {
		number, vector = x, y
	}
	if number.scalar != nil && vector.scalar == nil {
		switch op {
		case simd.Add:
			return z.plus(vector, number)
		case simd.Sub:
			return z.minus(vector, number)
		case simd.Mul:
			return z.times(vector, number)
		}
	}
	r := z.register(false)
	switch {
	case y.scalar != nil && x.scalar == nil:
		f, a, v := simd.BinaryScalarOf[T](op), x.reg, y.scalar
		z.emit(r, func(s *state[T], n int) { f(s.regs[r][:n], s.regs[a][:n], T(v(s))) }, a)
		z.does(binaryOperation(op, operand[T]{}, y))
	case x.scalar != nil && y.scalar == nil:
		f, v, b := simd.ScalarBinaryOf[T](op), x.scalar, y.reg
		z.emit(r, func(s *state[T], n int) { f(s.regs[r][:n], T(v(s)), s.regs[b][:n]) }, b)
		z.does(binaryOperation(op, x, operand[T]{}))
	default:
		f, a, b := simd.BinaryOf[T](op), z.vector(x), z.vector(y)
		z.emit(r, func(s *state[T], n int) { f(s.regs[r][:n], s.regs[a][:n], s.regs[b][:n]) }, a, b)
		z.does(binaryOperation[T](op, operand[T]{}, operand[T]{}))
	}
	return r
}

// arithmetic compiles a sum, a difference, a product or a quotient.
func (z *vectorizer[T]) arithmetic(n *term.Term) int {
	x, y := n.Args[0], n.Args[1]
	switch n.Op {
	case term.Add:
		if r, ok := z.sum(x, y); ok {
			return r
		}
		if r, ok := z.sum(y, x); ok {
			return r
		}
		return z.binary(simd.Add, z.real(x), z.real(y))
	case term.Subtract:
		return z.difference(x, y)
	case term.Multiply:
		if term.Identical(x, y) {
			return z.unary(simd.Square, x)
		}
		return z.binary(simd.Mul, z.real(x), z.real(y))
	}
	a, b := z.real(x), z.real(y)
	if v, ok := y.Settled(); ok && b.scalar != nil && invertible[T](v) {
		inverse := 1 / v
		return z.binary(simd.Mul, a, operand[T]{scalar: func(*state[T]) float64 { return inverse }, term: term.RealNumber(inverse)})
	}
	if v, ok := x.Settled(); ok && v == 1 {
		return z.unaryOf(simd.Recip, b)
	}
	return z.binary(simd.Div, a, b)
}

// invertible reports whether products with the inverse of a number, rounded to T, are as good as quotients
// but for the last place. An inverse that is infinite or denormal is not, nor is that of a denormal number.
func invertible[T simd.Float](v float64) bool {
	least := 0x1p-125
	if dtype.Of[T]() == dtype.F64 {
		least = 0x1p-1021
	}
	return math.Abs(v) >= least && math.Abs(1/v) >= least
}

// sum compiles x + y where x is a product of which no value is needed elsewhere.
func (z *vectorizer[T]) sum(x, y *term.Term) (int, bool) {
	if x.Op != term.Multiply || x.Kind != term.Real || !x.Uses(z.v) || !y.Uses(z.v) || term.Identical(x.Args[0], x.Args[1]) || z.wider(x) {
		return 0, false
	}
	if _, done := z.known[z.c.key(x)]; done {
		return 0, false
	}
	a, b := z.real(x.Args[0]), z.real(x.Args[1])
	if a.scalar != nil {
		a, b = b, a
	}
	c, r := z.real(y).reg, z.register(false)
	w := a.reg
	if f := b.scalar; f != nil {
		z.emit(r, func(s *state[T], n int) {
			simd.MulAddScalar(s.regs[r][:n], s.regs[w][:n], T(f(s)), s.regs[c][:n])
		}, w, c)
		z.does(operationOf(func(m *vectors, x, k []value) value { return m.Add(m.Mul(x[0], k[0]), x[1]) }, b.number()))
		return r, true
	}
	q := b.reg
	z.emit(r, func(s *state[T], n int) {
		simd.MulAdd(s.regs[r][:n], s.regs[w][:n], s.regs[q][:n], s.regs[c][:n])
	}, w, q, c)
	z.does(operationOf[T](func(m *vectors, x, _ []value) value { return m.Add(m.Mul(x[0], x[1]), x[2]) }))
	return r, true
}

// factors returns the registers of the factors of a product of which no value is needed elsewhere.
func (z *vectorizer[T]) factors(n *term.Term) (w, q int, ok bool) {
	if n.Op != term.Multiply || n.Kind != term.Real || !n.Args[0].Uses(z.v) || !n.Args[1].Uses(z.v) || term.Identical(n.Args[0], n.Args[1]) || z.wider(n) {
		return 0, 0, false
	}
	if _, done := z.known[z.c.key(n)]; done {
		return 0, 0, false
	}
	return z.real(n.Args[0]).reg, z.real(n.Args[1]).reg, true
}

// power compiles a power. Small whole exponents are products.
func (z *vectorizer[T]) power(n *term.Term) int {
	v, known := n.Args[1].Settled()
	switch {
	case known && v == 2:
		return z.unary(simd.Square, n.Args[0])
	case known && v == 0.5: // the root but for -0, whose power is 0, and -Inf, whose power is infinite
		root := term.Applied("abs", term.Applied("sqrt", n.Args[0]))
		least := term.Compare(term.Equal, n.Args[0], term.RealNumber(math.Inf(-1)))
		return z.vector(z.real(term.Chosen(least, term.RealNumber(math.Inf(1)), root)))
	case known && v == -1:
		return z.unary(simd.Recip, n.Args[0])
	case known && (v == 3 || v == 4):
		x := z.real(n.Args[0])
		square := operand[T]{reg: z.unaryOf(simd.Square, x)}
		if v == 4 {
			return z.unaryOf(simd.Square, square)
		}
		return z.binary(simd.Mul, square, x)
	}
	z.heavy = true
	return z.binary(simd.Pow, z.real(n.Args[0]), z.real(n.Args[1]))
}

// apply compiles a function.
func (z *vectorizer[T]) apply(n *term.Term) int {
	f := n.Func
	z.heavy = z.heavy || f.Has(term.Series)
	switch {
	case f.Unary != 0:
		return z.unary(f.Unary, n.Args[0])
	case f.Binary != 0:
		return z.binary(f.Binary, z.real(n.Args[0]), z.real(n.Args[1]))
	case f.Has(term.Random):
		return z.drawn(n)
	case f.Has(term.Conversion) && (f.To == z.c.own || f.To == dtype.F64 && n.Args[0].Kind == term.Real):
		return z.vector(z.real(n.Args[0])) // strips hold no more digits than they can
	case f.Has(term.Conversion) && f.To == dtype.F32:
		return z.toSingle(n.Args[0])
	case f.Has(term.Conversion):
		return z.lanes(n)
	}
	return z.each(n)
}

// toSingle compiles the rounding to float32.
func (z *vectorizer[T]) toSingle(x *term.Term) int {
	a, r := z.vector(z.real(x)), z.register(false)
	z.emit(r, func(s *state[T], n int) {
		out := s.regs[r][:n]
		for i, v := range s.regs[a][:n] {
			out[i] = T(float32(v))
		}
	}, a)
	return r
}

// each compiles a function without vector code. Its arguments may be values of the same strip, which memory
// does not hold yet.
func (z *vectorizer[T]) each(n *term.Term) int {
	f, at, r := n.Func.Real, z.c.numbers, z.register(false)
	z.c.numbers += len(n.Args)
	in := make([]int, len(n.Args))
	for i, x := range n.Args {
		in[i] = z.vector(z.real(x))
	}
	z.emit(r, func(s *state[T], n int) {
		x := s.numbers[at:][:len(in):len(in)] // a list made for each call would be allocated
		for i := range s.regs[r][:n] {
			for k, a := range in {
				x[k] = float64(s.regs[a][i])
			}
			s.regs[r][i] = T(f(x...))
		}
	}, in...)
	return r
}

// drawn compiles random numbers of consecutive elements.
func (z *vectorizer[T]) drawn(n *term.Term) int {
	f := linear(n.Args[2])
	if n.Args[0].Uses(z.v) || n.Args[1].Uses(z.v) || n.Args[2].Kind != term.Integer || f.hidden(z.v) {
		return z.lanes(n)
	}
	seed, step, at, k, r := z.c.real(n.Args[0]), z.c.real(n.Args[1]), z.c.value(f), f.factor(z.v), z.register(false)
	if k == 1 {
		z.c.words, z.heavy = true, true
		normal := n.Func == term.Normal
		z.emit(r, func(s *state[T], n int) {
			narrowed(s.regs[r][:n], s.drawing.draw(n, uint64(int64(seed(s))), uint64(step(s)), uint64(at(s)), normal))
		})
		return r
	}
	draw := rng.Source.Uniform
	if n.Func == term.Normal {
		draw = rng.Source.Normal
	}
	z.emit(r, func(s *state[T], n int) {
		source, i := rng.New(uint64(int64(seed(s))), uint64(step(s))), at(s)
		for j := range s.regs[r][:n] {
			s.regs[r][j] = T(draw(source, uint64(i+j*k)))
		}
	})
	return r
}
