package loops

import (
	"cmp"
	"slices"
)

// wide is over how many values the outermost loops of a group go at least so that any number of workers has
// parts of it.
const wide = 64

// union is two groups that can become one.
type union struct {
	at, next int  // their numbers
	up       bool // whether the second moves to the first
	depth    int  // how many indices all share then
	width    int  // over how many values these go
}

// fit joins groups until there are as few as steps, since the groups of a step run one after the other: each
// of them needs all of the ones before. Groups are joined if that saves a way to memory, and if they keep
// their parts.
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

// better reports whether it is better to join the groups of u than those of v: those that have more parts, or
// that are nearer to each other.
func better(u, v *union) bool {
	return cmp.Or(cmp.Compare(min(u.width, wide), min(v.width, wide)), v.next-v.at-(u.next-u.at), u.at-v.at) > 0
}

// union returns how groups i and j, which comes later, can become one: nil if they cannot.
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

// goesWith reports whether all statements of a group may share indices with another one, and whether that
// saves a way to memory.
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

// width returns over how many values the first indices of a group go.
func width(g *bundleGroup, depth int) int { return box(g.bundles[0].vars[:depth]) }

// depends reports whether a group has to run before a later one.
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
