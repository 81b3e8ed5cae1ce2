package loops

// byElement reports whether the statements of a group go over n values, and touch for each of them the
// element of that number only: of every tensor that has n elements they use this one, and of all others they
// only read. A part of the group then touches the elements of its values only, so the group may run range by
// range with others that do the same. That is judged by what the statements touch, however they were grouped.
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

// sameValue reports whether two forms have the same value for all values of their variables, of which some
// may have one value only.
func (f form) sameValue(g form) bool {
	d := f.plus(g, -1).bounds()
	return d.known && d.lo == 0 && d.hi == 0
}
