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

// load compiles a load, which has one element for each iteration of a strip.
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
	from := z.address(r.Tensor, a)
	if from.step == 1 && from.typ == z.c.own {
		z.fetched(r.Tensor, a, from.at)
		x := z.register(true)
		z.views = append(z.views, view{x, from.memory})
		from.fixed = len(a.offset.rest) == 0
		z.emit(instruction[T]{op: opView, from: from, def: x})
		z.strip.parts[x] = from
		return x
	}
	return z.give(instruction[T]{op: opLoad, from: from})
}

// placeOf returns a key of the offset of an access.
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

// fetched records that memory may be prefetched if its offset is data-dependent.
func (z *vectorizer[T]) fetched(tensor int, a *access, at func(*state[T]) int) {
	surely := func(p addend) bool { // whether the subscript is defined for all indices
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

// clipped compiles a load that may be out of bounds, in dimensions whose subscripts are affine.
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
	direct := x // the register of the strip, a view if all of it is in bounds
	if k == 1 && r.Which == nil && z.c.tensors[r.Tensor].Type == z.c.own {
		direct = z.register(true)
		z.views = append(z.views, view{direct, z.c.tensors[r.Tensor].Memory})
		z.fetched(r.Tensor, a, at)
	}
	z.step("elements, some outside", x, func(s *state[T], n int) {
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

// within returns the interval of i in [0, n) for which first + i*factor is in [0, ext).
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

// strided returns code that loads elements with a stride, and converts them to T.
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

// convert converts x to the type of z.
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

// store emits the store of a statement's result. Loaded values of the tensor become unknown.
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
		z.storeOther(t, a, x, false)
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

// keep emits a copy of a view, whose memory the next instruction overwrites.
func (z *vectorizer[T]) keep(reg int) {
	z.give(instruction[T]{op: opKeep, uses: []int{reg}})
}

// storeSame emits a contiguous store of type T.
func (z *vectorizer[T]) storeSame(t int, a *access, x operand[T], add bool) {
	in := instruction[T]{op: opStore, to: z.address(t, a), past: z.c.past[t] && !z.heavy && !add, add: add}
	switch {
	case x.scalar != nil:
		in.op, in.numbers = opStoreNumber, []number[T]{x.number()}
	case !add && z.direct(in.to, in.past, x.reg):
		return
	default:
		in.uses = []int{x.reg}
	}
	z.effect(in)
}

// direct makes the last instruction compute into the memory of a tensor, without a buffer, if it defines
// reg.
func (z *vectorizer[T]) direct(to *address[T], past bool, reg int) bool {
	last := len(z.strip.code) - 1
	for last >= 0 && z.strip.code[last].op == opKeep {
		last--
	}
	if last < 0 || z.strip.code[last].def != reg || z.strip.views[reg] || last > 0 && z.branched(reg) {
		return false
	}
	z.strip.views[reg] = true
	z.strip.parts[reg] = &address[T]{memory: to.memory, place: to.place}
	in := z.strip.code[last]
	if in.to, in.past = to, past; past {
		in.holds = append(in.holds, z.register(false)) // buffer of a non-temporal store
	}
	// Copies of views precede the store.
	z.strip.code = append(slices.Delete(z.strip.code, last, last+1), in)
	return true
}

// branched reports whether both branches of a choice define a register.
func (z *vectorizer[T]) branched(reg int) bool {
	n := 0
	for _, in := range z.strip.code {
		if in.def == reg {
			n++
		}
	}
	return n > 1
}

// storeOther emits a store with a conversion or a stride.
func (z *vectorizer[T]) storeOther(t int, a *access, x operand[T], add bool) {
	in := instruction[T]{op: opStore, uses: []int{z.vector(x)}, to: z.address(t, a), add: add}
	in.to.known = in.to.known && !add
	z.effect(in)
}

// given stores x to z with a conversion, or adds it in float64.
func given[T, U simd.Float](z []U, x []T, add bool) {
	if !add {
		convert(z, x)
		return
	}
	for i, v := range x {
		z[i] = U(float64(z[i]) + float64(v))
	}
}

// addRow emits the accumulation of a strip into contiguous elements at a data-dependent offset; false if
// elements have separate offsets.
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
	z.step("rows that are looked up", -1, func(s *state[T], n int) {
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

// scatter emits a store whose elements are not contiguous or may be out of bounds.
func (z *vectorizer[T]) scatter(st *statement, x operand[T]) {
	if z.addRow(st, x) || z.placed(st, x) {
		return
	}
	r, at := z.vector(x), z.at
	write := z.c.writer(st)
	z.step("stores, one by one", -1, func(s *state[T], n int) {
		first := s.vars[at]
		for i, v := range s.regs[r][:n] {
			s.vars[at] = first + i
			write(s, float64(v))
		}
		s.vars[at] = first
	}, r)
}

// move emits a copy of elements without a conversion.
func (z *vectorizer[T]) move(st *statement) {
	from, to := accessOf(st.value.Read), accessOf(st.left)
	z.effect(instruction[T]{op: opMove, from: z.address(st.value.Read.Tensor, from), to: z.address(st.target, to)})
}

// mover returns code that copies n strided elements of a type.
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
