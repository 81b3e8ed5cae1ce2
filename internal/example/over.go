package example

import (
	"maps"
	"slices"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// ranges returns the possible sizes of a task's iteration space in this use: products of extents of
// left-side indices or of a parameter's dimensions, and for a variadic slot the total number of elements and
// the number of tensors.
func (v *view) ranges(t *model.Task) map[int]bool {
	out := derive.Ranges(v.statements(t.Kind))
	maps.Copy(out, derive.Ranges(v.program.Statements)) // backward recomputes what is not saved
	for _, p := range t.Params {
		list := v.use.tensors[p.Slot.Number]
		total := 0
		for _, x := range list {
			total += shape.Prod(x.Shape)
			for _, n := range derive.Products(x.Shape) {
				out[n] = true
			}
		}
		out[total], out[len(list)] = true, true
	}
	return out
}

// shares reports whether tiles say which elements of a result indices of a dimension compute, so that
// checkShares compares the extent.
func shares(tiles *model.Tiles, dim int) bool {
	return tiles != nil && slices.ContainsFunc(tiles.Footprints, func(f model.Footprint) bool {
		return f.Slot.Role == task.RoleOutput && slices.ContainsFunc(f.Spans, func(s model.Span) bool { return s.Dim == dim && s.Window != nil })
	})
}

// checkOver checks the iteration spaces that the spec states for tasks and steps against the left sides of
// their statements.
func (t *trial) checkOver(v *view) {
	for i, m := range v.op.Tasks {
		if len(v.statements(m.Kind)) == 0 {
			continue
		}
		ranges := v.ranges(m)
		check := func(s *model.Step, stated []spec.Str) {
			for d, x := range stated {
				node := s.OverX
				if d > 0 {
					node = s.InnerX[d-1]
				}
				if n := v.integer(node); x.Set() && n > 0 && !ranges[n] && !shares(s.Tiles, d) {
					t.contradict(x.Span(), "%s of %s runs over %s = %d indices according to the spec, but no left side of its statements has so many",
						v, taskName(m, s), v.op.Name, x.V, n)
				}
			}
		}
		from := t.spec.Tasks[i]
		steps, _ := v.running(m)
		for _, s := range steps {
			stated := append([]spec.Str{from.Over}, from.Inner...)
			for _, x := range from.Steps {
				if x.Name == s.Name {
					stated = append([]spec.Str{x.Over}, x.Inner...)
				}
			}
			check(s, stated)
		}
	}
}
