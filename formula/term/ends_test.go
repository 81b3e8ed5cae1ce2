package term

import (
	"math"
	"testing"
)

// TestEnds compares functions with known values at arguments where those of package math are wrong:
// logarithms of denormal numbers, and hyperbolic functions that are finite although e^x is not.
func TestEnds(t *testing.T) {
	const far = 1.1169973830808557e308 // cosh(710)
	for name, values := range map[string][][2]float64{
		"log":  {{0x1p-1074, -1074 * math.Ln2}, {0x1p-1030, -1030 * math.Ln2}, {0x1p-1022, -1022 * math.Ln2}, {0, math.Inf(-1)}, {math.Inf(1), math.Inf(1)}, {1, 0}},
		"sinh": {{710, far}, {-710, -far}, {0, 0}, {0x1p-1074, 0x1p-1074}, {711, math.Inf(1)}, {math.Inf(-1), math.Inf(-1)}},
		"cosh": {{710, far}, {-710, far}, {0, 1}, {711, math.Inf(1)}, {math.Inf(-1), math.Inf(1)}},
	} {
		for _, v := range values {
			if got := Functions[name].Real(v[0]); got != v[1] && !(math.Abs(got-v[1]) <= 1e-15*math.Abs(v[1])) {
				t.Errorf("%s(%v): got %v, want %v", name, v[0], got, v[1])
			}
		}
	}
}
