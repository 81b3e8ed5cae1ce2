package loops

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/blas"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// state is what one goroutine needs to run loops: indices, buffers and partial results.
type state[T simd.Float] struct {
	vars []int      // values of indices, by slot
	mem  []block[T] // by tensor
	regs [][]T      // strips, by register
	step uint64     // the number of the training step
	// stop reports whether the run is to stop; nil if it never is. looked counts the strips that might look.
	stop   func() bool
	looked uint
	// double is the state of nested float64 strips; nil if there are none.
	double *state[float64]
	key    blas.Key // identifies packed factors, which shares of a run have in common

	arguments []jit.Arguments // of fused loops, by their number
	pointed   uint64          // bit set of groups whose loop flat has its pointers set

	past   bool // whether stores are non-temporal
	beside []T  // buffer of a strip for non-temporal stores and for reductions in place
	tile   []T  // buffer of a tile for non-temporal stores

	lanes  [mostFolds]simd.Lanes[T] // accumulators of the current reductions
	totals [mostFolds]float64       // sums that fused loops accumulated in machine registers
	count  int                      // number of reduced elements
	found  bool                     // whether an extreme was found: best, at index
	best   float64
	index  int
	wide   [][]float64               // float64 accumulators of outer reductions
	wider  []float64                 // buffer of a float64 strip
	places [flushed + simd.Ahead]int // offsets of rows to sum

	integers [][]int // integer strips, such as offsets
	apart    [][]int // integer strips that are not shared with other code
	// numbers holds arguments of scalar functions. Each function has an offset of its own.
	numbers []float64

	row   []float64 // partial results of a scan of a row
	whole []int     // partial results of an integer scan

	orders orders[T]

	drawing *drawing // nil if no random numbers are drawn

	products []T // buffer for results of matrix products that are converted
}

// failure is the panic value by which code reports an error, which Run recovers. Without an error, the run is
// to stop.
type failure struct{ err error }

// look ends the code if the run is to stop.
func (s *state[T]) look() {
	if s.looked++; s.looked%strips == 0 && s.stop() {
		panic(failure{})
	}
}

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// place returns the slot of an index in a state.
func (c *compiler[T]) place(v *term.Variable) int {
	i, ok := c.places[v]
	if !ok {
		i = len(c.places)
		c.places[v] = i
	}
	return i
}

// value returns scalar code for an affine form.
func (c *compiler[T]) value(f rewrite.Form) func(*state[T]) int {
	base := f.Base
	if f.Constant() {
		return func(*state[T]) int { return base }
	}
	if len(f.Rest) == 0 && len(f.Vars) == 1 {
		i, k := c.place(f.Vars[0].Of), f.Vars[0].Factor
		return func(s *state[T]) int { return base + k*s.vars[i] }
	}
	if len(f.Rest) == 0 && len(f.Vars) == 2 {
		i, k := c.place(f.Vars[0].Of), f.Vars[0].Factor
		j, l := c.place(f.Vars[1].Of), f.Vars[1].Factor
		return func(s *state[T]) int { return base + k*s.vars[i] + l*s.vars[j] }
	}
	if len(f.Rest) == 0 && len(f.Vars) == 3 {
		i, k := c.place(f.Vars[0].Of), f.Vars[0].Factor
		j, l := c.place(f.Vars[1].Of), f.Vars[1].Factor
		m, n := c.place(f.Vars[2].Of), f.Vars[2].Factor
		return func(s *state[T]) int { return base + k*s.vars[i] + l*s.vars[j] + n*s.vars[m] }
	}
	if len(f.Rest) == 1 && len(f.Vars) == 0 {
		k, x := f.Rest[0].Factor, c.operation(f.Rest[0].Of)
		return func(s *state[T]) int { return base + k*x(s) }
	}
	if len(f.Rest) == 1 && len(f.Vars) == 1 {
		i, k := c.place(f.Vars[0].Of), f.Vars[0].Factor
		l, x := f.Rest[0].Factor, c.operation(f.Rest[0].Of)
		return func(s *state[T]) int { return base + k*s.vars[i] + l*x(s) }
	}
	type part struct{ place, factor int }
	var parts []part
	for _, m := range f.Vars {
		parts = append(parts, part{c.place(m.Of), m.Factor})
	}
	rest := make([]func(*state[T]) int, len(f.Rest))
	factors := make([]int, len(f.Rest))
	for i, p := range f.Rest {
		rest[i], factors[i] = c.operation(p.Of), p.Factor
	}
	return func(s *state[T]) int {
		n := base
		for _, p := range parts {
			n += p.factor * s.vars[p.place]
		}
		for i, x := range rest {
			n += factors[i] * x(s)
		}
		return n
	}
}

// integer returns scalar code that computes an integer.
func (c *compiler[T]) integer(n *term.Term) func(*state[T]) int {
	if n.Kind != term.Integer {
		x := c.real(n)
		return func(s *state[T]) int { return int(x(s)) }
	}
	return c.value(rewrite.Linear(n))
}

// operation returns scalar code that computes an opaque integer.
func (c *compiler[T]) operation(n *term.Term) func(*state[T]) int {
	if n.Kind != term.Integer { // a condition, as 1 or 0
		x := c.real(n)
		return func(s *state[T]) int { return int(x(s)) }
	}
	switch n.Op {
	case term.Step:
		return func(s *state[T]) int { return int(s.step) }
	case term.Element:
		get := storageOf[T](c.tensors[n.Read.Tensor].Type).integerAt()
		return element(c, n.Read, c.integer, get)
	case term.Choose:
		return choice(c, n, c.integer)
	case term.Reduce:
		return c.reduceInteger(n.Reduction)
	case term.Apply:
		return c.applyInteger(n)
	}
	if d := n.Args[1]; d.Op == term.Constant && d.Int > 0 && (n.Op == term.Modulo || n.Op == term.Quotient) {
		return c.divided(n.Op, c.integer(n.Args[0]), d.Int)
	}
	x, y, op := c.integer(n.Args[0]), c.integer(n.Args[1]), n.Op
	switch op {
	case term.Multiply:
		return func(s *state[T]) int { return x(s) * y(s) }
	case term.Power:
		return func(s *state[T]) int { return term.IntegerPower(x(s), y(s)) }
	}
	c.fails = true
	return func(s *state[T]) int {
		d := y(s)
		if !term.Divisor(op, d) {
			fail("an integer is divided by %d", d)
		}
		return term.IntegerOf(op, x(s), d)
	}
}

// divided returns code that computes a floor quotient by a positive constant, or its remainder, which cannot
// fail.
func (c *compiler[T]) divided(op term.Op, x func(*state[T]) int, d int) func(*state[T]) int {
	if op == term.Quotient {
		return func(s *state[T]) int { return shape.FloorDiv(x(s), d) }
	}
	return func(s *state[T]) int {
		v := x(s) % d
		if v < 0 {
			v += d
		}
		return v
	}
}

func (c *compiler[T]) applyInteger(n *term.Term) func(*state[T]) int {
	if n.Func.Has(term.Conversion) {
		x, whole := c.real(n.Args[0]), n.Func.Whole
		return func(s *state[T]) int { return whole(x(s)) }
	}
	if n.Args[0].Kind != term.Integer {
		x := c.apply(n)
		return func(s *state[T]) int { return int(x(s)) }
	}
	x := c.integer(n.Args[0])
	if n.Func == term.Abs {
		return func(s *state[T]) int { return max(x(s), -x(s)) }
	}
	y := c.integer(n.Args[1])
	if n.Func == term.Min {
		return func(s *state[T]) int { return min(x(s), y(s)) }
	}
	return func(s *state[T]) int { return max(x(s), y(s)) }
}

// reached returns code that computes the address of an access: the tensor, and the offset in it. inside is
// false if the access is out of bounds and has a default or is speculative; otherwise it is an error.
func (c *compiler[T]) reached(r *term.Read) func(*state[T]) (tensor, at int, inside bool) {
	a := rewrite.AccessOf(r)
	at, first := c.value(a.Offset), r.Tensor
	which := func(*state[T]) int { return 0 }
	if r.Which != nil {
		which = c.integer(r.Which)
	}
	count, strict := r.Count, r.Else == nil && !c.lenient
	idx := make([]func(*state[T]) int, len(a.Idx))
	for i, f := range a.Idx {
		idx[i] = c.value(f)
	}
	open, ext, name := a.Open, a.Ext, c.p.Tensors[r.Tensor].Name
	if len(open) == 0 && r.Which == nil {
		return func(s *state[T]) (int, int, bool) { return first, at(s), true }
	}
	c.fails = c.fails || strict
	return func(s *state[T]) (int, int, bool) {
		w := which(s)
		inside := w >= 0 && w < count
		for _, d := range open {
			i := idx[d](s)
			inside = inside && i >= 0 && i < ext[d]
		}
		if inside {
			return first + w, at(s), true
		}
		if strict {
			values := make([]int, len(idx))
			for i, x := range idx {
				values[i] = x(s)
			}
			at, of := c.byDimension(r.Tensor, values, ext)
			fail("%s%s lies outside %s%s", name, shape.Format(at), name, shape.Format(of))
		}
		return first, 0, false
	}
}

// byDimension returns the subscripts of an element and the shape of its tensor. at and ext are the subscripts
// and extents of an access in which adjacent dimensions may have been replaced by one.
func (c *compiler[T]) byDimension(tensor int, at, ext []int) (subscripts, of []int) {
	dims := c.p.Tensors[tensor].Shape
	for _, d := range dims {
		n, _ := d.Known()
		of = append(of, n)
	}
	if subscripts = make([]int, len(of)); len(of) == len(ext) {
		return at, ext
	}
	for i := len(of) - 1; i >= 0; i-- {
		last := len(ext) - 1
		if last < 0 || i == 0 && ext[last] != of[i] || of[i] <= 0 || ext[last]%of[i] != 0 {
			return at, ext
		}
		if subscripts[i] = at[last]; ext[last] == of[i] {
			at, ext = at[:last], ext[:last]
			continue
		}
		subscripts[i] %= of[i]
		at, ext = append(slices.Clone(at[:last]), at[last]/of[i]), append(slices.Clone(ext[:last]), ext[last]/of[i])
	}
	return subscripts, of
}

// element returns scalar code that loads an element, or computes the read's default if the access is out of
// bounds. get loads an element, and code compiles the default.
func element[T simd.Float, V any](c *compiler[T], r *term.Read, code func(*term.Term) func(*state[T]) V, get func(*block[T], int) V) func(*state[T]) V {
	find := c.reached(r)
	other := func(*state[T]) V { return *new(V) }
	if r.Else != nil {
		other = code(r.Else)
	}
	if a := rewrite.AccessOf(r); len(a.Open) == 0 && r.Which == nil {
		at, t := c.value(a.Offset), r.Tensor
		return func(s *state[T]) V { return get(&s.mem[t], at(s)) }
	}
	return func(s *state[T]) V {
		t, at, inside := find(s)
		if !inside {
			return other(s)
		}
		return get(&s.mem[t], at)
	}
}

// single returns scalar code that loads the only element of a real tensor. It returns nil for other loads.
func (c *compiler[T]) single(r *term.Read) func(*state[T]) float64 {
	if a := rewrite.AccessOf(r); len(a.Open) > 0 || r.Which != nil || !a.Offset.IsZero() {
		return nil
	}
	t := r.Tensor
	switch c.tensors[t].Type {
	case dtype.F32:
		return func(s *state[T]) float64 { return float64(s.mem[t].f32[0]) }
	case dtype.F64:
		return func(s *state[T]) float64 { return s.mem[t].f64[0] }
	}
	return nil
}

// wideElement returns the load of a float64 element at an affine offset, such as the mean of a row. It
// returns nil for other values.
func (c *compiler[T]) wideElement(n *term.Term) *wideElement {
	if n.Op != term.Element {
		return nil
	}
	r := n.Read
	if a := rewrite.AccessOf(r); len(a.Open) == 0 && r.Which == nil && c.tensors[r.Tensor].Type == dtype.F64 && len(a.Offset.Rest) == 0 {
		return &wideElement{r.Tensor, a.Offset}
	}
	return nil
}

// choice returns scalar code for a conditional expression, whose operands code compiles.
func choice[T simd.Float, V any](c *compiler[T], n *term.Term, code func(*term.Term) func(*state[T]) V) func(*state[T]) V {
	holds := c.condition(n.Args[0])
	x, y := code(n.Args[1]), code(n.Args[2])
	return func(s *state[T]) V {
		if holds(s) {
			return x(s)
		}
		return y(s)
	}
}

// real returns scalar code that computes a value as float64.
func (c *compiler[T]) real(n *term.Term) func(*state[T]) float64 {
	if v, ok := n.Settled(); ok && n.Kind != term.Boolean {
		return func(*state[T]) float64 { return v }
	}
	switch n.Kind {
	case term.Integer:
		if n.Op == term.Element && c.p.Unsigned(n) { // by its storage, since int does not hold all of uint64
			return element(c, n.Read, c.real, storageOf[T](c.tensors[n.Read.Tensor].Type).realAt())
		}
		x := c.integer(n)
		return func(s *state[T]) float64 { return float64(x(s)) }
	case term.Boolean:
		x := c.condition(n)
		return func(s *state[T]) float64 { return term.Truth(x(s)) }
	}
	switch n.Op {
	case term.Element:
		if e := c.wideElement(n); e != nil && len(e.offset.Vars) == 1 {
			t, i, k, base := e.tensor, c.place(e.offset.Vars[0].Of), e.offset.Vars[0].Factor, e.offset.Base
			return func(s *state[T]) float64 { return s.mem[t].f64[base+k*s.vars[i]] }
		}
		if x := c.single(n.Read); x != nil {
			return x
		}
		return element(c, n.Read, c.real, storageOf[T](c.tensors[n.Read.Tensor].Type).realAt())
	case term.Choose:
		return choice(c, n, c.real)
	case term.Reduce:
		return c.reduceReal(n.Reduction)
	case term.Negate:
		x := c.real(n.Args[0])
		return func(s *state[T]) float64 { return -x(s) }
	case term.Apply:
		return c.apply(n)
	}
	x, y := c.real(n.Args[0]), c.real(n.Args[1])
	switch n.Op {
	case term.Add:
		return func(s *state[T]) float64 { return x(s) + y(s) }
	case term.Subtract:
		return func(s *state[T]) float64 { return x(s) - y(s) }
	case term.Multiply:
		return func(s *state[T]) float64 { return x(s) * y(s) }
	case term.Divide:
		return func(s *state[T]) float64 { return x(s) / y(s) }
	}
	if v, ok := n.Args[1].Settled(); ok && v == 2 {
		return func(s *state[T]) float64 { v := x(s); return v * v }
	}
	return func(s *state[T]) float64 { return math.Pow(x(s), y(s)) }
}

// apply returns scalar code for a function of real numbers.
func (c *compiler[T]) apply(n *term.Term) func(*state[T]) float64 {
	if draw := n.Func.Draw; draw != nil {
		seed, stream, number := c.integer(n.Args[0]), c.integer(n.Args[1]), c.integer(n.Args[2])
		return func(s *state[T]) float64 { return draw(seed(s), stream(s), number(s)) }
	}
	f := n.Func.Real
	args := make([]func(*state[T]) float64, len(n.Args))
	for i, a := range n.Args {
		args[i] = c.real(a)
	}
	switch n.Func {
	case term.Max:
		x, y := args[0], args[1]
		return func(s *state[T]) float64 { return max(x(s), y(s)) }
	case term.Min:
		x, y := args[0], args[1]
		return func(s *state[T]) float64 { return min(x(s), y(s)) }
	}
	first := c.numbers
	c.numbers += len(args)
	return func(s *state[T]) float64 {
		v := s.numbers[first:][:len(args):len(args)]
		for i, x := range args {
			v[i] = x(s)
		}
		return f(v...)
	}
}

// condition returns scalar code that computes a condition.
func (c *compiler[T]) condition(n *term.Term) func(*state[T]) bool {
	if n.Kind != term.Boolean {
		x := c.real(n)
		return func(s *state[T]) bool { return x(s) != 0 }
	}
	switch n.Op {
	case term.Constant:
		v := n.Int != 0
		return func(*state[T]) bool { return v }
	case term.Element:
		return element(c, n.Read, c.condition, func(b *block[T], i int) bool { return b.bits[i] })
	case term.Choose:
		return choice(c, n, c.condition)
	case term.Apply: // isnan, convert
		x := c.apply(n)
		return func(s *state[T]) bool { return x(s) != 0 }
	case term.Reduce:
		return c.quantified(n.Reduction)
	case term.Not:
		x := c.condition(n.Args[0])
		return func(s *state[T]) bool { return !x(s) }
	case term.And:
		x, y := c.condition(n.Args[0]), c.condition(n.Args[1])
		return func(s *state[T]) bool { return x(s) && y(s) }
	case term.Or:
		x, y := c.condition(n.Args[0]), c.condition(n.Args[1])
		return func(s *state[T]) bool { return x(s) || y(s) }
	}
	a, b := n.Args[0].Kind, n.Args[1].Kind
	if a == term.Integer && b == term.Integer {
		return ordered(n.Op, c.integer(n.Args[0]), c.integer(n.Args[1]))
	}
	return ordered(n.Op, c.rounded(n.Args[0]), c.rounded(n.Args[1]))
}

// holds returns scalar code that computes a guard. A guard that is nil always holds.
func (c *compiler[T]) holds(guard *term.Term) func(*state[T]) bool {
	if guard == nil {
		return func(*state[T]) bool { return true }
	}
	return c.condition(guard)
}

// rounded returns scalar code that computes a real value, rounded to T. Operands of comparisons are rounded,
// so that a recomputed value equals the stored one, such as an element and the maximum.
func (c *compiler[T]) rounded(n *term.Term) func(*state[T]) float64 {
	x := c.real(n)
	return func(s *state[T]) float64 { return float64(T(x(s))) }
}

// ordered returns scalar code that compares x with y.
func ordered[T simd.Float, V int | float64](op term.Op, x, y func(*state[T]) V) func(*state[T]) bool {
	switch op {
	case term.Equal:
		return func(s *state[T]) bool { return x(s) == y(s) }
	case term.Unequal:
		return func(s *state[T]) bool { return x(s) != y(s) }
	case term.Less:
		return func(s *state[T]) bool { return x(s) < y(s) }
	}
	return func(s *state[T]) bool { return x(s) <= y(s) }
}
