package dtype

import (
	"math"
	"math/rand/v2"
	"testing"
)

// format describes a type of 16 bits, for a slow and simple conversion.
type format struct {
	typ          Type
	fraction     int // bits
	least        int // exponent of the least normal number
	quiet        uint16
	infinity     uint16
	bits         func(float32) uint16
	value        func(uint16) float32
	beforeBounds float64 // the least number that rounds to infinity
}

func formats(t *testing.T) []format {
	t.Helper()
	f := []format{
		{typ: F16, fraction: 10, least: -14, quiet: 0x200, infinity: 0x7c00, beforeBounds: 65520},
		{typ: BF16, fraction: 7, least: -126, quiet: 0x40, infinity: 0x7f80, beforeBounds: math.Ldexp(2-math.Ldexp(1, -8), 127)},
	}
	for i := range f {
		p, ok := f[i].typ.Packed()
		if !ok {
			t.Fatalf("%v is not packed", f[i].typ)
		}
		f[i].bits, f[i].value = p.bits, p.value
	}
	return f
}

// TestHalfRoundTrip checks all 65536 values of both types: their meaning, and that they come back.
func TestHalfRoundTrip(t *testing.T) {
	for _, f := range formats(t) {
		for i := range 1 << 16 {
			h := uint16(i)
			x := f.value(h)
			want := h
			switch exp, frac := h&f.infinity, h&(1<<f.fraction-1); {
			case exp == f.infinity && frac != 0:
				want |= f.quiet
				if x == x {
					t.Fatalf("%v %#04x is %v, want NaN", f.typ, h, x)
				}
			case exp == f.infinity:
				if !math.IsInf(float64(x), 1-2*int(h>>15)) {
					t.Fatalf("%v %#04x is %v, want infinity", f.typ, h, x)
				}
			default:
				m, e := float64(frac), f.least-f.fraction
				if exp != 0 {
					m += float64(int(1) << f.fraction)
					e += int(exp>>f.fraction) - 1
				}
				v := math.Copysign(math.Ldexp(m, e), 1-2*float64(h>>15))
				if float64(x) != v || math.Signbit(float64(x)) != math.Signbit(v) {
					t.Fatalf("%v %#04x is %v, want %v", f.typ, h, x, v)
				}
			}
			if got := f.bits(x); got != want {
				t.Fatalf("%v: %v becomes %#04x, want %#04x", f.typ, x, got, want)
			}
		}
	}
}

// rounded rounds x to the nearest number of the format, to even where two are as near.
func (f format) rounded(x float32) float32 {
	v := float64(x)
	if v == 0 || math.IsInf(v, 0) {
		return x
	}
	if math.Abs(v) >= f.beforeBounds {
		return float32(math.Copysign(math.Inf(1), v))
	}
	_, exp := math.Frexp(v)
	unit := math.Ldexp(1, max(exp-1, f.least)-f.fraction)
	return float32(math.Copysign(math.RoundToEven(v/unit)*unit, v)) // exact, as unit is a power of two
}

// TestHalfRounds compares the rounding of numbers between those of a type with exact arithmetic: all
// half-way points with their neighbors, and random ones.
func TestHalfRounds(t *testing.T) {
	for _, f := range formats(t) {
		check := func(x float32) {
			t.Helper()
			if got, want := f.value(f.bits(x)), f.rounded(x); math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("%v: %v (%#08x) becomes %v, want %v", f.typ, x, math.Float32bits(x), got, want)
			}
		}
		for h := uint16(0); h < f.infinity; h++ {
			lo, hi := f.value(h), f.value(h+1)
			if h+1 == f.infinity {
				hi = lo + (lo - f.value(h-1))
			}
			mid := lo/2 + hi/2
			for _, x := range []float32{mid, math.Nextafter32(mid, lo), math.Nextafter32(mid, hi), math.Nextafter32(lo, hi)} {
				check(x)
				check(-x)
			}
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 100_000 {
			if x := math.Float32frombits(r.Uint32()); x == x {
				check(x)
			}
		}
		for _, x := range []float32{math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 0} {
			check(x)
		}
		if nan := f.bits(math.Float32frombits(0x7f800001)); f.value(nan) == f.value(nan) {
			t.Errorf("%v: a NaN becomes %v", f.typ, f.value(nan))
		}
	}
}
