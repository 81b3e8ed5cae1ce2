package term

import "math"

// logGamma returns log |gamma(x)|.
func logGamma(x float64) float64 {
	y, _ := math.Lgamma(x)
	return y
}

// fromAsymptotic is the least argument for which the truncated asymptotic series of digamma and trigamma have
// the precision of float64.
const fromAsymptotic = 10

// digamma returns the derivative of log |gamma(x)|: by reflection below 0, by the recurrence up to
// fromAsymptotic, and by the asymptotic series of Bernoulli numbers from there. See Abramowitz and Stegun,
// 6.3.5, 6.3.7 and 6.3.18. It is infinite at 0 and NaN at negative integers, which are poles with both signs.
func digamma(x float64) float64 {
	switch {
	case x == 0:
		return math.Copysign(math.Inf(1), -x)
	case x < 0 && x == math.Floor(x):
		return math.NaN()
	case x < 0:
		_, part := math.Modf(x) // the tangent has period 1
		return digamma(1-x) - math.Pi/math.Tan(math.Pi*part)
	}
	sum := 0.0
	for ; x < fromAsymptotic; x++ {
		sum -= 1 / x
	}
	z := 1 / (x * x)
	return sum + math.Log(x) - 0.5/x - float64(z*alternating(z, 1./12, 1./120, 1./252, 1./240, 1./132, 691./32760, 1./12))
}

// trigamma returns the derivative of digamma, by reflection, recurrence and asymptotic series as digamma. See
// Abramowitz and Stegun, 6.4.6, 6.4.7 and 6.4.12.
func trigamma(x float64) float64 {
	if x <= 0 {
		if x == math.Floor(x) {
			return math.Inf(1)
		}
		_, part := math.Modf(x)
		s := math.Pi / math.Sin(math.Pi*part)
		return float64(s*s) - trigamma(1-x)
	}
	sum := 0.0
	for ; x < fromAsymptotic; x++ {
		sum += 1 / (x * x)
	}
	z := 1 / (x * x)
	return sum + 1/x + z/2 + float64(z/x*alternating(z, 1./6, 1./30, 1./42, 1./30, 5./66, 691./2730, 7./6))
}

// alternating returns c[0] - z c[1] + z^2 c[2] - ... by Horner's rule. It uses no fused multiply-add, so that
// all processors compute the same bits.
func alternating(z float64, c ...float64) float64 {
	sum := 0.0
	for i := len(c) - 1; i >= 0; i-- {
		sum = c[i] - float64(z*sum)
	}
	return sum
}
