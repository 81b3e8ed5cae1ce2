package deps

import (
	"math/bits"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
)

// index holds the accesses to parts of a root. It divides the root into buckets of equal boxes; each lists
// the accesses that touch it. Few accesses make one bucket. As their number doubles, buckets are made again,
// so that a tile touches few buckets and a bucket holds few tiles.
type index struct {
	rank    int
	width   []int // of a bucket, per axis
	count   []int // buckets per axis; what lies behind the last belongs to the first, and so on
	heads   []int32
	links   []link // the task of a link is the number of a record here
	free    int32  // list of unused links
	records []record
	bounds  []int // per record: the lower bounds of its box, then the upper bounds
	unused  []int32
	limit   int // number of records from which buckets are made again

	first, end, at []int // of each, per axis
}

// record is an access to a part of a root.
type record struct {
	task int32 // none for an unused record
	perm perm.Perm
}

// few is the number of records up to which one bucket does.
const few = 16

func newIndex(rank int) *index {
	x := &index{rank: rank, width: make([]int, rank), count: make([]int, rank), heads: []int32{none}, free: none, limit: few,
		first: make([]int, rank), end: make([]int, rank), at: make([]int, rank)}
	for d := range rank {
		x.width[d], x.count[d] = 1, 1
	}
	return x
}

// box returns the box of a record.
func (x *index) box(i int32) region.Box {
	at := 2 * x.rank * int(i)
	return region.Box{Lo: x.bounds[at : at+x.rank], Hi: x.bounds[at+x.rank : at+2*x.rank]}
}

// each calls visit with the head of the list of each bucket that a box touches; nil is the whole root.
func (x *index) each(b *region.Box, visit func(head *int32)) {
	if b == nil || len(x.heads) == 1 {
		for i := range x.heads {
			visit(&x.heads[i])
		}
		return
	}
	for d := range x.rank {
		x.first[d] = b.Lo[d] / x.width[d]
		x.end[d] = min((b.Hi[d]-1)/x.width[d]+1, x.first[d]+x.count[d])
	}
	copy(x.at, x.first)
	for {
		n := 0
		for d, k := range x.at {
			n = n*x.count[d] + k%x.count[d]
		}
		visit(&x.heads[n])
		d := x.rank - 1
		for ; d >= 0; d-- {
			if x.at[d]++; x.at[d] < x.end[d] {
				break
			}
			x.at[d] = x.first[d]
		}
		if d < 0 {
			return
		}
	}
}

// conflicts calls visit with each task whose access conflicts with a. It may visit a task several times.
func (x *index) conflicts(a *Access, visit func(task int32)) {
	x.each(a.Box, func(head *int32) {
		for i := *head; i != none; i = x.links[i].next {
			rec := &x.records[x.links[i].task]
			if !perm.Conflict(a.Perm, rec.perm) {
				continue
			}
			if box := x.box(x.links[i].task); a.Box == nil || overlap(*a.Box, box) && (a.Meets == nil || a.Meets(&box)) {
				visit(rec.task)
			}
		}
	})
}

// add adds an access to a part of the root.
func (x *index) add(t int32, a *Access) {
	n := int32(len(x.records))
	if k := len(x.unused); k > 0 {
		n, x.unused = x.unused[k-1], x.unused[:k-1]
	} else {
		x.records = append(x.records, record{})
		x.bounds = append(x.bounds, make([]int, 2*x.rank)...)
	}
	x.records[n] = record{t, a.Perm}
	box := x.box(n)
	copy(box.Lo, a.Box.Lo)
	copy(box.Hi, a.Box.Hi)
	if len(x.records)-len(x.unused) > x.limit {
		x.rebuild()
		return
	}
	x.insert(n)
}

// insert adds a record to the buckets that it touches.
func (x *index) insert(n int32) {
	b := x.box(n)
	x.each(&b, func(head *int32) {
		if x.free == none {
			x.links = append(x.links, link{n, *head})
			*head = int32(len(x.links) - 1)
			return
		}
		i := x.free
		x.free = x.links[i].next
		x.links[i] = link{n, *head}
		*head = i
	})
}

// drop removes the records within a box. A record within the box touches no other buckets than the box.
func (x *index) drop(b *region.Box) {
	x.each(b, func(head *int32) {
		for p := head; *p != none; {
			i := *p
			l := &x.links[i]
			rec := &x.records[l.task]
			if rec.task != none && covers(*b, x.box(l.task)) {
				rec.task = none
				x.unused = append(x.unused, l.task)
			}
			if rec.task != none {
				p = &l.next
				continue
			}
			*p = l.next
			l.next, x.free = x.free, i
		}
	})
}

// rebuild makes buckets for the records that there are. Along each axis a bucket is as wide as the geometric
// mean of the records. There are no more buckets than records.
func (x *index) rebuild() {
	live := len(x.records) - len(x.unused)
	x.limit = 2 * live
	total := 1
	for d := range x.rank {
		logs, end := 0, 0
		for n := range x.records {
			if x.records[n].task != none {
				b := x.box(int32(n))
				logs += bits.Len(uint(b.Hi[d]-b.Lo[d])) - 1
				end = max(end, b.Hi[d])
			}
		}
		x.width[d] = 1 << (logs / live)
		x.count[d] = (end-1)/x.width[d] + 1
		for total > live/x.count[d] && x.count[d] > 1 {
			x.width[d] *= 2
			x.count[d] = (x.count[d] + 1) / 2
		}
		total *= x.count[d]
	}
	x.heads, x.links, x.free = make([]int32, total), x.links[:0], none
	for i := range x.heads {
		x.heads[i] = none
	}
	for n := range x.records {
		if x.records[n].task != none {
			x.insert(int32(n))
		}
	}
}

// overlap reports whether two boxes that have elements share one.
func overlap(a, b region.Box) bool {
	for d := range a.Lo {
		if max(a.Lo[d], b.Lo[d]) >= min(a.Hi[d], b.Hi[d]) {
			return false
		}
	}
	return true
}

// covers reports whether every element of b is one of a.
func covers(a, b region.Box) bool {
	for d := range a.Lo {
		if b.Lo[d] < a.Lo[d] || a.Hi[d] < b.Hi[d] {
			return false
		}
	}
	return true
}
