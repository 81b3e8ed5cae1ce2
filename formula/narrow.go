package formula

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/shape"
)

// narrow says into how many shares a group of loops is cut at most: with more, the loops would be short, and
// each share would take almost as long as the group.
type narrow struct {
	total int // iterations of the group
	parts int
}

// Loops are not short from these numbers on.
const (
	leastColumns = 256  // results that lie side by side, of a reduction over what lies further apart
	leastRows    = 16   // rows of a product, each of which reads the whole other factor
	leastAtOnce  = 1024 // elements that a recurrence computes for one value of its index
)

// narrowed lists the groups of loops that may become of statements and that many shares make slow.
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

// beside reports whether a reduction reads, for neighboring values of an index, elements that lie side by
// side, and for neighboring values of its own indices elements that do not.
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

// againFor reports whether a reduction reads the same elements for all values of one index, and others for
// each value of another one, as a product of matrices does for each of its rows.
func againFor(r *term.Reduction, row, column *term.Variable) bool {
	found := false
	r.Body.Walk(func(t *term.Term) {
		found = found || t.Op == term.Element && !t.Uses(row) && t.Uses(column) && slices.ContainsFunc(r.Vars, t.Uses)
	})
	return found
}

// mostParts returns into how many shares a group with a number of iterations is cut at most; 0 for any
// number.
func mostParts(total int, all []narrow) (parts int) {
	for _, x := range all {
		if x.total == total && (parts == 0 || x.parts < parts) {
			parts = x.parts
		}
	}
	return parts
}
