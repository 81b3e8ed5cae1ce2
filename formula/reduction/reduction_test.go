package reduction

import (
	"math"
	"testing"

	"github.com/opgen/opgen/internal/base/simd"
)

// TestOf checks that Of and String are inverse to each other, and that Of returns 0 for other names.
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

// TestIdentity checks that each identity is neutral: combined with a number, it returns the number.
func TestIdentity(t *testing.T) {
	for k := Sum; int(k) < len(table); k++ {
		join := k.Join()
		if join == nil {
			if k.Is(Fold) {
				t.Errorf("no operation joins elements of %s", k)
			}
			continue
		}
		for _, x := range []int{-2, 0, 3} {
			if k.Is(Truth) {
				x = max(min(x, 1), 0)
			}
			if got := join(k.Identity(), float64(x)); got != float64(x) {
				t.Errorf("%s of its identity and %v is %v", k, x, got)
			}
			if got := k.IntegerJoin()(k.IntegerIdentity(), x); got != x {
				t.Errorf("%s of its identity of integers and %v is %v", k, x, got)
			}
		}
		z := []float64{3}
		simd.BinaryOf[float64](k.Vector())(z, z, []float64{-2})
		if want := join(3, -2); z[0] != want || k.IntegerJoin()(3, -2) != int(want) {
			t.Errorf("%s of 3 and -2 is %v in vectors and %v in integers, want %v", k, z[0], k.IntegerJoin()(3, -2), want)
		}
	}
	if got := math.Log(math.Exp(LogSumExp.Identity()) + math.Exp(2)); got != 2 {
		t.Errorf("logsumexp of its identity and 2 is %v", got)
	}
}
