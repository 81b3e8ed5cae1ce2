package memplan

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// searcher looks for a good order in which to place buffers.
type searcher struct {
	buffers []Buffer
	steps   int // of the cycle

	best    *Layout // so far
	order   []int   // it comes from placing buffers in this order
	offsets []int64 // of the layout being made
	placed  []span  // its buffers, by offset
	left    int     // comparisons left
}

// span is a buffer in its place. One that is needed over the end of the cycle has two spans.
type span struct {
	lo, hi      int64
	first, last int
}

// search fills in the best layout that it finds.
func search(buffers []Buffer, effort int, best *Layout) {
	s := &searcher{buffers: buffers, best: best, offsets: make([]int64, len(buffers)), left: effort * max(len(buffers), minBuffers)}
	for i, b := range buffers {
		s.steps = max(s.steps, b.First+1, b.Last+1)
		if b.Bytes > 0 {
			s.order = append(s.order, i)
		}
	}
	if len(s.order) > 0 {
		best.Bytes = math.MaxInt64
		s.run()
	}
}

// duration returns for how many steps a buffer is needed.
func (s *searcher) duration(b *Buffer) int {
	if b.First > b.Last {
		return s.steps - b.First + b.Last + 1
	}
	return b.Last - b.First + 1
}

func (s *searcher) run() {
	// Orders that tend to be good, each for other buffers: the first criterion counts, and the second
	// among equals.
	size := func(b *Buffer) float64 { return float64(b.Bytes) }
	duration := func(b *Buffer) float64 { return float64(s.duration(b)) }
	area := func(b *Buffer) float64 { return size(b) * duration(b) }
	order := make([]int, len(s.order))
	ranks := make([]rank, len(s.order))
	for _, by := range [][2]func(*Buffer) float64{{size, duration}, {area, size}, {duration, size}} {
		for n, i := range s.order {
			b := &s.buffers[i]
			ranks[n] = rank{by[0](b), by[1](b), i}
		}
		slices.SortFunc(ranks, rank.compare)
		for n := range ranks {
			order[n] = ranks[n].index
		}
		if _, ok := s.place(order); ok {
			copy(s.order, order)
		}
		if s.best.Bytes == s.best.Bound || s.left <= 0 {
			return
		}
	}
	s.improve(order)
}

// rank is the place of a buffer in an order: higher criteria go first.
type rank struct {
	first, second float64
	index         int
}

func (r rank) compare(q rank) int {
	switch {
	case r.first > q.first:
		return -1
	case r.first < q.first:
		return 1
	case r.second > q.second:
		return -1
	case r.second < q.second:
		return 1
	}
	return r.index - q.index
}

// improve begins with the best order. The buffer that did not fit below the best layout's end moves
// forward in the order, until all fit.
func (s *searcher) improve(order []int) {
	copy(order, s.order)
	random := rand.New(rand.NewPCG(1, uint64(len(order))))
	for s.best.Bytes > s.best.Bound && s.left > 0 {
		at, ok := s.place(order)
		if ok {
			copy(s.order, order)
			continue
		}
		if at == 0 {
			return
		}
		to := random.IntN(at)
		i := order[at]
		copy(order[to+1:at+1], order[to:at])
		order[to] = i
	}
}

// place places buffers in an order, each at the lowest offset where it fits. If all end below the best
// layout's end, they become the best layout. Otherwise it returns the index of the first that does not fit.
func (s *searcher) place(order []int) (int, bool) {
	s.placed = s.placed[:0]
	var end int64
	for n, i := range order {
		b := &s.buffers[i]
		off := s.lowest(b)
		if off >= s.best.Bytes-b.Bytes {
			return n, false
		}
		s.offsets[i] = off
		end = max(end, off+b.Bytes)
		if b.First <= b.Last {
			s.insert(span{off, off + b.Bytes, b.First, b.Last})
		} else {
			s.insert(span{off, off + b.Bytes, b.First, s.steps})
			s.insert(span{off, off + b.Bytes, 0, b.Last})
		}
	}
	s.best.Bytes = end
	s.best.Offsets, s.offsets = s.offsets, s.best.Offsets
	return 0, true
}

// lowest returns the lowest offset where a buffer fits.
func (s *searcher) lowest(b *Buffer) int64 {
	// The buffer overlaps, in time, a span that begins before after and ends after before. If it is needed
	// over the end of the cycle, it also overlaps one that ends after again.
	before, after, again := b.First-1, b.Last+1, math.MaxInt
	if b.First > b.Last {
		before, again = -1, b.First-1
	}
	var off int64
	end := b.Bytes // of the buffer at off
	for k := range s.placed {
		p := &s.placed[k]
		if end <= p.lo {
			s.left -= k + placeCost
			return off
		}
		// A branch on whether they overlap would be mispredicted often. So meets is -1 or 0.
		meets := (((p.first - after) & (before - p.last)) | (again - p.last)) >> (bits.UintSize - 1)
		off = max(off, p.hi&int64(meets))
		end = off + b.Bytes
	}
	s.left -= len(s.placed) + placeCost
	return off
}

func (s *searcher) insert(p span) {
	at, _ := slices.BinarySearchFunc(s.placed, p.lo, func(q span, lo int64) int { return cmp.Compare(q.lo, lo) })
	s.placed = slices.Insert(s.placed, at, p)
}
