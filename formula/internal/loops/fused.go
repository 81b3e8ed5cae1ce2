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

// vectors generates operations on vectors of a fused loop.
type vectors = elementary.Functions[jit.Value, jit.Mask]

// value is a vector of a fused loop.
type value = jit.Value

// unaryCode and binaryCode map operations of package simd to functions that generate them in fused loops.
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

// fusable reports whether a fused loop can contain an instruction. can says what loops of the processor
// support.
func (in *instruction[T]) fusable(can *jit.Builder) bool {
	ok := !in.alone
	switch in.op {
	case opFill, opCopy, opMulAdd, opMulAddNumber, opMulSub, opMulSubFrom, opAffine, opSelect, opSelectPositive, opSumLanes, opDotLanes, opExpLanes:
	case opUnary:
		ok = ok && unaryCode[in.unary] != nil
	case opBinary, opBinaryNumber, opNumberBinary, opFoldLanes:
		ok = ok && binaryCode[in.binary] != nil
	case opLoad:
		ok = ok && in.from.known && can.Loads(in.from.kind)
	case opStore, opStoreNumber:
		ok = ok && in.to.known && can.Stores(in.to.kind)
	default:
		return false
	}
	return ok
}

// value generates the operation of an instruction on registers x and scalars k, and returns its result. For
// an operation that updates lanes, the result is what is reduced into them.
func (in *instruction[T]) value(m *vectors, x, k []value) value {
	switch in.op {
	case opCopy, opStore, opSumLanes, opFoldLanes:
		return x[0]
	case opFill, opStoreNumber:
		return k[0]
	case opUnary:
		return unaryCode[in.unary](m, x[0])
	case opBinary:
		return binaryCode[in.binary](m, x[0], x[1])
	case opBinaryNumber:
		return binaryCode[in.binary](m, x[0], k[0])
	case opNumberBinary:
		return binaryCode[in.binary](m, k[0], x[0])
	case opMulAdd:
		return m.Add(m.Mul(x[0], x[1]), x[2])
	case opMulAddNumber:
		return m.Add(m.Mul(x[0], k[0]), x[1])
	case opMulSub:
		return m.Sub(m.Mul(x[0], x[1]), x[2])
	case opMulSubFrom:
		return m.Sub(x[2], m.Mul(x[0], x[1]))
	case opSelect:
		return m.Select(x[0], x[1], x[2])
	case opSelectPositive:
		return m.SelectPositive(x[0], x[1], x[2])
	case opDotLanes:
		return m.Mul(x[0], x[1])
	case opExpLanes:
		return m.Exp(m.Sub(x[0], k[0]))
	}
	v, of := x[0], [affineNumbers]func(x, y value) value{m.Sub, m.Sub, m.Mul, m.Add} // opAffine
	for i := range in.numbers {
		if in.numbers[i].there() {
			v = of[i](v, k[i])
		}
	}
	return v
}

// fewest returns the minimum number of instructions of a fused loop. A loop of one instruction is no faster
// than the function of package simd, unless it adds to a sum or stores its result.
func fewest[T simd.Float](pending []instruction[T]) int {
	if in := &pending[0]; len(pending) == 1 && (in.stores() || in.op.summed()) {
		return 1
	}
	return 2
}

// fuser replaces runs of consecutive instructions of a strip by fused loops.
type fuser[T simd.Float] struct {
	c    *compiler[T]
	p    *strip[T]
	uses map[int]int  // number of instructions that use a register
	can  *jit.Builder // answers which loads and stores loops support
	out  []instruction[T]

	pending []instruction[T]

	numbers int
	open    []openBranch
}

// openBranch is a branch whose last instruction is not emitted yet: at is its number in the output, and last
// that of its last instruction in the input.
type openBranch struct{ at, last int }

// fuse replaces instructions of p by fused loops where that is possible and pays.
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
		case in.op == opBranch:
			f.flush()
			f.open = append(f.open, openBranch{len(f.out), i + in.skip})
			f.out = append(f.out, in)
		case in.op == opView && in.from.fixed:
			f.out = append(f.out, in)
		case !in.fusable(f.can):
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

// close ends the innermost open branch.
func (f *fuser[T]) close() {
	f.flush()
	b := f.open[len(f.open)-1]
	f.open = f.open[:len(f.open)-1]
	f.out[b.at].skip = len(f.out) - b.at - 1
}

// join adds an instruction to the pending ones. It compiles those first if the instruction conflicts with
// them.
func (f *fuser[T]) join(in instruction[T]) {
	if f.conflicts(&in) || f.numbers+len(in.numbers) > mostNumbers {
		f.flush()
	}
	f.pending = append(f.pending, in)
	f.numbers += len(in.numbers)
}

// conflicts reports whether an instruction and a pending one access the same memory at different offsets, and
// one of them writes. Separate instructions read a whole strip before they write it, but a fused loop
// interleaves loads and stores.
func (f *fuser[T]) conflicts(in *instruction[T]) bool {
	differ := func(a, b *address[T]) bool {
		return b != nil && b.memory == a.memory && b.place != a.place && !f.p.apart(a, b)
	}
	read := func(in *instruction[T], a *address[T]) bool { // whether it reads at another offset
		return differ(a, in.from) || slices.ContainsFunc(in.uses, func(r int) bool { return differ(a, f.p.parts[r]) })
	}
	for i := range f.pending {
		p := &f.pending[i]
		if p.to != nil {
			if read(in, p.to) || differ(p.to, in.to) || in.to != nil && in.to.memory == p.to.memory && (in.add || p.add) {
				return true
			}
		}
		if in.to != nil && read(p, in.to) {
			return true
		}
	}
	return in.to != nil && read(in, in.to)
}

// flush compiles the pending instructions, in as few loops as registers allow.
func (f *fuser[T]) flush() {
	pending := f.pending
	f.pending, f.numbers = nil, 0
	for len(pending) > 0 {
		n := len(pending) // as many as the registers allow
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

// fusedLoop is a compiled loop, with its arguments.
type fusedLoop[T simd.Float] struct {
	code     *jit.Code
	number   int // number of its argument block in a state
	inputs   []passedRegister
	outputs  []passedRegister
	stores   []passedStore[T]
	sources  []passedSource[T]
	lanes    []passedRegister // reductions whose lanes are in memory
	sums     []int            // reductions whose sums the loop computes in registers
	numbers  []number[T]
	mayLeave bool             // whether some stores may be non-temporal
	listed   []instruction[T] // the instructions of the loop, for listings; nil if there will be none
}

// passedRegister is a pointer argument of a fused loop that points to the strip of a register.
type passedRegister struct{ pointer, register int }

// passedStore is a pointer argument that points to the destination of a store.
type passedStore[T simd.Float] struct {
	pointer int
	*address[T]
	past bool // whether the store may be non-temporal
	view int  // the register that becomes a view of the stored elements, or -1
}

// passedSource is a pointer argument that points to elements of a type other than T.
type passedSource[T simd.Float] struct {
	pointer int
	*address[T]
}

// loop compiles instructions to a fused loop, and returns the instruction that runs it. It returns false if
// registers do not suffice. If own is true, sums accumulate in registers of the loop.
func (f *fuser[T]) loop(pending []instruction[T], own bool) (instruction[T], bool) {
	double := unsafe.Sizeof(T(0)) == 8
	b := jit.NewBuilder(double, simd.Vector() == 64)
	m := &vectors{Machine: b, Constants: &approx.Single, Double: double}
	if double {
		m.Constants = &approx.Double
	}
	l := &fusedLoop[T]{number: len(f.c.loops)}
	in := instruction[T]{op: opLoop, def: -1}
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
			if at := f.p.parts[r]; f.c.ahead != nil && at != nil && !f.c.tensors[at.memory].Local && at.offset.Factor(f.c.ahead) != 0 {
				b.Ahead(p, blocks.elements*f.c.own.Size()) // about the start of the group's next block
			}
		}
		return v
	}
	var k []value
	for i := range pending {
		p := &pending[i]
		k = k[:0]
		for i := range p.numbers {
			if !p.numbers[i].there() {
				k = append(k, 0)
				continue
			}
			k = append(k, b.Argument(b.Scalar()))
			l.numbers = append(l.numbers, p.numbers[i])
		}
		sum := own && p.op.summed()
		var lanes value
		if p.op.toLanes() && !sum {
			l.lanes = append(l.lanes, passedRegister{b.Pointer(), p.lane})
			lanes = b.Lanes(l.lanes[len(l.lanes)-1].pointer)
		}
		var x []value
		for _, r := range p.uses {
			x = append(x, input(r))
		}
		var v value
		if p.op == opLoad {
			pointer := b.Pointer()
			v = b.LoadKind(pointer, p.from.kind)
			l.sources = append(l.sources, passedSource[T]{pointer, p.from})
		} else {
			v = p.value(m, x, k)
		}
		switch {
		case sum:
			b.Sum(v)
			l.sums = append(l.sums, p.lane)
		case p.op.summed():
			b.Fold(l.lanes[len(l.lanes)-1].pointer, b.Add(lanes, v))
		case p.op.toLanes():
			b.Fold(l.lanes[len(l.lanes)-1].pointer, binaryCode[p.binary](m, lanes, v))
		}
		if p.def >= 0 {
			values[p.def] = v
		}
		if to := p.to; to != nil {
			pointer := b.Pointer()
			switch {
			case to.kind != jit.Same:
				b.StoreKind(pointer, v, to.kind)
			case p.add:
				b.Store(pointer, b.Add(b.Input(pointer), v), p.past)
			default:
				b.Store(pointer, v, p.past)
			}
			l.stores = append(l.stores, passedStore[T]{pointer, to, p.past, p.def})
			l.mayLeave = l.mayLeave || p.past
		}
	}
	done := map[int]bool{}
	for _, p := range slices.Backward(pending) {
		r := p.def
		if r >= 0 && !p.folds && (f.p.views[r] || f.uses[r] > 0 && used[r] == f.uses[r] && !slices.Contains(f.p.lasting, r)) {
			r = -1 // it is in memory, or used in this loop only
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
	if f.c.options.Listed {
		l.listed = pending
	}
	in.loop, in.sums = l, len(l.sums)
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

// again runs the loop on the strips to which its pointers point since the last run.
func (l *fusedLoop[T]) again(s *state[T], n int) {
	a := s.arguments[l.number]
	set(s, l.numbers, jit.Row[T](l.code, a, 0))
	l.code.Run(a, n, 1, false)
}

// point sets the pointers of the loop to strips of n elements. It returns whether stores may be non-temporal.
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
