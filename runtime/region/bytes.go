package region

import "slices"

// Layout says where the elements of a root lie: row by row from byte Off on, each in Elem bytes.
type Layout struct {
	Off   int64
	Elem  int
	Shape []int
}

// bounds returns the first byte of a box that has elements, and the one behind its last.
func (l *Layout) bounds(b *Box) (lo, hi int64) {
	first, last := int64(0), int64(0)
	for d, n := range l.Shape {
		first, last = first*int64(n)+int64(b.Lo[d]), last*int64(n)+int64(b.Hi[d]-1)
	}
	return l.Off + first*int64(l.Elem), l.Off + (last+1)*int64(l.Elem)
}

// alike reports whether elements of the same index lie at the same bytes in both layouts.
func (l *Layout) alike(m *Layout) bool {
	return l.Off == m.Off && l.Elem == m.Elem && len(l.Shape) == len(m.Shape) && (len(l.Shape) == 0 || slices.Equal(l.Shape[1:], m.Shape[1:]))
}

// Under returns a box of elements of m that contains all elements that share bytes with elements of a box of
// l. The box is empty if there are none, and contains no others if both layouts are alike.
func (l *Layout) Under(b *Box, m *Layout) Box {
	out := Box{make([]int, len(m.Shape)), slices.Clone(m.Shape)}
	if l.alike(m) {
		return out.Intersect(*b)
	}
	lo, hi := l.bounds(b)
	count := int64(1)
	for _, n := range m.Shape {
		count *= int64(n)
	}
	first, last := max(lo-m.Off, 0)/int64(m.Elem), min((hi-m.Off-1)/int64(m.Elem), count-1) // elements, in row-major order
	if hi <= m.Off || first > last {
		return Box{make([]int, len(m.Shape)), make([]int, len(m.Shape))}
	}
	for d, n := range m.Shape {
		count /= int64(n)
		out.Lo[d], out.Hi[d] = int(first/count), int(last/count)+1
		if out.Hi[d] > out.Lo[d]+1 {
			break // what lies between has all indices of the axes that follow
		}
		first, last = first%count, last%count
	}
	return out
}

// runs walks the bytes of a box by address. A run is what lies in one piece: some indices of axis inner, with
// all of the axes that follow.
type runs struct {
	*Layout
	*Box
	inner int
	unit  int64 // bytes of an index of axis inner
	at    [8]int
}

func (l *Layout) runs(b *Box) runs {
	r := runs{Layout: l, Box: b, inner: len(l.Shape) - 1, unit: int64(l.Elem)}
	for ; r.inner > 0 && b.Lo[r.inner] == 0 && b.Hi[r.inner] == l.Shape[r.inner]; r.inner-- {
		r.unit *= int64(l.Shape[r.inner])
	}
	return r
}

// from returns the first run that ends behind a byte; ok is false if there is none.
func (r *runs) from(at int64) (lo, hi int64, ok bool) {
	if r.inner < 0 { // a scalar
		return r.Off, r.Off + r.unit, at < r.Off+r.unit
	}
	index := r.at[:0]
	left := max(at-r.Off, 0) / r.unit
	for d := r.inner; d > 0; d-- {
		index = append(index, int(left%int64(r.Shape[d])))
		left /= int64(r.Shape[d])
	}
	index = append(index, int(min(left, int64(r.Hi[0]))))
	slices.Reverse(index)
	low := func(from int) {
		for d := from; d < r.inner; d++ {
			index[d] = r.Lo[d]
		}
	}
	// advance goes to the next index of the axes before d.
	advance := func(d int) bool {
		for d--; d >= 0; d-- {
			if index[d]++; index[d] < r.Hi[d] {
				low(d + 1)
				return true
			}
		}
		return false
	}
	d := 0
	for ; d < r.inner; d++ {
		if index[d] < r.Lo[d] {
			low(d)
			break
		}
		if index[d] >= r.Hi[d] {
			if !advance(d) {
				return 0, 0, false
			}
			low(d)
			break
		}
	}
	if d == r.inner && index[r.inner] >= r.Hi[r.inner] && !advance(r.inner) {
		return 0, 0, false
	}
	line := int64(0)
	for d := range r.inner {
		line = (line + int64(index[d])) * int64(r.Shape[d+1])
	}
	return r.Off + (line+int64(r.Lo[r.inner]))*r.unit, r.Off + (line+int64(r.Hi[r.inner]))*r.unit, true
}

// mostRuns is up to how many runs Meets looks at. Of boxes with more, it says that they meet.
const mostRuns = 1 << 16

// Meets reports whether elements of a box of l and of a box of m share a byte. Both have elements. It leaps
// from a run of one to the first run of the other that ends behind its begin.
func (l *Layout) Meets(b *Box, m *Layout, c *Box) bool {
	if l.alike(m) {
		return b.overlaps(*c)
	}
	if len(l.Shape) > len(runs{}.at) || len(m.Shape) > len(runs{}.at) {
		lo, hi := l.bounds(b)
		from, to := m.bounds(c)
		return lo < to && from < hi
	}
	r, s := l.runs(b), m.runs(c)
	at := int64(0)
	for range mostRuns {
		lo, hi, ok := r.from(at)
		if !ok {
			return false
		}
		from, to, ok := s.from(max(at, lo))
		if !ok {
			return false
		}
		if max(lo, from) < min(hi, to) {
			return true
		}
		at = max(lo, from)
	}
	return true
}
