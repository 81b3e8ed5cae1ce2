package loops

import (
	"math"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// columns is an outer reduction: strips run over an index of the results, so that every lane of a strip is a
// result.
type columns[T simd.Float] struct {
	outer nest[T] // over the indices of the results but v
	strip loop[T]
	inner nest[T] // over the reduced indices
	sums  []*columnSum[T]
	// joint computes several sums in one pass, or is nil.
	joint *strip[T]
	among *rowLoop[T] // joint over several iterations of the last reduced index in one call, or nil
}

// columnSum is the code of one of the bundle's reductions: its passes over the elements.
type columnSum[T simd.Float] struct {
	// before computes a register that the passes use, such as the maximum of a logsumexp; nil if none.
	before *strip[T]
	passes []*columnPass[T]
	give   func(s *state[T], of []float64, n int)
	// finish converts the results of the passes into the result.
	finish func(s *state[T], x []float64, count int)
	// put stores results that were not accumulated in float64; nil if that needs more than a copy.
	put func(s *state[T], x []T)
}

// columnPass is one pass over the elements.
type columnPass[T simd.Float] struct {
	code  strip[T]
	among *rowLoop[T] // code over several iterations of the last reduced index in one call, or nil
	acc   int         // register of the accumulators
	first T
	sums  bool // whether partial sums of T accumulate in float64
	wide  int  // number of the float64 strip
	// search says that the pass is an argmax or argmin, whose indices are in the float64 strip: NaN before
	// the first element.
	search bool
	// direct locates the rows of a tensor that the pass only sums; nil for other values.
	direct *directRows[T]
	block  *columnBlock[T] // blocks of contiguous short rows; nil if not applicable
}

// flushed is the number of terms in a partial sum of T.
const flushed = 64

// columns compiles an outer reduction over strips of v.
func (k *unitCompiler[T]) columns(v *term.Variable) unit[T] {
	r := k.bundle.folds[0]
	u := &columns[T]{outer: k.loops(k.free(), v), strip: k.loop(v), inner: k.loops(r.Vars, nil)}
	var folds []*term.Reduction
	for i, st := range k.bundle.statements {
		f := k.sameIndices(i)
		u.sums = append(u.sums, k.columnSum(st, f, v, i))
		folds = append(folds, f)
	}
	if u.joint = k.jointColumns(u.sums, folds, v); u.joint != nil {
		u.among = k.rowLoop(u.joint, r.Vars)
	}
	for _, f := range u.sums {
		for _, p := range f.passes {
			p.among = k.rowLoop(&p.code, r.Vars)
		}
	}
	return u
}

// jointColumns returns code for several sums in one pass, with common subexpressions; nil if other
// reductions are among them.
func (k *unitCompiler[T]) jointColumns(sums []*columnSum[T], folds []*term.Reduction, v *term.Variable) *strip[T] {
	if len(folds) < 2 || len(folds) > mostFolds {
		return nil
	}
	z := newVectorizer(k.compiler, v)
	for i, r := range folds {
		if r.Kind != reduction.Sum && r.Kind != reduction.Mean || r.Guard != nil || !r.Body.Uses(v) {
			return nil
		}
		acc := sums[i].passes[0].acc
		z.strip.views[acc] = true
		z.accumulate(acc, simd.Add, r, v, func(_ *vectorizer[T], x operand[T], _ int) operand[T] { return x }, -1)
	}
	k.finish(&z.strip)
	return &z.strip
}

func (k *unitCompiler[T]) columnSum(st *statement, r *term.Reduction, v *term.Variable, number int) *columnSum[T] {
	out := &columnSum[T]{give: k.columnWriter(st, v), finish: func(*state[T], []float64, int) {}}
	first := -1
	pass := func(op simd.Binary, wide int, of folding[T]) *columnPass[T] {
		if len(out.passes) > 0 {
			first = out.passes[0].acc
		}
		p := k.columnPass(r, v, op, of, first)
		p.wide = wide
		k.wide = max(k.wide, wide+1)
		out.passes = append(out.passes, p)
		return p
	}
	same := func(_ *vectorizer[T], x operand[T], _ int) operand[T] { return x }
	if kind := r.Kind; kind == reduction.Sum || kind == reduction.Count || kind == reduction.Prod || kind == reduction.Max || kind == reduction.Min {
		out.put = k.columnSetter(st, v)
	}
	w := 2 * number
	switch r.Kind {
	case reduction.Sum, reduction.Mean, reduction.Count:
		pass(simd.Add, w, same)
	case reduction.ArgMax, reduction.ArgMin:
		k.wide = max(k.wide, w+1)
		p := k.argumentColumns(r, v, w)
		out.passes = append(out.passes, p)
	case reduction.Prod:
		pass(simd.Mul, w, same)
	case reduction.Max, reduction.Any:
		pass(simd.Max, w, same)
	case reduction.Min, reduction.All:
		pass(simd.Min, w, same)
	case reduction.LogSumExp:
		out.before, first = k.held(r.At[0], v)
		pass(simd.Add, w, func(z *vectorizer[T], x operand[T], top int) operand[T] {
			z.heavy = true
			return operand[T]{reg: z.unaryOf(simd.Exp, operand[T]{reg: z.binary(simd.Sub, x, operand[T]{reg: top})})}
		})
	}
	if r.Kind == reduction.Any {
		out.passes[0].first = 0
	}
	if r.Kind == reduction.All {
		out.passes[0].first = 1
	}
	for _, p := range out.passes {
		k.finish(&p.code)
		if p.block != nil {
			k.finish(&p.block.code)
		}
	}
	kind := r.Kind
	out.finish = func(s *state[T], x []float64, n int) {
		switch kind {
		case reduction.Mean:
			for i := range x {
				x[i] /= float64(n)
			}
		case reduction.LogSumExp:
			for i := range x {
				x[i] = logarithm(x[i])
			}
		}
	}
	return out
}

// held returns code that computes n into a register of its own, and the register.
func (k *unitCompiler[T]) held(n *term.Term, v *term.Variable) (*strip[T], int) {
	z := newVectorizer(k.compiler, v)
	r := z.register(true)
	k.accumulators = append(k.accumulators, r)
	z.emit(instruction[T]{op: opCopy, uses: []int{z.vector(z.real(n))}, def: r, folds: true})
	k.finish(&z.strip)
	return &z.strip, r
}

// columnPass compiles a pass over the elements.
func (k *unitCompiler[T]) columnPass(r *term.Reduction, v *term.Variable, op simd.Binary, of folding[T], first int) *columnPass[T] {
	z := newVectorizer(k.compiler, v)
	p := &columnPass[T]{acc: z.register(true), sums: op == simd.Add}
	k.accumulators = append(k.accumulators, p.acc)
	switch op {
	case simd.Mul:
		p.first = 1
	case simd.Max:
		p.first = T(math.Inf(-1))
	case simd.Min:
		p.first = T(math.Inf(1))
	}
	whole := r
	r, begin, end := z.around(r)
	begin()
	z.accumulate(p.acc, op, r, v, of, first)
	end()
	p.code = z.strip
	p.block = k.columnBlock(whole, v, op, of, first, p.acc)
	if op == simd.Add && r.Kind != reduction.LogSumExp {
		p.direct = k.directRows(whole, body(r), v)
	}
	return p
}

// accumulate emits the reduction of a value into an accumulator register.
func (z *vectorizer[T]) accumulate(acc int, op simd.Binary, r *term.Reduction, v *term.Variable, of folding[T], first int) {
	b := body(r)
	if op == simd.Add && r.Guard == nil && r.Kind != reduction.LogSumExp && b.Op == term.Multiply && b.Args[0].Uses(v) {
		in := mulAdd(z.real(b.Args[0]), z.real(b.Args[1]), acc)
		in.def, in.folds = acc, true
		z.emit(in)
	} else {
		x := z.vector(of(z, operand[T]{reg: z.vector(z.real(b))}, first))
		z.emit(instruction[T]{op: opBinary, binary: op, uses: []int{acc, x}, def: acc, folds: true})
	}
}

// folding emits the element that a pass reduces, from a register and from the register of an earlier pass,
// or -1.
type folding[T simd.Float] func(z *vectorizer[T], x operand[T], first int) operand[T]

// columnBlock is code for blocks of contiguous short rows: one strip covers several rows.
type columnBlock[T simd.Float] struct {
	code     strip[T]
	n, rows  int // elements of a row, and rows of a strip
	repeated int // register with the first pass's results, repeated for each row, or -1
	first    int // register with the first pass's results
	loop     loop[T]
}

// columnBlock returns code for blocks of rows, or nil if rows are long or not contiguous.
func (k *unitCompiler[T]) columnBlock(r *term.Reduction, v *term.Variable, op simd.Binary, of folding[T], first, acc int) *columnBlock[T] {
	n, b := extent(v), body(r)
	if len(r.Vars) != 1 || r.Guard != nil || n < 1 || n > stripLength/2 {
		return nil
	}
	w := r.Vars[0]
	m, known := w.Hi.Known()
	ok := known && w.Lo.Is(0) && v.Lo.Is(0)
	forms(b, func(f form) { ok = ok && f.factor(w) == n*f.factor(v) && !f.hidden(w) && !f.hidden(v) })
	out := &columnBlock[T]{n: n, rows: 1, repeated: -1, first: first}
	for 2*out.rows*n <= stripLength && out.rows < flushed {
		out.rows *= 2
	}
	if !ok || m < out.rows {
		return nil
	}
	z := newVectorizer(k.compiler, v)
	if first >= 0 {
		out.repeated = z.register(true)
		k.accumulators = append(k.accumulators, out.repeated)
	}
	z.strip.views[acc] = true
	x := z.vector(of(z, operand[T]{reg: z.vector(z.real(b))}, out.repeated))
	z.emit(instruction[T]{op: opFoldRows, binary: op, uses: []int{x}, def: acc, folds: true, at: n})
	out.code, out.loop = z.strip, k.loop(w)
	return out
}

// foldBlocks reduces all rows, and returns their number.
func (p *columnPass[T]) foldBlocks(s *state[T]) int {
	b := p.block
	if b.repeated >= 0 {
		for i := range b.rows {
			copy(s.regs[b.repeated][i*b.n:], s.regs[b.first][:b.n])
		}
	}
	rows := b.loop.hi(s)
	for i := 0; i < rows; i += b.rows {
		m := min(b.rows, rows-i)
		s.vars[b.loop.place] = i
		b.code.exec(s, m*b.n)
		if p.sums && (i+m)%flushed == 0 {
			p.flush(s, b.n, i+m)
		}
	}
	return rows
}

// argumentColumns compiles an argmax or argmin. NaN is more extreme than all numbers.
func (k *unitCompiler[T]) argumentColumns(r *term.Reduction, v *term.Variable, wide int) *columnPass[T] {
	z := newVectorizer(k.compiler, v)
	p := &columnPass[T]{acc: z.register(true), wide: wide, search: true}
	k.accumulators = append(k.accumulators, p.acc)
	z.extremePlace(r, k.number, &extremePlace[T]{columns: true, acc: p.acc, wide: wide})
	p.code = z.strip
	return p
}

func (u *columns[T]) run(s *state[T], lo, hi int) {
	u.outer.each(s, 0, lo, hi, func(s *state[T]) {
		a, b := u.strip.limits(s, lo, hi)
		for i := a; i < b; i += stripLength {
			s.vars[u.strip.place] = i
			u.column(s, min(stripLength, b-i))
		}
	})
}

// column computes n results. The first passes of all reductions share one pass over the elements, and so do
// the second passes.
func (u *columns[T]) column(s *state[T], n int) {
	for _, f := range u.sums {
		if f.before != nil {
			f.before.exec(s, n)
		}
	}
	for i := range 2 {
		count := u.pass(s, i, n)
		if count < 0 {
			break
		}
		for _, f := range u.sums {
			if i == len(f.passes)-1 {
				p := f.passes[i]
				if f.put != nil && (!p.sums || count < flushed) {
					f.put(s, s.regs[p.acc][:n])
					continue
				}
				x := p.result(s, n, count)
				f.finish(s, x, count)
				f.give(s, x, n)
			} else if i < len(f.passes) {
				f.passes[i].settle(s, n, count)
			}
		}
	}
}

// pass runs pass i of all reductions. It returns the number of reduced elements, or -1 if there is no such
// pass.
func (u *columns[T]) pass(s *state[T], i, n int) int {
	any := false
	for _, f := range u.sums {
		if i < len(f.passes) {
			any = true
			f.passes[i].begin(s, n)
		}
	}
	if !any {
		return -1
	}
	if p := u.sums[0].passes[0]; len(u.sums) == 1 && i == 0 && p.direct != nil {
		count := len(p.direct.begins)
		if count == 0 {
			count = u.inner.loops[0].hi(s)
		}
		if p.addRows(s, n, count) {
			return count
		}
		p.begin(s, n)
	}
	if f := u.sums[0]; len(u.sums) == 1 && f.passes[i].block != nil && n == f.passes[i].block.n {
		return f.passes[i].foldBlocks(s)
	}
	if u.among != nil {
		return u.several(s, u.among, n, u.sums...)
	}
	if f := u.sums[0]; len(u.sums) == 1 && f.passes[i].among != nil {
		return u.several(s, f.passes[i].among, n, f)
	}
	count := 0
	u.inner.each(s, 0, 0, 0, func(s *state[T]) {
		count++
		if u.joint != nil {
			u.joint.exec(s, n)
			if count%flushed == 0 {
				for _, f := range u.sums {
					f.passes[0].flush(s, n, count)
				}
			}
			return
		}
		for _, f := range u.sums {
			if i < len(f.passes) {
				p := f.passes[i]
				u.inner.ahead(s, &p.code, n, 0, 0)
				p.code.exec(s, n)
				if p.sums && count%flushed == 0 {
					p.flush(s, n, count)
				}
			}
		}
	})
	return count
}

// several reduces rows of n elements, several rows per call. It returns the number of rows.
func (u *columns[T]) several(s *state[T], code *rowLoop[T], n int, sums ...*columnSum[T]) int {
	count := 0
	u.inner.stretches(s, 0, 0, 0, mostRows(n), func(s *state[T], first, rows int) {
		for rows > 0 {
			m := min(rows, flushed-count%flushed)
			code.run(s, n, first, m)
			first, rows, count = first+m, rows-m, count+m
			if count%flushed > 0 {
				continue
			}
			for _, f := range sums {
				for _, p := range f.passes {
					if p.sums && (p.among == code || u.among == code) {
						p.flush(s, n, count)
					}
				}
			}
		}
	})
	return count
}

func (p *columnPass[T]) begin(s *state[T], n int) {
	acc := s.regs[p.acc][:n]
	if p.sums {
		clear(acc)
		return
	}
	for i := range acc {
		acc[i] = p.first
	}
	if p.search {
		for i := range n {
			s.wide[p.wide][i] = math.NaN()
		}
	}
}

// flush adds partial sums of T to the float64 sums; count terms were reduced so far.
func (p *columnPass[T]) flush(s *state[T], n, count int) {
	acc, wide := s.regs[p.acc][:n], s.wide[p.wide][:n]
	if count > flushed {
		w := s.wider[:n]
		widen(w, acc)
		simd.BinaryOf[float64](simd.Add)(wide, wide, w)
	} else {
		widen(wide, acc)
	}
	clear(acc)
}

func widen[T simd.Float](z []float64, x []T) {
	switch x := any(x).(type) {
	case []float32:
		simd.Widen(z, x)
	case []float64:
		copy(z, x)
	}
}

// result returns the reductions of count elements.
func (p *columnPass[T]) result(s *state[T], n, count int) []float64 {
	x := s.wide[p.wide][:n]
	if p.sums {
		if count != flushed {
			p.flush(s, n, count)
		}
		return x
	}
	if p.search {
		for i, v := range x {
			if v != v {
				x[i] = 0
			}
		}
		return x
	}
	for i, v := range s.regs[p.acc][:n] {
		x[i] = float64(v)
	}
	return x
}

// settle leaves the mean in the register, for the next pass.
func (p *columnPass[T]) settle(s *state[T], n, count int) {
	if !p.sums {
		return
	}
	for i, v := range p.result(s, n, count) {
		s.regs[p.acc][i] = T(v / float64(count))
	}
}

// columnSetter returns code that copies results of type T to memory; nil if a store needs more.
func (k *unitCompiler[T]) columnSetter(st *statement, v *term.Variable) func(s *state[T], x []T) {
	a, t := accessOf(st.left), k.tensors[st.target]
	if len(a.open) > 0 || a.offset.hidden(v) || a.offset.factor(v) != 1 || st.left.Which != nil || t.Type != k.own || t.Add || st.add {
		return nil
	}
	at, id := k.value(a.offset), st.target
	return func(s *state[T], x []T) { copy(s.mem[id].same[at(s):], x) }
}

// columnWriter returns code that stores n results along index v.
func (k *unitCompiler[T]) columnWriter(st *statement, v *term.Variable) func(s *state[T], x []float64, n int) {
	a, t := accessOf(st.left), k.tensors[st.target]
	id, add := st.target, t.Add || st.add
	if len(a.open) == 0 && !a.offset.hidden(v) && st.left.Which == nil {
		at, f, put := k.value(a.offset), a.offset.factor(v), putReal[T](t.Type, add)
		if t.Type == dtype.F64 && f == 1 && !add {
			return func(s *state[T], x []float64, n int) { i := at(s); copy(s.mem[id].f64[i:i+n], x[:n]) }
		}
		if t.Type == dtype.F32 && f == 1 && !add {
			return func(s *state[T], x []float64, n int) { i := at(s); simd.Narrow(s.mem[id].f32[i:i+n], x[:n]) }
		}
		return func(s *state[T], x []float64, n int) {
			i, b := at(s), &s.mem[id]
			for _, y := range x[:n] {
				put(b, i, y)
				i += f
			}
		}
	}
	write, place := k.writer(&statement{target: st.target, left: st.left, add: st.add}), k.place(v)
	return func(s *state[T], x []float64, n int) {
		first := s.vars[place]
		for i, y := range x[:n] {
			s.vars[place] = first + i
			write(s, y)
		}
		s.vars[place] = first
	}
}
