package loops

import "fmt"

// rowByRow returns an error unless groups go row by row: the outermost shared loops of each group count n
// rows, and an iteration touches, of each tensor that statements write, only elements of its row. All groups
// may then run on some rows, while other rows run elsewhere.
func (c *compiler[T]) rowByRow(groups []*bundleGroup, n int) error {
	for _, g := range groups {
		outer, rows := 0, 1
		for vars := g.bundles[0].vars; outer < g.depth && rows < n; outer++ {
			rows *= extent(vars[outer])
		}
		for _, b := range g.bundles {
			number, stride := form{}, 1
			for d := outer - 1; d >= 0; d-- {
				number.vars = append(number.vars, multiple{b.vars[d], stride})
				stride *= extent(b.vars[d])
			}
			for _, s := range b.statements {
				name := c.p.Tensors[s.target].Name
				if rows != n || stride != n {
					return fmt.Errorf("the loops of %s do not go over %d rows", name, n)
				}
				for _, t := range c.touches(s) {
					if !c.given[t.memory] {
						continue
					}
					size := 1
					for _, e := range t.access.ext {
						size *= e
					}
					each := max(size/n, 1)
					if at := t.at.plus(number, -each).bounds(); size%n != 0 || !at.Known || at.Lo < 0 || at.Hi >= each {
						return fmt.Errorf("an iteration of the loops of %s touches other rows of %s", name, c.p.Tensors[t.memory].Name)
					}
				}
			}
		}
	}
	return nil
}
