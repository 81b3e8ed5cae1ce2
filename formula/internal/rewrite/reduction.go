package rewrite

import (
	"math"
	"slices"

	algebra "github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// Reaches reports whether the range of a reduced index depends on index v.
func Reaches(r *term.Reduction, v *term.Variable) bool {
	return slices.ContainsFunc(r.Vars, func(w *term.Variable) bool { return w.Lo.Uses(v) || w.Hi.Uses(v) })
}

// Fits reports whether all partial results of an integer reduction are exact in type t.
func Fits(r *term.Reduction, t dtype.Type) bool {
	if r.Kind != reduction.Sum && r.Kind != reduction.Count {
		return r.Kind.Is(reduction.Extreme)
	}
	most := Exact32
	if t == dtype.F64 {
		most = int(min(int64(exact64), math.MaxInt)) // int may have 32 bits
	}
	all := algebra.Interval{Lo: 1, Hi: 1, Known: true}
	if r.Kind == reduction.Sum {
		all = Linear(r.Body).Bounds()
	}
	for _, v := range r.Vars {
		var of ranges
		i := of.variable(v)
		all = all.Either(algebra.Interval{Known: i.Known}).Times(max(i.Hi-i.Lo+1, 0)) // of no elements, it is 0
	}
	return all.Known && all.Lo >= -most && all.Hi <= most
}
