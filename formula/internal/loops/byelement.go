package loops

// byElement reports whether a group is elementwise. Each of its n iterations accesses, of tensors with n
// elements, only the element with the number of the iteration. It writes no tensor of another size. Ranges of
// the group may then interleave with ranges of other elementwise groups. The answer depends on accesses only,
// not on how statements were fused.
func (c *compiler[T]) byElement(g *bundleGroup) bool {
	n := box(g.bundles[0].vars[:g.depth])
	for _, b := range g.bundles {
		if box(b.vars) != n || box(b.vars[:g.depth]) != n {
			return false
		}
		number, stride := form{}, 1
		for d := len(b.vars) - 1; d >= 0; d-- {
			if stride < n { // otherwise the index has one value
				number.vars = append(number.vars, multiple{b.vars[d], stride})
			}
			stride *= extent(b.vars[d])
		}
		for _, s := range b.statements {
			for _, t := range c.touches(s) {
				size := 1
				for _, e := range t.access.ext {
					size *= e
				}
				if size == n && !(t.simple && t.at.sameValue(number)) || size != n && t.writes {
					return false
				}
			}
		}
	}
	return true
}

// sameValue reports whether two forms are equal for all values of their variables.
func (f form) sameValue(g form) bool {
	d := f.plus(g, -1).bounds()
	return d.Known && d.Lo == 0 && d.Hi == 0
}
