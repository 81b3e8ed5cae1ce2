package rng

import (
	"math"
	"testing"
)

// The known answers of the Philox authors' reference implementation for philox4x32-10.
func TestKnownAnswers(t *testing.T) {
	tests := []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			ctr:  [4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
			key:  [2]uint32{0xffffffff, 0xffffffff},
			want: [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			ctr:  [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			key:  [2]uint32{0xa4093822, 0x299f31d0},
			want: [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	}
	for _, tt := range tests {
		s := Source{key: tt.key, stream: [2]uint32{tt.ctr[2], tt.ctr[3]}}
		if got := s.Block(uint64(tt.ctr[0]) | uint64(tt.ctr[1])<<32); got != tt.want {
			t.Errorf("Block = %#x, want %#x", got, tt.want)
		}
	}
}

func TestMoments(t *testing.T) {
	const n = 200000
	s := New(7, 0)
	var u, u2, g, g2 float64
	for i := range uint64(n) {
		x, y := s.Uniform(i), s.Normal(i)
		if x < 0 || x >= 1 {
			t.Fatalf("Uniform(%d) = %g", i, x)
		}
		u, u2, g, g2 = u+x, u2+x*x, g+y, g2+y*y
	}
	near := func(name string, got, want, tol float64) {
		if !(math.Abs(got-want) <= tol) {
			t.Errorf("%s = %g, want %g", name, got, want)
		}
	}
	near("mean of Uniform", u/n, 0.5, 0.004)
	near("variance of Uniform", u2/n-u/n*u/n, 1.0/12, 0.002)
	near("mean of Normal", g/n, 0, 0.012)
	near("variance of Normal", g2/n-g/n*g/n, 1, 0.02)
}

func TestStreamsDiffer(t *testing.T) {
	same := 0
	for i := range uint64(1000) {
		if New(1, 0).Uniform(i) == New(1, 1).Uniform(i) || New(1, 0).Uniform(i) == New(2, 0).Uniform(i) {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d of 1000 numbers agree between streams", same)
	}
}

// TestNormalBetween checks range, mean and distinct values of numbers between limits, on both sides of 0 and
// around it. Numbers of the mirrored interval are the mirrored ones.
func TestNormalBetween(t *testing.T) {
	const n = 20000
	s := New(7, 0)
	for _, limits := range [][2]float64{{-1, 2}, {0.5, 1}, {-3, -2}, {4, 5}, {math.Inf(-1), 0}} {
		lo, hi := limits[0], limits[1]
		density := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
		want := (density(lo) - density(hi)) / NormalMass(lo, hi)
		sum, seen := 0.0, map[float64]bool{}
		for i := range uint64(n) {
			x := s.NormalBetween(i, lo, hi)
			if !(lo <= x && x <= hi) {
				t.Fatalf("between %g and %g: got %g", lo, hi, x)
			}
			if lo > 0 && x != -s.NormalBetween(i, -hi, -lo) {
				t.Fatalf("between %g and %g: %g is not mirrored", lo, hi, x)
			}
			sum += x
			seen[x] = true
		}
		if !(math.Abs(sum/n-want) <= 0.02) || len(seen) < n*9/10 {
			t.Errorf("between %g and %g: mean %g, want %g; %d values", lo, hi, sum/n, want, len(seen))
		}
	}
}
