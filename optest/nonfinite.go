package optest

import (
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/graph"
)

// A right result may be infinite or NaN: the maximum of nothing, the logarithm of 0, a mean of nothing. A
// formula says so, and so does the option Reference. Of an operator without both, a result that is not finite
// is more likely a mistake.

// nonfinite reports whether a number is infinite or NaN.
func nonfinite(x float64) bool { return math.IsInf(x, 0) || math.IsNaN(x) }

// same reports whether two numbers are equal, or both NaN.
func same(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }

// told reports whether a formula or a reference says what the operator computes.
func (s sample) told() bool {
	return len(s.op.Formula) > 0 || s.kit.config.references[s.title()] != nil
}

// unbounded counts the results that are infinite or NaN.
func (f *fixture) unbounded(v values) int {
	n := 0
	for _, r := range f.results {
		for _, x := range v[r.Name()] {
			if nonfinite(x) {
				n++
			}
		}
	}
	return n
}

// expected returns what the formula gives for a program or, if there is none, what the reference gives, which
// knows no gradients. It is nil if neither tells.
func (f *fixture) expected(t *testing.T, p *graph.Program, fed values) values {
	t.Helper()
	if len(f.op.Formula) > 0 {
		return f.by(t, f.kit.reference(t), p, fed)
	}
	if reference := f.kit.config.references[f.title()]; reference != nil {
		v, _ := f.referenceValues(reference)
		return v
	}
	return nil
}

// checkFinite checks that what a program fetches is finite, unless the formula or the reference gives the
// same.
func (f *fixture) checkFinite(t *testing.T, p *graph.Program, got values) {
	t.Helper()
	var told values
	for _, x := range p.Fetched {
		for i, v := range got[x.Name()] {
			if !nonfinite(v) {
				continue
			}
			if told == nil {
				told = f.expected(t, p, f.values)
			}
			if w := told[x.Name()]; i >= len(w) {
				f.errorf(t, "%v, element %d: got %v, want a finite value, since neither a formula nor a reference gives another", x, i, v)
				break
			} else if !same(v, w[i]) {
				f.errorf(t, "%v, element %d: got %v, want %v", x, i, v, w[i])
				break
			}
		}
	}
}
