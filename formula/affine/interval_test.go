package affine

import (
	"math"
	"math/big"
	"testing"
)

// all returns the intervals with bounds from -4 to 6.
func all() []Interval {
	var out []Interval
	for lo := -4; lo <= 6; lo++ {
		for hi := lo; hi <= 6; hi++ {
			out = append(out, Interval{lo, hi, true})
		}
	}
	return out
}

// TestIntervals compares each operation with the results for all pairs of integers in its operands. Each
// bound is attained, but for a remainder: its interval is larger where a multiple of the divisor lies
// between.
func TestIntervals(t *testing.T) {
	t.Parallel()
	mod := func(x, d int) int { return ((x % d) + d) % d }
	for name, op := range map[string]struct {
		of    func(i, j Interval) Interval
		at    func(x, y int) int
		loose bool
		by    bool // the second one is a divisor
	}{
		"plus":     {of: Interval.Plus, at: func(x, y int) int { return x + y }},
		"mul":      {of: Interval.Mul, at: func(x, y int) int { return x * y }},
		"least":    {of: Interval.Least, at: func(x, y int) int { return min(x, y) }},
		"greatest": {of: Interval.Greatest, at: func(x, y int) int { return max(x, y) }},
		"quotient": {of: Interval.Quotient, by: true, at: func(x, y int) int { return (x - mod(x, y)) / y }},
		"modulo":   {of: Interval.Modulo, by: true, loose: true, at: mod},
	} {
		for _, i := range all() {
			for _, j := range all() {
				got := op.of(i, j)
				if op.by && j.Lo <= 0 {
					if got.Known {
						t.Fatalf("%s of %v and %v: got %v, want it unknown", name, i, j, got)
					}
					continue
				}
				want := Interval{math.MaxInt, math.MinInt, true}
				for x := i.Lo; x <= i.Hi; x++ {
					for y := j.Lo; y <= j.Hi; y++ {
						want = Interval{min(want.Lo, op.at(x, y)), max(want.Hi, op.at(x, y)), true}
					}
				}
				if got != want && !(op.loose && got.Known && got.Lo <= want.Lo && got.Lo >= 0 && got.Hi >= want.Hi && got.Hi < j.Hi) {
					t.Fatalf("%s of %v and %v: got %v, want %v", name, i, j, got, want)
				}
				if op.loose && j.Lo == j.Hi && i.Hi-i.Lo < j.Lo && mod(i.Lo, j.Lo) <= mod(i.Hi, j.Lo) && got != want {
					t.Fatalf("%s of %v and %v: got %v, want exactly %v", name, i, j, got, want)
				}
			}
		}
	}
	for _, i := range all() {
		for k := -3; k <= 3; k++ {
			if got, want := i.Times(k), i.Mul(Exactly(k)); got != want {
				t.Errorf("%v times %d: got %v, want %v", i, k, got, want)
			}
		}
		for _, j := range all() {
			if got := i.Either(j); got.Lo != min(i.Lo, j.Lo) || got.Hi != max(i.Hi, j.Hi) || !got.Known {
				t.Errorf("either of %v and %v: got %v", i, j, got)
			}
		}
	}
}

// TestWideIntervals compares bounds near the ends of 64 bits with arbitrary-precision arithmetic: the
// interval is unknown if a bound overflows 64 bits.
func TestWideIntervals(t *testing.T) {
	t.Parallel()
	numbers := []int{0, 1, -1, 2, -2, 3, 1 << 15, -1 << 15, 1 << 16, math.MaxInt/2 + 1, math.MinInt / 2, math.MaxInt, math.MaxInt - 1, math.MinInt, math.MinInt + 1}
	for _, x := range numbers {
		for _, y := range numbers {
			a, b := big.NewInt(int64(x)), big.NewInt(int64(y))
			for name, c := range map[string]struct {
				got  Interval
				want *big.Int
			}{
				"plus":  {Exactly(x).Plus(Exactly(y)), new(big.Int).Add(a, b)},
				"times": {Exactly(x).Times(y), new(big.Int).Mul(a, b)},
				"mul":   {Exactly(x).Mul(Exactly(y)), new(big.Int).Mul(a, b)},
			} {
				if c.got.Known && (c.want.Cmp(big.NewInt(int64(c.got.Lo))) != 0 || c.got.Lo != c.got.Hi) {
					t.Errorf("%s of %d and %d: got %v, want %v", name, x, y, c.got, c.want)
				}
				if !c.got.Known && c.want.IsInt64() && c.want.Int64() == int64(int(c.want.Int64())) {
					t.Errorf("%s of %d and %d: got nothing, want %v", name, x, y, c.want)
				}
			}
		}
	}
	var unknown Interval
	one := Exactly(1)
	for _, i := range []Interval{unknown.Plus(one), one.Plus(unknown), unknown.Times(0), unknown.Mul(one), one.Mul(unknown), unknown.Either(one),
		one.Either(unknown), unknown.Least(one), one.Greatest(unknown), unknown.Quotient(one), one.Quotient(unknown), one.Modulo(unknown)} {
		if i.Known {
			t.Errorf("got %v of an integer of which nothing is known", i)
		}
	}
	if got := unknown.Modulo(Exactly(5)); got != (Interval{0, 4, true}) {
		t.Errorf("the rest of division by 5: got %v", got)
	}
}
