package loops

import "github.com/opgen/opgen/internal/base/simd"

// parting finds into how many shares a group may be cut. Short loops take about as long in each share as in
// the group. In all shares together, the units with such loops may add 1 / perShort of the time of the group.
type parting[T simd.Float] struct {
	time  int     // of all units, in elements
	short []short // units whose loops become short
}

// short is a unit whose loops are short in more than some shares.
type short struct{ parts, time int }

// add adds a unit that computes a number of elements.
func (p *parting[T]) add(g *loopGroup[T], u unit[T], elements int) {
	time, extent, least := elements, 0, 1
	switch u := u.(type) {
	case *matrices[T]:
		time = max(elements/perProduct, 1)
		if u.rows.lead {
			extent, least = u.rows.factor, partRows
		}
	case *columns[T]:
		if u.strip.lead {
			extent, least = u.strip.factor, partColumns
		}
	}
	p.time += time
	if extent > 0 && g.total > 0 {
		last := g.shared[len(g.shared)-1].extent
		p.short = append(p.short, short{g.total / last * max(last*extent/least, 1), time})
	}
}

// most returns the maximum number of shares, or 0 for any number.
func (p *parting[T]) most() (parts int) {
	for _, x := range p.short {
		if n := max(x.parts, p.time/(perShort*x.time)); parts == 0 || n < parts {
			parts = n
		}
	}
	return parts
}
