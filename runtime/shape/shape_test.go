package shape

import (
	"math"
	"math/bits"
	"slices"
	"testing"
)

func TestDivision(t *testing.T) {
	for a := -30; a <= 30; a++ {
		for b := 1; b <= 9; b++ {
			floor, ceil := int(math.Floor(float64(a)/float64(b))), int(math.Ceil(float64(a)/float64(b)))
			if got := FloorDiv(a, b); got != floor {
				t.Errorf("FloorDiv(%d, %d) = %d, want %d", a, b, got, floor)
			}
			if got := CeilDiv(a, b); got != ceil {
				t.Errorf("CeilDiv(%d, %d) = %d, want %d", a, b, got, ceil)
			}
			if got := Mod(a, b); got != a-b*floor || got < 0 || got >= b {
				t.Errorf("Mod(%d, %d) = %d, want %d", a, b, got, a-b*floor)
			}
		}
	}
	if got := FloorDiv(math.MinInt, 2); got != math.MinInt/2 {
		t.Errorf("FloorDiv(MinInt, 2) = %d", got)
	}
	if got := CeilDiv(math.MaxInt, 2); got != math.MaxInt/2+1 {
		t.Errorf("CeilDiv(MaxInt, 2) = %d", got)
	}
}

func TestProd(t *testing.T) {
	tests := []struct {
		s    []int
		prod int
	}{{nil, 1}, {[]int{5}, 5}, {[]int{2, 3, 4}, 24}, {[]int{7, 0, 3}, 0}}
	for _, tt := range tests {
		if Prod(tt.s) != tt.prod {
			t.Errorf("%v: Prod = %d, want %d", tt.s, Prod(tt.s), tt.prod)
		}
	}
}

func TestIf(t *testing.T) {
	if If(true, 1, 2) != 1 || If(false, 1, 2) != 2 {
		t.Error("If is wrong")
	}
	never := func() int { panic("called") }
	one := func() int { return 1 }
	if Choose(true, one, never) != 1 || Choose(false, never, one) != 1 {
		t.Error("Choose is wrong")
	}
}

func TestConcat(t *testing.T) {
	a := []int{1, 2}
	c := Concat(a, nil, []int{3})
	if !slices.Equal(c, []int{1, 2, 3}) || len(Concat()) != 0 {
		t.Errorf("Concat = %v, %v", c, Concat())
	}
	c[0] = 9
	if a[0] != 1 {
		t.Error("Concat shares memory")
	}
}

func TestBroadcast(t *testing.T) {
	tests := []struct{ a, b, want string }{ // want "" stands for none
		{"[]", "[]", "[]"},
		{"[]", "[3]", "[3]"},
		{"[3]", "[3]", "[3]"},
		{"[1]", "[3]", "[3]"},
		{"[3, 1, 4]", "[5, 1]", "[3, 5, 4]"},
		{"[3]", "[2, 3]", "[2, 3]"},
		{"[2, 3]", "[2]", ""},
		{"[2]", "[3]", ""},
		{"[0]", "[1]", "[0]"},
		{"[0]", "[0]", "[0]"},
		{"[0]", "[2]", ""},
		{"[2, 1]", "[0]", "[2, 0]"},
	}
	for _, tt := range tests {
		for _, swap := range []bool{false, true} {
			a, b := parse(tt.a), parse(tt.b)
			if swap {
				a, b = b, a
			}
			s, ok := Broadcast(a, b)
			if ok != (tt.want != "") || ok && Format(s) != tt.want {
				t.Errorf("Broadcast(%v, %v) = %v, %v; want %s", a, b, s, ok, tt.want)
			}
		}
	}
}

func parse(text string) []int {
	var s []int
	n, in := 0, false
	for _, c := range text {
		if '0' <= c && c <= '9' {
			n, in = n*10+int(c-'0'), true
		} else if in {
			s, n, in = append(s, n), 0, false
		}
	}
	return s
}

// TestStrides walks through all indices of shapes and compares strides with row-major order.
func TestStrides(t *testing.T) {
	for _, of := range [][]int{{}, {4}, {2, 3}, {1, 3, 2}, {3, 1, 2}, {2, 2, 1, 2}} {
		strides, number := Strides(of), 0
		each(of, func(index []int) {
			offset := 0
			for d, i := range index {
				offset += i * strides[d]
			}
			if offset != number {
				t.Fatalf("%v: element %v lies at %d, want %d", of, index, offset, number)
			}
			number++
		})
	}
}

// each calls f with every index of a shape, in row-major order.
func each(s []int, f func([]int)) {
	index := make([]int, len(s))
	var walk func(d int)
	walk = func(d int) {
		if d == len(s) {
			f(index)
			return
		}
		for i := range s[d] {
			index[d] = i
			walk(d + 1)
		}
	}
	walk(0)
}

func TestFits(t *testing.T) {
	const half = 1 << (bits.UintSize / 2)
	const addressed = MaxBytes == math.MaxInt // where integers have 32 bits, memory of as many bytes as they count
	tests := []struct {
		s    []int
		size int
		want bool
	}{
		{nil, 8, true},
		{[]int{3, 4}, 8, true},
		{[]int{int(MaxBytes / 8)}, 8, true},
		{[]int{int(MaxBytes/8) + 1}, 8, false},
		{[]int{math.MaxInt}, 1, addressed},
		{[]int{math.MaxInt, math.MaxInt}, 4, false},
		{[]int{half, half}, 1, false}, // the product is 0 modulo 2^64, or 2^32 where integers have as many bits
		{[]int{half + 1, half}, 1, false},
		{[]int{math.MaxInt, 0, math.MaxInt}, 8, true},
		{[]int{math.MaxInt}, 0, addressed}, // types of less than a byte, or of no fixed size
	}
	for _, tt := range tests {
		if got := Fits(tt.s, tt.size); got != tt.want {
			t.Errorf("Fits(%v, %d) = %v", tt.s, tt.size, got)
		}
	}
}

func TestFormat(t *testing.T) {
	for want, s := range map[string][]int{"[]": nil, "[3]": {3}, "[2, 0, -1]": {2, 0, -1}} {
		if got := Format(s); got != want {
			t.Errorf("Format = %q, want %q", got, want)
		}
	}
	if !Equal(nil, []int{}) || Equal([]int{1}, []int{1, 1}) || !Equal([]int{2, 3}, []int{2, 3}) {
		t.Error("Equal is wrong")
	}
}
