package derive

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Elementwise reports whether statements that define result elements are elementwise: of tensors with as
// many elements as the iteration space has indices, they access only the element at their own flat index.
// results and others classify targets: results of the task, and targets that other tasks define. It returns
// false, too, if no statement defines a result.
func Elementwise(p *program.Program, statements []*program.Statement, indices int, results, others func(tensor int) bool) bool {
	given := false
	for _, s := range statements {
		target := p.Tensors[s.Target]
		switch {
		case results(s.Target):
			given = true
		case others(s.Target):
			continue
		}
		counted := Size(target) == indices
		if results(s.Target) && !counted {
			return false
		}
		own := !s.Add
		s.Reads(func(r *term.Read) {
			for k := range r.Count {
				if Size(p.Tensors[r.Tensor+k]) == indices {
					own = own && counted && r.Count == 1 && sameElement(s.Left, r)
				}
			}
		})
		if !own {
			return false
		}
	}
	return given
}

// Spreads reports whether statements that define n elements broadcast every tensor of another size: its
// subscripts are constants, or indices of the left side in their order.
func Spreads(p *program.Program, statements []*program.Statement, n int) bool {
	all := true
	for _, s := range statements {
		s.Reads(func(r *term.Read) {
			if Size(p.Tensors[r.Tensor]) == n {
				return
			}
			next := 0
			for _, x := range r.Idx {
				if _, known := x.Known(); known {
					continue
				}
				at := slices.IndexFunc(s.Left.Idx[next:], func(y *term.Term) bool { return term.Identical(x, y) })
				if all = all && at >= 0; at >= 0 {
					next += at + 1
				}
			}
		})
	}
	return all
}
