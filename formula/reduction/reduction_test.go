package reduction

import (
	"math"
	"testing"
)

// TestOf checks that names and kinds are each other's, and that other names are none.
func TestOf(t *testing.T) {
	for i, name := range Names {
		if k := Of(name); int(k) != i+1 || k.String() != name {
			t.Errorf("%s is kind %d, which is named %s", name, k, k)
		}
	}
	for _, name := range []string{"", "median", "Sum", "reduction 0"} {
		if k := Of(name); k != 0 {
			t.Errorf("%q is %s", name, k)
		}
	}
	if got := Kind(200).String(); got != "reduction 200" {
		t.Errorf("kind 200 is %s", got)
	}
}

// TestIdentity checks that the identity of each fold leaves numbers as they are.
func TestIdentity(t *testing.T) {
	folds := map[Kind]func(a, b float64) float64{
		Sum:  func(a, b float64) float64 { return a + b },
		Prod: func(a, b float64) float64 { return a * b },
		Max:  math.Max,
		Min:  math.Min,
		LogSumExp: func(a, b float64) float64 {
			return math.Log(math.Exp(a) + math.Exp(b))
		},
	}
	for k, fold := range folds {
		for _, x := range []float64{-2, 0, 3} {
			if got := fold(k.Identity(), x); math.Abs(got-x) > 1e-15 {
				t.Errorf("%s of its identity and %v is %v", k, x, got)
			}
			if k != LogSumExp {
				if got := fold(float64(k.IntegerIdentity()), x); got != x {
					t.Errorf("%s of its identity of integers and %v is %v", k, x, got)
				}
			}
		}
	}
	for k, want := range map[Kind]float64{Any: 0, All: 1} {
		if k.Identity() != want {
			t.Errorf("%s of nothing is %v, want %v", k, k.Identity(), want)
		}
	}
}
