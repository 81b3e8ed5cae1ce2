package derive

import (
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Sharing says whether a result may lie in the memory of what it is computed from.
type Sharing uint8

// The ways in which a result may share memory. Each allows more than the one before.
const (
	// Apart: an element is read after another value took its place.
	Apart Sharing = iota
	// Reordered: it may, if statements that do not depend on the result run before those that give it.
	Reordered
	// Behind: it may, with the statements in their order, if a tensor that is not smaller is complete before.
	Behind
	// InOrder: it may, with the statements in their order.
	InOrder
	// SameElements: it may, and has the same elements in the same order.
	SameElements
)

// InPlace says whether the elements that statements give to tensor out may lie where those of tensor in lie.
// The tensors have the same size. An element may be read by the statement that gives the one in its place,
// and by statements before that.
func InPlace(p *program.Program, statements []*program.Statement, out, in int) Sharing {
	best, given := SameElements, false
	later := map[int]bool{out: true} // tensors that depend on out
	from := map[int]bool{}           // tensors of which each element depends on the one of in at its place
	for _, s := range statements {
		depends, taken, own, near := false, false, true, true
		s.Reads(func(r *term.Read) {
			for t := range later {
				depends = depends || takes(r, t)
			}
			if takes(r, in) {
				taken = true
				own = own && r.Count == 1 && sameElement(s.Left, r)
			}
			near = near && (!from[r.Tensor] || r.Count == 1 && sameElement(s.Left, r))
		})
		if s.Target == out {
			given = true
			switch {
			case s.Add || depends || !own:
				return Apart
			case !near:
				best = min(best, Behind)
			case !taken || !copies(s.Value):
				best = min(best, InOrder)
			}
			continue
		}
		if depends {
			later[s.Target] = true
		}
		size := Size(p.Tensors[s.Target])
		switch {
		case taken && depends:
			return Apart
		case taken && given:
			best = min(best, Reordered)
		case size < Size(p.Tensors[out]):
		case taken && own && near && size == Size(p.Tensors[out]):
			from[s.Target] = true
		case taken || !near:
			best = min(best, Behind)
		}
	}
	if !given {
		return Apart
	}
	return best
}

// copies reports whether a value is an element as it is, under no condition but those that always hold in
// this use.
func copies(n *term.Term) bool {
	if n.Op == term.Choose {
		c := n.Args[0]
		return c.Op == term.Less && below(c.Args[0], c.Args[1]) && copies(n.Args[1])
	}
	return n.Op == term.Element && n.Read.Else == nil
}

// below reports whether x is less than n for all values of the indices in x, which grows with each of them.
func below(x, n *term.Term) bool {
	if !term.NonNegative(x) {
		return false
	}
	last := map[*term.Variable]*term.Term{}
	for _, v := range x.Free() {
		last[v] = term.Difference(v.Hi, term.Number(1))
	}
	most, known := x.Substitute(last).Known()
	limit, both := n.Known()
	return known && both && most < limit
}
