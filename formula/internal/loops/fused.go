package loops

import (
	"slices"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/internal/base/simd/approx"
	"github.com/opgen/opgen/internal/base/simd/elementary"
	"github.com/opgen/opgen/runtime/dtype"
)

// vectors writes operations on vectors of a loop that is compiled to machine code.
type vectors = elementary.Functions[jit.Value, jit.Mask]

// value is a vector of such a loop.
type value = jit.Value

// operation says what an instruction computes, element by element, so that it can be a part of a compiled
// loop.
type operation[T simd.Float] struct {
	// compute returns the value for those of the instruction's operands and for numbers.
	compute func(m *vectors, x, k []value) value
	// numbers are the values that are the same in all of a strip.
	numbers []number[T]
	store   *stored[T]
	source  *source[T] // elements of another type that the instruction reads from memory; nil for others
	// accumulator is the register to which the instruction adds. It is the first of the values that compute
	// gets, and what it returns.
	accumulator int
	// lanes is the number of the fold to whose accumulators the result goes, and -1 if it does not. They are
	// the first of the values.
	lanes int
	// sum returns what the fold adds if it is a sum that begins with zeros, without the accumulators;
	// otherwise it is nil.
	sum func(m *vectors, x, k []value) value
}

// stored says where in memory a result goes.
type stored[T simd.Float] struct {
	tensor, memory int
	place          string // names the place; elements at the same place of the same memory are the same
	offset         form   // the place
	at             func(*state[T]) int
	kind           jit.Kind // of the elements
	past           bool
	add            bool // whether the result is added to what is there
	view           int  // the register that is the strip in memory from then on, or -1
}

// source says where in memory elements of another type lie.
type source[T simd.Float] struct {
	part
	tensor int
	kind   jit.Kind
	at     func(*state[T]) int
}

// kindOf returns how elements of a type are kept, and whether compiled loops know the type.
func (c *compiler[T]) kindOf(t dtype.Type) (k jit.Kind, ok bool) {
	switch t {
	case c.own:
		return jit.Same, true
	case dtype.Bool:
		return jit.Conditions, true
	case dtype.I32:
		return jit.Int32, true
	case dtype.I64:
		return jit.Int64, true
	case dtype.F32:
		return jit.Single, true
	}
	return 0, false
}

// loads says that the last instruction reads neighboring elements of another type.
func (z *vectorizer[T]) loads(t int, a *access, at func(*state[T]) int) {
	if k, ok := z.c.kindOf(z.c.tensors[t].Type); ok && len(a.offset.rest) == 0 { // the code may give what another place depends on
		op := operationOf[T](nil)
		op.source = &source[T]{part{memory: z.c.tensors[t].Memory, place: z.placeOf(a), offset: a.offset}, t, k, at}
		z.does(op)
	}
}

// gives says that the last instruction writes a register to neighboring elements of another type.
func (z *vectorizer[T]) gives(t int, a *access, at func(*state[T]) int) {
	if k, ok := z.c.kindOf(z.c.tensors[t].Type); ok && len(a.offset.rest) == 0 {
		op := operationOf[T](func(_ *vectors, x, _ []value) value { return x[0] })
		op.store = &stored[T]{tensor: t, memory: z.c.tensors[t].Memory, place: z.placeOf(a), offset: a.offset, at: at, kind: k, view: -1}
		z.does(op)
	}
}

// part is what an instruction that only sets a register to a strip of memory says of it.
type part struct {
	memory int
	place  string
	offset form // the place
	fixed  bool // whether it does not depend on values of tensors
}

// adding returns the operation that adds values to the accumulators of a fold, which are zeros before.
func adding[T simd.Float](fold int, of func(m *vectors, x, k []value) value, numbers ...number[T]) *operation[T] {
	op := operationOf(func(m *vectors, x, k []value) value { return m.Add(x[0], of(m, x[1:], k)) }, numbers...)
	op.lanes, op.sum = fold, of
	return op
}

// unaryCode, binaryCode are the operations of package simd that compiled loops have.
var unaryCode = map[simd.Unary]func(m *vectors, x value) value{
	simd.Neg: (*vectors).Neg, simd.Abs: (*vectors).Abs, simd.Square: (*vectors).Square, simd.Rsqrt: (*vectors).Rsqrt, simd.Recip: (*vectors).Recip,
	simd.Sqrt: func(m *vectors, x value) value { return m.Sqrt(x) }, simd.Exp: (*vectors).Exp, simd.Log: (*vectors).Log, simd.Expm1: (*vectors).Expm1, simd.Log1p: (*vectors).Log1p,
	simd.Tanh: (*vectors).Tanh, simd.Sigmoid: (*vectors).Sigmoid, simd.Phi: (*vectors).Phi, simd.Density: (*vectors).Density,
	simd.Floor: (*vectors).Floor, simd.Ceil: (*vectors).Ceil, simd.Round: (*vectors).Even, simd.Sign: (*vectors).Sign, simd.IsNaN: (*vectors).IsNaN,
	simd.Not: (*vectors).Not,
}

var binaryCode = map[simd.Binary]func(m *vectors, x, y value) value{
	simd.Add: func(m *vectors, x, y value) value { return m.Add(x, y) }, simd.Sub: func(m *vectors, x, y value) value { return m.Sub(x, y) },
	simd.Mul: func(m *vectors, x, y value) value { return m.Mul(x, y) }, simd.Div: func(m *vectors, x, y value) value { return m.Div(x, y) },
	simd.Max: (*vectors).Max, simd.Min: (*vectors).Min, simd.Less: (*vectors).Less, simd.AtMost: (*vectors).AtMost, simd.Equal: (*vectors).Equal,
	simd.Unequal: (*vectors).Unequal, simd.And: (*vectors).All, simd.Or: (*vectors).Any,
}

// operationOf returns an operation on registers and numbers.
func operationOf[T simd.Float](compute func(m *vectors, x, k []value) value, numbers ...number[T]) *operation[T] {
	return &operation[T]{compute: compute, numbers: numbers, accumulator: -1, lanes: -1}
}

// does says what the last instruction computes.
func (z *vectorizer[T]) does(op *operation[T]) { z.strip.code[len(z.strip.code)-1].op = op }

// unaryOperation and binaryOperation return operations, or nil if compiled loops do not have them.
func unaryOperation[T simd.Float](op simd.Unary) *operation[T] {
	f, ok := unaryCode[op]
	if !ok {
		return nil
	}
	return operationOf[T](func(m *vectors, x, _ []value) value { return f(m, x[0]) })
}

// binaryOperation takes the first operand, the second, or none from a number.
func binaryOperation[T simd.Float](op simd.Binary, first, second operand[T]) *operation[T] {
	f, ok := binaryCode[op]
	switch {
	case !ok:
		return nil
	case first.scalar != nil:
		return operationOf(func(m *vectors, x, k []value) value { return f(m, k[0], x[0]) }, first.number())
	case second.scalar != nil:
		return operationOf(func(m *vectors, x, k []value) value { return f(m, x[0], k[0]) }, second.number())
	}
	return operationOf[T](func(m *vectors, x, _ []value) value { return f(m, x[0], x[1]) })
}

// mostNumbers is how many numbers a compiled loop takes at most.
const mostNumbers = 32

// mostFolds is how many reductions one loop computes at most.
const mostFolds = 4

// fewest is of how many instructions a compiled loop is made at least. A single one is a function of package
// simd, which does as well unless the result is a sum, or goes to memory.
func fewest[T simd.Float](pending []instruction[T]) int {
	if op := pending[0].op; len(pending) == 1 && (op.store != nil || op.sum != nil) {
		return 1
	}
	return 2
}

// fuser joins instructions of a strip that follow one another to compiled loops.
type fuser[T simd.Float] struct {
	c    *compiler[T]
	p    *strip[T]
	uses map[int]int  // how many instructions use a register
	can  *jit.Builder // knows what loops can do
	out  []instruction[T]

	pending []instruction[T]

	numbers int
	open    []openBranch
}

// openBranch is a branch whose instructions are not all there yet.
type openBranch struct{ at, last int }

// fuse joins what it can.
func (c *compiler[T]) fuse(p *strip[T]) {
	bytes := simd.Vector()
	if bytes == 0 || !jit.Available() {
		return
	}
	f := &fuser[T]{c: c, p: p, uses: map[int]int{}, can: jit.NewBuilder(c.own == dtype.F64, bytes == 64)}
	for _, in := range p.code {
		for _, r := range slices.Compact(slices.Sorted(slices.Values(in.uses))) {
			f.uses[r]++
		}
	}
	for i, in := range p.code {
		for len(f.open) > 0 && i > f.open[len(f.open)-1].last {
			f.close()
		}
		switch {
		case in.when != nil:
			f.flush()
			f.open = append(f.open, openBranch{len(f.out), i + in.skip})
			f.out = append(f.out, in)
		case in.part != nil && in.part.fixed:
			f.out = append(f.out, in)
		case in.op == nil || in.op.source != nil && !f.can.Loads(in.op.source.kind) || in.op.store != nil && !f.can.Stores(in.op.store.kind):
			f.flush()
			f.out = append(f.out, in)
		default:
			f.join(in)
		}
	}
	for len(f.open) > 0 {
		f.close()
	}
	f.flush()
	p.code = f.out
}

// close ends a branch.
func (f *fuser[T]) close() {
	f.flush()
	b := f.open[len(f.open)-1]
	f.open = f.open[:len(f.open)-1]
	f.out[b.at].skip = len(f.out) - b.at - 1
}

// join adds an instruction to those that one loop will compute.
func (f *fuser[T]) join(in instruction[T]) {
	if f.conflicts(in) || f.numbers+len(in.op.numbers) > mostNumbers {
		f.flush()
	}
	f.pending = append(f.pending, in)
	f.numbers += len(in.op.numbers)
}

// partOf returns which memory a register is a part of, or nil.
func (f *fuser[T]) partOf(r int) *part { return f.p.parts[r] }

// conflicts reports whether an instruction uses memory that pending ones write, or writes what they use, at
// another place. A strip is written after all of it was read, and a loop writes some elements before it reads
// others.
func (f *fuser[T]) conflicts(in instruction[T]) bool {
	differ := func(memory int, place string, other *part) bool {
		return other != nil && other.memory == memory && other.place != place
	}
	read := func(in *instruction[T], memory int, place string) bool { // whether it reads that memory at another place
		for _, r := range in.uses {
			if differ(memory, place, f.partOf(r)) {
				return true
			}
		}
		return in.op.source != nil && differ(memory, place, &in.op.source.part)
	}
	for i := range f.pending {
		p := &f.pending[i]
		if s := p.op.store; s != nil {
			if read(&in, s.memory, s.place) {
				return true
			}
			if t := in.op.store; t != nil && t.memory == s.memory && (t.place != s.place || t.add || s.add) {
				return true
			}
		}
		if t := in.op.store; t != nil && read(p, t.memory, t.place) {
			return true
		}
	}
	return in.op.store != nil && read(&in, in.op.store.memory, in.op.store.place)
}

// flush makes a loop of the pending instructions.
func (f *fuser[T]) flush() {
	pending := f.pending
	f.pending, f.numbers = nil, 0
	for len(pending) > 0 {
		n := len(pending) // a loop takes as many as registers allow
		least := fewest(pending)
		for ; n >= least; n /= 2 {
			in, ok := f.loop(pending[:n], !f.p.accumulate)
			if !ok {
				in, ok = f.loop(pending[:n], false)
			}
			if ok {
				f.out = append(f.out, in)
				break
			}
		}
		if n < least {
			n = 1
			f.out = append(f.out, pending[0])
		}
		pending = pending[n:]
	}
}

// fusedLoop is a compiled loop in place of instructions.
type fusedLoop[T simd.Float] struct {
	code     *jit.Code
	number   int // of its arguments in a state
	inputs   []passedRegister
	outputs  []passedRegister
	stores   []passedStore[T]
	sources  []passedSource[T]
	lanes    []passedRegister // folds to whose accumulators pointers lead
	sums     []int            // the folds that the loop's own sums are
	numbers  []number[T]
	mayLeave bool // whether results may be written past the caches
}

// passedRegister is a register whose strip a pointer leads to.
type passedRegister struct{ pointer, register int }

// passedStore is memory that a pointer leads to.
type passedStore[T simd.Float] struct {
	pointer int
	*stored[T]
}

// passedSource is memory with elements of another type that a pointer leads to.
type passedSource[T simd.Float] struct {
	pointer int
	*source[T]
}

// loop compiles instructions. It returns false if there is no code for so many. The loop has accumulators of
// its own for sums if own is true.
func (f *fuser[T]) loop(pending []instruction[T], own bool) (instruction[T], bool) {
	double := unsafe.Sizeof(T(0)) == 8
	b := jit.NewBuilder(double, simd.Vector() == 64)
	m := &vectors{Machine: b, Constants: &approx.Single, Double: double}
	if double {
		m.Constants = &approx.Double
	}
	l := &fusedLoop[T]{number: len(f.c.loops)}
	in := instruction[T]{def: -1}
	values, used := map[int]value{}, map[int]int{}
	inputs := map[int]bool{}
	for _, p := range pending {
		for _, r := range slices.Compact(slices.Sorted(slices.Values(p.uses))) {
			used[r]++
		}
	}
	input := func(r int) value {
		v, ok := values[r]
		if !ok {
			p := b.Pointer()
			l.inputs = append(l.inputs, passedRegister{p, r})
			v = b.Input(p)
			values[r] = v
			inputs[r] = true
			if at := f.p.parts[r]; f.c.ahead != nil && at != nil && !f.c.tensors[at.memory].Local && at.offset.factor(f.c.ahead) != 0 {
				b.Ahead(p, blocks.elements*f.c.own.Size()) // about where the next block of the group begins
			}
		}
		return v
	}
	var k []value
	for _, p := range pending {
		op := p.op
		k = k[:0]
		for range op.numbers {
			k = append(k, b.Argument(b.Scalar()))
		}
		l.numbers = append(l.numbers, op.numbers...)
		var x []value
		switch {
		case op.accumulator >= 0:
			x = append(x, input(op.accumulator))
		case op.lanes >= 0 && (op.sum == nil || !own):
			l.lanes = append(l.lanes, passedRegister{b.Pointer(), op.lanes})
			x = append(x, b.Lanes(l.lanes[len(l.lanes)-1].pointer))
		}
		for _, r := range p.uses {
			x = append(x, input(r))
		}
		if op.sum != nil && own {
			b.Sum(op.sum(m, x, k))
			l.sums = append(l.sums, op.lanes)
			continue
		}
		var v value
		if op.source != nil {
			pointer := b.Pointer()
			v = b.LoadKind(pointer, op.source.kind)
			l.sources = append(l.sources, passedSource[T]{pointer, op.source})
		} else {
			v = op.compute(m, x, k)
		}
		if p.def >= 0 {
			values[p.def] = v
		}
		switch {
		case op.accumulator >= 0:
			values[op.accumulator] = v
		case op.lanes >= 0:
			b.Fold(l.lanes[len(l.lanes)-1].pointer, v)
		}
		if t := op.store; t != nil {
			pointer := b.Pointer()
			switch {
			case t.kind != jit.Same:
				b.StoreKind(pointer, v, t.kind)
			case t.add:
				b.Store(pointer, b.Add(b.Input(pointer), v), t.past)
			default:
				b.Store(pointer, v, t.past)
			}
			l.stores = append(l.stores, passedStore[T]{pointer, t})
			l.mayLeave = l.mayLeave || t.past
		}
	}
	done := map[int]bool{}
	for _, p := range slices.Backward(pending) {
		r := p.def
		if p.op.accumulator >= 0 {
			r = p.op.accumulator
		} else if r >= 0 && (f.p.views[r] || f.uses[r] > 0 && used[r] == f.uses[r] && !slices.Contains(f.p.lasting, r)) {
			r = -1 // memory has it, or only this loop uses it
		}
		if r < 0 || done[r] {
			continue
		}
		done[r] = true
		pointer := b.Pointer()
		b.Store(pointer, values[r], false)
		l.outputs = append(l.outputs, passedRegister{pointer, r})
	}
	if l.code = b.Compile(); l.code == nil {
		return in, false
	}
	f.c.loops = append(f.c.loops, l.code)
	in.run, in.loop, in.sums = l.run, l, len(l.sums)
	for r := range inputs {
		in.uses = append(in.uses, r)
	}
	slices.Sort(in.uses)
	for _, o := range l.outputs {
		in.defs = append(in.defs, o.register)
	}
	return in, true
}

// run runs the loop on n elements.
func (l *fusedLoop[T]) run(s *state[T], n int) {
	if n == 0 {
		return
	}
	past := l.point(s, n)
	a := s.arguments[l.number]
	set(s, l.numbers, jit.Row[T](l.code, a, 0))
	l.code.Run(a, n, 1, past)
	for i, fold := range l.sums {
		s.totals[fold] = jit.Sum[T](l.code, a, 0, i)
	}
}

// again runs the loop on the elements to which its pointers lead.
func (l *fusedLoop[T]) again(s *state[T], n int) {
	a := s.arguments[l.number]
	set(s, l.numbers, jit.Row[T](l.code, a, 0))
	l.code.Run(a, n, 1, false)
}

// point sets the pointers of the loop to strips of n elements. It reports whether results may be written past
// the caches.
func (l *fusedLoop[T]) point(s *state[T], n int) (past bool) {
	a := s.arguments[l.number]
	for _, p := range l.inputs {
		a.SetPointer(p.pointer, unsafe.Pointer(unsafe.SliceData(s.regs[p.register][:n])))
	}
	past = l.mayLeave && s.past
	for i := range l.stores {
		t := &l.stores[i]
		at := t.at(s)
		if t.kind != jit.Same {
			a.SetPointer(t.pointer, s.mem[t.tensor].elements(t.kind, at, n))
			continue
		}
		out := s.mem[t.tensor].same[at : at+n]
		a.SetPointer(t.pointer, unsafe.Pointer(unsafe.SliceData(out)))
		if t.view >= 0 {
			s.regs[t.view] = out
		}
		past = past && (!t.past || l.code.Aligned(unsafe.Pointer(unsafe.SliceData(out))))
	}
	for i := range l.sources {
		x := &l.sources[i]
		a.SetPointer(x.pointer, s.mem[x.tensor].elements(x.kind, x.at(s), n))
	}
	for _, p := range l.outputs {
		a.SetPointer(p.pointer, unsafe.Pointer(unsafe.SliceData(s.regs[p.register][:n])))
	}
	for _, p := range l.lanes {
		a.SetPointer(p.pointer, unsafe.Pointer(&s.lanes[p.register]))
	}
	return past
}
