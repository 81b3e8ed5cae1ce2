package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/opgen/opgen/internal/expr"
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

// tiles returns the calls that say how step si of task ti is cut into tiles.
func (e *emitter) tiles(t *model.Tiles, ti, si int, x *exprs) []jen.Code {
	if t == nil {
		return nil
	}
	at := []jen.Code{jen.Lit(ti), jen.Lit(si)}
	size := at
	for _, n := range t.Size {
		size = append(size[:len(size):len(size)], x.code(n, 0))
	}
	calls := []jen.Code{jen.Id("r").Dot("SetTiles").Call(size...)}
	for _, f := range t.Footprints {
		args := []jen.Code{jen.Id("r"), jen.Lit(ti), jen.Lit(si), jen.Id("Slot" + f.Slot.GoName)}
		known := true
		for i, s := range f.Spans {
			run, one, ok := length(f.Slot, i, x)
			if known = known && ok; !known {
				break
			}
			if one {
				run = jen.Lit(1)
			}
			args = append(args, e.part(s, run, x))
		}
		if known {
			calls = append(calls, e.task("SetFootprint").Call(args...))
		}
	}
	return calls
}

// part returns what an index touches of an element of a shape, which stands for as many axes as run says.
func (e *emitter) part(s model.Span, run *jen.Statement, x *exprs) jen.Code {
	or := func(n expr.Node, value int) jen.Code {
		if n == nil {
			return jen.Lit(value)
		}
		return x.code(n, 0)
	}
	switch {
	case s.Dim < 0:
		return e.task("All").Call(run)
	case s.Window != nil:
		return e.task("Window").Call(jen.Lit(s.Dim), or(s.Scale, 1), or(s.Shift, 0), or(s.Size, 1))
	case s.Flat:
		return e.task("Flat").Call(jen.Lit(s.Dim), run)
	}
	return e.task("Moves").Call(jen.Lit(s.Dim))
}
