package loops

import (
	"slices"

	"github.com/opgen/opgen/internal/term"
	"github.com/opgen/opgen/runtime/internal/simd"
	"github.com/opgen/opgen/runtime/shape"
)

// movement is a statement that only moves elements to rows of the result. Places of rows follow from one another, so a short row costs little
// more than its elements.
type movement[T simd.Float] struct {
	dims         []stride // the outermost first; the last one goes over consecutive elements of the result
	joined       []stride // the same, of which those that go on where others end are one
	inner        []stride // those from the last shared index on, in the same way
	lead         int      // the number of the last shared index, or -1
	factor       int      // of its values, if other indices were joined to it
	from, to     int      // the first places
	source, goal int
	times        int // how often each element of the source is repeated along a row
	// other copies elements of another type than that in which the loops compute; nil for that one.
	other func(to *block[T], at, stride int, from *block[T], start, step, n int)
}

// stride says how places move with an index.
type stride struct{ place, extent, from, to int }

// mostStrides is how many indices such a statement has at most.
const mostStrides = 8

// movement compiles a statement that only moves elements; it returns nil for others.
func (k *unitCompiler[T]) movement(s *statement) unit[T] {
	n, vars := s.value, k.bundle.vars
	if len(k.bundle.statements) != 1 || k.bundle.folds != nil || len(vars) == 0 || len(vars) > mostStrides || n.Op != term.Element || n.Read.Which != nil ||
		s.left.Which != nil || s.guard != nil || s.add || k.tensors[s.target].Add ||
		k.tensors[n.Read.Tensor].Type != k.tensors[s.target].Type || k.tensors[n.Read.Tensor].Memory == k.tensors[s.target].Memory || slices.ContainsFunc(vars, IsOpen) {
		return nil
	}
	a, b := accessOf(n.Read), accessOf(s.left)
	row := vars[len(vars)-1]
	if len(a.open) > 0 || len(b.open) > 0 || len(b.offset.rest) > 0 || b.offset.factor(row) != 1 || len(a.offset.rest) > 1 {
		return nil
	}
	u := &movement[T]{lead: k.depth - 1, factor: k.factor, from: a.offset.base, to: b.offset.base, source: n.Read.Tensor, goal: s.target, times: 1}
	for _, v := range vars {
		u.dims = append(u.dims, stride{k.place(v), extent(v), a.offset.factor(v), b.offset.factor(v)})
	}
	if t := k.tensors[s.target].Type; t != k.own {
		if len(a.offset.rest) > 0 {
			return nil
		}
		u.other = mover[T](t)
	}
	if len(a.offset.rest) > 0 { // elements that are repeated
		p := a.offset.rest[0]
		d, known := 0, false
		if p.of.Op == term.Quotient {
			d, known = p.of.Args[1].Known()
		}
		if !known || d < 2 || p.of.Args[0].Op != term.Index || p.of.Args[0].Var != row || a.offset.factor(row) != 0 {
			return nil
		}
		u.times, u.dims[len(vars)-1].from = d, p.factor
	}
	u.joined, u.inner = u.dims, u.dims[max(u.lead, 0):]
	if u.times == 1 {
		u.joined, u.inner = together(u.joined), together(u.inner)
	}
	return u
}

// together returns indices in which one takes the place of two if the elements of a row go on in the next one.
func together(dims []stride) []stride {
	out := []stride{dims[len(dims)-1]}
	for _, d := range slices.Backward(dims[:len(dims)-1]) {
		if last := &out[len(out)-1]; d.from == last.extent*last.from && d.to == last.extent*last.to {
			last.extent *= d.extent
			continue
		}
		out = append(out, d)
	}
	slices.Reverse(out)
	return out
}

func (u *movement[T]) run(s *state[T], lo, hi int) {
	if u.lead < 0 {
		u.elements(s, u.joined, u.from, u.to, 0, size(u.dims))
		return
	}
	from, to := u.from, u.to
	for _, d := range u.dims[:u.lead] {
		from += d.from * s.vars[d.place]
		to += d.to * s.vars[d.place]
	}
	each := u.factor * size(u.dims[u.lead+1:])
	u.elements(s, u.inner, from, to, lo*each, hi*each)
}

// all moves elements for the values lo to hi-1 of the shared indices, taken as one number.
func (u *movement[T]) all(s *state[T], lo, hi int) {
	each := size(u.dims[u.lead+1:])
	u.elements(s, u.joined, u.from, u.to, lo*each, hi*each)
}

// size is how many elements indices number.
func size(dims []stride) int {
	n := 1
	for _, d := range dims {
		n *= d.extent
	}
	return n
}

// elements moves elements lo to hi-1 of those that some indices number.
func (u *movement[T]) elements(s *state[T], dims []stride, from, to, lo, hi int) {
	if lo >= hi {
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
		from += at[i] * d.from
		to += at[i] * d.to
	}
	for left := hi - lo; left > 0; {
		n := min(row-first, left)
		u.row(s, from, to, first, n)
		left -= n
		first = 0
		for i := last - 1; i >= 0; i-- {
			d := &dims[i]
			from += d.from
			to += d.to
			if at[i]++; at[i] < d.extent {
				break
			}
			from -= d.extent * d.from
			to -= d.extent * d.to
			at[i] = 0
		}
	}
}

// row moves n elements of a row, from the one with a number on.
func (u *movement[T]) row(s *state[T], from, to, first, n int) {
	step := u.dims[len(u.dims)-1].from
	if u.other != nil {
		u.other(&s.mem[u.goal], to+first, 1, &s.mem[u.source], from+first*step, step, n)
		return
	}
	out := s.mem[u.goal].same[to+first:][:n]
	if step == 1 && u.times == 1 {
		x := s.mem[u.source].same[from+first:][:n]
		if s.past {
			simd.Stream(out, x)
		} else {
			copy(out, x)
		}
		return
	}
	if !s.past {
		u.strip(s, out, from, first, step)
		return
	}
	for ; len(out) > 0; out = out[min(stripLength, len(out)):] {
		part := s.beside[:min(stripLength, len(out))]
		u.strip(s, part, from, first, step)
		simd.Stream(out[:len(part)], part)
		first += len(part)
	}
}

// strip sets elements to those of a row, from the one with a number on.
func (u *movement[T]) strip(s *state[T], out []T, from, first, step int) {
	x := s.mem[u.source].same
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
