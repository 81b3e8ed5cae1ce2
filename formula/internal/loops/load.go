package loops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// load compiles an element of a tensor, of which the strip has one for each value of the variable.
func (z *vectorizer[T]) load(n *term.Term) int {
	r := n.Read
	for i := range r.Count {
		z.loaded[r.Tensor+i] = true
	}
	a := accessOf(r)
	scattered := a.offset.hidden(z.v) || r.Which != nil && r.Which.Uses(z.v)
	for _, d := range a.open {
		scattered = scattered || a.idx[d].hidden(z.v)
	}
	if scattered {
		if x, ok := z.gathered(n, a); ok {
			return x
		}
		return z.lanes(n)
	}
	if len(a.open) > 0 || r.Which != nil {
		return z.clipped(n, a)
	}
	t, at, k := r.Tensor, z.c.value(a.offset), a.offset.factor(z.v)
	if k == 1 && z.c.tensors[t].Type == z.c.own {
		z.fetched(t, a, at)
		x := z.register(true)
		z.views = append(z.views, view{x, z.c.tensors[t].Memory})
		z.emit(x, func(s *state[T], n int) {
			i := at(s)
			s.regs[x] = s.mem[t].same[i : i+n]
		})
		z.seen(x, z.c.tensors[t].Memory, a)
		return x
	}
	x, read := z.register(false), strided[T](z.c.tensors[t].Type)
	z.emit(x, func(s *state[T], n int) { read(&s.mem[t], s.regs[x][:n], at(s), k) })
	if k == 1 {
		z.loads(t, a, at)
	}
	return x
}

// seen notes which memory the last instruction makes a register a part of.
func (z *vectorizer[T]) seen(reg, memory int, a *access) {
	w := &part{memory: memory, place: z.placeOf(a), offset: a.offset, fixed: len(a.offset.rest) == 0}
	z.strip.parts[reg] = w
	z.strip.code[len(z.strip.code)-1].part = w
}

// placeOf names the place of an element in memory.
func (z *vectorizer[T]) placeOf(a *access) string {
	var b strings.Builder
	fmt.Fprint(&b, a.offset.base)
	for _, m := range a.offset.vars {
		fmt.Fprintf(&b, "+%d*v%d", m.factor, z.c.place(m.of))
	}
	for _, p := range a.offset.rest {
		fmt.Fprintf(&b, "+%d*", p.factor)
		z.c.name(&b, p.of)
	}
	return b.String()
}

// fetched notes that memory may be asked for ahead if its place depends on values of tensors.
func (z *vectorizer[T]) fetched(tensor int, a *access, at func(*state[T]) int) {
	surely := func(p addend) bool { // whether the value is there for all values of the indices
		if p.of.Op != term.Element || p.of.Read.Which != nil {
			return false
		}
		b := accessOf(p.of.Read)
		return len(b.open) == 0 && len(b.offset.rest) == 0
	}
	if len(a.offset.rest) == 0 || slices.ContainsFunc(a.offset.rest, func(p addend) bool { return !surely(p) }) {
		return
	}
	z.strip.ahead = append(z.strip.ahead, func(s *state[T], n int) {
		if x, i := s.mem[tensor].same, at(s); i >= 0 && i+n <= len(x) {
			simd.Fetch(x[i : i+n])
		}
	})
}

// clipped compiles elements of which some may lie outside, in dimensions that are linear in the variable.
func (z *vectorizer[T]) clipped(n *term.Term, a *access) int {
	r := n.Read
	var other operand[T]
	if r.Else != nil {
		other = z.real(r.Else)
	}
	lenient := z.c.lenient || r.Else != nil
	type test struct {
		value       func(*state[T]) int
		factor, ext int
	}
	var tests []test
	for _, d := range a.open {
		tests = append(tests, test{z.c.value(a.idx[d]), a.idx[d].factor(z.v), a.ext[d]})
	}
	which := func(*state[T]) int { return 0 }
	if r.Which != nil {
		which = z.c.integer(r.Which)
	}
	at, k, x, read := z.c.value(a.offset), a.offset.factor(z.v), z.register(false), strided[T](z.c.tensors[r.Tensor].Type)
	name := z.c.p.Tensors[r.Tensor].Name
	z.c.fails = z.c.fails || !lenient
	var uses []int
	if r.Else != nil && other.scalar == nil {
		uses = append(uses, other.reg)
	}
	direct := x // where the strip is, if all of it lies inside
	if k == 1 && r.Which == nil && z.c.tensors[r.Tensor].Type == z.c.own {
		direct = z.register(true)
		z.views = append(z.views, view{direct, z.c.tensors[r.Tensor].Memory})
		z.fetched(r.Tensor, a, at)
	}
	z.emit(x, func(s *state[T], n int) {
		lo, hi, w := 0, n, which(s)
		if w < 0 || w >= r.Count {
			hi = 0
		}
		for _, t := range tests {
			first, last := within(t.value(s), t.factor, t.ext, n)
			lo, hi = max(lo, first), min(hi, last)
		}
		if lo >= hi {
			lo, hi = n, n
		}
		if direct != x {
			if lo == 0 && hi == n {
				i := at(s)
				s.regs[direct] = s.mem[r.Tensor].same[i : i+n]
				return
			}
			s.regs[direct] = s.regs[x]
		}
		if !lenient && (lo > 0 || hi < n) {
			fail("%s is read outside its shape %s", name, shape.Format(a.ext))
		}
		out := s.regs[x][:n]
		for _, part := range [][2]int{{0, lo}, {hi, n}} {
			switch p := out[part[0]:part[1]]; {
			case len(p) == 0:
			case r.Else == nil:
				clear(p)
			case other.scalar == nil:
				copy(p, s.regs[other.reg][part[0]:part[1]])
			default:
				v := T(other.scalar(s))
				for i := range p {
					p[i] = v
				}
			}
		}
		if lo < hi {
			read(&s.mem[r.Tensor+w], out[lo:hi], at(s)+lo*k, k)
		}
	}, uses...)
	if direct != x {
		z.strip.lasting = append(z.strip.lasting, x)
	}
	return direct
}

// within returns for which of n elements first, first+factor, ... lies in 0 to ext-1.
func within(first, factor, ext, n int) (lo, hi int) {
	first = max(-farthest, min(first, farthest))
	if factor == 0 {
		if first >= 0 && first < ext {
			return 0, n
		}
		return n, n
	}
	if factor < 0 { // first + factor*i < ext, and >= 0
		return max(0, -shape.FloorDiv(ext-1-first, -factor)), min(n, shape.FloorDiv(first, -factor)+1)
	}
	return max(0, -shape.FloorDiv(first, factor)), min(n, shape.FloorDiv(ext-1-first, factor)+1)
}

// strided returns code that reads elements of a type at equal distances as numbers of T.
func strided[T simd.Float](t dtype.Type) func(b *block[T], z []T, start, stride int) {
	switch t {
	case dtype.F32:
		return func(b *block[T], z []T, start, stride int) { read(b.same, b.f32, z, start, stride) }
	case dtype.F64:
		return func(b *block[T], z []T, start, stride int) { read(b.same, b.f64, z, start, stride) }
	case dtype.I8:
		return func(b *block[T], z []T, start, stride int) { converted(z, b.i8, start, stride) }
	case dtype.U8:
		return func(b *block[T], z []T, start, stride int) { converted(z, b.u8, start, stride) }
	case dtype.I32:
		return func(b *block[T], z []T, start, stride int) { converted(z, b.i32, start, stride) }
	case dtype.I64:
		return func(b *block[T], z []T, start, stride int) { converted(z, b.i64, start, stride) }
	}
	return func(b *block[T], z []T, start, stride int) {
		if stride == 1 {
			simd.Truths(z, b.bits[start:start+len(z)])
			return
		}
		for i := range z {
			z[i] = 0
			if b.bits[start+i*stride] {
				z[i] = 1
			}
		}
	}
}

func read[T, U simd.Float](same []T, x []U, z []T, start, stride int) {
	switch {
	case same == nil && stride == 1:
		convert(z, x[start:start+len(z)])
	case same == nil:
		converted(z, x, start, stride)
	case stride == 1:
		copy(z, same[start:])
	default:
		simd.Gather(z, same, start, stride)
	}
}

// convert sets z to x.
func convert[T, U simd.Float](z []T, x []U) {
	switch z := any(z).(type) {
	case []float32:
		if x, ok := any(x).([]float64); ok {
			simd.Narrow(z, x)
		}
	case []float64:
		if x, ok := any(x).([]float32); ok {
			simd.Widen(z, x)
		}
	}
}

func converted[T simd.Float, U float32 | float64 | int8 | uint8 | int32 | int64](z []T, x []U, start, stride int) {
	for i := range z {
		z[i] = T(x[start])
		start += stride
	}
}

// store emits the writing of a value to the elements of a statement. What was known of the tensor is
// forgotten.
func (z *vectorizer[T]) store(st *statement, x operand[T]) {
	t := st.target
	z.fromMemory(st.guard)
	z.fromMemory(st.left.Which)
	for _, i := range st.left.Idx {
		z.fromMemory(i)
	}
	tensor := z.c.tensors[t]
	for _, v := range z.views {
		if v.memory == tensor.Memory {
			z.keep(v.reg)
		}
	}
	a, add := accessOf(st.left), tensor.Add || st.add
	for key := range z.known {
		if strings.Contains(key, tensorKey(t)) {
			delete(z.known, key)
		}
	}
	switch {
	case st.guard != nil || len(a.open) > 0 || a.offset.hidden(z.v) || a.offset.factor(z.v) == 0 || st.left.Which != nil:
		z.scatter(st, x)
		return
	case tensor.Type == z.c.own && a.offset.factor(z.v) == 1:
		z.storeSame(t, a, x, add)
	case tensor.Type == dtype.Bool && st.value.Kind == term.Boolean && x.scalar == nil:
		z.storeConditions(t, a, x.reg)
		z.known[z.c.key(&term.Term{Op: term.Element, Kind: term.Boolean, Read: st.left})] = x
	case z.c.exacts[t] && z.c.own != dtype.F64 && !add:
		if x.scalar == nil {
			z.strip.replaced[x.reg] = true
		}
		z.storeExact(t, a, st.value)
	default:
		z.storeOther(t, a, x, add)
	}
	if !add && tensor.Type == z.c.own && x.scalar == nil {
		if z.strip.views[x.reg] {
			z.views = append(z.views, view{x.reg, tensor.Memory})
		}
		z.known[z.c.key(&term.Term{Op: term.Element, Kind: term.Real, Read: st.left})] = x
	}
}

// keep emits a copy of a view, whose memory is written next.
func (z *vectorizer[T]) keep(reg int) {
	k := z.register(false)
	z.strip.code = append(z.strip.code, instruction[T]{def: k, uses: []int{reg}, keeps: true, run: func(s *state[T], n int) {
		copy(s.regs[k][:n], s.regs[reg][:n])
		s.regs[reg] = s.regs[k]
	}})
}

// storeSame emits the writing of consecutive elements of the type in which the loops compute.
func (z *vectorizer[T]) storeSame(t int, a *access, x operand[T], add bool) {
	at, past := z.c.value(a.offset), z.c.past[t] && !z.heavy
	to := &stored[T]{tensor: t, memory: z.c.tensors[t].Memory, place: z.placeOf(a), offset: a.offset, at: at, past: past && !add, add: add, view: -1}
	if f := x.scalar; f != nil {
		sum := simd.BinaryScalarOf[T](simd.Add)
		z.emit(-1, func(s *state[T], n int) {
			i, v := at(s), T(f(s))
			out := s.mem[t].same[i : i+n]
			switch {
			case add:
				sum(out, out, v)
			case past && s.past:
				fill(s.beside[:n], v)
				simd.Stream(out, s.beside[:n])
			default:
				fill(out, v)
			}
		})
		op := operationOf(func(_ *vectors, _, k []value) value { return k[0] }, x.number())
		op.store = to
		z.does(op)
		return
	}
	op := operationOf[T](func(_ *vectors, x, _ []value) value { return x[0] })
	op.store = to
	if add {
		sum := simd.BinaryOf[T](simd.Add)
		z.emit(-1, func(s *state[T], n int) {
			i := at(s)
			out := s.mem[t].same[i : i+n]
			sum(out, out, s.regs[x.reg][:n])
		}, x.reg)
		z.does(op)
		return
	}
	if z.direct(to, x.reg) {
		return
	}
	z.emit(-1, func(s *state[T], n int) {
		i := at(s)
		if past && s.past {
			simd.Stream(s.mem[t].same[i:i+n], s.regs[x.reg][:n])
			return
		}
		copy(s.mem[t].same[i:i+n], s.regs[x.reg][:n])
	}, x.reg)
	z.does(op)
}

// storeConditions emits the writing of conditions.
func (z *vectorizer[T]) storeConditions(t int, a *access, reg int) {
	at, k := z.c.value(a.offset), a.offset.factor(z.v)
	z.emit(-1, func(s *state[T], n int) {
		i, bits := at(s), s.mem[t].bits
		for _, v := range s.regs[reg][:n] {
			bits[i] = v != 0
			i += k
		}
	}, reg)
	if k == 1 {
		z.gives(t, a, at)
	}
}

// direct makes the last instruction write to the memory of a tensor instead of a buffer, if it gives the
// register.
func (z *vectorizer[T]) direct(to *stored[T], reg int) bool {
	t, at := to.tensor, to.at
	last := len(z.strip.code) - 1
	for last >= 0 && z.strip.code[last].keeps {
		last--
	}
	if last < 0 || z.strip.code[last].def != reg || z.strip.views[reg] || z.strip.code[last].when != nil || last > 0 && z.branched(reg) {
		return false
	}
	z.strip.views[reg] = true
	in := z.strip.code[last]
	if in.op != nil {
		op := *in.op
		to.view = reg
		op.store = to
		z.strip.code[last].op = &op
	}
	z.strip.parts[reg] = &part{memory: to.memory, place: to.place}
	beside := -1 // the buffer of what is written past the caches
	if z.c.past[t] && !z.heavy {
		beside = z.register(false)
		z.strip.code[last].holds = append(in.holds, beside)
	}
	z.strip.code[last].run = func(s *state[T], n int) {
		i := at(s)
		if beside >= 0 && s.past {
			s.regs[reg] = s.regs[beside][:n]
			in.run(s, n)
			simd.Stream(s.mem[t].same[i:i+n], s.regs[reg])
			return
		}
		s.regs[reg] = s.mem[t].same[i : i+n]
		in.run(s, n)
	}
	// Views that are kept are copied before the memory is written.
	for i := last; i+1 < len(z.strip.code); i++ {
		z.strip.code[i], z.strip.code[i+1] = z.strip.code[i+1], z.strip.code[i]
	}
	return true
}

// branched reports whether a register is set in the branches of a choice.
func (z *vectorizer[T]) branched(reg int) bool {
	n := 0
	for _, in := range z.strip.code {
		if in.def == reg {
			n++
		}
	}
	return n > 1
}

// storeOther emits the writing of elements of another type, or at distances.
func (z *vectorizer[T]) storeOther(t int, a *access, x operand[T], add bool) {
	at, k, r, put := z.c.value(a.offset), a.offset.factor(z.v), z.vector(x), putReal[T](z.c.tensors[t].Type, add)
	if z.c.tensors[t].Type == z.c.own && !add {
		z.emit(-1, func(s *state[T], n int) { simd.Scatter(s.mem[t].same, s.regs[r][:n], at(s), k) }, r)
		return
	}
	if typ := z.c.tensors[t].Type; k == 1 && typ.IsFloat() && typ != z.c.own {
		z.emit(-1, func(s *state[T], n int) {
			if i := at(s); typ == dtype.F32 {
				given(s.mem[t].f32[i:i+n], s.regs[r][:n], add)
			} else {
				given(s.mem[t].f64[i:i+n], s.regs[r][:n], add)
			}
		}, r)
		if !add {
			z.gives(t, a, at)
		}
		return
	}
	if z.c.tensors[t].Type == dtype.Bool {
		z.storeConditions(t, a, r)
		return
	}
	z.emit(-1, func(s *state[T], n int) {
		i, b := at(s), &s.mem[t]
		for _, v := range s.regs[r][:n] {
			put(b, i, float64(v))
			i += k
		}
	}, r)
}

// given sets z to x, or adds x to it in float64.
func given[T, U simd.Float](z []U, x []T, add bool) {
	if !add {
		convert(z, x)
		return
	}
	for i, v := range x {
		z[i] = U(float64(z[i]) + float64(v))
	}
}

// addRow emits the adding of a strip to consecutive elements, whose place depends on values of tensors. It
// returns false if each element has a place of its own.
func (z *vectorizer[T]) addRow(st *statement, x operand[T]) bool {
	a, t := accessOf(st.left), z.c.tensors[st.target]
	if t.Type != z.c.own && !(t.Type == dtype.F64 && st.add) || a.offset.hidden(z.v) || a.offset.factor(z.v) != 1 ||
		st.left.Which != nil || st.guard != nil && st.guard.Uses(z.v) {
		return false
	}
	for _, d := range a.open {
		if a.idx[d].hidden(z.v) || a.idx[d].factor(z.v) != 0 {
			return false
		}
	}
	op := simd.Add
	if st.joined() {
		op = st.fold.Vector()
	}
	find, r, join, add := z.c.target(st), z.vector(x), simd.BinaryOf[T](op), t.Add || st.add
	holds := func(*state[T]) bool { return true }
	if st.guard != nil {
		holds = z.c.condition(st.guard)
	}
	if t.Type == z.c.own {
		z.fetched(st.target, a, z.c.value(a.offset))
	}
	wide, joinWide := t.Type != z.c.own, simd.BinaryOf[float64](op)
	if wide {
		z.c.wide = max(z.c.wide, 1)
	}
	z.emit(-1, func(s *state[T], n int) {
		if !holds(s) {
			return
		}
		id, i, inside := find(s)
		switch {
		case !inside:
		case wide:
			row := s.mem[id].f64[i : i+n]
			joinWide(row, row, widened(s.regs[r][:n], s.wider))
		case add:
			row := s.mem[id].same[i : i+n]
			join(row, row, s.regs[r][:n])
		default:
			copy(s.mem[id].same[i:i+n], s.regs[r][:n])
		}
	}, r)
	return true
}

// scatter emits the writing of elements that are found one by one.
func (z *vectorizer[T]) scatter(st *statement, x operand[T]) {
	if z.addRow(st, x) || z.placed(st, x) {
		return
	}
	r, at := z.vector(x), z.at
	write := z.c.writer(st)
	z.emit(-1, func(s *state[T], n int) {
		first := s.vars[at]
		for i, v := range s.regs[r][:n] {
			s.vars[at] = first + i
			write(s, float64(v))
		}
		s.vars[at] = first
	}, r)
}

// move emits the copying of elements of a tensor of the same type.
func (z *vectorizer[T]) move(st *statement) {
	from, to := accessOf(st.value.Read).offset, accessOf(st.left).offset
	t, u := st.value.Read.Tensor, st.target
	at, put := z.c.value(from), z.c.value(to)
	k, l := from.factor(z.v), to.factor(z.v)
	copied := mover[T](z.c.tensors[t].Type)
	z.emit(-1, func(s *state[T], n int) { copied(&s.mem[u], put(s), l, &s.mem[t], at(s), k, n) })
}

// mover returns code that copies n elements of a type.
func mover[T simd.Float](t dtype.Type) func(to *block[T], at, stride int, from *block[T], start, step, n int) {
	switch t {
	case dtype.I8:
		return func(to *block[T], at, stride int, from *block[T], start, step, n int) {
			moved(to.i8, at, stride, from.i8, start, step, n)
		}
	case dtype.U8:
		return func(to *block[T], at, stride int, from *block[T], start, step, n int) {
			moved(to.u8, at, stride, from.u8, start, step, n)
		}
	case dtype.I32:
		return func(to *block[T], at, stride int, from *block[T], start, step, n int) {
			moved(to.i32, at, stride, from.i32, start, step, n)
		}
	case dtype.I64:
		return func(to *block[T], at, stride int, from *block[T], start, step, n int) {
			moved(to.i64, at, stride, from.i64, start, step, n)
		}
	case dtype.Bool:
		return func(to *block[T], at, stride int, from *block[T], start, step, n int) {
			moved(to.bits, at, stride, from.bits, start, step, n)
		}
	case dtype.F32:
		return func(to *block[T], at, stride int, from *block[T], start, step, n int) {
			moved(to.f32, at, stride, from.f32, start, step, n)
		}
	}
	return func(to *block[T], at, stride int, from *block[T], start, step, n int) {
		moved(to.f64, at, stride, from.f64, start, step, n)
	}
}

func moved[U any](to []U, at, stride int, from []U, start, step, n int) {
	if stride == 1 && step == 1 {
		copy(to[at:at+n], from[start:start+n])
		return
	}
	for range n {
		to[at] = from[start]
		at += stride
		start += step
	}
}
