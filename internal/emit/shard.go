package emit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/task"
)

// shards emits which axes of tensors are the dimensions that may be divided.
func (e *emitter) shards(x *exprs) {
	if len(e.op.Shards) > 0 {
		e.p("")
	}
	for _, s := range e.op.Shards {
		e.comment("Dividing %s %s.", s.Dim, s.Words())
		if s.WhenX != nil {
			e.p("if %s {", x.code(s.WhenX, 0))
		}
		for _, slot := range e.op.Slots {
			at := slices.Index(slot.DimNames, s.Dim)
			if at < 0 || slot.Role == task.RoleScratch {
				continue
			}
			if lo, hi, known := axes(slot, at, x); known {
				e.p("r.Divide(%q, Slot%s, %s, %s)", s.Dim, slot.GoName, lo, hi)
			}
		}
		if s.WhenX != nil {
			e.p("}")
		}
	}
}

// axes returns, as Go, the axes that element number at of a slot's shape stands for: lo to hi-1. They are not
// known after a run whose length is not known.
func axes(s *model.Slot, at int, x *exprs) (lo, hi string, known bool) {
	single := 0
	var runs []string
	for i := 0; i <= at; i++ {
		if i == at {
			lo = total(single, runs)
		}
		run, ok := length(s, i, x)
		switch {
		case !ok:
			return "", "", false
		case run == "":
			single++
		default:
			runs = append(runs, run)
		}
	}
	return lo, total(single, runs), true
}

// length returns, as Go, the number of dimensions of a run in a slot's shape, or "" for an element that is
// one dimension. ok is false if the number is not known.
func length(s *model.Slot, i int, x *exprs) (run string, ok bool) {
	if s.Pattern == nil {
		if d := s.Dims[i]; d.Rest {
			return "len(" + x.code(d.Node, 0) + ")", true
		}
		return "", true
	}
	switch el := s.Pattern.Elems[i]; el.Kind {
	case scope.BindRest:
		return "len(d." + el.Name + ")", true
	case scope.MatchAll:
		return "len(" + x.code(el.Node, 0) + ")", true
	case scope.AnyRest, scope.BindEachRest:
		return "", false
	}
	return "", true
}

// total returns, as Go, a number of single dimensions plus the lengths of runs.
func total(single int, runs []string) string {
	if single > 0 || len(runs) == 0 {
		runs = append(slices.Clip(runs), strconv.Itoa(single))
	}
	return strings.Join(runs, "+")
}
