package formula

import (
	"math"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestFarIntegers compares integers of a tensor near the ends of 64 bits with indices, and loads elements at
// such subscripts, with defaults.
func TestFarIntegers(t *testing.T) {
	for _, c := range []struct {
		text string
		want func(k, j, cols int) float64 // what index k of the result gets, or adds
	}{
		{"s[n] = sum(k in 1 .. K if k >= j[n]: x[n, k])", func(k, j, cols int) float64 { return truth(k >= 1 && k >= j) }},
		{"s[n] = sum(k if k < j[n]: x[n, k])", func(k, j, cols int) float64 { return truth(k < j) }},
		{"y[n, k] = k == j[n] ? 0 : x[n, k]", func(k, j, cols int) float64 { return truth(k != j) }},
		{"y[n, k] = k <= j[n] ? 3 : 4", func(k, j, cols int) float64 { return 4 - truth(k <= j) }},
		{"y[n, k] = (x[n, k + j[n]] else 2)", func(k, j, cols int) float64 { return 2 - truth(0 <= k+j && k+j < cols) }},
		{"y[n, k] = (x[n, j[n] - k] else 2)", func(k, j, cols int) float64 { return 2 - truth(0 <= j-k && j-k < cols) }},
		{"y[n, k] = j[n] + k < 0 ? 3 : 4", func(k, j, cols int) float64 { return 4 - truth(j+k < 0) }},
		{"y[n, k] = j[n] - k <= j[n] ? 3 : 4", func(k, j, cols int) float64 { return 4 - truth(j-k <= j) }},
		{"y[n, k] = min(j[n] + 2 * k, j[n]) == j[n] ? 3 : 4", func(k, j, cols int) float64 { return 4 - truth(min(j+2*k, j) == j) }},
		{"s[n] = sum(k if j[n] + k >= k: x[n, k])", func(k, j, cols int) float64 { return truth(j+k >= k) }},
		{"s[n] = sum(a in j[n] + 1022 .. j[n] + 1025: (x[n, a] else 2))", func(k, j, cols int) float64 {
			switch at := j + 1022 + k; { // of three, whose numbers may wrap around
			case k == 0 && cols < 3:
				sum := 0.0
				for a := at; a != at+3; a++ {
					sum += 2 - truth(0 <= a && a < cols)
				}
				return sum
			case k < 3 && cols >= 3:
				return 2 - truth(0 <= at && at < cols)
			}
			return 0
		}},
	} {
		for _, cols := range []int{1, 7, 65, 1030} {
			far := []float64{math.MinInt64, 1 - 1<<62, -3, 0, 2, 1 << 62, 1<<63 - 1024}
			given := map[string][]float64{"j": far, "grad.y": make([]float64, len(far)*cols), "grad.s": make([]float64, len(far))}
			for range len(far) * cols {
				given["x"] = append(given["x"], 1)
			}
			got := computed(t, c.text, dtype.F32, len(far), cols, given)
			for n, j := range far {
				sum := 0.0
				for k := range cols {
					want := c.want(k, int(j), cols)
					if sum += want; c.text[0] == 'y' && got["y"][n*cols+k] != want {
						t.Fatalf("%s, %d columns, k = %d, j = %v: got %v, want %v", c.text, cols, k, j, got["y"][n*cols+k], want)
					}
				}
				if c.text[0] == 's' && got["s"][n] != sum {
					t.Errorf("%s, %d columns, j = %v: got %v, want %v", c.text, cols, j, got["s"][n], sum)
				}
			}
		}
	}
}

// TestTooFar builds formulas with integers of indices and attributes that exceed the limit on indices, which
// are errors, and formulas that just reach it.
func TestTooFar(t *testing.T) {
	for _, c := range []struct {
		text string
		size int
		ok   bool
	}{
		{"y[n, k] = (x[n, k + size] else 2)", 1 << 61, false},
		{"y[n, k] = (x[n, k + size] else 2)", 1<<61 - 100, true},
		{"y[n, k] = (x[n, k - size] else 2)", math.MaxInt, false},
		{"y[n, k] = sum(k' in k - size .. k + 1: x[n, k'])", 1 << 61, false},
		{"y[n, k] = sum(k' in k - size .. k + size: x[n, k'])", 1 << 60, false},
		{"y[n, k] = sum(k' in max(0, k - size) .. k + 1: x[n, k'])", 1 << 60, true},
		{"y[n, k] = k < size ? x[n, k] : 0", math.MaxInt, false},
		{"s[n] = count(k if k * size > n)", 1 << 60, false},
		{"s[n] = count(k if k * size > n)", 1 << 50, true},
		{"y[n, k] = ceildiv(k, size) * x[n, k]", math.MaxInt, false},
		{"y[n, k] = quotient(k, size) * x[n, k]", math.MaxInt, false},
		{"y[n, k] = (k + size)^2 * x[n, k]", 1 << 32, false},
		{"y[n, k] = (k + size)^2 * x[n, k]", 1 << 31, true},
		{"y[n, k] = (k + size) % 7 * x[n, k]", 1 << 61, false},
		{"y[n, k] = (k + size)^2 < n ? x[n, k] : 0", 1 << 31, false},
		{"y[n, k] = (x[n, (k + size) - size + 0 * size] else 2)", 1 << 61, false},
		{"y[n, k] = -size * x[n, k]", math.MinInt, false},
		{"y[n, k] = size * size * x[n, k]", 1 << 32, false},
		{"y[n, k] = size + 1 > 5 ? x[n, k] : 0", math.MaxInt - 1, true},
		{"s[n] = sum(k: j[n] * size + k)", math.MaxInt, true},
		{"s[n] = sum(k in j[n] .. j[n] + size: x[n, k])", 1 << 61, true},
		{"s[n] = sum(k in j[n] .. j[n] + size: x[n, k])", 1<<61 + 1, false},
		{"s[n] = sum(k if k < j[n] - size: x[n, k])", math.MaxInt, false},
		{"s[n] = sum(k if k < j[n] - size: x[n, k])", 1 << 61, true},
		{"y[n, k] = (x[n, (j[n] + 1) - size] else 2)", math.MaxInt, false},
	} {
		o, at, r := operatorWith(t, c.text)
		given := at.(attrs)
		given.Size = c.size
		_, err := newProgram(o, given, r, 0, nil)
		if ok := err == nil; ok != c.ok || !ok && !strings.Contains(err.Error(), program.TooFar) {
			t.Errorf("%s, size %d: got the error %v", c.text, c.size, err)
		}
	}
}

// TestFarWindows sums windows that begin where values of a tensor say and are much larger than their
// dimension. Loops over whole windows would take minutes.
func TestFarWindows(t *testing.T) {
	const rows, cols = 5, 40
	given := map[string][]float64{"x": make([]float64, rows*cols), "j": {-7, 0, 3, cols - 1, cols + 2}, "grad.s": {1, 1, 1, 1, 1}}
	for i := range given["x"] {
		given["x"][i] = float64(i%7) + 0.5
	}
	for text, within := range map[string]func(j, k int) bool{
		"s[n] = sum(k in j[n] .. j[n] + 1073741824: x[n, k])":                          func(j, k int) bool { return k >= j },
		"s[n] = sum(k in j[n] - 1073741824 .. j[n]: x[n, k])":                          func(j, k int) bool { return k < j },
		"s[n] = sum(k in max(2, j[n]) .. min(30, j[n] + 1073741824): x[n, k] * 2) / 2": func(j, k int) bool { return k >= max(2, j) && k < 30 },
	} {
		got := computed(t, text, dtype.F64, rows, cols, given)
		for n, j := range given["j"] {
			sum := 0.0
			for k := range cols {
				x, is := given["x"][n*cols+k], truth(within(int(j), k))
				sum += x * is
				if g := got["grad.x"][n*cols+k]; g != is {
					t.Errorf("%s: the gradient of x[%d, %d] is %v, want %v", text, n, k, g, is)
				}
			}
			if got["s"][n] != sum {
				t.Errorf("%s: s[%d] is %v, want %v", text, n, got["s"][n], sum)
			}
		}
	}
}

func truth(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
