package verify

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// last holds the last accesses of a set: the last task in the queue of each worker, and shared tasks, each
// with the root that it accesses. A task comes after all accesses of the set if it comes after these.
type last struct {
	task   []entry // per worker; the task is none if it has none
	shared []entry
}

// entry is a task and a root that it accesses.
type entry struct {
	task int
	root region.Root
}

// reset makes the set empty.
func (l *last) reset() {
	for w := range l.task {
		l.task[w].task = none
	}
	l.shared = l.shared[:0]
}

// add adds the accesses to a root.
func (l *last) add(q *queues, r region.Root, list []use) {
	for _, u := range list {
		t := int(u.task)
		if q.perm(u) == perm.None {
			continue
		}
		switch w := q.worker[t]; {
		case w == shared:
			if n := len(l.shared); n == 0 || l.shared[n-1].task != t {
				l.shared = append(l.shared, entry{t, r})
			}
		case l.task[w].task == none || q.at[l.task[w].task] < q.at[t]:
			l.task[w] = entry{t, r}
		}
	}
}

// join adds the accesses of another set.
func (l *last) join(q *queues, other *last) {
	for w, e := range other.task {
		if e.task != none && (l.task[w].task == none || q.at[l.task[w].task] < q.at[e.task]) {
			l.task[w] = e
		}
	}
	l.shared = append(l.shared, other.shared...)
}

// succession says that a root lies in bytes in which another lay directly before it.
type succession struct{ root, before region.Root }

// successions returns the successions of the plan, by root. Roots that nothing accesses are left out, since
// they order nothing.
func (q *queues) successions(uses [][]use) []succession {
	var out []succession
	q.sweep(func(r region.Root) bool {
		return slices.ContainsFunc(uses[r], func(u use) bool { return q.perm(u) != perm.None })
	}, func(a, b region.Root) bool {
		out = append(out, succession{b, a})
		return true
	})
	slices.SortFunc(out, func(a, b succession) int { return cmp.Or(cmp.Compare(a.root, b.root), cmp.Compare(a.before, b.before)) })
	return slices.Compact(out)
}

// manyUses is the number of accesses of a root from which its last ones are kept for all roots that come
// after it.
const manyUses = 16

// reuse proves that roots which share bytes are used one after the other.
type reuse struct {
	*queues
	uses   [][]use
	known  map[region.Root]*last   // of roots with many accesses
	byByte map[region.Root]*byByte // of roots that are checked byte by byte
	before [][]region.Root         // by root: the ones that it was checked against
	tight  []bool                  // by root: whether each access comes after all of those roots
	all    *last
}

// checkReuse checks that, where two roots have a byte in common, accesses to it of the one that lives earlier
// are over before those of the other begin.
//
// Most roots are used as wholes: all accesses of the earlier one are over before the first of the other. Of
// roots that follow each other directly so, it suffices to check each pair, since each root has an access.
// Where tiles of a root wait only for what touches the same bytes, the accesses are compared byte by byte.
// Then the roots before the earlier one count, too, unless each of its elements has an access.
func (q *queues) checkReuse() *plan.Error {
	n := len(q.Roots)
	x := &reuse{queues: q, uses: q.checker.uses(), known: map[region.Root]*last{}, byByte: map[region.Root]*byByte{},
		before: make([][]region.Root, n), tight: make([]bool, n), all: q.noLast()}
	list := q.successions(x.uses)
	direct := make([][]region.Root, n)
	var order []region.Root
	for _, s := range list {
		if len(direct[s.root]) == 0 {
			order = append(order, s.root)
		}
		direct[s.root] = append(direct[s.root], s.before)
	}
	for r := range x.tight {
		x.tight[r] = true
	}
	slices.SortStableFunc(order, func(a, b region.Root) int { return cmp.Compare(q.Roots[a].First, q.Roots[b].First) })
	for _, r := range order {
		if err := x.check(r, direct[r]); err != nil {
			return err
		}
	}
	return nil
}

func (q *queues) noLast() *last { return &last{task: make([]entry, q.Schedule.Workers())} }

// check checks a root against those that lie before it in its bytes. These were checked already.
func (x *reuse) check(r region.Root, before []region.Root) *plan.Error {
	x.before[r] = before
	x.all.reset()
	for _, q := range before {
		x.join(q)
	}
	err := x.checkAfter(x.all, x.uses[r])
	if err == nil && !slices.ContainsFunc(before, func(q region.Root) bool { return !x.tight[q] }) {
		return nil
	}
	x.tight[r] = err == nil
	for i := 0; i < len(x.before[r]); i++ {
		q := x.before[r][i]
		if (err == nil && i < len(before) || x.after(r, q)) && x.tight[q] { // err is of the direct ones only
			continue
		}
		if err := x.bytewise(r, q); err != nil {
			return err
		}
		if x.touched(q) {
			continue
		}
		for _, p := range x.before[q] {
			if !slices.Contains(x.before[r], p) && x.Roots[p].Place.Overlaps(x.Roots[r].Place) {
				x.before[r] = append(slices.Clip(x.before[r]), p)
			}
		}
	}
	return nil
}

// after reports whether all accesses of a root come after all of one before it.
func (x *reuse) after(r, before region.Root) bool {
	x.all.reset()
	x.join(before)
	ok := x.checkAfter(x.all, x.uses[r]) == nil
	x.tight[r] = x.tight[r] && ok
	return ok
}

// join adds the accesses of a root to the set of those that must be over.
func (x *reuse) join(r region.Root) {
	if len(x.uses[r]) < manyUses {
		x.all.add(x.queues, r, x.uses[r])
		return
	}
	l := x.known[r]
	if l == nil {
		l = x.noLast()
		l.reset()
		l.add(x.queues, r, x.uses[r])
		x.known[r] = l
	}
	x.all.join(x.queues, l)
}

// touched reports whether each element of a root has an access.
func (x *reuse) touched(r region.Root) bool {
	l := x.bytesOf(r)
	if l.whole == 0 {
		c := &cells{}
		if c.divide(x.checker, r, x.uses[r]) != nil {
			return false
		}
		seen, left := make([]bool, c.count), c.count
		var box region.Box
		for _, u := range x.uses[r] {
			if x.perm(u) == perm.None {
				continue
			}
			x.box(int(u.task), int(u.access), &box)
			c.each(&box, func(cell int) {
				if !seen[cell] {
					seen[cell] = true
					left--
				}
			})
		}
		if l.whole = 1; left > 0 {
			l.whole = -1
		}
	}
	return l.whole > 0
}

// byByte lists the accesses to a root by their first bytes.
type byByte struct {
	list  []stretch
	most  []int64 // per access: where the last of those up to it ends
	whole int     // 1 if each element has an access, -1 if not, 0 if that is not known
}

// stretch is an access, which touches bytes from lo to hi-1 of the arena, not all of them perhaps.
type stretch struct {
	use
	lo, hi int64
}

// bytesOf returns the accesses to a root.
func (x *reuse) bytesOf(r region.Root) *byByte {
	if l := x.byByte[r]; l != nil {
		return l
	}
	l := &byByte{}
	var box region.Box
	for _, u := range x.uses[r] {
		if x.perm(u) != perm.None {
			x.box(int(u.task), int(u.access), &box)
			lo, hi := x.stretch(r, &box)
			l.list = append(l.list, stretch{u, lo, hi})
		}
	}
	slices.SortStableFunc(l.list, func(a, b stretch) int { return cmp.Compare(a.lo, b.lo) })
	most := int64(0)
	for _, s := range l.list {
		most = max(most, s.hi)
		l.most = append(l.most, most)
	}
	x.byByte[r] = l
	return l
}

// stretch returns the first byte of a box of a root, and the one behind its last.
func (c checker) stretch(r region.Root, b *region.Box) (lo, hi int64) {
	root := &c.Roots[r]
	size := int64(root.Type.Size())
	step := size
	lo, hi = root.Place.Off, root.Place.Off+size
	for d := len(root.Shape) - 1; d >= 0; d-- {
		lo += int64(b.Lo[d]) * step
		hi += int64(b.Hi[d]-1) * step
		step *= int64(root.Shape[d])
	}
	return lo, hi
}

// bytewise checks that each access of a root comes after those of one before it that touch its bytes. Reads
// come after writes of the same root, as checkWritten and checkAccesses prove, and so does all that comes
// after a task which writes all of it.
func (x *reuse) bytewise(r, before region.Root) *plan.Error {
	l := x.bytesOf(before)
	var box, other region.Box
	for _, v := range x.uses[r] {
		p := x.perm(v)
		if p == perm.None || p == perm.Read {
			continue
		}
		x.box(int(v.task), int(v.access), &box)
		lo, hi := x.stretch(r, &box)
		n, _ := slices.BinarySearchFunc(l.list, hi, func(s stretch, at int64) int { return cmp.Compare(s.lo, at) })
		for n--; n >= 0 && l.most[n] > lo; n-- {
			u := &l.list[n]
			if u.hi <= lo || x.queues.before(int(u.task), int(v.task)) {
				continue
			}
			if x.box(int(u.task), int(u.access), &other); x.meet(r, before, box, other) {
				return x.unordered(int(u.task), int(v.task), "memory of "+x.Roots[before].Name+" is used again").At(x.Plan, int(v.task), int(v.access), &box)
			}
		}
		if x.Tasks[v.task].Tile == 0 && x.whole(v) {
			break
		}
	}
	return nil
}

// meet reports whether boxes of two roots share a byte. It halves the boxes until what is left lies apart, or
// in one piece.
func (c checker) meet(r, q region.Root, a, b region.Box) bool {
	if x, y := &c.Roots[r], &c.Roots[q]; x.Place.Off == y.Place.Off && x.Type.Size() == y.Type.Size() && slices.Equal(x.Shape, y.Shape) {
		for d := range a.Lo {
			if a.Hi[d] <= b.Lo[d] || b.Hi[d] <= a.Lo[d] {
				return false
			}
		}
		return true
	}
	lo, hi := c.stretch(r, &a)
	from, to := c.stretch(q, &b)
	if lo >= to || from >= hi {
		return false
	}
	holed := int64(a.Volume())*int64(c.Roots[r].Type.Size()) < hi-lo
	otherHoled := int64(b.Volume())*int64(c.Roots[q].Type.Size()) < to-from
	if !holed && !otherHoled {
		return true
	}
	if !holed || otherHoled && to-from > hi-lo {
		return c.meet(q, r, b, a)
	}
	d := 0
	for a.Hi[d]-a.Lo[d] < 2 {
		d++
	}
	middle := (a.Lo[d] + a.Hi[d]) / 2
	left, right := region.Box{Lo: a.Lo, Hi: slices.Clone(a.Hi)}, region.Box{Lo: slices.Clone(a.Lo), Hi: a.Hi}
	left.Hi[d], right.Lo[d] = middle, middle
	return c.meet(r, q, left, b) || c.meet(r, q, right, b)
}

// checkAfter checks that the accesses to a root come after all of a set of accesses to the roots before it.
func (q *queues) checkAfter(all *last, list []use) *plan.Error {
	for _, v := range list {
		p := q.perm(v)
		if p == perm.None {
			continue
		}
		for _, entries := range [][]entry{all.task, all.shared} {
			for _, e := range entries {
				if e.task == none || q.before(e.task, int(v.task)) {
					continue
				}
				var box region.Box
				q.box(int(v.task), int(v.access), &box)
				return q.unordered(e.task, int(v.task), "memory of "+q.Roots[e.root].Name+" is used again").At(q.Plan, int(v.task), int(v.access), &box)
			}
		}
		// A later access conflicts with it, and checkAccesses has ordered the two.
		if p != perm.Read && q.Tasks[v.task].Tile == 0 && q.whole(v) {
			return nil
		}
	}
	return nil
}

// whole reports whether an access touches all elements of its root.
func (q *queues) whole(u use) bool {
	var box region.Box
	q.box(int(u.task), int(u.access), &box)
	for d, n := range q.Roots[q.Tasks[u.task].Access[u.access].Root].Shape {
		if box.Lo[d] > 0 || box.Hi[d] < n {
			return false
		}
	}
	return true
}
