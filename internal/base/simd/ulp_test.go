package simd

import (
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

var all = flag.Bool("all", false, "test the accuracy of float32 functions for all elements")

// accuracy gives the elementary functions, their values in float64, the greatest errors of the results in
// units in the last place, in float32 and in float64, and the greatest argument for which float64 is tested.
// The values for float64 have errors, too: those of the normal distribution have large ones far from 0.
var accuracy = []struct {
	name         string
	f            Unary
	exact        func(float64) float64
	ulp32, ulp64 float64
	within       float64
}{
	{"exp", Exp, math.Exp, 1.1, 2, 700},
	{"log", Log, math.Log, 0.84, 2, 1e300},
	{"expm1", Expm1, math.Expm1, 1.7, 3, 700},
	{"log1p", Log1p, math.Log1p, 1.5, 2, 1e300},
	{"sin", Sin, math.Sin, 1.8, 2, 1e7},
	{"cos", Cos, math.Cos, 1.8, 2, 1e7},
	{"tanh", Tanh, math.Tanh, 2, 4, 20},
	{"sigmoid", Sigmoid, sigmoid, 1.6, 4, 700},
	{"phi", Phi, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }, 2, 6, 1},
	{"density", Density, func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }, 1, 4, 1},
}

func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// worst is the greatest error found, and where.
type worst struct{ ulp, at, got, want float64 }

// distance returns the difference of got and want in units in the last place of a float32 with the value of
// want.
func distance(got float32, want float64) float64 {
	g := float64(got)
	switch {
	case math.IsNaN(want) || math.IsNaN(g):
		if math.IsNaN(want) && math.IsNaN(g) {
			return 0
		}
		return math.Inf(1)
	case g == want || float32(want) == got:
		return 0
	case math.IsInf(g, 0):
		g = math.Copysign(0x1p128, g)
	}
	_, exponent := math.Frexp(want)
	return math.Abs(g-want) / math.Ldexp(1, max(exponent-24, -149))
}

// measure compares the results for float32 elements that are step apart, from the one with bits first on.
func measure(f Unary, exact func(float64) float64, first, step uint64, n int) (w worst) {
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(uint32(first + uint64(i)*step))
	}
	z := make([]float32, n)
	UnaryOf[float32](f)(z, x)
	for i, got := range z {
		want := exact(float64(x[i]))
		if d := distance(got, want); d > w.ulp {
			w = worst{d, float64(x[i]), float64(got), want}
		}
	}
	return w
}

// TestAccuracy32 compares float32 results with those of package math, for a sample of all elements, or for
// all of them.
func TestAccuracy32(t *testing.T) {
	step := uint64(10007)
	if *all {
		step = 1
	}
	const strip = 4096
	for _, c := range accuracy {
		t.Run(c.name, func(t *testing.T) {
			results := make([]worst, runtime.GOMAXPROCS(0))
			var group sync.WaitGroup
			for k := range results {
				group.Go(func() {
					for first := uint64(k) * strip * step; first < 1<<32; first += uint64(len(results)) * strip * step {
						n := min(strip, int((1<<32-first+step-1)/step))
						if w := measure(c.f, c.exact, first, step, n); w.ulp > results[k].ulp {
							results[k] = w
						}
					}
				})
			}
			group.Wait()
			var w worst
			for _, r := range results {
				if r.ulp > w.ulp {
					w = r
				}
			}
			t.Logf("%.3f ulp at %v", w.ulp, w.at)
			if w.ulp > c.ulp32 {
				t.Errorf("%s(%v): want %v, got %v: %.3f ulp, want at most %v", c.name, w.at, w.want, w.got, w.ulp, c.ulp32)
			}
		})
	}
}

// TestAccuracy64 compares float64 results with those of package math, which have errors of about one unit
// themselves.
func TestAccuracy64(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x, z := make([]float64, 100000), make([]float64, 100000)
	for _, c := range accuracy {
		for i := range x {
			x[i] = c.within * (2*r.Float64() - 1)
			if i%2 == 0 {
				x[i] *= math.Exp(-20 * r.Float64()) // near 0
			}
		}
		UnaryOf[float64](c.f)(z, x)
		var w worst
		for i, got := range z {
			want := c.exact(x[i])
			if got == want || math.IsNaN(got) && math.IsNaN(want) {
				continue
			}
			_, exponent := math.Frexp(want)
			if d := math.Abs(got-want) / math.Ldexp(1, max(exponent-53, -1074)); !(d <= w.ulp) {
				w = worst{d, x[i], got, want}
			}
		}
		t.Logf("%s: %.3f ulp at %v", c.name, w.ulp, w.at)
		if !(w.ulp <= c.ulp64) {
			t.Errorf("%s(%v): want %v, got %v: %.3f ulp, want at most %v", c.name, w.at, w.want, w.got, w.ulp, c.ulp64)
		}
	}
}

// TestPhi64 compares the distribution function with values that were computed in decimal arithmetic of 60
// digits.
func TestPhi64(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{
		{-38.0, 2.88542835e-316},
		{-30.25, 2.6086402857412604e-201},
		{-20.5, 1.0764673258790961e-93},
		{-14.125, 1.3319992910664114e-45},
		{-10.3, 3.5230650789264124e-25},
		{-8.0, 6.220960574271784e-16},
		{-6.7, 1.0420976987965181e-11},
		{-5.1, 1.6982674071476014e-07},
		{-4.2, 1.3345749015906327e-05},
		{-3.3, 0.0004834241423837775},
		{-2.9052005553467377, 0.0018350892316739997},
		{-2.2, 0.013903447513498604},
		{-1.7, 0.04456546275854304},
		{-1.1, 0.13566606094638264},
		{-0.7, 0.24196365222307303},
		{-0.51, 0.3050257308975194},
		{0.3, 0.6179114221889527},
		{0.51, 0.6949742691024806},
		{0.9, 0.8159398746532405},
		{1.6, 0.945200708300442},
		{3.1, 0.9990323967867817},
	} {
		z := []float64{c.x}
		UnaryOf[float64](Phi)(z, z)
		_, exponent := math.Frexp(c.want)
		if d := math.Abs(z[0]-c.want) / math.Ldexp(1, max(exponent-53, -1074)); !(d <= 2) {
			t.Errorf("phi(%v): want %v, got %v: %v ulp, want at most 2", c.x, c.want, z[0], d)
		}
	}
}
