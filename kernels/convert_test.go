package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
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

// sameBits reports every tensor that is not bit for bit the same in got and in want.
func sameBits(t *testing.T, what string, got, want values) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d tensors, want %d", what, len(got), len(want))
	}
	for name, w := range want {
		g := got[name]
		if len(g) != len(w) {
			t.Errorf("%s: %s has %d elements, want %d", what, name, len(g), len(w))
			continue
		}
		for i := range w {
			if math.Float64bits(g[i]) != math.Float64bits(w[i]) {
				t.Errorf("%s: %s, element %d: got %v, want %v", what, name, i, g[i], w[i])
				break
			}
		}
	}
}

// closeTo reports the first element of got that differs from want by more than a tolerance.
func closeTo(t *testing.T, what string, got, want []float64, rel, abs float64) {
	t.Helper()
	if d := difference(got, want, rel, abs); d != "" {
		t.Errorf("%s%s", what, d)
	}
}

// difference returns the first element of got that differs from want by more than a tolerance, or "" if there is none.
// The tolerance is rel times the largest magnitude in want, plus abs.
func difference(got, want []float64, rel, abs float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf(": got %d elements, want %d", len(got), len(want))
	}
	tol := 0.0
	for _, w := range want {
		if !math.IsInf(w, 0) { // an extreme of nothing
			tol = max(tol, rel*math.Abs(w))
		}
	}
	tol += abs
	for i := range want {
		if got[i] != want[i] && !(math.Abs(got[i]-want[i]) <= tol) { // true for NaN too
			return fmt.Sprintf(", element %d: got %.12g, want %.12g", i, got[i], want[i])
		}
	}
	return ""
}
