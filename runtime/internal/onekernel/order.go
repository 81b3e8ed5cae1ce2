package onekernel

import (
	"slices"
	"sort"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// Order sets what items need: each item of a task the one before it, and the first one the last items of the
// tasks that the task depends on. Tasks depend on each other if they access the same bytes, of which one
// writes some, or if the plan says so. An access counts as one of all bytes from its first to its last one.
func Order(p *plan.Plan, items []Item) {
	var spaces spaces
	last := make([]int, len(p.Tasks)) // item of each task
	for t := range last {
		last[t] = -1
	}
	for k := 0; k < len(items); {
		t := items[k].Task
		need := -1
		for _, before := range p.Tasks[t].After {
			need = max(need, last[before])
		}
		end := k + 1
		for end < len(items) && items[end].Task == t {
			end++
		}
		spans := spansOf(p, t)
		for _, s := range spans {
			need = max(need, spaces.conflict(s))
		}
		for _, s := range spans {
			spaces.add(s, end-1)
		}
		items[k].Need, last[t] = need, end-1
		for i := k + 1; i < end; i++ {
			items[i].Need = i - 1
		}
		k = end
	}
}

// span is bytes that a task accesses, of the arena, which is space -1, or of the variable of a root.
type span struct {
	space    int
	from, to int64
	writes   bool
}

func spansOf(p *plan.Plan, t int) []span {
	var out []span
	var box region.Box
	for i := range p.Tasks[t].Access {
		a := &p.Tasks[t].Access[i]
		if a.Perm == perm.None {
			continue
		}
		p.Tasks[t].On(i, &box)
		if box.Empty() {
			continue
		}
		r := &p.Roots[a.Root]
		first, last := 0, 0
		for d, stride := range shape.Strides(r.Shape) {
			first, last = first+box.Lo[d]*stride, last+(box.Hi[d]-1)*stride
		}
		s := span{space: int(a.Root), writes: a.Perm.Writes(), from: r.Place.Off + int64(first*r.Type.Size()), to: r.Place.Off + int64((last+1)*r.Type.Size())}
		if r.Place.Space == region.Arena {
			s.space = -1
		}
		out = append(out, s)
	}
	return out
}

// segment is bytes that the same items accessed last. segments are in order, and do not overlap.
type segment struct {
	from, to    int64
	read, wrote int // the last item that did; -1 for none
}

// spaces holds the segments of each space.
type spaces map[int][]segment

// conflict returns the last item with which an access conflicts, or -1.
func (s *spaces) conflict(x span) int {
	out := -1
	for _, g := range s.within(x) {
		out = max(out, g.wrote)
		if x.writes {
			out = max(out, g.read)
		}
	}
	return out
}

// within returns the segments that share bytes with a span.
func (s *spaces) within(x span) []segment {
	all := (*s)[x.space]
	i := sort.Search(len(all), func(i int) bool { return all[i].to > x.from })
	k := i + sort.Search(len(all)-i, func(k int) bool { return all[i+k].from >= x.to })
	return all[i:k]
}

// add notes the access of an item.
func (s *spaces) add(x span, item int) {
	if *s == nil {
		*s = spaces{}
	}
	all := (*s)[x.space]
	i := sort.Search(len(all), func(i int) bool { return all[i].to > x.from })
	k := i + len(s.within(x))
	var with []segment
	put := func(from, to int64, g segment) {
		if from < to {
			g.from, g.to = from, to
			with = append(with, g)
		}
	}
	mark := func(g segment) segment {
		if x.writes {
			return segment{read: -1, wrote: item}
		}
		g.read = item
		return g
	}
	at := x.from
	for _, g := range all[i:k] {
		put(g.from, x.from, g)
		put(at, g.from, mark(segment{read: -1, wrote: -1}))
		put(max(g.from, x.from), min(g.to, x.to), mark(g))
		put(x.to, g.to, g)
		at = max(at, g.to)
	}
	put(at, x.to, mark(segment{read: -1, wrote: -1}))
	(*s)[x.space] = slices.Replace(all, i, k, with...)
}
