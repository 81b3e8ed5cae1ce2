package oracle

import "math"

// gammas are the logarithm of |gamma(x)| and its first two derivatives.
type gammas struct{ log, first, second float64 }

// gammaLost is what gammaAt may lose: it takes differences of numbers of this many units.
const gammaLost = 64 * 0x1p-53

// gammaAt computes them by Binet's second integral, whose integrand is smooth, with the trapezoidal rule of
// double exponentials. The recurrence moves arguments to where the integral has all digits.
func gammaAt(x float64) gammas {
	if math.IsInf(x, 1) { // where the terms below are infinite and of both signs
		return gammas{log: x, first: x}
	}
	var g gammas
	for ; x < 6; x++ {
		g.log -= logarithm(math.Abs(x))
		g.first -= 1 / x
		g.second += 1 / (x * x)
	}
	const step = 1.0 / 32
	var log, first, second float64
	for i := -5 * 32; i <= 4*32; i++ {
		u := float64(i) * step
		t := math.Exp(u - math.Exp(-u))
		w := step * t * (1 + math.Exp(-u)) / math.Expm1(2*math.Pi*t)
		if w == 0 || math.IsNaN(w) {
			continue
		}
		log += w * math.Atan2(t, x)
		first += w * t / (t*t + x*x)
		second += w * t / ((t*t + x*x) * (t*t + x*x))
	}
	g.log += (x-0.5)*math.Log(x) - x + 0.5*math.Log(2*math.Pi) + 2*log
	g.first += math.Log(x) - 0.5/x - 2*first
	g.second += 1/x + 0.5/(x*x) + 4*x*second
	return g
}
