package loops

import (
	"math"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// columns is an outer reduction. Strips run over an index of the results, so that each lane of a strip
// accumulates a result of its own.
type columns[T simd.Float] struct {
	outer nest[T] // over the indices of the results, without the vectorized one
	strip loop[T]
	inner nest[T] // over the reduced indices
	sums  []*columnSum[T]
	// joint is the code that reduces an element for all of several sums in one pass, or nil.
	joint *strip[T]
	among *rowLoop[T] // joint over several iterations of the last reduced index in one call; nil if not applicable
}

// columnSum is the pass of one of the bundle's reductions over the elements.
type columnSum[T simd.Float] struct {
	kind reduction.Kind
	// before computes a register that the pass uses, such as the maximum of a logsumexp; nil if the pass uses
	// none.
	before *strip[T]
	code   strip[T]
	among  *rowLoop[T] // code over several iterations of the last reduced index in one call; nil if not applicable
	acc    int         // register of the accumulators
	first  T
	sums   bool // whether the accumulators are partial sums in T, which are added to float64 sums from time to time
	wide   int  // number of the strip of the float64 sums
	search bool // whether the reduction is an argmax or argmin
	number int  // of an argmax or argmin, the register of the extremes' row-major numbers; NaN before the first element
	// direct locates the rows of a tensor whose sum is the reduction; nil for other reductions.
	direct *directRows[T]
	block  *columnBlock[T] // blocks of contiguous short rows; nil if not applicable
	give   func(s *state[T], of []float64, n int)
	// put stores results that were not accumulated in float64; nil if a store needs more than a copy.
	put func(s *state[T], x []T)
}

// columns compiles an outer reduction with strips over v.
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
		f.among = k.rowLoop(&f.code, r.Vars)
	}
	return u
}

// jointColumns returns code that reduces an element for several sums at once, with common subexpressions. It
// returns nil if one of the reductions is no unguarded sum or mean.
func (k *unitCompiler[T]) jointColumns(sums []*columnSum[T], folds []*term.Reduction, v *term.Variable) *strip[T] {
	if len(folds) < 2 || len(folds) > mostFolds {
		return nil
	}
	z := newVectorizer(k.compiler, v)
	for i, r := range folds {
		if r.Kind != reduction.Sum && r.Kind != reduction.Mean || r.Guard != nil || !r.Body.Uses(v) {
			return nil
		}
		acc := sums[i].acc
		z.strip.views[acc] = true
		z.accumulate(acc, simd.Add, r, v, func(_ *vectorizer[T], x operand[T], _ int) operand[T] { return x }, -1)
	}
	k.finish(&z.strip)
	return &z.strip
}

// columnSum compiles the reduction r of statement st, which is number number of the bundle.
func (k *unitCompiler[T]) columnSum(st *rewrite.Statement, r *term.Reduction, v *term.Variable, number int) *columnSum[T] {
	k.wide = max(k.wide, number+1)
	p := &columnSum[T]{kind: r.Kind, give: k.columnWriter(st, v), wide: number}
	if argument(r) {
		k.argumentColumns(p, r, v)
		k.finish(&p.code)
		return p
	}
	op, of, first := simd.Add, func(_ *vectorizer[T], x operand[T], _ int) operand[T] { return x }, -1
	if r.Kind == reduction.LogSumExp {
		p.before, first = k.held(r.At[0], v)
		of = func(z *vectorizer[T], x operand[T], top int) operand[T] {
			z.heavy = true
			return operand[T]{reg: z.unaryOf(simd.Exp, operand[T]{reg: z.binary(simd.Sub, x, operand[T]{reg: top})})}
		}
	} else {
		op, p.first = r.Kind.Vector(), T(r.Kind.Identity())
	}
	if r.Kind.Is(reduction.Fold) {
		p.put = k.columnSetter(st, v)
	}
	k.columnPass(p, r, v, op, of, first)
	k.finish(&p.code)
	if p.block != nil {
		k.finish(&p.block.code)
	}
	return p
}

// held returns code that computes n over a strip of v into a register that no other code overwrites, and the
// register.
func (k *unitCompiler[T]) held(n *term.Term, v *term.Variable) (*strip[T], int) {
	z := newVectorizer(k.compiler, v)
	r := z.register(true)
	k.accumulators = append(k.accumulators, r)
	z.emit(instruction[T]{op: opCopy, uses: []int{z.vector(z.real(n))}, def: r, folds: true})
	k.finish(&z.strip)
	return &z.strip, r
}

// columnPass compiles the pass of reduction r over the elements. of computes the element that operation op
// reduces. first is the register of an earlier pass, or -1.
func (k *unitCompiler[T]) columnPass(p *columnSum[T], r *term.Reduction, v *term.Variable, op simd.Binary, of folding[T], first int) {
	z := newVectorizer(k.compiler, v)
	p.acc, p.sums = z.register(true), op == simd.Add
	k.accumulators = append(k.accumulators, p.acc)
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
}

// accumulate emits the reduction of r's value into accumulator register acc.
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

// folding emits the element that a pass reduces. x is the reduction's value, and first the register of an
// earlier pass, or -1.
type folding[T simd.Float] func(z *vectorizer[T], x operand[T], first int) operand[T]

// columnBlock is code for contiguous short rows, of which one strip covers several.
type columnBlock[T simd.Float] struct {
	code     strip[T]
	n, rows  int // elements of a row, and rows of a strip
	repeated int // register with an earlier pass's results, repeated for each row; -1 if there was no such pass
	first    int // register with an earlier pass's results
	loop     loop[T]
}

// columnBlock returns code that reduces several rows in a strip. It returns nil if rows are long or not
// contiguous.
func (k *unitCompiler[T]) columnBlock(r *term.Reduction, v *term.Variable, op simd.Binary, of folding[T], first, acc int) *columnBlock[T] {
	n, b := rewrite.Extent(v), body(r)
	if len(r.Vars) != 1 || r.Guard != nil || n < 1 || n > stripLength/2 {
		return nil
	}
	w := r.Vars[0]
	m, known := w.Hi.Known()
	ok := known && w.Lo.Is(0) && v.Lo.Is(0)
	forms(b, func(f rewrite.Form) { ok = ok && f.Factor(w) == n*f.Factor(v) && !f.Hidden(w) && !f.Hidden(v) })
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

// foldBlocks reduces all rows by the code of a columnBlock, and returns their number.
func (p *columnSum[T]) foldBlocks(s *state[T]) int {
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

// argumentColumns compiles an argmax or argmin. NaN counts as more extreme than all numbers.
func (k *unitCompiler[T]) argumentColumns(p *columnSum[T], r *term.Reduction, v *term.Variable) {
	z := newVectorizer(k.compiler, v)
	was := k.lenient
	k.lenient = was || r.Guard != nil
	defer func() { k.lenient = was }()
	p.acc, p.number, p.search = z.register(true), z.register(true), true
	k.accumulators = append(k.accumulators, p.acc, p.number)
	x, best, number := z.real(r.Body), operand[T]{reg: p.acc}, operand[T]{reg: p.number}
	x = operand[T]{reg: z.vector(x)}
	less, more := best, x
	if r.Kind == reduction.ArgMin {
		less, more = x, best
	}
	join := func(op simd.Binary, x, y operand[T]) operand[T] { return operand[T]{reg: z.binary(op, x, y)} }
	better := join(simd.Or, join(simd.Less, less, more), join(simd.And, operand[T]{reg: z.unaryOf(simd.IsNaN, x)}, join(simd.Equal, best, best)))
	better = join(simd.Or, better, operand[T]{reg: z.unaryOf(simd.IsNaN, number)})
	if r.Guard != nil {
		better = join(simd.And, better, z.real(r.Guard))
	}
	at := z.vector(z.real(k.number))
	z.emit(instruction[T]{op: opSelect, uses: []int{better.reg, x.reg, p.acc}, def: p.acc, folds: true})
	z.emit(instruction[T]{op: opSelect, uses: []int{better.reg, at, p.number}, def: p.number, folds: true})
	p.code = z.strip
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

// column computes n results, with one pass over the elements for all reductions.
func (u *columns[T]) column(s *state[T], n int) {
	for _, p := range u.sums {
		if p.before != nil {
			p.before.exec(s, n)
		}
	}
	count := u.pass(s, n)
	for _, p := range u.sums {
		if p.put != nil && (!p.sums || count < flushed) {
			p.put(s, s.regs[p.acc][:n])
			continue
		}
		p.give(s, p.result(s, n, count), n)
	}
}

// pass accumulates n results of all reductions, and returns the number of elements of each.
func (u *columns[T]) pass(s *state[T], n int) int {
	for _, p := range u.sums {
		p.begin(s, n)
	}
	if p := u.sums[0]; len(u.sums) == 1 {
		if p.direct != nil {
			count := len(p.direct.begins)
			if count == 0 {
				count = u.inner.loops[0].hi(s)
			}
			if p.addRows(s, n, count) {
				return count
			}
			p.begin(s, n)
		}
		if p.block != nil && n == p.block.n {
			return p.foldBlocks(s)
		}
		if p.among != nil {
			return u.several(s, p.among, n)
		}
	}
	if u.among != nil {
		return u.several(s, u.among, n)
	}
	count := 0
	u.inner.each(s, 0, 0, 0, func(s *state[T]) {
		count++
		if u.joint != nil {
			u.joint.exec(s, n)
		}
		for _, p := range u.sums {
			if u.joint == nil {
				u.inner.ahead(s, &p.code, n, 0, 0)
				p.code.exec(s, n)
			}
			if p.sums && count%flushed == 0 {
				p.flush(s, n, count)
			}
		}
	})
	return count
}

// several accumulates n results by code for several rows per call, and returns the number of rows.
func (u *columns[T]) several(s *state[T], code *rowLoop[T], n int) int {
	count := 0
	u.inner.stretches(s, 0, 0, 0, mostRows(n), func(s *state[T], first, rows int) {
		for rows > 0 {
			m := min(rows, flushed-count%flushed)
			code.run(s, n, first, m)
			first, rows, count = first+m, rows-m, count+m
			if count%flushed > 0 {
				continue
			}
			for _, p := range u.sums {
				if p.sums {
					p.flush(s, n, count)
				}
			}
		}
	})
	return count
}

func (p *columnSum[T]) begin(s *state[T], n int) {
	acc := s.regs[p.acc][:n]
	if p.sums {
		clear(acc)
		return
	}
	for i := range acc {
		acc[i] = p.first
	}
	if p.search {
		fill(s.regs[p.number][:n], T(math.NaN()))
	}
}

// flush adds the partial sums in T to the float64 sums, and clears them. count is the number of elements
// reduced so far.
func (p *columnSum[T]) flush(s *state[T], n, count int) {
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

// result returns n results in float64, after count elements were reduced.
func (p *columnSum[T]) result(s *state[T], n, count int) []float64 {
	x := s.wide[p.wide][:n]
	switch {
	case p.sums && count != flushed:
		p.flush(s, n, count)
	case p.sums:
	case p.search:
		for i, v := range s.regs[p.number][:n] {
			if x[i] = float64(v); v != v {
				x[i] = 0
			}
		}
	default:
		for i, v := range s.regs[p.acc][:n] {
			x[i] = float64(v)
		}
	}
	switch p.kind {
	case reduction.Mean:
		for i := range x {
			x[i] /= float64(count)
		}
	case reduction.LogSumExp:
		for i := range x {
			x[i] = logarithm(x[i])
		}
	}
	return x
}

// columnSetter returns code that copies results of type T to the target of st. It returns nil if a store
// needs more than a copy.
func (k *unitCompiler[T]) columnSetter(st *rewrite.Statement, v *term.Variable) func(s *state[T], x []T) {
	a, t := rewrite.AccessOf(st.Left), k.tensors[st.Target]
	if len(a.Open) > 0 || a.Offset.Hidden(v) || a.Offset.Factor(v) != 1 || st.Left.Which != nil || t.Type != k.own || t.Add || st.Add {
		return nil
	}
	at, id := k.value(a.Offset), st.Target
	return func(s *state[T], x []T) { copy(s.mem[id].same[at(s):], x) }
}

// columnWriter returns code that stores n float64 results along index v.
func (k *unitCompiler[T]) columnWriter(st *rewrite.Statement, v *term.Variable) func(s *state[T], x []float64, n int) {
	a, t := rewrite.AccessOf(st.Left), k.tensors[st.Target]
	id, add := st.Target, t.Add || st.Add
	if len(a.Open) == 0 && !a.Offset.Hidden(v) && st.Left.Which == nil {
		at, f, to := k.value(a.Offset), a.Offset.Factor(v), storageOf[T](t.Type)
		return func(s *state[T], x []float64, n int) { to.putReals(&s.mem[id], at(s), f, x[:n], add) }
	}
	write, place := k.writer(&rewrite.Statement{Target: st.Target, Left: st.Left, Add: st.Add}), k.place(v)
	return func(s *state[T], x []float64, n int) {
		first := s.vars[place]
		for i, y := range x[:n] {
			s.vars[place] = first + i
			write(s, y)
		}
		s.vars[place] = first
	}
}
