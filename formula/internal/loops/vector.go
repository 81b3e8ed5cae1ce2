package loops

import (
	"math"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// vectorizer compiles values to code for strips of index v. While a strip runs, v has the value of the
// strip's first element.
type vectorizer[T simd.Float] struct {
	c      *compiler[T]
	v      *term.Variable
	at     int // the slot of v
	strip  strip[T]
	known  map[string]operand[T] // values that registers hold, by key
	views  []view                // registers that are views of memory
	loaded map[int]bool          // tensors from whose memory the code loads
	// heavy says that the code is compute-bound. Its stores are not non-temporal, since others overlap with
	// computation.
	heavy  bool
	affine map[int]affine[T] // register -> the chain of scalar operations that defines it
	// strict says that operations must round as scalar code does: they are not fused, and quotients do not
	// become products.
	strict bool
}

// operand is the result of a compiled value: a scalar that is uniform in a strip, or a register.
type operand[T simd.Float] struct {
	scalar func(*state[T]) float64 // computes the scalar; nil for a register
	reg    int
	// settled, lenient and term describe the scalar as in number.
	settled, lenient bool
	term             *term.Term
	// split says that the scalar is computed in float64. Its rounding error in T is subtracted, too.
	split bool
}

// view is a register that points to elements of a tensor.
type view struct{ reg, memory int }

func newVectorizer[T simd.Float](c *compiler[T], v *term.Variable) *vectorizer[T] {
	return &vectorizer[T]{c: c, v: v, at: c.place(v), known: map[string]operand[T]{}, strip: strip[T]{over: v, views: map[int]bool{}, parts: map[int]*address[T]{}, replaced: map[int]bool{},
		numbers: map[int]bool{}},
		loaded: map[int]bool{}, affine: map[int]affine[T]{}}
}

// register returns a new register. If view is true, it has no buffer.
func (z *vectorizer[T]) register(view bool) int {
	r := z.c.registers
	z.c.registers++
	z.strip.views[r] = view
	return r
}

// real compiles a number or a condition, unless a register already holds it.
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

// sameType reports whether a scalar is an element of type T, which is not rounded.
func (c *compiler[T]) sameType(n *term.Term) bool {
	return n.Op == term.Element && n.Kind == term.Real && n.Read.Count == 1 && n.Read.Else == nil && c.tensors[n.Read.Tensor].Type == c.own
}

// compute compiles a value that differs within a strip, and returns its register.
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

// fromMemory records that scalar code loads the tensors of a value, so that they must be in memory.
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

// lanes compiles a value by scalar code for each element, and returns its register.
func (z *vectorizer[T]) lanes(n *term.Term) int {
	z.fromMemory(n)
	return z.give(instruction[T]{op: opNumbers, numbers: []number[T]{{get: z.c.real(n), term: n}}, at: z.at})
}

// integer compiles an integer that is converted to T, and returns its register.
func (z *vectorizer[T]) integer(n *term.Term) int {
	if n.Op == term.Element {
		return z.load(n)
	}
	if x := realChoice(n); x != n {
		return z.vector(z.real(x))
	}
	f := rewrite.Linear(n)
	if f.Hidden(z.v) {
		return z.convertEach(n)
	}
	return z.give(instruction[T]{op: opCount, from: z.count(f, z.c.value(f))})
}

// realChoice returns a choice of integers that all types of the loops represent as a choice of real numbers.
// It returns other values as they are.
func realChoice(n *term.Term) *term.Term {
	if n.Op != term.Choose || n.Kind != term.Integer || !n.Args[1].Short() || !n.Args[2].Short() {
		return n
	}
	return term.Conditional(n.Args[0], term.RealNumber(n.Args[1].Value()), term.RealNumber(n.Args[2].Value()))
}

// vector returns the register of an operand, after a broadcast if it is a scalar.
func (z *vectorizer[T]) vector(x operand[T]) int {
	if x.scalar == nil {
		return x.reg
	}
	return z.give(instruction[T]{op: opFill, numbers: []number[T]{x.number()}})
}

// fill sets all elements of z to v.
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
	return z.give(instruction[T]{op: opUnary, unary: op, uses: []int{z.vector(x)}})
}

// binary emits a binary operation, and returns its register. At least one operand is a register.
func (z *vectorizer[T]) binary(op simd.Binary, x, y operand[T]) int {
	scalar, vector := y, x
	if op != simd.Sub && x.scalar != nil {
		scalar, vector = x, y
	}
	if scalar.scalar != nil && vector.scalar == nil {
		switch op {
		case simd.Add:
			return z.plus(vector, scalar)
		case simd.Sub:
			return z.minus(vector, scalar)
		case simd.Mul:
			return z.times(vector, scalar)
		}
	}
	in := instruction[T]{op: opBinary, binary: op}
	switch {
	case y.scalar != nil && x.scalar == nil:
		in.op, in.uses, in.numbers = opBinaryNumber, []int{x.reg}, []number[T]{y.number()}
	case x.scalar != nil && y.scalar == nil:
		in.op, in.uses, in.numbers = opNumberBinary, []int{y.reg}, []number[T]{x.number()}
	default:
		in.uses = []int{z.vector(x), z.vector(y)}
	}
	return z.give(in)
}

// arithmetic compiles a sum, difference, product or quotient, and returns its register.
func (z *vectorizer[T]) arithmetic(n *term.Term) int {
	x, y := n.Args[0], n.Args[1]
	if z.strict {
		op := map[term.Op]simd.Binary{term.Add: simd.Add, term.Subtract: simd.Sub, term.Multiply: simd.Mul, term.Divide: simd.Div}[n.Op]
		return z.binary(op, z.real(x), z.real(y))
	}
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

// invertible reports whether division by v may be multiplication by 1/v, which differs in the last place at
// most. Neither v nor 1/v may be infinite or denormal in T.
func invertible[T simd.Float](v float64) bool {
	least := 0x1p-125
	if dtype.Of[T]() == dtype.F64 {
		least = 0x1p-1021
	}
	return math.Abs(v) >= least && math.Abs(1/v) >= least
}

// sum compiles x + y as one instruction, if x is a product that no register holds. It returns false for other
// sums.
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
	return z.give(mulAdd(a, b, z.real(y).reg)), true
}

// mulAdd returns the instruction for x*y + w, where x is a register.
func mulAdd[T simd.Float](x, y operand[T], w int) instruction[T] {
	if y.scalar != nil {
		return instruction[T]{op: opMulAddNumber, uses: []int{x.reg, w}, numbers: []number[T]{y.number()}}
	}
	return instruction[T]{op: opMulAdd, uses: []int{x.reg, y.reg, w}}
}

// factors returns the registers of the factors of n. ok is false if n is no product, or if a register already
// holds the product.
func (z *vectorizer[T]) factors(n *term.Term) (w, q int, ok bool) {
	if n.Op != term.Multiply || n.Kind != term.Real || !n.Args[0].Uses(z.v) || !n.Args[1].Uses(z.v) || term.Identical(n.Args[0], n.Args[1]) || z.wider(n) {
		return 0, 0, false
	}
	if _, done := z.known[z.c.key(n)]; done {
		return 0, 0, false
	}
	return z.real(n.Args[0]).reg, z.real(n.Args[1]).reg, true
}

// power compiles a power, and returns its register. Small integer exponents become products.
func (z *vectorizer[T]) power(n *term.Term) int {
	v, known := n.Args[1].Settled()
	switch {
	case known && v == 2:
		return z.unary(simd.Square, n.Args[0])
	case known && v == 0.5: // sqrt differs at -0 and -Inf
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

// apply compiles a function call, and returns its register.
func (z *vectorizer[T]) apply(n *term.Term) int {
	f := n.Func
	z.heavy = z.heavy || f.Has(term.Series)
	switch {
	case f.Unary != 0:
		return z.unary(f.Unary, n.Args[0])
	case f.Binary != 0:
		return z.binary(f.Binary, z.real(n.Args[0]), z.real(n.Args[1]))
	case f.By != nil:
		return z.vector(z.real(f.By(n.Args[0])))
	case f.Has(term.Random):
		return z.drawn(n)
	case f.Has(term.Conversion) && (f.To == z.c.own || f.To == dtype.F64 && n.Args[0].Kind == term.Real):
		return z.vector(z.real(n.Args[0])) // T has no more digits
	case f.Has(term.Conversion) && f.To == dtype.F32:
		return z.toSingle(n.Args[0])
	case f.Has(term.Conversion):
		return z.lanes(n)
	}
	return z.each(n)
}

// toSingle compiles the rounding of x to float32.
func (z *vectorizer[T]) toSingle(x *term.Term) int {
	return z.give(instruction[T]{op: opNarrow, uses: []int{z.vector(z.real(x))}})
}

// each compiles a function without vector code: it is called for each element. Its arguments are computed in
// strips.
func (z *vectorizer[T]) each(n *term.Term) int {
	at := z.c.numbers
	z.c.numbers += len(n.Args)
	in := make([]int, len(n.Args))
	for i, x := range n.Args {
		in[i] = z.vector(z.real(x))
	}
	return z.give(instruction[T]{op: opFunction, of: n.Func, at: at, uses: in})
}
