package loops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// load compiles a load of an element per iteration, and returns the register of the elements.
func (z *vectorizer[T]) load(n *term.Term) int {
	r := n.Read
	for i := range r.Count {
		z.loaded[r.Tensor+i] = true
	}
	a := rewrite.AccessOf(r)
	scattered := a.Offset.Hidden(z.v) || r.Which != nil && r.Which.Uses(z.v)
	for _, d := range a.Open {
		scattered = scattered || a.Idx[d].Hidden(z.v)
	}
	if scattered {
		if x, ok := z.gathered(n, a); ok {
			return x
		}
		return z.lanes(n)
	}
	if len(a.Open) > 0 || r.Which != nil {
		return z.clipped(n, a)
	}
	from := z.address(r.Tensor, a)
	if from.step == 1 && from.typ == z.c.own {
		z.fetched(r.Tensor, a, from.at)
		x := z.register(true)
		z.views = append(z.views, view{x, from.memory})
		from.fixed = len(a.Offset.Rest) == 0
		z.emit(instruction[T]{op: opView, from: from, def: x})
		z.strip.parts[x] = from
		return x
	}
	return z.give(instruction[T]{op: opLoad, from: from})
}

// placeOf returns a text that is equal for two accesses if and only if their offsets are the same affine
// form.
func (z *vectorizer[T]) placeOf(a *rewrite.Access) string {
	var b strings.Builder
	fmt.Fprint(&b, a.Offset.Base)
	for _, m := range a.Offset.Vars {
		fmt.Fprintf(&b, "+%d*v%d", m.Factor, z.c.place(m.Of))
	}
	for _, p := range a.Offset.Rest {
		fmt.Fprintf(&b, "+%d*", p.Factor)
		z.c.name(&b, p.Of)
	}
	return b.String()
}

// fetched adds a prefetch of the elements of an access, if the offset depends on elements of tensors that can
// be loaded safely.
func (z *vectorizer[T]) fetched(tensor int, a *rewrite.Access, at func(*state[T]) int) {
	surely := func(p rewrite.Addend) bool { // whether the subscript is defined for all indices
		if p.Of.Op != term.Element || p.Of.Read.Which != nil {
			return false
		}
		b := rewrite.AccessOf(p.Of.Read)
		return len(b.Open) == 0 && len(b.Offset.Rest) == 0
	}
	if len(a.Offset.Rest) == 0 || slices.ContainsFunc(a.Offset.Rest, func(p rewrite.Addend) bool { return !surely(p) }) {
		return
	}
	z.strip.ahead = append(z.strip.ahead, func(s *state[T], n int) {
		if x, i := s.mem[tensor].same, at(s); i >= 0 && i <= len(x)-n {
			simd.Fetch(x[i : i+n])
		}
	})
}

// clipped compiles a load whose affine subscripts may be out of bounds. It returns the register of the
// elements.
func (z *vectorizer[T]) clipped(n *term.Term, a *rewrite.Access) int {
	r := n.Read
	var other operand[T]
	if r.Else != nil {
		other = z.real(r.Else)
	}
	o := &clip[T]{of: r, name: z.c.p.Tensors[r.Tensor].Name, lenient: z.c.lenient || r.Else != nil, from: z.address(r.Tensor, a), x: z.register(false)}
	_, o.shape = z.c.byDimension(r.Tensor, make([]int, len(a.Ext)), a.Ext)
	for _, d := range a.Open {
		o.tests = append(o.tests, inBounds[T]{z.count(a.Idx[d], z.c.value(a.Idx[d])), a.Ext[d]})
	}
	if r.Which != nil {
		o.which = z.c.integer(r.Which)
	}
	z.c.fails = z.c.fails || !o.lenient
	var uses []int
	switch {
	case r.Else != nil && other.scalar == nil:
		uses = append(uses, other.reg)
	case r.Else != nil:
		o.other = other.number()
	}
	if direct := z.register(true); o.from.step == 1 && r.Which == nil && o.from.typ == z.c.own {
		o.views = true
		z.views = append(z.views, view{direct, o.from.memory})
		z.fetched(r.Tensor, a, o.from.at)
		z.strip.lasting = append(z.strip.lasting, o.x)
		return z.other(o, direct, uses...)
	}
	return z.other(o, o.x, uses...)
}

// clip loads elements, some of which may be out of bounds. In their place it sets elements of the register
// that it uses, or the number other if it uses none.
type clip[T simd.Float] struct {
	of      *term.Read
	name    string // of the tensor
	from    *address[T]
	tests   []inBounds[T]
	which   func(*state[T]) int // selects one of several tensors; nil for one tensor
	other   number[T]
	lenient bool // whether an element out of bounds is no error
	shape   []int
	x       int  // the register that receives elements
	views   bool // whether the result is a view of memory if all elements are in bounds
}

// inBounds is the bounds check of one dimension with an affine subscript.
type inBounds[T simd.Float] struct {
	index  *address[T]
	extent int
}

func (o *clip[T]) exec(s *state[T], in *instruction[T], n int) {
	lo, hi, w := 0, n, 0
	if o.which != nil {
		if w = o.which(s); w < 0 || w >= o.of.Count {
			hi = 0
		}
	}
	for i := range o.tests {
		t := &o.tests[i]
		first, last := within(t.index.at(s), t.index.step, t.extent, n)
		lo, hi = max(lo, first), min(hi, last)
	}
	if lo >= hi {
		lo, hi = n, n
	}
	if o.views {
		if lo == 0 && hi == n {
			i := o.from.at(s)
			s.regs[in.def] = s.mem[o.from.tensor].same[i : i+n]
			return
		}
		s.regs[in.def] = s.regs[o.x]
	}
	if !o.lenient && (lo > 0 || hi < n) {
		fail("%s is read outside its shape %s", o.name, shape.Format(o.shape))
	}
	out := s.regs[o.x][:n]
	for _, part := range [][2]int{{0, lo}, {hi, n}} {
		switch p := out[part[0]:part[1]]; {
		case len(p) == 0:
		case len(in.uses) > 0:
			copy(p, s.regs[in.uses[0]][part[0]:part[1]])
		case o.other.there():
			v := T(o.other.get(s))
			for i := range p {
				p[i] = v
			}
		default:
			clear(p)
		}
	}
	if lo < hi {
		o.from.storage.load(&s.mem[o.from.tensor+w], out[lo:hi], o.from.at(s)+lo*o.from.step, o.from.step)
	}
}

func (o *clip[T]) text(p *lister[T], x []string) string {
	other := "0"
	switch {
	case len(x) > 0:
		other = x[0]
	case o.other.there():
		other = numberText(&o.other)
	}
	var tests []string
	if o.which != nil {
		tests = append(tests, fmt.Sprintf("0 <= %s < %d", o.of.Which, o.of.Count))
	}
	for _, t := range o.tests {
		tests = append(tests, fmt.Sprintf("0 <= %s < %d", p.form(t.index.offset), t.extent))
	}
	return fmt.Sprintf("%s if %s, or else %s", p.address(o.from), strings.Join(tests, " and "), other)
}

// within returns the interval of i in [0, n) for which first + i*factor is in [0, ext).
func within(first, factor, ext, n int) (lo, hi int) {
	first = max(-rewrite.Farthest, min(first, rewrite.Farthest))
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

// read loads len(z) elements with a stride, from same if it is not nil, and otherwise from x.
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

func converted[T simd.Float, U dtype.Number](z []T, x []U, start, stride int) {
	for i := range z {
		z[i] = T(x[start])
		start += stride
	}
}

// store emits the store of a statement's result. Values that were loaded from the tensor are not reused after
// it.
func (z *vectorizer[T]) store(st *rewrite.Statement, x operand[T]) {
	t := st.Target
	z.fromMemory(st.Guard)
	z.fromMemory(st.Left.Which)
	for _, i := range st.Left.Idx {
		z.fromMemory(i)
	}
	tensor := z.c.tensors[t]
	for _, v := range z.views {
		if v.memory == tensor.Memory {
			z.keep(v.reg)
		}
	}
	a, add := rewrite.AccessOf(st.Left), tensor.Add || st.Add
	for key := range z.known {
		if strings.Contains(key, tensorKey(t)) {
			delete(z.known, key)
		}
	}
	switch {
	case st.Guard != nil || st.Joined() || len(a.Open) > 0 || a.Offset.Hidden(z.v) || a.Offset.Factor(z.v) == 0 || st.Left.Which != nil:
		z.scatter(st, x)
		return
	case tensor.Type == z.c.own && a.Offset.Factor(z.v) == 1:
		z.storeSame(t, a, x, add)
	case tensor.Type == dtype.Bool && st.Value.Kind == term.Boolean && x.scalar == nil:
		z.storeOther(t, a, x, false)
		z.known[z.c.key(&term.Term{Op: term.Element, Kind: term.Boolean, Read: st.Left})] = x
	case z.c.exacts[t] && z.c.own != dtype.F64 && !add:
		if x.scalar == nil {
			z.strip.replaced[x.reg] = true
		}
		z.storeExact(t, a, st.Value)
	default:
		z.storeOther(t, a, x, add)
	}
	if !add && tensor.Type == z.c.own && x.scalar == nil {
		if z.strip.views[x.reg] {
			z.views = append(z.views, view{x.reg, tensor.Memory})
		}
		z.known[z.c.key(&term.Term{Op: term.Element, Kind: term.Real, Read: st.Left})] = x
	}
}

// keep emits a copy of the elements of a view, whose memory the next instruction overwrites.
func (z *vectorizer[T]) keep(reg int) {
	z.give(instruction[T]{op: opKeep, uses: []int{reg}})
}

// storeSame emits a contiguous store of type T.
func (z *vectorizer[T]) storeSame(t int, a *rewrite.Access, x operand[T], add bool) {
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

// direct makes the instruction that defines reg compute into the memory of a tensor instead of a buffer, and
// returns true. It returns false if that instruction is not the last one or reg is a view.
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

// storeOther emits a store that is not contiguous or converts elements.
func (z *vectorizer[T]) storeOther(t int, a *rewrite.Access, x operand[T], add bool) {
	in := instruction[T]{op: opStore, uses: []int{z.vector(x)}, to: z.address(t, a), add: add}
	in.to.known = in.to.known && !add
	z.effect(in)
}

// given stores x to z, converted to U. If add is set, it adds x to z in float64 instead.
func given[T, U simd.Float](z []U, x []T, add bool) {
	if !add {
		convert(z, x)
		return
	}
	for i, v := range x {
		z[i] = U(float64(z[i]) + float64(v))
	}
}

// addRow emits the accumulation of a strip into contiguous elements at a data-dependent offset. It returns
// false if each element has an offset of its own.
func (z *vectorizer[T]) addRow(st *rewrite.Statement, x operand[T]) bool {
	a, t := rewrite.AccessOf(st.Left), z.c.tensors[st.Target]
	if t.Type != z.c.own && !(t.Type == dtype.F64 && st.Add) || a.Offset.Hidden(z.v) || a.Offset.Factor(z.v) != 1 ||
		st.Left.Which != nil || st.Guard != nil && st.Guard.Uses(z.v) {
		return false
	}
	for _, d := range a.Open {
		if a.Idx[d].Hidden(z.v) || a.Idx[d].Factor(z.v) != 0 {
			return false
		}
	}
	op := simd.Add
	if st.Joined() {
		op = st.Fold.Vector()
	}
	o := &rowStore[T]{guard: z.c.holds(st.Guard), find: z.c.target(st), to: z.address(st.Target, a), op: op, joins: t.Add || st.Add, join: simd.BinaryOf[T](op)}
	if t.Type == z.c.own {
		z.fetched(st.Target, a, o.to.at)
	} else {
		o.wide = simd.BinaryOf[float64](op)
		z.c.wide = max(z.c.wide, 1)
	}
	z.other(o, -1, z.vector(x))
	return true
}

// rowStore combines the elements of a register with contiguous elements of memory at a data-dependent offset.
type rowStore[T simd.Float] struct {
	guard func(*state[T]) bool
	find  func(*state[T]) (tensor, at int, inside bool)
	to    *address[T]
	op    simd.Binary
	joins bool // whether op combines elements with those in memory; otherwise they are stored
	join  func(z, x, y []T)
	wide  func(z, x, y []float64) // join for memory of float64 elements, if T is float32
}

func (o *rowStore[T]) exec(s *state[T], in *instruction[T], n int) {
	if !o.guard(s) {
		return
	}
	id, i, inside := o.find(s)
	x := s.regs[in.uses[0]][:n]
	switch {
	case !inside:
	case o.wide != nil:
		row := s.mem[id].f64[i : i+n]
		o.wide(row, row, widened(x, s.wider))
	case o.joins:
		row := s.mem[id].same[i : i+n]
		o.join(row, row, x)
	default:
		copy(s.mem[id].same[i:i+n], x)
	}
}

func (o *rowStore[T]) text(p *lister[T], x []string) string {
	to, value := p.address(o.to), x[0]
	if o.joins {
		value = infix(o.op, to, value)
	}
	return to + " = " + value
}

// scatter emits a store whose elements are not contiguous, may be out of bounds, or are guarded.
func (z *vectorizer[T]) scatter(st *rewrite.Statement, x operand[T]) {
	if z.addRow(st, x) || z.placed(st, x) {
		return
	}
	z.other(&eachStore[T]{z.c.writer(st), st.Left, z.at}, -1, z.vector(x))
}

// eachStore stores the elements of a register one by one, with scalar code.
type eachStore[T simd.Float] struct {
	write func(*state[T], float64)
	left  *term.Read
	place int // slot of the vectorized index
}

func (o *eachStore[T]) exec(s *state[T], in *instruction[T], n int) {
	first := s.vars[o.place]
	for i, v := range s.regs[in.uses[0]][:n] {
		s.vars[o.place] = first + i
		o.write(s, float64(v))
	}
	s.vars[o.place] = first
}

func (o *eachStore[T]) text(p *lister[T], x []string) string {
	return p.c.nameOf(o.left.Tensor) + indices(o.left.Idx) + " = " + x[0] + ", one by one"
}

// move emits a copy between tensors of the same type.
func (z *vectorizer[T]) move(st *rewrite.Statement) {
	from, to := rewrite.AccessOf(st.Value.Read), rewrite.AccessOf(st.Left)
	z.effect(instruction[T]{op: opMove, from: z.address(st.Value.Read.Tensor, from), to: z.address(st.Target, to)})
}

// moved copies n elements between slices, with a stride in each.
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
