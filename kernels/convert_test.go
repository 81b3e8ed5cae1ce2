package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/engine"
)

// feed writes numbers to a tensor of any type.
func feed(in *engine.Instance, name string, typ dtype.Type, v []float64) error {
	switch typ {
	case dtype.Bool:
		b := make([]bool, len(v))
		for i, x := range v {
			b[i] = x != 0
		}
		return engine.Feed(in, name, b)
	case dtype.I8:
		return feedAs[int8](in, name, v)
	case dtype.I16:
		return feedAs[int16](in, name, v)
	case dtype.I32:
		return feedAs[int32](in, name, v)
	case dtype.I64:
		return feedAs[int64](in, name, v)
	case dtype.U8:
		return feedAs[uint8](in, name, v)
	case dtype.U16:
		return feedAs[uint16](in, name, v)
	case dtype.U32:
		return feedAs[uint32](in, name, v)
	case dtype.U64:
		return feedAs[uint64](in, name, v)
	case dtype.F32, dtype.F16, dtype.BF16:
		return feedAs[float32](in, name, v)
	case dtype.F64:
		return feedAs[float64](in, name, v)
	}
	return fmt.Errorf("cannot feed %v", typ)
}

func feedAs[T dtype.Number](in *engine.Instance, name string, v []float64) error {
	data := make([]T, len(v))
	for i, x := range v {
		data[i] = T(x)
	}
	return engine.Feed(in, name, data)
}

// fetch reads a tensor of any type as numbers.
func fetch(in *engine.Instance, t graph.Tensor) ([]float64, error) {
	switch t.Type() {
	case dtype.Bool:
		b, err := engine.Fetch[bool](in, t.Name())
		v := make([]float64, len(b))
		for i := range b {
			if b[i] {
				v[i] = 1
			}
		}
		return v, err
	case dtype.I8:
		return fetchAs[int8](in, t)
	case dtype.I16:
		return fetchAs[int16](in, t)
	case dtype.I32:
		return fetchAs[int32](in, t)
	case dtype.I64:
		return fetchAs[int64](in, t)
	case dtype.U8:
		return fetchAs[uint8](in, t)
	case dtype.U16:
		return fetchAs[uint16](in, t)
	case dtype.U32:
		return fetchAs[uint32](in, t)
	case dtype.U64:
		return fetchAs[uint64](in, t)
	case dtype.F32, dtype.F16, dtype.BF16:
		return fetchAs[float32](in, t)
	case dtype.F64:
		return fetchAs[float64](in, t)
	}
	return nil, fmt.Errorf("cannot fetch %v", t)
}

func fetchAs[T dtype.Number](in *engine.Instance, t graph.Tensor) ([]float64, error) {
	data, err := engine.Fetch[T](in, t.Name())
	v := make([]float64, len(data))
	for i, x := range data {
		v[i] = float64(x)
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
