package formula

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// folds are reference implementations of reductions of a list.
var folds = map[string]func([]float64) float64{
	"sum": func(v []float64) (s float64) {
		for _, x := range v {
			s += x
		}
		return s
	},
	"prod": func(v []float64) float64 {
		p := 1.0
		for _, x := range v {
			p *= x
		}
		return p
	},
	"max": func(v []float64) float64 { return slices.Max(append([]float64{math.Inf(-1)}, v...)) },
	"min": func(v []float64) float64 { return slices.Min(append([]float64{math.Inf(1)}, v...)) },
	"mean": func(v []float64) (s float64) {
		for _, x := range v {
			s += x
		}
		return s / float64(len(v))
	},
	"logsumexp": func(v []float64) (s float64) {
		for _, x := range v {
			s += math.Exp(x)
		}
		return math.Log(s)
	},
}

// TestScans compares prefix, suffix and leave-one-out reductions with Go code. Some elements are 0.
func TestScans(t *testing.T) {
	x, w := testValues()
	x[1], x[6], x[7] = 0, 0, 0
	for over, counts := range map[string]func(i, k int) bool{
		"k' in 0 .. k":                 func(i, k int) bool { return i < k },
		"k' in 0 .. k + 1":             func(i, k int) bool { return i <= k },
		"k' in 0 .. 2 * k":             func(i, k int) bool { return i < 2*k },
		"k' in 1 .. max(k, 3)":         func(i, k int) bool { return 1 <= i && i < max(k, 3) },
		"k' if k' <= k && k' != 1":     func(i, k int) bool { return i <= k && i != 1 },
		"k' in k + 1 .. K":             func(i, k int) bool { return i > k },
		"k' if k <= k'":                func(i, k int) bool { return i >= k },
		"k' if k < k' && w[n, k'] < 1": nil,
		"k' if k' != k":                func(i, k int) bool { return i != k },
		"k' if !(k == k') && k' > 0":   func(i, k int) bool { return i != k && i > 0 },
		"m in 0 .. k":                  func(i, k int) bool { return i < k },
		"m < k + 1":                    func(i, k int) bool { return i <= k },
		"m in k + 1 .. K":              func(i, k int) bool { return i > k },
	} {
		for kind, fold := range folds {
			index, _, _ := strings.Cut(over, " ")
			text := fmt.Sprintf("y[n, k] = %s(%s: x[n, %s])", kind, over, index)
			p, err := useFormula(t, text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			c := &code{p: p.Program, reads: map[int]bool{}}
			if c.number(p.Statements[0]); c.inOnePass(p.Statements[0]) == nil {
				t.Errorf("%s is not told to be a scan", text)
			}
			_, y, _ := compute(t, p, x, w)
			for at, got := range y {
				n, k := at/cols, at%cols
				var v []float64
				for i := range cols {
					if counts != nil && counts(i, k) || counts == nil && k < i && w[n*cols+i] < 1 {
						v = append(v, x[n*cols+i])
					}
				}
				if want := fold(v); !(math.Abs(got-want) <= 1e-12) && got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Errorf("%s: y[%d, %d] = %v, want %v", text, n, k, got, want)
				}
			}
		}
	}
}

// TestIntegerScans checks scans of integers and of conditions.
func TestIntegerScans(t *testing.T) {
	x, w := testValues()
	for text, want := range map[string][]float64{ // of s; j is 2, 0, 3
		"t[n] = sum(n' in 0 .. n + 1: j[n'])\ns[n] = t[n]":                            {2, 2, 5},
		"t[n] = max(n' in n + 1 .. N: j[n'] - 5)\ns[n] = n == 2 ? 0 : t[n]":           {-2, -2, 0},
		"s[n] = count(n' if n' < n && j[n'] > 0)":                                     {0, 1, 1},
		"s[n] = any(n' in 0 .. n: j[n'] == 0) ? 1 : 0":                                {0, 0, 1},
		"a[n] = all(n' if n' != n: j[n'] > 0)\ns[n] = a[n] ? 1 : 0":                   {0, 1, 0},
		"s[n] = prod(n' if n' != n: j[n'])":                                           {0, 6, 0},
		"s[n] = j[n] * count(n' in 0 .. n) + 10 * rank(n': j[n'])[n]":                 {10, 0, 26},
		"s[n] = sum(n' if quotient(j[n'], 2) == n: 1 + n')":                           {2, 4, 0},
		"s[n] = count(n' if n == j[n'])":                                              {1, 0, 1},
		"h[k, n] = count(n' if n == n' && j[n'] == k)\ns[n] = sum(k: k * h[k, n])":    {2, 0, 3},
		"s[n] = argsort(n': j[n'])[n]":                                                {1, 0, 2},
		"s[n] = argsort(n': j[n'] descending)[n]":                                     {2, 0, 1},
		"s[n] = rank(n': j[n'] descending)[2 - n]":                                    {0, 2, 1},
		"s[n] = n == 1 ? argsort(n': j[n'])[n] : 7":                                   {7, 0, 7},
		"a[n], b[n] = argsort(n', k < 2: k * 10 + j[n'])[n]\ns[n] = 10 * a[n] + b[n]": {10, 0, 20},
		"s[n] = argsort(n', k < 2: k * 10 + j[n'])[n]":                                {2, 0, 4},
		"s[n] = rank(n', k < 2: k * 10 + j[n'])[n, 1]":                                {4, 3, 5},
		"s[n] = argsort(n', k: 1 descending)[n * K]":                                  {0, 4, 8},
	} {
		p, err := useFormula(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, _, s := compute(t, p, x, w); !slices.Equal(s, want) {
			t.Errorf("%s: got %v, want %v", text, s, want)
		}
	}
}

// TestOrders checks argsort and rank: they are stable, and NaN is greater than all numbers.
func TestOrders(t *testing.T) {
	nan := math.NaN()
	keys := []float64{2, nan, -1, 2, math.Inf(1), nan, 0, math.Copysign(0, -1)}
	for _, c := range []struct {
		descending bool
		want       []int
	}{{false, []int{2, 6, 7, 0, 3, 4, 1, 5}}, {true, []int{1, 5, 4, 0, 3, 6, 7, 2}}} {
		if got := places(len(keys), func(i, j int) int { return compareReal(keys[i], keys[j]) }, c.descending); !slices.Equal(got, c.want) {
			t.Errorf("descending %v: got %v, want %v", c.descending, got, c.want)
		}
	}
	x, w := testValues()
	p, err := useFormula(t, "y[n, k] = argsort(k': x[n, k'])[k]\ns[n] = sum(k: abs(y[n, rank(k': x[n, k'])[k]] - k))")
	if err != nil {
		t.Fatal(err)
	}
	_, y, s := compute(t, p, x, w)
	for n := range rows {
		row := x[n*cols : (n+1)*cols]
		if !slices.IsSortedFunc(y[n*cols:(n+1)*cols], func(a, b float64) int { return cmp.Compare(row[int(a)], row[int(b)]) }) {
			t.Errorf("row %d: %v has the order %v", n, row, y[n*cols:(n+1)*cols])
		}
		if s[n] != 0 {
			t.Errorf("row %d: the place of the element at a place is another: %v", n, s[n])
		}
	}
}

// TestOutsideOrder checks lookups beyond the ends of an order.
func TestOutsideOrder(t *testing.T) {
	x, w := testValues()
	for text, want := range map[string]string{
		"s[n] = argsort(k: x[n, k])[j[n] + 1]": "operator test: formula: argsort has 4 places, and got 4",
		"s[n] = rank(k: x[n, k])[j[n] - 1]":    "operator test: formula: rank has 4 places, and got -1",
	} {
		p, err := useFormula(t, text)
		if err != nil {
			t.Fatal(err)
		}
		m := p.newMemory()
		copy(m.tensors[slotX].real, x)
		copy(m.tensors[slotW].real, w)
		copy(m.tensors[slotJ].integer, picked)
		if err := m.forward(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestOnePass runs formulas, forward and backward, on so many elements that quadratic time would be too slow.
func TestOnePass(t *testing.T) {
	const n = 300_000
	for _, text := range []string{
		"y[n, k] = sum(k' in 0 .. k + 1: x[n, k'])",
		"y[n, k] = x[n, k] * prod(k' if k' != k: w[n, k'])",
		"y[n, k] = max(k' in k .. K: x[n, k']) + logsumexp(k' in 0 .. k + 1: w[n, k'])",
		"place[n, k] = rank(k': x[n, k'])[k]\ny[n, k] = sum(k' if place[n, k'] == k: w[n, k'])",
		"y[n, k] = x[n, argsort(k': w[n, k'] descending)[k]]",
	} {
		o, at, r := operatorOf(t, text, dtype.F64, 1, n)
		p, err := newProgram(o, at, r, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := p.newMemory()
		for i := range n {
			m.tensors[slotX].real[i], m.tensors[slotW].real[i] = math.Sin(float64(i*i)), 1+1e-6*math.Cos(float64(i))
		}
		if err := m.forward(); err != nil {
			t.Fatal(err)
		}
		m.computed[slotX], m.computed[slotW] = true, true
		m.grads[slotY] = slices.Repeat([]float64{1}, n)
		if err := m.backward(); err != nil {
			t.Fatal(err)
		}
		if m.grads[slotX] == nil && m.grads[slotW] == nil {
			t.Errorf("%s has no gradient", text)
		}
	}
}
