package optest

import (
	"testing"

	"github.com/opgen/opgen/runtime/shape"
)

// LargeExtents multiplies all extents of the examples by 3, and then by 2 until an input would exceed a
// number of elements. It compares results and gradients with those of formulas or references. Kernels may
// take other paths than for the few elements of examples. Shapes that an operator refuses are skipped. It
// returns how many shapes it tested, by operator.
func (k *Kit) LargeExtents(t *testing.T, most int) map[string]int {
	t.Helper()
	tested := map[string]int{}
	k.forEachSample(t, "LargeExtents", func(t *testing.T, s sample) {
		if len(s.op.Formula) == 0 && k.config.references[s.title()] == nil {
			return
		}
		for shapes := times(s.shapes, 3); fits(shapes, most); shapes = times(shapes, 2) {
			if fits(times(shapes, 2), most) {
				continue // larger ones are tested
			}
			f, err := newFixture(s.with(shapes), domains[len(domains)-1])
			if err != nil || f.impossible() {
				continue
			}
			tested[s.title()]++
			f.large = true
			checkFormula(t, f, f.run(t, f.everything(t), f.values, Execution{}))
		}
	})
	return tested
}

// times returns shapes with extents that are n times as large.
func times(shapes map[string][]int, n int) map[string][]int {
	out := map[string][]int{}
	for name, s := range shapes {
		for _, m := range s {
			out[name] = append(out[name], n*m)
		}
	}
	return out
}

// fits reports whether each shape has at most a number of elements. There must be a shape with a dimension,
// so that multiplying it comes to an end.
func fits(shapes map[string][]int, most int) bool {
	grows := false
	for _, s := range shapes {
		n := shape.Prod(s)
		if n > most {
			return false
		}
		grows = grows || len(s) > 0 && n > 0
	}
	return grows
}
