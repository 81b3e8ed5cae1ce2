package formula

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// TestLoopsOfWindows uses windows with strides, and quotients of indices beside constants, gradients
// included.
func TestLoopsOfWindows(t *testing.T) {
	formulas := []string{
		"y[n, k] = sum(i < 3: w[n, i % K] * (x[n, 2 * k + i - 1] else 0))",
		"y[n, k] = sum(i < 2, j < 2: x[2 * n + i - 1, 3 * k + 2 * j - 1] else 0)",
		"y[n, k] = sum(i < 3, j < 2: (x[n + 2 * i - 1, k - j] else 0) * (w[3 * n - i, k + j] else 0))",
		"y[n, k] = (x[(n + 1) / 2, (k + 2) / 3] else w[n, k]) * 2",
		"y[n, k] = x[quotient(n + 1, 2), quotient(k + 2, 3)] else w[n, k]",
		"y[n, k] = (k + 1) % 3 == 0 ? x[n, k / 3] : w[n, k]",
		"y[n, k] = x[n, k + 1 - 2 * (k % 2)] * (2 * (k % 2) - 1) + x[n, k] else 0",
		"y[n, k] = x[n, (k + 1) / 4] * w[(3 * n + 1) / 4, k]",
		"y[n, k] = max(i < 3: x[n, k + i - 1] else -2)\ns[n] = sum(k: y[n, k] * w[n, k])",
		"y[n, k] = logsumexp(m in max(0, k - 1) .. min(K, k + 2): x[n, m]) + max(m in max(0, k - 2) .. k + 1: w[n, m])",
		"y[n, k] = mean(m in max(0, k - 1) .. k + 1: x[n, m]) + count(m in max(0, k - 1) .. min(K, k + 2) if x[n, m] > 0.5)",
		"y[n, k] = (any(m in k .. min(K, k + 3): x[n, m] > 0.9) ? 1 : 2) * prod(m in max(0, k - 1) .. k + 1: w[n, m])",
		"y[n, k] = sum(m in j[n] .. min(K, j[n] + 3): x[n, m]) + sum(m in k / 2 .. min(K, k / 2 + 2): x[n, m] * w[n, k])",
	}
	for _, size := range append(extentsOfTests, [2]int{5, 49}, [2]int{35, 6}) {
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			for _, text := range sampled(formulas, size, typ) {
				t.Run(fmt.Sprint(size, typ, text), func(t *testing.T) { compareLoops(t, text, typ, size[0], size[1]) })
			}
		}
	}
}

// TestLoopsOfFewerIndices uses functions that depend on some of the statement's indices only, or on no
// tensor, gradients included.
func TestLoopsOfFewerIndices(t *testing.T) {
	formulas := []string{
		"y[n, k] = cos((n + 1) * 3 ^ (-k / K)) * x[n, k]",
		"y[n, k] = exp(w[0, k]) * x[n, k] + sin(w[0, k] + k)",
		"y[n, k] = x[n, k] * (k < 2 ? log(w[0, k] + 1) : tanh(k / 7))",
		"y[n, k] = sum(i < 2: x[n, k] * exp(-k / 9)) + exp(-k / 9)",
		"turned(r, m, p) = x[m, 2 * p + r] * cos(m * 7 ^ (-p)) + (2 * r - 1) * x[m, 2 * p + 1 - r] * sin(m * 7 ^ (-p))\ny[n, k] = k < K - K % 2 ? turned(k % 2, n, quotient(k, 2)) : 0",
		"t[b, n, k] = x[n, k] * sigmoid(w[n, k] * k) * (b + 1) for b < 3\ny[n, k] = t[0, n, k] + t[2, n, k]",
		"y[n, k] = x[n, k] * convert(exp(k / 300), f32) + uniform(3, 1, k)",
	}
	for _, size := range append(extentsOfTests, [2]int{5, 48}, [2]int{0, 5}, [2]int{5, 0}) {
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			for _, text := range sampled(formulas, size, typ) {
				t.Run(fmt.Sprint(size, typ, text), func(t *testing.T) { compareLoops(t, text, typ, size[0], size[1]) })
			}
		}
	}
}

// TestLoopsByElement checks the promise of elementwise steps: a share of the loops writes its share of the
// elements and no others, also if an expression depends on fewer indices or divides one.
func TestLoopsByElement(t *testing.T) {
	const rows, cols = 64, 48
	for _, text := range []string{
		"y[n, k] = x[n, k] * exp(w[0, k])",
		"y[n, k] = x[n, k] * exp(w[k / 8, k % 8])",
		"y[n, k] = x[n, k] * exp(w[n, 0] * k) * cos(k / 3)",
		"y[n, k] = x[n, k] + w[0, (k + 1) / 2]",
		"y[n, k] = x[n, k] + w[(n + 1) / 2, 0]",
	} {
		p, err := program.Build(useOfTest(t, text, dtype.F32, rows, cols))
		if err != nil {
			t.Fatal(err)
		}
		tensors, memory := make([]rewrite.Tensor, len(p.Tensors)), make([][]byte, len(p.Tensors))
		for i, l := range p.Tensors {
			tensors[i] = rewrite.Tensor{Type: dtype.F32, Memory: i}
			if l.Kind == term.Integer {
				tensors[i].Type = dtype.I64
			}
			memory[i] = make([]byte, count(l)*tensors[i].Type.Size())
		}
		code, err := loops.Compile(p, p.Statements, tensors, loops.Options{ByElement: true})
		if err != nil {
			t.Fatal(err)
		}
		if code.Groups() != 1 {
			t.Errorf("%s: want 1 group, got %d", text, code.Groups())
			continue
		}
		y, x := as[float32](memory[slotY]), as[float32](memory[slotX])
		for i := range x {
			x[i] = 1
		}
		run := code.Bind(memory)
		const parts = 4
		for i := range parts {
			clear(y)
			if err := run.Run(0, 1, loops.Time{Run: op.NextRun()}, i, i+1, parts); err != nil {
				t.Fatal(err)
			}
			for k, v := range y {
				if inside := k*parts/len(y) == i; inside != (v != 0) {
					t.Fatalf("%s, part %d of %d, element %d: got %v, want a number other than 0: %v", text, i, parts, k, v, inside)
				}
			}
		}
	}
}
