package loops

import (
	"slices"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// rowLoop runs a fused loop for several rows in one call: strips of equal length at consecutive values of an
// index. Offsets are affine in the index. Scalars, which may differ between rows, are computed before the
// call.
type rowLoop[T simd.Float] struct {
	code    *strip[T]
	loop    *fusedLoop[T]
	place   int   // slot of the index
	strides []int // distance between rows of each pointer, in bytes
	numbers []rowNumber[T]
}

// rowLoop returns the row loop of code p along the last of vars. It returns nil if p is not one fused loop,
// if an offset is not affine in the index, or if the loop may write one of its scalars.
func (c *compiler[T]) rowLoop(p *strip[T], vars []*term.Variable) *rowLoop[T] {
	vars = slices.DeleteFunc(slices.Clone(vars), func(v *term.Variable) bool { return v == p.over })
	if _, known := p.over.Hi.Known(); len(vars) == 0 || len(p.ahead) > 0 || !known || !p.over.Lo.Is(0) {
		return nil
	}
	w := vars[len(vars)-1]
	l := p.only()
	out := &rowLoop[T]{code: p, loop: l, place: c.place(w)}
	if l == nil || len(l.lanes) > 0 {
		return nil
	}
	for i, n := range l.numbers {
		if n.low {
			n.get = l.numbers[i-1].get
			out.numbers = append(out.numbers, out.numbers[i-1])
			out.numbers[i].number = n
			continue
		}
		out.numbers = append(out.numbers, c.rowNumber(n, w))
	}
	out.strides = make([]int, len(l.inputs)+len(l.outputs)+len(l.stores)+len(l.sources))
	size := int(unsafe.Sizeof(T(0)))
	for _, x := range l.inputs {
		switch at := p.parts[x.register]; {
		case at != nil && at.fixed && !at.offset.Hidden(w):
			out.strides[x.pointer] = at.offset.Factor(w) * size
		case at != nil || !slices.Contains(c.accumulators, x.register): // an accumulator does not move
			return nil
		}
	}
	for _, x := range l.sources {
		if x.offset.Hidden(w) {
			return nil
		}
		out.strides[x.pointer] = x.offset.Factor(w) * x.kind.Bytes(size)
	}
	for _, x := range l.outputs {
		if !slices.Contains(c.accumulators, x.register) {
			return nil
		}
	}
	for _, x := range l.stores {
		if x.offset.Hidden(w) || p.numbers[x.memory] {
			return nil
		}
		out.strides[x.pointer] = x.offset.Factor(w) * x.kind.Bytes(size)
		if x.past && out.strides[x.pointer]%l.code.Vector() != 0 {
			return nil
		}
	}
	return out
}

// mostRows returns the maximum number of rows of n elements in one call. The Go runtime cannot preempt a
// call, so its time is limited.
func mostRows(n int) int { return max(1, min(jit.MostRows, loopLength/max(n, 1))) }

// run runs the loop for n elements of each of rows rows, from row first on. The index of the strip must be at
// the first element.
func (r *rowLoop[T]) run(s *state[T], n, first, rows int) {
	if n == 0 || rows == 0 {
		return
	}
	l := r.loop
	past := false
	for _, row := range [2]int{first + rows - 1, first} { // if both are views, the last row is in memory
		s.vars[r.place] = row
		for i := range r.code.code {
			if in := &r.code.code[i]; in.op != opLoop {
				in.view(s, n)
			}
		}
		past = l.point(s, n)
	}
	a := s.arguments[l.number]
	for pointer, bytes := range r.strides {
		l.code.SetStride(a, pointer, bytes)
	}
	if len(r.numbers) > 0 {
		to := jit.Rows[T](l.code, a)
		for i := range r.numbers {
			again := i > 0 && l.numbers[i].low
			r.numbers[i].set(s, r.place, first, rows, again, to[i:], l.code.RowLength())
		}
	}
	l.code.Run(a, n, rows, past)
}

// sum returns sum i of a row, as the last run computed it.
func (r *rowLoop[T]) sum(s *state[T], row, i int) float64 {
	return jit.Sum[T](r.loop.code, s.arguments[r.loop.number], row, i)
}

// sums returns sum i of all rows, as the last run computed them: every step-th element of a slice.
func (r *rowLoop[T]) sums(s *state[T], i int) (of []T, step int) {
	code := r.loop.code
	return jit.Rows[T](code, s.arguments[r.loop.number])[len(r.numbers)+i:], code.RowLength()
}

// stretches calls visit for ranges of at most most iterations of the innermost loop, at each iteration of the
// loops around it. k is the number of the outermost loop that stretches runs itself.
func (p *nest[T]) stretches(s *state[T], k, lo, hi, most int, visit func(s *state[T], first, n int)) {
	l := &p.loops[k]
	a, b := l.limits(s, lo, hi)
	if k == len(p.loops)-1 {
		for ; a < b; a += most {
			visit(s, a, min(most, b-a))
		}
		return
	}
	for i := a; i < b; i++ {
		s.vars[l.place] = i
		p.stretches(s, k+1, lo, hi, most, visit)
	}
}
