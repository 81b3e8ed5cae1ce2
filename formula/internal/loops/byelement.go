package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
)

// byElement reports whether a group is elementwise. Each of its n iterations accesses, of tensors with n
// elements, only the element with the number of the iteration. It writes no tensor of another size. Ranges of
// the group may then interleave with ranges of other elementwise groups. The answer depends on accesses only,
// not on how statements were fused.
func (c *compiler[T]) byElement(g *bundleGroup) bool {
	n := rewrite.Box(g.bundles[0].vars[:g.depth])
	for _, b := range g.bundles {
		if rewrite.Box(b.vars) != n || rewrite.Box(b.vars[:g.depth]) != n {
			return false
		}
		number, stride := rewrite.Form{}, 1
		for d := len(b.vars) - 1; d >= 0; d-- {
			if stride < n { // otherwise the index has one value
				number.Vars = append(number.Vars, rewrite.Multiple{Of: b.vars[d], Factor: stride})
			}
			stride *= rewrite.Extent(b.vars[d])
		}
		for _, s := range b.statements {
			for _, t := range c.touches(s) {
				size := 1
				for _, e := range t.access.Ext {
					size *= e
				}
				if size == n && !(t.simple && t.at.SameValue(number)) || size != n && t.writes {
					return false
				}
			}
		}
	}
	return true
}
