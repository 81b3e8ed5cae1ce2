package loops

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
)

// union describes how two groups would be fused.
type union struct {
	at, next int  // the indices of the groups
	up       bool // whether the second group moves up to the first; otherwise the first moves down
	depth    int  // the number of shared loops after fusion
	width    int  // the number of iterations of the shared loops
}

// fit fuses groups until there are at most steps groups, since groups of one step run one after the other.
// Fusion must save a pass over memory, and leave enough iterations of shared loops for workers.
func (c *compiler[T]) fit(groups []*bundleGroup, steps int) []*bundleGroup {
	for steps > 0 && len(groups) > steps {
		var best *union
		for i := range groups {
			for j := i + 1; j < len(groups); j++ {
				if u := c.union(groups, i, j); u != nil && (best == nil || better(u, best)) {
					best = u
				}
			}
		}
		if best == nil {
			break
		}
		a, b := groups[best.at], groups[best.next]
		both := &bundleGroup{slices.Concat(a.bundles, b.bundles), best.depth}
		from, to := best.at, best.next // where the group is dropped, and where both are
		if best.up {
			from, to = to, from
		}
		groups[to] = both
		groups = slices.Delete(groups, from, from+1)
	}
	return groups
}

// better reports whether fusion u is preferable to v: it has more parallel iterations, or else its groups are
// nearer to each other.
func better(u, v *union) bool {
	return cmp.Or(cmp.Compare(min(u.width, wide), min(v.width, wide)), v.next-v.at-(u.next-u.at), u.at-v.at) > 0
}

// union returns how groups i < j would be fused. It returns nil if that is illegal or does not pay.
func (c *compiler[T]) union(groups []*bundleGroup, i, j int) *union {
	g, next := groups[i], groups[j]
	u := &union{at: i, next: j, up: true}
	for _, between := range groups[i+1 : j] {
		u.up = u.up && !c.depends(between, next)
	}
	if !u.up {
		for _, between := range groups[i+1 : j] {
			if c.depends(g, between) {
				return nil
			}
		}
	}
	for u.depth = min(g.depth, next.depth); u.depth > 0; u.depth-- {
		u.width = width(g, u.depth)
		if u.width < min(width(g, g.depth), width(next, next.depth), wide) {
			return nil
		}
		if c.goesWith(g, next, u.depth) {
			return u
		}
	}
	return nil
}

// goesWith reports whether two groups may share depth loops, and whether this saves a pass over memory.
func (c *compiler[T]) goesWith(g, next *bundleGroup, depth int) bool {
	matches, profits := true, false
	for _, b := range next.bundles {
		for _, s := range b.statements {
			matches = matches && c.matches(g, s, depth)
			profits = profits || matches && c.profits(g, s, depth)
		}
	}
	return matches && profits
}

// width returns the number of iterations of a group's outermost depth loops.
func width(g *bundleGroup, depth int) int { return rewrite.Box(g.bundles[0].vars[:depth]) }

// depends reports whether a later group must run after g.
func (c *compiler[T]) depends(g, later *bundleGroup) bool {
	for _, b := range g.bundles {
		for _, l := range later.bundles {
			for _, s := range l.statements {
				if c.conflicts(b, s) {
					return true
				}
			}
		}
	}
	return false
}
