package formula

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/shape"
)

// narrow is the maximum number of shares of a group of loops. In more shares its loops would be so short that
// a share takes almost as long as the group.
type narrow struct {
	total int // iterations of the group
	parts int
}

// Minimum extents of loops of a share.
const (
	leastColumns = 256  // neighboring results of a reduction that reads neighboring elements for them, and distant ones for each
	leastRows    = 16   // rows of a matrix product, each of which reads the whole other factor
	leastAtOnce  = 1024 // elements that a recurrence computes at one value of its index
)

// narrowed returns the groups into which statements may be compiled, as far as they have a maximum number of
// shares.
func narrowed(statements []*program.Statement) (out []narrow) {
	for _, s := range statements {
		extents := make([]int, len(s.Vars))
		for i, v := range s.Vars {
			n, known := v.Hi.Known()
			if !known || !v.Lo.Is(0) || n < 1 {
				extents = nil
				break
			}
			extents[i] = n
		}
		if len(extents) == 0 {
			continue
		}
		if s.Over != nil {
			if i := slices.Index(s.Vars, s.Over); i >= 0 && len(extents) > 1 {
				rest := slices.Delete(extents, i, i+1)
				out = append(out, narrow{rest[0], max(shape.Prod(rest)/leastAtOnce, 1)})
			}
			continue
		}
		last := len(extents) - 1
		s.Value.Walk(func(t *term.Term) {
			if t.Op != term.Reduce || t.Reduction.Body == nil {
				return
			}
			if beside(t.Reduction, s.Vars[last]) {
				out = append(out, narrow{shape.Prod(extents), shape.Prod(extents[:last]) * max(extents[last]/leastColumns, 1)})
			}
			if last > 0 && againFor(t.Reduction, s.Vars[last-1], s.Vars[last]) {
				out = append(out, narrow{shape.Prod(extents[:last]), shape.Prod(extents[:last-1]) * max(extents[last-1]/leastRows, 1)})
			}
		})
	}
	return out
}

// beside reports whether a reduction reads neighboring elements for neighboring values of index v, and
// distant elements for neighboring values of its own indices.
func beside(r *term.Reduction, v *term.Variable) bool {
	found := false
	r.Body.Walk(func(t *term.Term) {
		if t.Op == term.Element && len(t.Read.Idx) > 0 {
			last := t.Read.Idx[len(t.Read.Idx)-1]
			found = found || last.Uses(v) && !slices.ContainsFunc(r.Vars, last.Uses)
		}
	})
	return found
}

// againFor reports whether a reduction reads the same elements for all values of row, but not of column, as
// each row of a matrix product reads all elements of the other factor.
func againFor(r *term.Reduction, row, column *term.Variable) bool {
	found := false
	r.Body.Walk(func(t *term.Term) {
		found = found || t.Op == term.Element && !t.Uses(row) && t.Uses(column) && slices.ContainsFunc(r.Vars, t.Uses)
	})
	return found
}

// mostParts returns the maximum number of shares of a group with total iterations. 0 stands for any number.
func mostParts(total int, all []narrow) (parts int) {
	for _, x := range all {
		if x.total == total && (parts == 0 || x.parts < parts) {
			parts = x.parts
		}
	}
	return parts
}
