package formula

import (
	"math"
	"math/big"
	"testing"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestUnsigned computes with uint64, with some elements of 2^63 or more.
func TestUnsigned(t *testing.T) {
	const half, above = 1 << 63, 1<<63 + 1<<11 // float64 holds both
	given := []uint64{half, 3, above}
	for _, c := range []struct {
		formula string
		want    [3]float64
	}{
		{"s[n] = j[n]", [3]float64{half, 3, above}},
		{"s[n] = convert(j[n], 'f64')", [3]float64{half, 3, above}},
		{"s[n] = j[n] > 5 ? 1 : 0", [3]float64{1, 0, 1}},
		{"s[n] = j[n] > 5.5 ? 1 : 0", [3]float64{1, 0, 1}},
		{"s[n] = j[n] > n - 1 ? 1 : 0", [3]float64{1, 1, 1}},
		{"s[n] = n - 1 <= j[n] ? 1 : 0", [3]float64{1, 1, 1}},
		{"s[n] = j[n] < j[(n + 1) % N] ? 1 : 0", [3]float64{0, 1, 0}},
		{"s[n] = j[n] == n + 2 ? 1 : 0", [3]float64{0, 1, 0}},
		{"s[n] = max(j[n], 5)", [3]float64{half, 5, above}},
		{"s[n] = min(j[n], 5)", [3]float64{5, 3, 5}},
		{"s[n] = min(j[n], n - 1)", [3]float64{-1, 0, 1}},
		{"s[n] = abs(j[n])", [3]float64{half, 3, above}},
		{"s[n] = quotient(j[n], 4)", [3]float64{1 << 61, 0, 1<<61 + 1<<9}},
		{"s[n] = quotient(7, j[n])", [3]float64{0, 2, 0}},
		{"s[n] = j[n] % 5", [3]float64{3, 3, 1}},
		{"s[n] = ceildiv(j[n], 4)", [3]float64{1 << 61, 1, 1<<61 + 1<<9}},
		{"s[n] = ceildiv(-j[n] - 1, 2)", [3]float64{1 << 62, -2, 1<<62 - 1<<10}}, // of 2^63 - 1: a sum with the divisor wraps
		{"s[n] = ceildiv(min(n' if n' < n: n'), 2)", [3]float64{1 << 62, 0, 0}},  // of the minimum of nothing
		{"s[n] = max(n': j[n'])", [3]float64{above, above, above}},
		{"s[n] = min(n': j[n'])", [3]float64{3, 3, 3}},
		{"s[n] = max(n' in 0 .. n + 1: j[n'])", [3]float64{half, half, above}},
		{"s[n] = min(n' if n' >= n: j[n'])", [3]float64{3, 3, above}},
		{"s[n] = max(n' in n .. n: j[n'])", [3]float64{0, 0, 0}},
		{"s[n] = argmax(n': j[n'])", [3]float64{2, 2, 2}},
		{"s[n] = argmin(n': j[n'])", [3]float64{1, 1, 1}},
		{"s[n] = rank(n': j[n'])[n]", [3]float64{1, 0, 2}},
		{"t[n] = j[n]\ns[n] = t[n] > 0.5 ? t[n] : 0", [3]float64{half, 3, above}},
		{"t[n] = max(n': j[n'])\ns[n] = t[n]", [3]float64{above, above, above}},
		{"s[n] = j[n + 1] else 0.5", [3]float64{3, above, 0.5}},
		{"s[n] = convert((n + 1.0) * 2.0^63, 'u64')", [3]float64{half, 1 << 64, 1 << 64}},
	} {
		o, at, r := operatorWith(t, c.formula)
		r.Slots[slotJ][0].Type = dtype.U64
		p, err := newProgram(o, at, r, 0, nil)
		if err != nil {
			t.Errorf("%s: %v", c.formula, err)
			continue
		}
		m := p.newMemory()
		for i, v := range given {
			m.tensors[slotJ].integer[i] = int64(v)
		}
		m.computed[slotX], m.computed[slotW], m.computed[slotJ] = true, true, true
		if err := m.forward(); err != nil {
			t.Errorf("%s: %v", c.formula, err)
			continue
		}
		if got := [3]float64(m.tensors[slotS].real); got != c.want {
			t.Errorf("%s: got %v, want %v", c.formula, got, c.want)
		}
	}
}

// TestUnsignedQuotients divides signed and unsigned integers, and compares them with integers of any
// magnitude.
func TestUnsignedQuotients(t *testing.T) {
	values := []int{math.MinInt, math.MinInt + 1, -7, -1, 0, 1, 2, 7, math.MaxInt}
	exact := func(x whole) *big.Int {
		if x.unsigned {
			return new(big.Int).SetUint64(uint64(x.bits))
		}
		return big.NewInt(int64(x.bits))
	}
	for _, a := range values {
		for _, b := range values {
			for kind := 1; kind < 4; kind++ {
				x, y := whole{a, kind&1 != 0}, whole{b, kind&2 != 0}
				v, w := exact(x), exact(y)
				if got, want := x.compare(y), v.Cmp(w); got != want {
					t.Errorf("%v compares with %v: got %d, want %d", v, w, got, want)
				}
				for _, op := range []term.Op{term.Quotient, term.Truncate, term.Modulo} {
					got, ok := x.divided(op, y)
					if divides := w.Sign() > 0 || w.Sign() < 0 && op == term.Truncate; ok != divides {
						t.Errorf("%v divided by %v: got %v, want %v", v, w, ok, divides)
					}
					if !ok {
						continue
					}
					q, m := new(big.Int).DivMod(v, w, new(big.Int)) // rounded down, since the divisor is above 0
					switch op {
					case term.Truncate:
						q.Quo(v, w)
					case term.Modulo:
						q = m
					}
					if bits := new(big.Int).And(q, new(big.Int).SetUint64(math.MaxUint64)).Uint64(); bits != uint64(got) {
						t.Errorf("operation %v of %v and %v: got %d, want %v", op, v, w, got, q)
					}
				}
			}
		}
	}
}
