package vec

import (
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
)

// TestActivations compares activations with package math, in lanes whose elements are neighbors and in
// others, beyond the length of a buffer.
func TestActivations(t *testing.T) {
	testActivations[float32](t, 1e-6)
	testActivations[float64](t, 1e-13)
}

func testActivations[T dtype.Float](t *testing.T, most float64) {
	x := make([]float64, 2*bufferLength+3)
	for i := range x {
		x[i] = float64(T(12 * math.Sin(float64(i*i)) / float64(1+i%5)))
	}
	for _, tt := range []struct {
		name string
		f    func(tensor.RWLane[T])
		want func(float64) float64
	}{
		{"sigmoid", Sigmoid[T], func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
		{"tanh", Tanh[T], math.Tanh},
		{"gelu", Gelu[T], func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }},
	} {
		for kind, l := range both[T](x) {
			tt.f(l)
			for i, v := range x {
				if want, got := tt.want(v), float64(l.At(i)); !(math.Abs(got-want) <= most*math.Abs(want)+1e-37) {
					t.Fatalf("%s, %s: of %v: want %v, got %v", tt.name, kind, v, want, got)
				}
			}
		}
	}
}
