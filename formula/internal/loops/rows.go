package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// rows is an inner reduction: strips run over the last reduced index.
type rows[T simd.Float] struct {
	outer nest[T] // over the indices of the results
	inner nest[T] // over the reduced indices except the last
	last  loop[T]
	// varies says that the range of the last reduced index depends on the other reduced indices.
	varies bool
	sums   []*rowSum[T]
	// joint is code that reduces several sums in one pass; nil if there is none.
	joint *strip[T]
	own   bool // whether all sums of joint accumulate in machine registers
	// among runs joint for several iterations of the next outer index in one call; nil if not applicable.
	among *rowLoop[T]
	even  *evenRows[T] // reduces rows in place, without strips; nil if not applicable
}

// rowSum is the pass of one of the bundle's reductions over the elements of a row.
type rowSum[T simd.Float] struct {
	kind  reduction.Kind
	code  strip[T]
	own   bool          // whether the sum accumulates in a machine register
	among *rowLoop[T]   // runs code for several rows in one call; nil if not applicable
	op    simd.Binary   // combines lanes to one number
	first simd.Lanes[T] // the identity in all lanes
	unit  float64       // the identity
	join  func(a, b float64) float64
	// at computes the offset of the strip's first element, if strided elements of a tensor are reduced in
	// place; otherwise it is nil. If they are contiguous, into reduces them into lanes.
	at           func(*state[T]) int
	into         *instruction[T]
	tensor, step int
	give         func(*state[T], float64)
	to           *rowResults[T] // destination of the results of several rows; nil if results are stored one by one
}

// rows compiles an inner reduction over strips of v.
func (k *unitCompiler[T]) rows(v *term.Variable) unit[T] {
	u := &rows[T]{outer: k.loops(k.free(), nil)}
	r := k.bundle.folds[0]
	u.inner = k.loops(r.Vars, v)
	u.last = k.loop(v)
	u.varies = v.Lo.UsesAny(r.Vars) || v.Hi.UsesAny(r.Vars)
	var folds []*term.Reduction
	for i, st := range k.bundle.statements {
		f := k.sameIndices(i)
		u.sums = append(u.sums, k.rowSum(st, f, v))
		folds = append(folds, f)
	}
	if u.joint = k.joint(folds, v, false); u.joint != nil {
		n := u.joint.sums()
		if u.own = n == len(folds); !u.own && n > 0 { // all reductions or none
			u.joint = k.joint(folds, v, true)
		}
	}
	u.even = k.even(u, r, v)
	over := k.free()
	if len(u.inner.loops) > 0 {
		over = r.Vars
	}
	if u.joint != nil && u.own {
		u.among = k.rowLoop(u.joint, over)
	}
	for _, f := range u.sums {
		if f.own {
			f.among = k.rowLoop(&f.code, over)
		}
	}
	if len(u.inner.loops) == 0 && len(over) > 0 {
		for i, f := range u.sums {
			f.to = k.rowResults(k.bundle.statements[i], folds[i], over[len(over)-1])
		}
	}
	return u
}

// joint returns code that reduces several sums in one pass, with common subexpressions. It returns nil if one
// of the reductions is no unguarded sum or mean. If accumulate is true, sums accumulate in lanes of the
// state, not in machine registers.
func (k *unitCompiler[T]) joint(folds []*term.Reduction, v *term.Variable, accumulate bool) *strip[T] {
	if len(folds) < 2 || len(folds) > mostFolds {
		return nil
	}
	z := newVectorizer(k.compiler, v)
	z.strip.accumulate = accumulate
	for i, r := range folds {
		if r.Kind != reduction.Sum && r.Kind != reduction.Mean || r.Guard != nil || !r.Body.Uses(v) {
			return nil
		}
		if b := r.Body; b.Op == term.Multiply && b.Args[0].Uses(v) && b.Args[1].Uses(v) {
			x, y := z.real(b.Args[0]), z.real(b.Args[1])
			z.effect(instruction[T]{op: opDotLanes, lane: i, uses: []int{x.reg, y.reg}})
			continue
		}
		z.effect(instruction[T]{op: opSumLanes, lane: i, uses: []int{z.vector(z.real(r.Body))}})
	}
	k.finish(&z.strip)
	return &z.strip
}

// rowSum compiles the reduction r of statement st.
func (k *unitCompiler[T]) rowSum(st *rewrite.Statement, r *term.Reduction, v *term.Variable) *rowSum[T] {
	p := &rowSum[T]{kind: r.Kind, op: simd.Add, join: reduction.Sum.Join(), give: k.writer(&rewrite.Statement{Target: st.Target, Left: st.Left, Add: st.Add})}
	z := newVectorizer(k.compiler, v)
	into := instruction[T]{op: opSumLanes}
	switch {
	case argument(r):
		z.extremePlace(r, k.number)
		k.finish(&z.strip)
		p.code = z.strip
		return p
	case r.Kind == reduction.LogSumExp:
		into = instruction[T]{op: opExpLanes, numbers: []number[T]{{get: k.real(r.At[0]), term: r.At[0], lenient: k.lenient}}}
	case r.Kind.Vector() != simd.Add:
		p.op, p.unit, p.join = r.Kind.Vector(), r.Kind.Identity(), r.Kind.Join()
		into = instruction[T]{op: opFoldLanes, binary: p.op}
	}
	p.first.Fill(T(p.unit))
	if b := r.Body; into.op == opSumLanes && b != nil && r.Guard == nil && b.Op == term.Multiply && b.Args[0].Uses(v) && b.Args[1].Uses(v) {
		x, y := z.real(b.Args[0]), z.real(b.Args[1]) // the products need no strip
		z.effect(instruction[T]{op: opDotLanes, uses: []int{x.reg, y.reg}})
		k.finish(&z.strip)
		p.code, p.own = z.strip, z.strip.sums() > 0
		return p
	}
	always := r.Guard == nil // all elements count, so they may be reduced in place
	r, begin, end := z.around(r)
	begin()
	b := body(r)
	into.uses = []int{z.vector(z.real(b))}
	into.alone = evenly[T](r, v) && b.Op == term.Element
	z.effect(into)
	end()
	k.finish(&z.strip)
	p.code, p.own = z.strip, z.strip.sums() > 0
	if always && !p.own && b.Op == term.Element && b.Read.Which == nil && k.tensors[b.Read.Tensor].Type == k.own && len(z.strip.code) == 2 {
		if a := rewrite.AccessOf(b.Read); len(a.Open) == 0 && len(a.Offset.Rest) == 0 {
			if p.at, p.tensor, p.step = k.value(a.Offset), b.Read.Tensor, a.Offset.Factor(v); p.step == 1 {
				p.into = &into
			}
		}
	}
	return p
}

// lanes combines lanes to one number.
func (p *rowSum[T]) lanes(l *simd.Lanes[T]) T {
	switch p.op {
	case simd.Mul:
		return l.Prod()
	case simd.Max:
		return l.Max()
	case simd.Min:
		return l.Min()
	}
	return l.Sum()
}

// finish stores the result of a row of n elements. v is the reduction's accumulator.
func (p *rowSum[T]) finish(s *state[T], v float64, n int) {
	s.count = n
	switch {
	case p.kind == reduction.Mean:
		v /= float64(n)
	case p.kind == reduction.LogSumExp:
		v = logarithm(v)
	case p.kind.Is(reduction.Argument):
		v = float64(s.index)
	}
	p.give(s, v)
}

// around splits off a guard that is uniform in a strip, and returns the reduction without it. begin and end
// emit a branch that skips the code emitted between both calls where the guard fails.
func (z *vectorizer[T]) around(r *term.Reduction) (inside *term.Reduction, begin func(), end func()) {
	if r.Guard == nil || r.Guard.Uses(z.v) || argument(r) {
		return r, func() {}, func() {}
	}
	out := *r
	out.Guard = nil
	holds, start := z.c.condition(r.Guard), 0
	return &out, func() {
			start = len(z.strip.code)
			z.strip.code = append(z.strip.code, instruction[T]{op: opBranch, when: holds, test: r.Guard, def: -1})
		}, func() {
			z.strip.code[start].skip = len(z.strip.code) - start - 1
		}
}

// extremeOf returns the max or min of n strided elements of x. It returns NaN if one of them is NaN.
func extremeOf[T simd.Float](op simd.Binary, x []T, first, n, step int) T {
	y := x[first]
	if op == simd.Max {
		for i := 1; i < n; i++ {
			y = max(y, x[first+i*step])
		}
		return y
	}
	for i := 1; i < n; i++ {
		y = min(y, x[first+i*step])
	}
	return y
}

func (u *rows[T]) run(s *state[T], lo, hi int) {
	if u.even != nil {
		u.outer.stretches(s, 0, lo, hi, u.even.together, u.inPlace)
		return
	}
	if n, ok := u.short(s); ok && len(u.inner.loops) == 0 && len(u.outer.loops) > 0 && u.together() {
		u.outer.stretches(s, 0, lo, hi, mostRows(n), func(s *state[T], first, rows int) { u.several(s, n, first, rows) })
		return
	}
	u.outer.each(s, 0, lo, hi, func(s *state[T]) {
		if u.joint != nil {
			u.sumAll(s)
			return
		}
		for _, f := range u.sums {
			u.sum(s, f)
		}
	})
}

// short returns the row length, and sets the index to the row's first element. ok reports whether the row is
// not empty and fits one strip.
func (u *rows[T]) short(s *state[T]) (n int, ok bool) {
	lo, hi := u.last.limits(s, 0, 0)
	s.vars[u.last.place] = lo
	return hi - lo, lo < hi && hi-lo <= stripLength
}

// together reports whether the code of all reductions runs for several rows in one call.
func (u *rows[T]) together() bool {
	if u.joint != nil {
		return u.among != nil
	}
	return !slices.ContainsFunc(u.sums, func(f *rowSum[T]) bool { return f.among == nil })
}

// several computes all reductions of rows rows of n elements, from row first on.
func (u *rows[T]) several(s *state[T], n, first, rows int) {
	give := func(f *rowSum[T], code *rowLoop[T], i int) {
		sums, step := code.sums(s, i)
		f.put(s, code.place, first, sums, step, rows, n)
	}
	if u.joint != nil {
		u.among.run(s, n, first, rows)
		for i, f := range u.sums {
			give(f, u.among, slices.Index(u.among.loop.sums, i))
		}
		return
	}
	for _, f := range u.sums {
		f.among.run(s, n, first, rows)
		give(f, f.among, 0)
	}
}

// put stores the results of rows rows of n elements, from row first on: every step-th element of of.
func (f *rowSum[T]) put(s *state[T], place, first int, of []T, step, rows, n int) {
	s.vars[place] = first
	if f.to != nil {
		f.to.put(s, of, step, rows, n)
		return
	}
	for row := range rows {
		s.vars[place] = first + row
		f.finish(s, float64(of[row*step]), n)
	}
}

// sumAll computes the joint sums of one row. It repeats the loops of sum: a closure for both took 10 ns a
// row, which matters for short rows.
func (u *rows[T]) sumAll(s *state[T]) {
	var totals [mostFolds]float64
	n := 0
	lo, hi := u.last.limits(s, 0, 0)
	row := func(s *state[T]) {
		if u.varies {
			lo, hi = u.last.limits(s, 0, 0)
		}
		for at := lo; at < hi; at += stripLength {
			s.vars[u.last.place] = at
			m := min(stripLength, hi-at)
			n += m
			if u.own {
				u.joint.exec(s, m)
				for i := range u.sums {
					totals[i] += s.totals[i]
				}
				continue
			}
			for i := range u.sums {
				s.lanes[i] = simd.Lanes[T]{}
			}
			u.joint.exec(s, m)
			for i := range u.sums {
				totals[i] += float64(s.lanes[i].Sum())
			}
		}
	}
	if m, ok := u.short(s); len(u.inner.loops) == 0 {
		row(s)
	} else if ok && u.among != nil {
		u.inner.stretches(s, 0, 0, 0, mostRows(m), func(s *state[T], first, rows int) {
			u.among.run(s, m, first, rows)
			n += m * rows
			for i, fold := range u.among.loop.sums {
				for row := range rows {
					totals[fold] += u.among.sum(s, row, i)
				}
			}
		})
	} else {
		u.inner.each(s, 0, 0, 0, row)
	}
	for i, f := range u.sums {
		f.finish(s, totals[i], n)
	}
}

// sum computes one reduction of one row.
func (u *rows[T]) sum(s *state[T], p *rowSum[T]) {
	s.found, s.index = false, 0
	total, n := p.unit, 0
	lo, hi := u.last.limits(s, 0, 0)
	row := func(s *state[T]) {
		if u.varies {
			lo, hi = u.last.limits(s, 0, 0)
		}
		for at := lo; at < hi; at += stripLength {
			s.vars[u.last.place] = at
			m := min(stripLength, hi-at)
			n += m
			total = p.strip(s, total, m)
		}
	}
	if m, ok := u.short(s); len(u.inner.loops) == 0 {
		row(s)
	} else if ok && p.among != nil {
		u.inner.stretches(s, 0, 0, 0, mostRows(m), func(s *state[T], first, rows int) {
			p.among.run(s, m, first, rows)
			n += m * rows
			for row := range rows {
				total += p.among.sum(s, row, 0)
			}
		})
	} else {
		u.inner.each(s, 0, 0, 0, row)
	}
	p.finish(s, total, n)
}

// strip reduces the next n elements, and returns the reduction of these and of total.
func (p *rowSum[T]) strip(s *state[T], total float64, n int) float64 {
	switch {
	case p.own:
		s.totals[0] = 0
		p.code.exec(s, n)
		return total + s.totals[0]
	case p.at != nil && n <= fewCompared && (p.op == simd.Max || p.op == simd.Min):
		return p.join(total, float64(extremeOf(p.op, s.mem[p.tensor].same, p.at(s), n, p.step)))
	}
	s.lanes[0] = p.first
	if p.into != nil {
		i := p.at(s)
		p.into.fold(s, s.mem[p.tensor].same[i:i+n])
	} else {
		p.code.exec(s, n)
	}
	return p.join(total, float64(p.lanes(&s.lanes[0])))
}
