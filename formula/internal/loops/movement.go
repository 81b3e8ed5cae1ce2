package loops

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// movement is a strided copy to contiguous rows. Row offsets are updated incrementally, so that a short row
// costs little more than its elements.
type movement[T simd.Float] struct {
	dims         []stride // loops, the outermost first; the last one has stride 1 in the result
	straight     bool     // whether the copy is one contiguous range
	joined       []stride // dims, with contiguous loops coalesced
	inner        []stride // the same for the loops from the last shared one inwards
	lead         int      // the number of the last shared loop, or -1
	factor       int      // iterations that were coalesced into one iteration of the last shared loop
	from, to     int      // offsets at index 0
	begins       []stride // variables by which offsets move besides the loops: the offset of a block, and the index of a recurrence
	source, goal int
	times        int           // how often each source element is repeated in a row
	other        storage[T]    // storage of elements of another type than T; nil for T
	rows         *rowLookup[T] // the gather of source rows; nil if rows are not gathered
}

// rowLookup is a tensor whose elements are the numbers of source rows, one for each row of the result.
type rowLookup[T simd.Float] struct {
	tensor, at int // tensor of the row numbers, and the offset of the first one
	strides    []int
	get        func(*block[T], int) int
	extent     int                                           // exclusive upper bound of row numbers
	step       int                                           // stride of source rows
	fail       func(*state[T]) (tensor, at int, inside bool) // returns or fails for a row number out of bounds; nil if all are in bounds
}

// stride holds the distances between iterations of a loop: in elements of the source and of the result, and
// in tensors if an index selects the source. place is the slot of the loop's index.
type stride struct{ place, extent, from, to, source int }

// movement compiles a copy. It returns nil for other statements.
func (k *unitCompiler[T]) movement(s *rewrite.Statement) unit[T] {
	n, vars := s.Value, k.bundle.vars
	if len(k.bundle.statements) != 1 || k.bundle.folds != nil || len(vars) == 0 || len(vars) > mostStrides || n.Op != term.Element ||
		s.Left.Which != nil || s.Guard != nil || s.Add || k.tensors[s.Target].Add ||
		slices.ContainsFunc(vars, rewrite.IsOpen) {
		return nil
	}
	for i := range n.Read.Count {
		if t := k.tensors[n.Read.Tensor+i]; t.Type != k.tensors[s.Target].Type || t.Memory == k.tensors[s.Target].Memory {
			return nil
		}
	}
	a, b, which := rewrite.AccessOf(n.Read), rewrite.AccessOf(s.Left), rewrite.Form{}
	row := vars[len(vars)-1]
	if n.Read.Which != nil { // an index may select the source tensor, but not within a row
		which = rewrite.Linear(n.Read.Which)
		if of := which.Bounds(); !of.Known || of.Lo < 0 || of.Hi >= n.Read.Count || len(which.Rest) > 0 || which.Factor(row) != 0 || len(a.Offset.Rest) > 0 {
			return nil
		}
	}
	rows := k.rowLookup(s, a, vars)
	if len(a.Open) > 0 && rows == nil || len(b.Open) > 0 || len(b.Offset.Rest) > 0 || b.Offset.Factor(row) != 1 || len(a.Offset.Rest) > 1 {
		return nil
	}
	u := &movement[T]{lead: k.depth - 1, factor: k.factor, from: a.Offset.Base, to: b.Offset.Base, source: n.Read.Tensor + which.Base, goal: s.Target, times: 1, rows: rows}
	for _, v := range vars {
		u.dims = append(u.dims, stride{k.place(v), rewrite.Extent(v), a.Offset.Factor(v), b.Offset.Factor(v), which.Factor(v)})
	}
	for _, v := range others(vars, a.Offset, b.Offset) {
		u.begins = append(u.begins, stride{place: k.place(v), from: a.Offset.Factor(v), to: b.Offset.Factor(v)})
	}
	if t := k.tensors[s.Target].Type; t != k.own {
		if len(a.Offset.Rest) > 0 && rows == nil {
			return nil
		}
		u.other = storageOf[T](t)
	}
	if len(a.Offset.Rest) > 0 && rows == nil { // each element is repeated
		p := a.Offset.Rest[0]
		d, known := 0, false
		if p.Of.Op == term.Quotient {
			d, known = p.Of.Args[1].Known()
		}
		if !known || d < 2 || p.Of.Args[0].Op != term.Index || p.Of.Args[0].Var != row || a.Offset.Factor(row) != 0 {
			return nil
		}
		u.times, u.dims[len(vars)-1].from = d, p.Factor
	}
	u.joined, u.inner = u.dims, u.dims[max(u.lead, 0):]
	if u.times == 1 && rows == nil {
		u.joined, u.inner = together(u.joined), together(u.inner)
		u.straight = len(u.joined) == 1 && u.joined[0].from == 1 && u.joined[0].source == 0
	}
	return u
}

// others returns the variables of forms that are not in vars.
func others(vars []*term.Variable, of ...rewrite.Form) []*term.Variable {
	var out []*term.Variable
	for _, f := range of {
		for _, m := range f.Vars {
			if !slices.Contains(vars, m.Of) && !slices.Contains(out, m.Of) {
				out = append(out, m.Of)
			}
		}
	}
	return out
}

// rowLookup returns the gather of source rows if a subscript of the source is an element of an integer
// tensor. It returns nil for other copies.
func (k *unitCompiler[T]) rowLookup(s *rewrite.Statement, a *rewrite.Access, vars []*term.Variable) *rowLookup[T] {
	if len(a.Offset.Rest) != 1 || s.Lenient || s.Skip || s.Value.Read.Else != nil || len(a.Open) > 1 {
		return nil
	}
	p := a.Offset.Rest[0]
	row := vars[len(vars)-1]
	if p.Of.Op != term.Element || p.Of.Read.Which != nil || p.Of.Uses(row) || k.tensors[p.Of.Read.Tensor].Memory == k.tensors[s.Target].Memory {
		return nil
	}
	at, typ := rewrite.AccessOf(p.Of.Read), k.tensors[p.Of.Read.Tensor].Type
	if len(at.Open) > 0 || len(at.Offset.Rest) > 0 || len(others(vars, at.Offset)) > 0 || typ != dtype.I32 && typ != dtype.I64 {
		return nil
	}
	r := &rowLookup[T]{tensor: p.Of.Read.Tensor, at: at.Offset.Base, get: storageOf[T](typ).integerAt(), extent: math.MaxInt, step: p.Factor}
	if len(a.Open) == 1 {
		d := a.Open[0]
		if !a.Idx[d].Same(rewrite.Form{Rest: []rewrite.Addend{{Of: p.Of, Factor: 1}}}) {
			return nil
		}
		r.extent, r.fail = a.Ext[d], k.reached(s.Value.Read)
	}
	for _, v := range vars {
		r.strides = append(r.strides, at.Offset.Factor(v))
	}
	return r
}

// together coalesces adjacent loops across which source and result are contiguous.
func together(dims []stride) []stride {
	out := []stride{dims[len(dims)-1]}
	for _, d := range slices.Backward(dims[:len(dims)-1]) {
		if last := &out[len(out)-1]; d.from == last.extent*last.from && d.to == last.extent*last.to && d.source == 0 && last.source == 0 {
			last.extent *= d.extent
			continue
		}
		out = append(out, d)
	}
	slices.Reverse(out)
	return out
}

func (u *movement[T]) run(s *state[T], lo, hi int) {
	from, to := u.begin(s)
	if u.lead < 0 {
		u.elements(s, u.joined, u.source, from, to, 0, size(u.dims))
		return
	}
	source := u.source
	for _, d := range u.dims[:u.lead] {
		source += d.source * s.vars[d.place]
		from += d.from * s.vars[d.place]
		to += d.to * s.vars[d.place]
	}
	each := u.factor * size(u.dims[u.lead+1:])
	u.elements(s, u.inner, source, from, to, lo*each, hi*each)
}

// begin returns the offsets of source and result at iteration 0, for the current block and the current value
// of a recurrence's index.
func (u *movement[T]) begin(s *state[T]) (from, to int) {
	from, to = u.from, u.to
	for _, d := range u.begins {
		from += d.from * s.vars[d.place]
		to += d.to * s.vars[d.place]
	}
	return from, to
}

// all copies iterations [lo, hi) of the shared loops, numbered as those of one loop.
func (u *movement[T]) all(s *state[T], lo, hi int) {
	each := size(u.dims[u.lead+1:])
	from, to := u.begin(s)
	switch {
	case u.straight && u.other != nil:
		u.other.move(&s.mem[u.goal], to+lo*each, 1, &s.mem[u.source], from+lo*each, 1, (hi-lo)*each)
		return
	case u.straight && !s.past:
		copy(s.mem[u.goal].same[to+lo*each:to+hi*each], s.mem[u.source].same[from+lo*each:])
		return
	}
	u.elements(s, u.joined, u.source, from, to, lo*each, hi*each)
}

// size is the number of iterations of loops.
func size(dims []stride) int {
	n := 1
	for _, d := range dims {
		n *= d.extent
	}
	return n
}

// elements copies iterations [lo, hi) of the loops dims, numbered as those of one loop.
func (u *movement[T]) elements(s *state[T], dims []stride, source, from, to, lo, hi int) {
	if lo >= hi {
		return
	}
	if u.rows != nil {
		u.lookedUp(s, dims, from, to, lo, hi)
		return
	}
	last := len(dims) - 1
	row := dims[last].extent
	first, number := lo%row, lo/row
	var at [mostStrides]int
	for i := last - 1; i >= 0; i-- {
		d := &dims[i]
		at[i] = number % d.extent
		number /= d.extent
		source += at[i] * d.source
		from += at[i] * d.from
		to += at[i] * d.to
	}
	for left := hi - lo; left > 0; {
		n := min(row-first, left)
		u.row(s, source, from, to, first, n)
		left -= n
		first = 0
		for i := last - 1; i >= 0; i-- {
			d := &dims[i]
			source += d.source
			from += d.from
			to += d.to
			if at[i]++; at[i] < d.extent {
				break
			}
			source -= d.extent * d.source
			from -= d.extent * d.from
			to -= d.extent * d.to
			at[i] = 0
		}
	}
}

// lookedUp is elements for gathered source rows. dims are the inner loops; the state holds the indices of the
// outer ones.
func (u *movement[T]) lookedUp(s *state[T], dims []stride, from, to, lo, hi int) {
	r, skipped := u.rows, len(u.dims)-len(dims)
	strides, which := r.strides[skipped:], r.at
	for i, d := range u.dims[:skipped] {
		which += r.strides[i] * s.vars[d.place]
	}
	last := len(dims) - 1
	row := dims[last].extent
	for lo < hi {
		first, number, f, t, w := lo%row, lo/row, from, to, which
		for i := last - 1; i >= 0; i-- {
			d, at := &dims[i], number%dims[i].extent
			number /= d.extent
			s.vars[d.place] = at
			f += at * d.from
			t += at * d.to
			w += at * strides[i]
		}
		k := r.get(&s.mem[r.tensor], w)
		if r.fail != nil && uint(k) >= uint(r.extent) {
			r.fail(s) // with an error about this row
		}
		n := min(row-first, hi-lo)
		if i := last - 1; i >= 0 && r.fail != nil && u.other == nil && dims[last].from == 1 && s.vars[dims[i].place]+1 < dims[i].extent { // prefetch the next row
			if k := r.get(&s.mem[r.tensor], w+strides[i]); uint(k) < uint(r.extent) {
				simd.Fetch(s.mem[u.source].same[f+dims[i].from+k*r.step:][:row])
			}
		}
		u.row(s, u.source, f+k*r.step, t, first, n)
		lo += n
	}
}

// row copies n elements of a row, from element first on. from and to are offsets of the row.
func (u *movement[T]) row(s *state[T], source, from, to, first, n int) {
	step := u.dims[len(u.dims)-1].from
	if u.other != nil {
		u.other.move(&s.mem[u.goal], to+first, 1, &s.mem[source], from+first*step, step, n)
		return
	}
	out := s.mem[u.goal].same[to+first:][:n]
	if step == 1 && u.times == 1 {
		x := s.mem[source].same[from+first:][:n]
		if s.past {
			simd.Stream(out, x)
		} else {
			copy(out, x)
		}
		return
	}
	if !s.past {
		u.strip(out, s.mem[source].same, from, first, step)
		return
	}
	for ; len(out) > 0; out = out[min(stripLength, len(out)):] {
		part := s.beside[:min(stripLength, len(out))]
		u.strip(part, s.mem[source].same, from, first, step)
		simd.Stream(out[:len(part)], part)
		first += len(part)
	}
}

// strip sets out to elements of a source row, from element first on, some of which may be repeated.
func (u *movement[T]) strip(out, x []T, from, first, step int) {
	switch {
	case u.times > 1:
		q := shape.FloorDiv(first, u.times)
		repeat(out, x, from+q*step, step, u.times, first-q*u.times)
	case step == 0:
		fill(out, x[from])
	default:
		simd.Gather(out, x, from+first*step, step)
	}
}
