package optest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// feed writes numbers to a tensor of any type.
func feed(in *engine.Instance, name string, typ dtype.Type, v []float64) error {
	data := make([]byte, len(v)*typ.Size())
	for i, x := range v {
		typ.PutFloat64(data[i*typ.Size():], x)
	}
	return in.FeedBytes(name, data)
}

// fetch reads a tensor of any type as numbers.
func fetch(in *engine.Instance, t graph.Tensor) ([]float64, error) {
	data, err := in.FetchBytes(t.Name())
	v := make([]float64, len(data)/t.Type().Size())
	for i := range v {
		v[i] = t.Type().Float64(data[i*t.Type().Size():])
	}
	return v, err
}

// sameBits reports every tensor that is not bit for bit the same in got and in want, where all NaNs are the
// same. The text says how got was made, and follows "with" or the like.
func (s sample) sameBits(t *testing.T, how string, got, want values) {
	t.Helper()
	if len(got) != len(want) {
		s.errorf(t, "%s: got %d tensors, want %d", how, len(got), len(want))
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		g, w := got[name], want[name]
		if len(g) != len(w) {
			s.errorf(t, "%s: %s has %d elements, want %d", how, name, len(g), len(w))
			continue
		}
		for i := range w {
			if math.Float64bits(g[i]) != math.Float64bits(w[i]) && !(math.IsNaN(g[i]) && math.IsNaN(w[i])) {
				s.errorf(t, "%s: %s, element %d: got %v, want %v, to the last bit", how, name, i, g[i], w[i])
				break
			}
		}
	}
}

// closeTo reports the first element of got that differs from want by more than a tolerance.
func (s sample) closeTo(t *testing.T, what string, got, want []float64, rel, abs float64) {
	t.Helper()
	factor := s.tolerance()
	if d := difference(got, want, rel*factor, abs*factor); d != "" {
		s.errorf(t, "%s%s", what, d)
	}
}

// tolerance returns the factor of the option Tolerance.
func (s sample) tolerance() float64 {
	if f, ok := s.kit.config.tolerances[s.title()]; ok {
		return f
	}
	return 1
}

// difference returns the first element of got that differs from want by more than a tolerance, or "" if there
// is none. The tolerance is rel times the largest magnitude in want, plus abs.
func difference(got, want []float64, rel, abs float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf(": got %d elements, want %d", len(got), len(want))
	}
	tol := 0.0
	for _, w := range want {
		if !math.IsInf(w, 0) && !math.IsNaN(w) { // an extreme, or a mean, of nothing
			tol = max(tol, rel*math.Abs(w))
		}
	}
	tol += abs
	for i := range want {
		if !same(got[i], want[i]) && !(math.Abs(got[i]-want[i]) <= tol) { // true for NaN too
			return fmt.Sprintf(", element %d: got %.12g, want %.12g within %.3g", i, got[i], want[i], tol)
		}
	}
	return ""
}

// differingElement returns the first element in which the bytes of a tensor differ, or "" if there is none.
// All NaNs are the same.
func differingElement(b task.Buffer, got, want []byte) string {
	size := b.Type.Size()
	for i := 0; i+size <= len(want); i += size {
		if slices.Equal(got[i:i+size], want[i:i+size]) {
			continue
		}
		if g, w := b.Type.Float64(got[i:]), b.Type.Float64(want[i:]); !math.IsNaN(g) || !math.IsNaN(w) {
			return fmt.Sprintf("element %d: got %v, want %v", i/size, g, w)
		}
	}
	return ""
}
