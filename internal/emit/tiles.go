package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/model"
)

// tileNodes returns the expressions of the tiles, some of which are nil.
func tileNodes(t *model.Tiles) []expr.Node {
	if t == nil {
		return nil
	}
	all := slices.Clone(t.Size)
	for _, f := range t.Footprints {
		for _, s := range f.Spans {
			all = append(all, s.Scale, s.Shift, s.Size)
		}
	}
	return all
}

// tiles returns the calls that give the tiles and footprints of a step, each on a line.
func tiles(x *exprs, t *model.Task, s *model.Step) string {
	if s.Tiles == nil {
		return ""
	}
	step := fmt.Sprintf("%sTask, %q", t.GoName, s.Name)
	calls := fmt.Sprintf("\nr.Tiles(%s, %s)", step, strings.Join(x.codes(s.Tiles.Size), ", "))
	for _, f := range s.Tiles.Footprints {
		args := []string{step, "Slot" + f.Slot.GoName}
		known := true
		for i, span := range f.Spans {
			run, ok := length(f.Slot, i, x)
			if known = known && ok; !known {
				break
			}
			if run == "" {
				run = "1"
			}
			args = append(args, touched(x, span, run))
		}
		if known {
			calls += "\nr.Footprint(" + strings.Join(args, ", ") + ")"
		}
	}
	return calls
}

// touched returns, as Go, which part of an element of a shape an index touches. run is the number of the
// element's axes.
func touched(x *exprs, s model.Span, run string) string {
	or := func(n expr.Node, value string) string {
		if n == nil {
			return value
		}
		return x.code(n, 0)
	}
	switch {
	case s.Dim < 0:
		return "opimpl.All(" + run + ")"
	case s.Window != nil:
		return fmt.Sprintf("opimpl.Window(%d, %s, %s, %s)", s.Dim, or(s.Scale, "1"), or(s.Shift, "0"), or(s.Size, "1"))
	case s.Flat:
		return fmt.Sprintf("opimpl.Flat(%d, %s)", s.Dim, run)
	}
	return fmt.Sprintf("opimpl.Moves(%d)", s.Dim)
}
