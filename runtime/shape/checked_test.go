package shape_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/opgen/opgen/runtime/shape"
)

// TestChecked compares checked sums, differences and products with those of package big, around the bounds of
// an int.
func TestChecked(t *testing.T) {
	some := []int{0, 1, -1, 2, -2, 3, -7, math.MaxInt, math.MaxInt - 1, math.MinInt, math.MinInt + 1, math.MaxInt / 2, math.MaxInt/2 + 1,
		math.MinInt / 2, math.MinInt/2 - 1, math.MaxInt / 3, 1 << 30, 1 << (math.MaxInt>>62 + 30)}
	held := func(n *big.Int) bool {
		return n.CmpAbs(big.NewInt(math.MaxInt)) <= 0
	}
	check := func(op string, a, b, got int, ok bool, want *big.Int) {
		t.Helper()
		if ok != held(want) || ok && big.NewInt(int64(got)).Cmp(want) != 0 {
			t.Errorf("%d %s %d = %d, %v; want %v", a, op, b, got, ok, want)
		}
	}
	for _, a := range some {
		for _, b := range some {
			x, y := big.NewInt(int64(a)), big.NewInt(int64(b))
			n, ok := shape.Add(a, b)
			check("+", a, b, n, ok, new(big.Int).Add(x, y))
			n, ok = shape.Sub(a, b)
			check("-", a, b, n, ok, new(big.Int).Sub(x, y))
			n, ok = shape.Mul(a, b)
			check("*", a, b, n, ok, new(big.Int).Mul(x, y))
			if got, want := shape.Times(a, b, 2), float64(a)*float64(b)*2; got != want {
				t.Errorf("Times(%d, %d, 2) = %v, want %v", a, b, got, want)
			}
		}
	}
	if n, ok := shape.Mul(math.MaxInt, 2, 0); n != 0 || !ok {
		t.Errorf("a product with the factor 0: %d, %v", n, ok)
	}
	if n, ok := shape.Mul(); n != 1 || !ok {
		t.Errorf("a product of nothing: %d, %v", n, ok)
	}
	if got := shape.CeilDiv(math.MinInt, 2); got != math.MinInt/2 {
		t.Errorf("CeilDiv(%d, 2) = %d", math.MinInt, got)
	}
}
