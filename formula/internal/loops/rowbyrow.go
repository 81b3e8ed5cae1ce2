package loops

import (
	"fmt"

	"github.com/opgen/opgen/formula/internal/rewrite"
)

// rowByRow returns an error unless groups can run row by row: the outermost shared loops of each group
// enumerate n rows, and an iteration accesses, of tensors that statements write, only elements of its row.
// All groups may then run for some rows, while other rows run elsewhere.
//
// Groups of temporaries may also run before all rows, if they read nothing that other groups write. before
// says which groups do. given is the number of tensors of the program: those with greater numbers are new
// temporaries.
func (c *compiler[T]) rowByRow(groups []*bundleGroup, n, given int) (before []bool, err error) {
	before, early := make([]bool, len(groups)), map[int]bool{}
	for i, g := range groups {
		if before[i] = c.early(g, given); before[i] {
			for _, b := range g.bundles {
				for _, s := range b.statements {
					early[s.Target] = true
				}
			}
		}
	}
	for i, g := range groups {
		outer, rows := 0, 1
		for vars := g.bundles[0].vars; outer < g.depth && rows < n; outer++ {
			rows *= rewrite.Extent(vars[outer])
		}
		for _, b := range g.bundles {
			number, stride := rewrite.Form{}, 1
			for d := outer - 1; d >= 0; d-- {
				number.Vars = append(number.Vars, rewrite.Multiple{Of: b.vars[d], Factor: stride})
				stride *= rewrite.Extent(b.vars[d])
			}
			for _, s := range b.statements {
				name := c.p.Tensors[s.Target].Name
				if !before[i] && (rows != n || stride != n) {
					return nil, fmt.Errorf("the loops of %s do not go over %d rows", name, n)
				}
				for _, t := range c.touches(s) {
					if !c.given[t.memory] || early[t.memory] && (before[i] || !t.writes) {
						continue
					}
					if before[i] || early[t.memory] || !t.inRow(number, n) {
						return nil, fmt.Errorf("an iteration of the loops of %s touches other rows of %s", name, c.p.Tensors[t.memory].Name)
					}
				}
			}
		}
	}
	return before, nil
}

// inRow reports whether an access is to elements of one row, of n, whose number is an affine form. Loops
// check the bounds of subscripts that are not proved, so a read whose first subscripts are the row's indices
// stays in the row.
func (t *touch) inRow(number rewrite.Form, n int) bool {
	size := 1
	for _, e := range t.access.Ext {
		size *= e
	}
	each := max(size/n, 1)
	if at := t.at.Plus(number, -each).Bounds(); size%n == 0 && at.Known && at.Lo >= 0 && at.Hi < each {
		return true
	}
	row, rows := rewrite.Form{}, 1
	for d, e := range t.access.Ext {
		if rows == n || len(t.access.Idx) != len(t.access.Ext) {
			break
		}
		row, rows = rewrite.Form{}.Plus(row, e).Plus(t.access.Idx[d], 1), rows*e
	}
	return !t.writes && rows == n && len(row.Rest) == 0 && row.SameValue(number)
}

// early reports whether a group may run before all rows: it defines only temporaries that the options list,
// and new temporaries of one element, which depend on no index of rows.
func (c *compiler[T]) early(g *bundleGroup, given int) bool {
	for _, b := range g.bundles {
		for _, s := range b.statements {
			t := &c.tensors[s.Target]
			if !t.Local || t.Planned || t.Memory != s.Target || s.Target < given && !c.options.Before[s.Target] ||
				s.Target >= given && rewrite.Elements(c.p.Tensors[s.Target]) > 1 {
				return false
			}
		}
	}
	return true
}

// inTiles returns an error if an iteration covers several of n rows, or if groups that run before all rows,
// which each tile repeats, do much of the work.
func (c *code[T]) inTiles(n int) error {
	first, all := 0, 0
	for i, g := range c.groups {
		if all += g.work; c.before[i] {
			first += g.work
		} else if g.total%n != 0 {
			return fmt.Errorf("loops go over several of %d rows at once", n)
		}
	}
	if first > fewBefore && first*(1+leastRows) > all {
		return fmt.Errorf("%d of %d operations come before all rows", first, all)
	}
	return nil
}
