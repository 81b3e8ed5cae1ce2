package formula

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// TestMaskedProducts compares matrix products with the interpreter in which zeros of an operand leave terms
// out, also beside infinite and NaN elements of the other operand. Gradients contain such sums.
func TestMaskedProducts(t *testing.T) {
	for _, text := range []string{
		"t[n, n'] = sum(k if x[n, k] != 0: x[n, k] * w[n', k])\ny[n, k] = sum(n' if t[n, n'] != 0: t[n, n'] * w[n', k])",
		"t[n, n'] = sum(k if w[n', k] != 0: x[n, k] * w[n', k])\ny[n, k] = sum(n' if w[n', k] != 0: t[n, n'] * w[n', k])",
		"t[n, n'] = sum(k if x[n, k] > 0.5: x[n, k] * w[n', k])\ny[n, k] = sum(n' if x[n', k] != 0: t[n, n'] * w[n', k])", // two that are none
		"t[k, k'] = sum(n if x[n, k] != 0: x[n, k] * w[n, k'])\ny[n, k] = sum(k' if t[k, k'] != 0: x[n, k'] * t[k, k'])",
	} {
		for _, size := range [][2]int{{5, 3}, {9, 70}, {1, 4}} {
			for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
				t.Run(fmt.Sprint(size, typ, text), func(t *testing.T) {
					p, err := program.Build(useOfTest(t, text, typ, size[0], size[1]))
					if err != nil {
						t.Fatal(err)
					}
					for _, special := range []bool{false, true} {
						if err := compareProgram(t, p, typ, size[1], special, roundingOfSums); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
	}
}

// TestMaskedProductsAreAdded adds a masked matrix product to a tensor in memory. A zero leaves out a term
// with an infinite factor.
func TestMaskedProductsAreAdded(t *testing.T) {
	p, err := program.Build(useOfTest(t, "y[n, k] = sum(k' if x[n, k'] != 0: x[n, k'] * w[k', k])", dtype.F64, 2, 2))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]float64{"x": {0, 2, 3, 4}, "w": {math.Inf(1), 5, 6, 7}, "y": {100, 200, 300, 400}}
	tensors, memory := make([]rewrite.Tensor, len(p.Tensors)), make([][]byte, len(p.Tensors))
	for i, l := range p.Tensors {
		tensors[i] = rewrite.Tensor{Type: dtype.F64, Memory: i, Add: l.Name == "y"}
		if v := values[l.Name]; v != nil {
			memory[i] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
		}
	}
	code, err := loops.Compile(p, p.Statements, tensors, loops.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if kinds := code.Kinds(); !slices.Equal(kinds, []string{"products of matrices"}) {
		t.Errorf("want a product of matrices, got %v", kinds)
	}
	if err := code.Bind(memory).Run(0, code.Groups(), loops.Time{Run: op.NextRun()}, 0, 1, 1); err != nil {
		t.Fatal(err)
	}
	if want := []float64{112, 214, math.Inf(1), 443}; !slices.Equal(values["y"], want) {
		t.Errorf("got %v, want %v", values["y"], want)
	}
}

// TestLoopsOfRanges compares loops with the interpreter, gradients included, for reductions over unusual
// ranges: clipped, shifted, nested and empty ones.
func TestLoopsOfRanges(t *testing.T) {
	for _, c := range []struct {
		text string
		size [2]int
	}{
		// An inner range that ends at an outer index of the same reduction, whose window begins at the index
		// of the result.
		{"y[n, k] = sum(a in k .. k + 3, b in k .. a + 1: w[n, b] else 0)", [2]int{2, 6}},
		{"y[n, k] = logsumexp(n' in k - 2 * n + 2 .. K, k' in -1 .. 3 * n - 2 * n' + 1: w[n, k'] else 0.5)", [2]int{3, 6}},
		{"y[n, k] = max(a in k - 1 .. k + 2, b in a .. a + 2, c in k .. b + 1: w[n, c] else x[n, a])", [2]int{2, 9}},
		// A guard that is the same for all elements, around one element: code of few instructions.
		{"s[n] = min(k if n == 1 && k > 0: w[0, 0])", [2]int{3, 6}},
		{"y[n, k] = min(m in 0 .. 4 if k > n: x[n, k])", [2]int{1, 6}},
		{"y[n, k] = max(m in 0 .. 4, i < 3 if k > n: w[n, 0])", [2]int{3, 6}},
		{"s[n] = min(k' in 2 * n .. 2 * n + 1, n': w[n, 1])", [2]int{4, 3}},
		// Two reductions whose ranges depend on one another's indices.
		{"s[n] = mean(k in n + 1 .. K, c1 in k - n .. k - n + 3: c1 * (w[0, k + n] else 0.5))", [2]int{2, 64}},
		{"s[n] = sum(k in n - 1 .. n + 2: x[0, k] * w[0, k - n + 1])", [2]int{3, 8}},
		// Rows of one element, reversed rows, and lookups.
		{"at[n] = argmax(k: x[n, k])\ny[n, k] = w[0, at[n]]", [2]int{300, 3}},
		{"at[n] = argmax(k: x[n, k])\ny[n, k] = w[at[n], K - 1 - k]", [2]int{7, 7}},
		{"t[k] = sum(n: x[n, k])\ny[n, k] = x[n, k] - t[K - 1 - k]", [2]int{3, 40}},
		// Subscripts that depend on values, in bounds and beyond both ends, and sums at such subscripts.
		{"at[n, k] = convert(floor(4 * w[n, k]), 'i64') - 1\ny[n, k] = (x[n, at[n, k]] else 0) * w[n, k] + (x[n, at[n, k] + 1] else 0.5)", [2]int{3, 40}},
		{"at[n, k] = convert(floor(4 * w[n, k]), 'i64') - 1\ny[n, k] = sum(i < 2, l < 2: (i + l + w[n, k]) * (x[at[n, k] + i, k + l - 1] else 0))", [2]int{3, 40}},
		{"at[n, k] = convert(floor(4 * w[n, k]), 'i64') - 1\ny[n, k] = sum(i < 2: (i + w[n, k]) * (x[n, at[n, k] + i] else 0))", [2]int{3, 40}},
		// Indices of extremes in windows.
		{"p[n], q[n] = argmax(h < 1, c in n * K / N .. ceildiv((n + 1) * K, N): x[0, c + h] else 0)\ns[n] = q[n] + 10 * p[n]", [2]int{4, 5}},
		{"p[n], q[n] = argmin(c in n - 1 .. n + 2, k: x[0, k] + c)\ns[n] = 10 * p[n] + q[n]", [2]int{4, 5}},
		{"s[n] = argmax(d in -n .. -n + 1: x[n, 0])", [2]int{4, 5}},
		{"y[n, k] = argmax(d in -k .. 2 - k: x[n, 0] * d)", [2]int{4, 5}},
		// Empty ranges.
		{"s[n] = max(c in n .. 2: n * c)", [2]int{4, 5}},
		{"y[n, k] = mean(k' in k .. K if k' < 0: w[0, 0])", [2]int{2, 5}},
		{"y[n, k] = mean(d in 2 .. 0 if k >= 0: w[n, 0]) + sum(c in 3 .. -1: w[n, k])", [2]int{2, 5}},
		{"y[n, k] = variance(c in 2 .. 1: w[n, 0]) + sum(n' in 1 .. -1, c < 2: x[n', 0])", [2]int{2, 5}},
		// Conversions of integers to real numbers.
		{"s[n] = prod(k: 4096 * j[n] + k)", [2]int{3, 9}},
		{"s[n] = sum(k: (2147483647 + j[n]) * 2147483647 * (k + 1))", [2]int{3, 9}},
	} {
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			t.Run(fmt.Sprint(c.size, typ, c.text), func(t *testing.T) {
				p, err := program.Build(useOfTest(t, c.text, typ, c.size[0], c.size[1]))
				if err != nil {
					t.Fatal(err)
				}
				if err := compareProgram(t, p, typ, c.size[1], false, roundingOfSums); err != nil {
					t.Error(err)
				}
				compareLoops(t, c.text, typ, c.size[0], c.size[1])
			})
		}
	}
}

// TestNumbersOfExtremes compares argmax and argmin over several indices with nested loops in Go. The result
// is a row-major number in the dimensions of the indices, or in their ranges for indices without a dimension.
func TestNumbersOfExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const rows, cols = 5, 6
	x, w := make([]float64, rows*cols), make([]float64, rows*cols)
	for i := range x {
		x[i], w[i] = rng.Float64(), rng.Float64()
	}
	for range 1000 {
		// Windows that begin at multiples of the result's indices.
		a, b, h, v := rng.IntN(3), rng.IntN(3), 1+rng.IntN(3), 1+rng.IntN(3)
		lo, hi := 1+rng.IntN(3), 4+rng.IntN(2)
		text := fmt.Sprintf("y[n, k] = argmax(n' in %d * n - 1 .. %d * n - 1 + %d, k' in %d * k .. %d * k + %d: x[n', k'])\ns[n] = argmin(c in %d .. %d, k in n .. K: w[n, k] * c)", a, a, h, b, b, v, lo, hi)
		p, err := program.Build(useOfTest(t, text, dtype.F64, rows, cols))
		if err != nil {
			t.Fatal(err)
		}
		m := (&compiled{p, compile(p)}).newMemory()
		copy(m.tensors[slotX].real, x)
		copy(m.tensors[slotW].real, w)
		m.computed[slotX], m.computed[slotW], m.computed[slotJ] = true, true, true
		if err := m.forward(); err != nil {
			t.Fatal(err)
		}
		for n := range rows {
			for k := range cols {
				best, want := 0.0, 0
				for i := max(0, a*n-1); i < min(rows, a*n-1+h); i++ {
					for j := b * k; j < min(cols, b*k+v); j++ {
						if x[i*cols+j] > best {
							best, want = x[i*cols+j], i*cols+j
						}
					}
				}
				if got := m.tensors[slotY].real[n*cols+k]; got != float64(want) {
					t.Fatalf("%s: y[%d, %d] = %v, want %d", text, n, k, got, want)
				}
			}
			least, want := 1e9, 0
			for c := lo; c < hi; c++ {
				for k := n; k < cols; k++ {
					if v := w[n*cols+k] * float64(c); v < least {
						least, want = v, (c-lo)*cols+k
					}
				}
			}
			if got := m.tensors[slotS].real[n]; got != float64(want) {
				t.Fatalf("%s: s[%d] = %v, want %d", text, n, got, want)
			}
		}
	}
}
