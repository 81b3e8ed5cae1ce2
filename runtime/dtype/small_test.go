package dtype

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestSmall compares all codes of the types of 8 bits with what their definitions say: the least positive
// number, the least normal one, the largest one, and the codes that are no finite numbers. Between them,
// codes count in steps that double with each exponent.
func TestSmall(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, f := range []struct {
		typ                    Type
		fraction               int // bits
		least, normal, largest float64
		special                map[byte]float64
	}{
		{F8E4M3, 3, 0x1p-9, 0x1p-6, 448, map[byte]float64{0x7f: nan, 0xff: nan}},
		{F8E5M2, 2, 0x1p-16, 0x1p-14, 57344, map[byte]float64{0x7c: inf, 0xfc: -inf, 0x7d: nan, 0x7e: nan, 0x7f: nan, 0xfd: nan, 0xfe: nan, 0xff: nan}},
		{F8E4M3FNUZ, 3, 0x1p-10, 0x1p-7, 240, map[byte]float64{0x80: nan}},
		{F8E5M2FNUZ, 2, 0x1p-17, 0x1p-15, 57344, map[byte]float64{0x80: nan}},
	} {
		if f.typ.GoType() != "" || !f.typ.Readable() || f.typ.Size() != 1 {
			t.Errorf("%v: want a type of 1 byte that is read and not stored", f.typ)
		}
		want, step, last, normal := 0.0, f.least, 0.0, 0.0
		for code := range 128 {
			if code > 0 && code%(1<<f.fraction) == 0 {
				if normal == 0 {
					normal = want
				} else {
					step *= 2
				}
			}
			for _, c := range []byte{byte(code), byte(code) | 0x80} {
				w, special := f.special[c]
				if !special {
					w = math.Copysign(want, 1-2*float64(c>>7))
					last = want
				}
				got := f.typ.Float64([]byte{c})
				if math.Float64bits(got) != math.Float64bits(w) && (w == w || got == got) {
					t.Errorf("%v %#02x is %v, want %v", f.typ, c, got, w)
				}
			}
			want += step
		}
		if normal != f.normal || last != f.largest {
			t.Errorf("%v: the numbers of this test end at %v and are normal from %v, want %v and %v", f.typ, last, normal, f.largest, f.normal)
		}
	}
	for code := range 255 {
		if got, want := F8E8M0.Float64([]byte{byte(code)}), math.Pow(2, float64(code-127)); got != want {
			t.Errorf("f8e8m0 %#02x is %v, want %v", code, got, want)
		}
	}
	if got := F8E8M0.Float64([]byte{255}); got == got {
		t.Errorf("f8e8m0 0xff is %v, want NaN", got)
	}
}

// TestRoundsOnce stores numbers of 64 bits in 16: the result is the nearest number, also where rounding to 32
// bits first leads half way between two numbers. Arithmetic of package big with the precision of the type is
// the judge.
func TestRoundsOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, f := range formats(t) {
		check := func(v float64) {
			t.Helper()
			var b [2]byte
			f.typ.PutFloat64(b[:], v)
			want, _ := new(big.Float).SetMode(big.ToNearestEven).SetPrec(uint(f.fraction + 1)).SetFloat64(v).Float64()
			if got := f.typ.Float64(b[:]); got != want {
				t.Fatalf("%v: %v becomes %v, want %v", f.typ, v, got, want)
			}
		}
		for range 100_000 {
			// A number half way between two of the type, plus or minus less than float32 tells from it.
			m := float64(r.IntN(1<<f.fraction) + 1<<f.fraction)
			half := math.Ldexp(m+0.5, r.IntN(20)-10-f.fraction)
			for _, v := range []float64{half, half * (1 + 0x1p-40), half * (1 - 0x1p-40), half * (1 + r.Float64()/64)} {
				check(v)
				check(-v)
			}
		}
	}
}
