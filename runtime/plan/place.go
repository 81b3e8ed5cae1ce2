package plan

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/region"
)

func align(n int64) int64 { return (n + Align - 1) / Align * Align }

// conflict reports whether two roots need memory at the same time.
func (p *Plan) conflict(q, r *Root) bool {
	fetched := len(p.Tasks)
	return q.First <= r.Last && r.First <= q.Last || q.First < 0 && r.Last == fetched || r.First < 0 && q.Last == fetched
}

// place gives every root its memory. Variables have memory of their own; the others share the arena,
// greedily: the largest first, each at the lowest offset where no root lies that is live at the
// same time.
func place(p *Plan) {
	var order []int
	for i := range p.Roots {
		r := &p.Roots[i]
		if r.Use == Variable {
			r.Place.Space = region.Variable
			continue
		}
		r.Place.Space = region.Arena
		if r.Place.Bytes > 0 && r.First <= r.Last {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(p.Roots[b].Place.Bytes, p.Roots[a].Place.Bytes)
	})
	var placed []int // by offset
	for _, i := range order {
		r := &p.Roots[i]
		var off int64
		for _, j := range placed {
			q := &p.Roots[j]
			if !p.conflict(q, r) {
				continue
			}
			if off+r.Place.Bytes <= q.Place.Off {
				break
			}
			off = max(off, align(q.Place.Off+q.Place.Bytes))
		}
		r.Place.Off = off
		p.ArenaBytes = max(p.ArenaBytes, align(off+r.Place.Bytes))
		at, _ := slices.BinarySearchFunc(placed, off, func(j int, off int64) int { return cmp.Compare(p.Roots[j].Place.Off, off) })
		placed = slices.Insert(placed, at, i)
	}
}
