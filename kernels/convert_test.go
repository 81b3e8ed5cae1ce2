package kernels_test

import (
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

// sameBits reports every tensor of which got differs from want in a bit.
func sameBits(t *testing.T, what string, got, want values) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d tensors, want %d", what, len(got), len(want))
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

// closeTo reports the first element of got that differs from want by more than rel times the largest
// element of want, plus abs.
func closeTo(t *testing.T, what string, got, want []float64, rel, abs float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d elements, want %d", what, len(got), len(want))
		return
	}
	tol := 0.0
	for _, w := range want {
		tol = max(tol, rel*math.Abs(w))
	}
	tol += abs
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol) { // also reports NaN
			t.Errorf("%s, element %d: got %.12g, want %.12g", what, i, got[i], want[i])
			return
		}
	}
}
