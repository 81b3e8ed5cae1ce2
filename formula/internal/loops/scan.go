package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// scan is a statement whose value is a prefix, suffix or leave-one-out reduction. One pass computes all
// results of a row. It accumulates in float64, in order, and sums in groups of four.
type scan[T simd.Float] struct {
	*term.Scan
	kind    reduction.Kind
	unit    float64 // the identity
	outer   nest[T]
	present int // slot of the result's index
	count   int // number of results of a row
	over    int // slot of the reduced index
	lo, hi  func(*state[T]) int
	in      strip[T] // computes elements
	x       int      // the register of elements
	out     strip[T] // stores results
	y       int      // the register of results
	// shift returns the distance of a result's index from that of the last element in its range. It is nil if
	// the distance is not constant.
	shift func(*state[T]) int
}

// scanUnit compiles a scan. Strips run over a batch index, if one has stride 1, and otherwise over the
// elements of a row.
func (k *unitCompiler[T]) scanUnit(st *rewrite.Statement, t *term.Scan) unit[T] {
	r := k.bundle.folds[0]
	if st.Value.Kind == term.Integer {
		return k.integerScanUnit(st, t)
	}
	u := scan[T]{Scan: t, kind: r.Kind, unit: r.Kind.Identity(), present: k.place(t.Present), count: rewrite.Extent(t.Present), over: k.place(t.Over),
		lo: k.integer(t.Lo), hi: k.integer(t.Hi)}
	v := k.scanColumn(st, t)
	in, out := t.Over, t.Present
	if v != nil {
		in, out = v, v
	}
	u.in, u.x = k.countedStrip(in, t.Guard, body(&term.Reduction{Kind: r.Kind, Body: r.Body}), r.Kind.Identity())
	u.out, u.y = k.resultStrip(st, out)
	if v != nil {
		k.wide = max(k.wide, 1)
		u.outer = k.loops(slices.DeleteFunc(slices.Clone(k.free()), func(w *term.Variable) bool { return w == t.Present }), v)
		return &scanColumns[T]{u, k.loop(v), simd.BinaryOf[float64](r.Kind.Vector())}
	}
	u.outer = k.loops(k.free(), t.Present)
	if t.Where != term.Others && r.Kind != reduction.Mean && r.Kind != reduction.LogSumExp {
		u.shift = k.shiftOf(t)
	}
	return &scanRows[T]{u}
}

// scanColumn returns a batch index with stride 1 for strips to run over. It returns nil if strips run over
// the elements of a row.
func (k *unitCompiler[T]) scanColumn(st *rewrite.Statement, t *term.Scan) *term.Variable {
	to := rewrite.AccessOf(st.Left).Offset
	if to.Factor(t.Present) == 1 || k.bundle.folds[0].Kind == reduction.LogSumExp {
		return nil
	}
	for _, v := range k.free() {
		if v != t.Present && to.Factor(v) == 1 && rewrite.Extent(v) > 1 && !t.Lo.Uses(v) && !t.Hi.Uses(v) {
			return v
		}
	}
	return nil
}

// shiftOf returns code for scan.shift if the moving bound of the range is the result's index plus a constant.
// It returns nil for other ranges.
func (k *unitCompiler[T]) shiftOf(t *term.Scan) func(*state[T]) int {
	bounds, more := term.Operands(t.Hi, term.Min), 1
	if t.Where == term.After {
		bounds, more = term.Operands(t.Lo, term.Max), 0
	}
	var shift func(*state[T]) int
	for _, n := range bounds {
		f := rewrite.Linear(n)
		switch {
		case f.Hidden(t.Present) || shift != nil && f.Factor(t.Present) != 0:
			return nil
		case f.Factor(t.Present) == 1:
			f = f.Plus(rewrite.Form{Vars: []rewrite.Multiple{{Of: t.Present, Factor: 1}}}, -1)
			shift = k.value(rewrite.Form{Base: more}.Plus(f, -1))
		case f.Factor(t.Present) != 0:
			return nil
		}
	}
	return shift
}

// bounds returns the range of all elements that results of a row reduce.
func (u *scan[T]) bounds(s *state[T]) (lo, hi int) {
	if u.count == 0 {
		return 0, 0
	}
	s.vars[u.present] = 0
	lo = u.lo(s)
	s.vars[u.present] = u.count - 1
	hi = u.hi(s)
	return lo, max(lo, hi)
}

// elements returns elements [at, at+n) of a row.
func (u *scan[T]) elements(s *state[T], at, n int) []T {
	s.vars[u.over] = at
	u.in.exec(s, n)
	return s.regs[u.x][:n]
}

// give stores y as the results with indices [at, at+len(y)).
func (u *scan[T]) give(s *state[T], at int, y []T) {
	if len(y) == 0 {
		return
	}
	s.vars[u.present] = at
	s.regs[u.y] = y
	u.out.exec(s, len(y))
}

// constant stores v as the results with indices [lo, hi). y is a buffer.
func (u *scan[T]) constant(s *state[T], lo, hi int, v float64, y []T) {
	lo, hi = max(lo, 0), min(hi, u.count)
	if lo >= hi {
		return
	}
	y = y[:min(len(y), hi-lo)]
	fill(y, T(v))
	for ; lo < hi; lo += len(y) {
		u.give(s, lo, y[:min(len(y), hi-lo)])
	}
}

// scanRows is a scan whose strips run over the elements of a row.
type scanRows[T simd.Float] struct{ scan[T] }

func (u *scanRows[T]) run(s *state[T], lo, hi int) {
	y := s.regs[u.y]
	defer func() { s.regs[u.y] = y }()
	u.outer.each(s, 0, lo, hi, func(s *state[T]) {
		switch {
		case u.Where == term.Others:
			u.others(s, y)
		case u.shift != nil:
			u.shifted(s, y)
		default:
			u.counted(s, y)
		}
	})
}

// shifted computes a scan in which each result reduces one element more than the result before. y is a buffer
// of results.
func (u *scanRows[T]) shifted(s *state[T], y []T) {
	lo, hi := u.bounds(s)
	shift, acc := u.shift(s), u.unit
	if u.Where == term.Before {
		u.constant(s, 0, lo+shift, acc, y)
	} else {
		u.constant(s, hi+shift, u.count, acc, y)
	}
	for done := 0; done < hi-lo; done += stripLength {
		n := min(stripLength, hi-lo-done)
		at := lo + done
		if u.Where == term.After {
			at = hi - done - n
		}
		x := u.elements(s, at, n)
		if u.Where == term.After {
			acc = foldBack(u.kind, acc, x, y)
		} else {
			acc = foldOn(u.kind, acc, x, y)
		}
		from, to := max(0, -at-shift), min(n, u.count-at-shift)
		if from < to {
			u.give(s, at+shift+from, y[from:to])
		}
	}
	if u.Where == term.Before {
		u.constant(s, hi+shift, u.count, acc, y)
	} else {
		u.constant(s, 0, lo+shift, acc, y)
	}
}

// counted computes a scan whose ranges grow in another way: it loads each result from a table of all
// prefixes.
func (u *scanRows[T]) counted(s *state[T], y []T) {
	lo, hi := u.bounds(s)
	at := func(i int) int { // in scan order
		if u.Where == term.After {
			return hi - 1 - i
		}
		return lo + i
	}
	f := newFolder(u.kind)
	results := append(s.row[:0], f.value())
	for done := 0; done < hi-lo; done += stripLength {
		n := min(stripLength, hi-lo-done)
		x := u.elements(s, min(at(done), at(done+n-1)), n)
		for i := range x {
			if u.Where == term.After {
				i = n - 1 - i
			}
			f.add(float64(x[i]))
			results = append(results, f.value())
		}
	}
	s.row = results
	u.each(s, y, func(s *state[T]) float64 {
		if u.Where == term.After {
			return results[min(max(hi-u.lo(s), 0), hi-lo)]
		}
		return results[min(max(u.hi(s)-lo, 0), hi-lo)]
	})
}

// each stores value as each result of a row, one by one.
func (u *scan[T]) each(s *state[T], y []T, value func(*state[T]) float64) {
	for p := 0; p < u.count; p += stripLength {
		n := min(stripLength, u.count-p)
		for i := range y[:n] {
			s.vars[u.present] = p + i
			y[i] = T(value(s))
		}
		u.give(s, p, y[:n])
	}
}

// others computes a leave-one-out scan: each result combines a prefix and a suffix.
func (u *scanRows[T]) others(s *state[T], y []T) {
	lo, hi := u.bounds(s)
	m := hi - lo
	if cap(s.row) < 2*m+1 {
		s.row = make([]float64, 2*m+1)
	}
	elements, behind := s.row[:m], s.row[m:2*m+1] // behind[i] reduces elements[i:]
	for done := 0; done < m; done += stripLength {
		x := u.elements(s, lo+done, min(stripLength, m-done))
		widen(elements[done:done+len(x)], x)
	}
	foldBehind(u.kind, u.unit, elements, behind)
	if lo > 0 || hi < u.count { // results that include all elements
		all := u.unit
		for _, v := range elements {
			all = u.kind.Join()(all, v)
		}
		u.constant(s, 0, lo, all, y)
		u.constant(s, hi, u.count, all, y)
	}
	before := u.unit
	for done := 0; done < m; done += stripLength {
		n := min(stripLength, m-done)
		before = foldBeside(u.kind, before, elements[done:done+n], behind[done+1:], y)
		from, to := max(0, -lo-done), min(n, u.count-lo-done)
		if from < to {
			u.give(s, lo+done+from, y[from:to])
		}
	}
}

// scanColumns is a scan whose strips run over a batch index, so that each lane scans a row of its own.
type scanColumns[T simd.Float] struct {
	scan[T]
	strip loop[T]
	join  func(z, x, y []float64)
}

func (u *scanColumns[T]) run(s *state[T], lo, hi int) {
	y := s.regs[u.y]
	defer func() { s.regs[u.y] = y }()
	u.outer.each(s, 0, lo, hi, func(s *state[T]) {
		first, end := u.strip.limits(s, lo, hi)
		a, b := u.bounds(s)
		length := stripLength
		if u.Where == term.Others {
			length = min(length, max(16, scanned/(b-a+1)))
		}
		for i := first; i < end; i += length {
			s.vars[u.strip.place] = i
			if n := min(length, end-i); u.Where == term.Others {
				u.others(s, y[:n], a, b)
			} else {
				u.column(s, y[:n], a, b)
			}
		}
	})
}

// element returns the elements of n rows at one index, in float64.
func (u *scanColumns[T]) element(s *state[T], at, n int) []float64 {
	s.vars[u.over] = at
	u.in.exec(s, n)
	return widened(s.regs[u.x][:n], s.wider)
}

// widened returns x as float64, in buffer w unless x already is float64.
func widened[T simd.Float](x []T, w []float64) []float64 {
	switch x := any(x).(type) {
	case []float32:
		simd.Widen(w[:len(x)], x)
	case []float64:
		return x
	}
	return w[:len(x)]
}

// narrowed sets z to x, converted to T.
func narrowed[T simd.Float](z []T, x []float64) {
	switch z := any(z).(type) {
	case []float32:
		simd.Narrow(z, x)
	case []float64:
		copy(z, x)
	}
}

// column computes a scan of len(y) rows.
func (u *scanColumns[T]) column(s *state[T], y []T, lo, hi int) {
	n, done := len(y), 0
	acc := s.wide[0][:n]
	fill(acc, u.unit)
	for i := range u.count {
		p := i
		if u.Where == term.After {
			p = u.count - 1 - i
		}
		s.vars[u.present] = p
		for end := u.counts(s, lo, hi); done < end; done++ {
			at := lo + done
			if u.Where == term.After {
				at = hi - 1 - done
			}
			u.join(acc, acc, u.element(s, at, n))
		}
		narrowed(y, acc)
		if u.kind == reduction.Mean {
			for j, v := range acc {
				y[j] = T(v / float64(done))
			}
		}
		s.vars[u.present], s.regs[u.y] = p, y
		u.out.exec(s, n)
	}
}

// counts returns the number of elements in the range of the current result, of those in [lo, hi).
func (u *scan[T]) counts(s *state[T], lo, hi int) int {
	if u.Where == term.After {
		return min(hi-u.lo(s), hi-lo)
	}
	return min(u.hi(s)-lo, hi-lo)
}

// others computes a leave-one-out scan of len(y) rows.
func (u *scanColumns[T]) others(s *state[T], y []T, lo, hi int) {
	n, m := len(y), hi-lo
	if cap(s.row) < (m+1)*n {
		s.row = make([]float64, (m+1)*n)
	}
	behind := func(i int) []float64 { return s.row[i*n : (i+1)*n] }
	fill(behind(m), u.unit)
	for i := m - 1; i >= 0; i-- {
		u.join(behind(i), u.element(s, lo+i, n), behind(i+1))
	}
	before := s.wide[0][:n]
	fill(before, u.unit)
	done := 0
	for p := range u.count {
		for ; done < min(p-lo, m); done++ {
			u.join(before, before, u.element(s, lo+done, n))
		}
		w := s.wider[:n]
		switch {
		case p < lo:
			copy(w, behind(0))
		case p < hi:
			u.join(w, before, behind(p-lo+1))
		default:
			copy(w, before)
		}
		narrowed(y, w)
		s.vars[u.present], s.regs[u.y] = p, y
		u.out.exec(s, n)
	}
}
