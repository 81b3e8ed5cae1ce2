package plan

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/internal/deps"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
)

// depend derives the dependencies of the plan's tasks from their accesses, from the reuse of memory
// and from what is explicit. It expects roots to have lifetimes and places.
func (p *Plan) depend() (*deps.Graph, error) {
	b := deps.NewBuilder(len(p.Roots), len(p.Tasks))
	reuse := p.reuse()
	unset := p.unset()
	var acc []deps.Access
	for t := range p.Tasks {
		task := &p.Tasks[t]
		acc = acc[:0]
		for i := range task.Access {
			a := &task.Access[i]
			if box, ok := unset.reads(a); ok {
				return nil, p.about(p.faultOf(t, "want elements that an earlier task has written, got some that none has"), t, i, box)
			}
			acc = p.access(acc, a)
			acc = reuse.access(acc, a, p.whole(a))
		}
		for i := range task.Access {
			unset.note(&task.Access[i])
		}
		if _, err := b.Task(acc, task.After...); err != nil {
			return nil, p.faultOf(t, "%v", err)
		}
	}
	for r := range p.Roots {
		if root := &p.Roots[r]; root.Last >= len(p.Tasks) && root.Use == Fetched {
			if box, ok := unset.reads(&region.Access{Region: region.Whole(region.Root(r), root.Shape), Perm: perm.Read}); ok {
				e := p.fault("want tasks that write all of a fetched tensor, got none for some elements")
				e.Root, e.Range = root.Name, ranges(box)
				return nil, e
			}
		}
	}
	return b.Graph(), nil
}

// within checks that an access of a task lies within its root.
func (p *Plan) within(t, access int) *Error {
	a := p.Tasks[t].Access[access]
	if a.Root < 0 || int(a.Root) >= len(p.Roots) {
		return p.faultOf(t, "want roots from 0 to %d, got %d", len(p.Roots)-1, a.Root)
	}
	shape := p.Roots[a.Root].Shape
	ok := len(a.Lo) == len(shape) && len(a.Hi) == len(shape)
	for d := range shape {
		ok = ok && 0 <= a.Lo[d] && a.Lo[d] <= a.Hi[d] && a.Hi[d] <= shape[d]
	}
	if !ok {
		e := p.faultOf(t, "want indices of a tensor of shape %v, got %v", shape, a.Region)
		e.Root, e.Slot = p.Roots[a.Root].Name, p.slot(t, access)
		return e
	}
	return nil
}

// whole reports whether an access covers its root.
func (p *Plan) whole(a *region.Access) bool {
	for d, n := range p.Roots[a.Root].Shape {
		if a.Lo[d] != 0 || a.Hi[d] != n {
			return false
		}
	}
	return true
}

// access appends an access as package deps takes it. Sums of floating-point numbers depend on their
// order, so reductions of those do not commute here.
func (p *Plan) access(to []deps.Access, a *region.Access) []deps.Access {
	if a.Empty() {
		return to
	}
	d := deps.Access{Root: int32(a.Root), Perm: a.Perm, Redop: a.Redop}
	if a.Perm == perm.Reduce && !p.commutes(a.Root) {
		d.Perm, d.Redop = perm.ReadWrite, perm.NoRedop
	}
	if !p.whole(a) {
		d.Box = &region.Box{Lo: a.Lo, Hi: a.Hi}
	}
	return append(to, d)
}

// commutes reports whether the order of reductions into a root leaves no trace.
func (p *Plan) commutes(r region.Root) bool { return !p.Roots[r].Type.IsFloat() }

// unset knows, per root, the boxes that no task has written.
type unset [][]region.Box

func (p *Plan) unset() unset {
	u := make(unset, len(p.Roots))
	for i := range p.Roots {
		if r := &p.Roots[i]; r.Use == Internal || r.Use == Fetched {
			if w := region.Whole(region.Root(i), r.Shape); !w.Empty() {
				u[i] = []region.Box{{Lo: w.Lo, Hi: w.Hi}}
			}
		}
	}
	return u
}

// reads returns indices that an access needs and that nothing has written, if there are any.
func (u unset) reads(a *region.Access) (region.Box, bool) {
	if !a.Perm.Reads() && a.Perm != perm.Reduce {
		return region.Box{}, false
	}
	for _, b := range u[a.Root] {
		if c := b.Intersect(region.Box{Lo: a.Lo, Hi: a.Hi}); !c.Empty() {
			return c, true
		}
	}
	return region.Box{}, false
}

// note takes account of what an access writes, or leaves undefined.
func (u unset) note(a *region.Access) {
	if len(u[a.Root]) == 0 && a.Perm != perm.Scratch || !a.Perm.Writes() && a.Perm != perm.Scratch || a.Empty() {
		return
	}
	box := region.Box{Lo: a.Lo, Hi: a.Hi}
	var left []region.Box
	for _, b := range u[a.Root] {
		left = subtract(left, b, box)
	}
	if a.Perm == perm.Scratch {
		left = append(left, box)
	}
	u[a.Root] = left
}

// subtract appends boxes that hold the indices of b that are not in c.
func subtract(to []region.Box, b, c region.Box) []region.Box {
	if b.Intersect(c).Empty() {
		return append(to, b)
	}
	for d := range b.Lo {
		for _, side := range [2][2]int{{b.Lo[d], c.Lo[d]}, {c.Hi[d], b.Hi[d]}} {
			if side[0] >= side[1] {
				continue
			}
			cut := region.Box{Lo: slices.Clone(b.Lo), Hi: slices.Clone(b.Hi)}
			cut.Lo[d], cut.Hi[d] = side[0], side[1]
			to = append(to, cut)
		}
		b = region.Box{Lo: slices.Clone(b.Lo), Hi: slices.Clone(b.Hi)}
		b.Lo[d], b.Hi[d] = max(b.Lo[d], c.Lo[d]), min(b.Hi[d], c.Hi[d])
	}
	return to
}

// reuse knows which roots had memory of the arena before other roots.
type reuse struct {
	before  [][]region.Root // per root
	settled []bool          // per root: a task that all later accesses depend on comes after those before
}

// reuse finds out which roots lie, directly before each other root, in some of its memory. Roots whose
// lifetimes meet are left out: they must not share memory in the first place.
func (p *Plan) reuse() *reuse {
	u := &reuse{make([][]region.Root, len(p.Roots)), make([]bool, len(p.Roots))}
	// A root of which tasks touch no element cannot stand between others.
	touched := make([]bool, len(p.Roots))
	for t := range p.Tasks {
		for i := range p.Tasks[t].Access {
			a := &p.Tasks[t].Access[i]
			touched[a.Root] = touched[a.Root] || a.Perm != perm.None && !a.Empty()
		}
	}
	var order []region.Root
	for i := range p.Roots {
		if r := &p.Roots[i]; touched[i] && r.Place.Space == region.Arena && r.Place.Bytes > 0 && r.First <= r.Last {
			order = append(order, region.Root(i))
		}
	}
	slices.SortStableFunc(order, func(a, b region.Root) int { return cmp.Compare(p.Roots[a].First, p.Roots[b].First) })
	type interval struct {
		lo, hi int64
		owner  region.Root
	}
	var owners []interval // of all bytes used so far, by address
	for _, r := range order {
		lo, hi := p.Roots[r].Place.Off, p.Roots[r].Place.Off+p.Roots[r].Place.Bytes
		from, _ := slices.BinarySearchFunc(owners, lo, func(v interval, lo int64) int {
			if v.hi <= lo {
				return -1
			}
			return 1
		})
		var kept []interval
		to := from
		for ; to < len(owners) && owners[to].lo < hi; to++ {
			v := owners[to]
			if v.lo < lo {
				kept = append(kept, interval{v.lo, lo, v.owner})
			}
			if p.Roots[v.owner].Last < p.Roots[r].First && !slices.Contains(u.before[r], v.owner) {
				u.before[r] = append(u.before[r], v.owner)
			}
			if v.hi > hi {
				kept = append(kept, interval{lo, hi, r}, interval{hi, v.hi, v.owner})
			}
		}
		if n := len(kept); n == 0 || kept[n-1].hi <= lo {
			kept = append(kept, interval{lo, hi, r})
		}
		owners = slices.Replace(owners, from, to, kept...)
	}
	return u
}

// access appends what must be over before an access of a root. If the access conflicts with all others
// of the root, later ones come after it anyway.
func (u *reuse) access(to []deps.Access, a *region.Access, whole bool) []deps.Access {
	if u.settled[a.Root] || a.Perm == perm.None || a.Empty() {
		return to
	}
	for _, r := range u.before[a.Root] {
		to = append(to, deps.Access{Root: int32(r), Retire: true})
	}
	u.settled[a.Root] = whole && (a.Perm == perm.Write || a.Perm == perm.ReadWrite || a.Perm == perm.Scratch)
	return to
}
