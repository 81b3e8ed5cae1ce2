package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/task"
)

// shards emits where the tensors of slots have the dimensions that may be divided.
func (e *emitter) shards(g *jen.Group, x *exprs) {
	if len(e.op.Shards) > 0 {
		g.Line()
	}
	for k, s := range e.op.Shards {
		var calls []jen.Code
		for _, slot := range e.op.Slots {
			at := slices.Index(slot.DimNames, s.Dim)
			if at < 0 || slot.Role == task.RoleScratch {
				continue
			}
			if lo, hi, known := axes(slot, at, x); known {
				calls = append(calls, e.task("MayShard").Call(jen.Id("r"), jen.Lit(k), jen.Id("Slot"+slot.GoName), lo, hi))
			}
		}
		if len(calls) > 0 {
			g.Comment(line("Dividing " + s.Dim + " " + s.Words() + "."))
		}
		if s.WhenX != nil {
			g.If(x.code(s.WhenX, 0)).Block(calls...)
			continue
		}
		for _, c := range calls {
			g.Add(c)
		}
	}
}

// axes returns, as Go, which axes element number at of a slot's shape stands for: lo to hi-1. They are
// not known behind a run of which the spec says nothing.
func axes(s *model.Slot, at int, x *exprs) (lo, hi *jen.Statement, known bool) {
	single := 0
	var runs []*jen.Statement
	for i := 0; i <= at; i++ {
		if i == at {
			lo = total(single, runs)
		}
		run, one, ok := length(s, i, x)
		switch {
		case !ok:
			return nil, nil, false
		case one:
			single++
		default:
			runs = append(runs, run)
		}
	}
	return lo, total(single, runs), true
}

// length returns how many dimensions an element of a slot's shape stands for: one, or a run.
func length(s *model.Slot, i int, x *exprs) (run *jen.Statement, one, ok bool) {
	if s.Pattern == nil {
		d := s.Dims[i]
		if d.Rest {
			return jen.Len(x.code(d.Node, 0)), false, true
		}
		return nil, true, true
	}
	switch el := s.Pattern.Elems[i]; el.Kind {
	case scope.BindRest:
		return jen.Len(jen.Id("d").Dot(el.Name)), false, true
	case scope.MatchAll:
		return jen.Len(x.code(el.Node, 0)), false, true
	case scope.AnyRest, scope.BindEachRest:
		return nil, false, false
	}
	return nil, true, true
}

// total returns a number of single dimensions plus the lengths of runs, as Go.
func total(single int, runs []*jen.Statement) *jen.Statement {
	if len(runs) == 0 {
		return jen.Lit(single)
	}
	sum := runs[0].Clone()
	for _, r := range runs[1:] {
		sum = sum.Op("+").Add(r.Clone())
	}
	if single > 0 {
		sum = sum.Op("+").Lit(single)
	}
	return sum
}
