package derive

import (
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Sharing says whether a result may reuse the memory of an operand, and under which conditions.
type Sharing uint8

// Each allows reuse under fewer conditions than the one before.
const (
	// Apart: no reuse, since a statement reads an element after its memory was overwritten.
	Apart Sharing = iota
	// Reordered: reuse if statements that do not depend on the result run before those that define it.
	Reordered
	// Behind: reuse in program order, if temporaries of at least the result's size are complete before the
	// result is written: their loops may not be fused with it.
	Behind
	// InOrder: reuse in program order.
	InOrder
	// SameElements: reuse, and the result has the operand's elements in the same order, so that no copy is
	// needed.
	SameElements
)

// InPlace returns how a result, tensor out, may reuse the memory of an operand of the same size, tensor in.
// No statement may read an element of the operand after the result's element at the same flat index was
// written. The statement that defines the result's element, and earlier ones, may read it.
func InPlace(p *program.Program, statements []*program.Statement, out, in int) Sharing {
	best, given := SameElements, false
	later := map[int]bool{out: true} // tensors that depend on out
	from := map[int]bool{}           // temporaries that are elementwise in the operand
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

// copies reports whether n is an unmodified element. A bounds check that always holds in this use is
// ignored.
func copies(n *term.Term) bool {
	if n.Op == term.Choose {
		c := n.Args[0]
		return c.Op == term.Less && below(c.Args[0], c.Args[1]) && copies(n.Args[1])
	}
	return n.Op == term.Element && n.Read.Else == nil
}

// below reports whether x < n for all values of the indices in x. It evaluates x at the last value of each
// index, so x must be monotonic in its indices.
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
