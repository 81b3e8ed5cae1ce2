package formula

import (
	_ "embed"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// extentsOfTests are around the ends of strips and of blocks of sums, and make strips of either index.
var extentsOfTests = [][2]int{{3, 4}, {1, 1}, {3, 1100}, {6, 128}, {64, 10}, {1100, 3}, {70, 66}, {1, 2100}}

// The interpreter takes most of the time of these tests on large tensors.
var allLoops = flag.Bool("all-loops", false, "compare all loops on all large tensors, in all types")

// sampled returns the cases that run at given extents and for a type. On large tensors it is every eighth
// case, and another eighth for the other type and other extents. With -short, it is one case in 15: these
// tests compute with one goroutine, so the race detector, under which they take many times as long, finds
// little in them.
func sampled(cases []string, size [2]int, typ dtype.Type) []string {
	first, every := 0, 1
	switch {
	case testing.Short():
		every = 15
	case !*allLoops && size[0]*size[1] > 1000:
		first, every = slices.Index(extentsOfTests, size)%8, 8
		if typ == dtype.F32 {
			first = (first + 4) % 8
		}
	}
	var out []string
	for i := first; i < len(cases); i += every {
		out = append(out, cases[i])
	}
	return out
}

// TestLoops compares loops with the interpreter, gradients included.
func TestLoops(t *testing.T) {
	formulas := append(differentiable(),
		"s[n] = argmax(k: x[n, k])",
		"s[n] = count(k if x[n, k] > w[n, k])",
		"s[n] = any(k: x[n, k] > 0.9) ? 1 : all(k: w[n, k] > 0) ? 2 : 3",
		"y[n, k] = uniform(3, 1, n * K + k) + normal(3, 1, n * K + k)",
		"y[n, k] = n == k ? x[n, k] : k < j[n] ? 1 : 0",
		"y[n, k] = hypot(x[n, k], w[n, k]) * hypot(w[n, 0], x[n, k]) + hypot(x[n, 0], 0.5)",
		"y[n, k] = fmod(4 * x[n, k], w[n, k]) * fmod(w[n, 0], x[n, k]) + fmod(x[n, 0], 0.25)",
		"y[n, k] = ceil(x[n, k]) + floor(w[n, k]) + round(3 * x[n, k]) + sign(x[n, k] - 0.5)",
		"y[n, K - 1 - k] = x[n, k] * 2",
		"u[n, k] = x[n, k] * w[n, k]\ny[n, k] = u[n, k] + u[n, K - 1 - k]\ns[n] = sum(k: y[n, k]) / u[n, 0]",
		"y[n, k] = x[n, k] > w[n, k] && !(k == 1) || isnan(x[n, k]) ? 1 : 0",
		"s[n] = x[n, j[n]]",
		"s[n] = x[n, j[n]] * w[n, K - 1 - j[n]]",
		"s[n] = (x[n, j[n] + 1] else 0.5) + (x[n, j[n] - 1] else w[n, 0])",
		"y[n, k] = x[n, quotient(k, 2)]",
		"y[n, k] = x[n, (3 * k + 1) % K] + x[n, quotient(K - 1 - k, 3)]",
		"y[n, k] = convert(x[n, k], f64) + convert(w[n, k], f32)",
		"y[n, k] = size > 3 ? x[n, k] : w[n, k]",
		// A range that depends on another index of the same reduction.
		"y[n, k] = k <= n ? sum(k': w[0, k'] * w[0, k']) : x[n, k]",
		"s[n] = sum(m < N, k in 0 .. min(K, m + 1): x[m, k] * w[n, 0]) + max(m < N, k in min(m, K - 1) .. K: x[m, k])",
		"s[n] = mean(m < N, k in 0 .. min(K, m + 1): x[m, k]) + count(m < N, k in 0 .. min(K, m + 1) if w[m, k] > 0.5)",
		// A value that resembles one that a statement defines, but with a number in place of the index, or at
		// an index beyond the last one.
		"t[n, k] = sigmoid(w[0, k]) * n\ny[n, k] = t[n, k]",
		"t[n, k] = exp(x[n, k + 1] else 0)\ny[n, k] = t[n, k] * exp(x[n, k + 2] else 0)",
		"t[n, k] = k < K - 1 ? x[n, k + 1] * 2 : 1\ny[n, k] = t[n, k] + (k + 1 < K - 1 ? x[n, k + 2] * 2 : 1)",
		// A gradient whose range has an index of two digits.
		"t[n, k] = k <= j[n] ? x[n, k] * w[n, quotient(k, 2)] : 1\nu[n, k] = sum(i in (k + 1) / 2 .. min(K, (k + 1) / 2 + 2): x[n, i])\ny[n, k] = t[n, k] * u[n, k]",
		// Extremes over ranges that depend on other indices.
		"y[n, k] = max(k' in 0 .. k + 1: tanh(2 * x[n, k']))",
		"y[n, k] = min(k' in k .. K: sigmoid(x[n, k']) * w[n, k'])",
		"y[n, k] = max(k' in 0 .. k + 1: x[n, k'] - (k - k') * w[n, 0])",
		"y[n, k] = max(k' in max(0, k - 1) .. min(K, k + 2): x[n, k'] * w[n, k])",
		// Windows whose tensor is read at the difference of two indices.
		"y[n, k] = sum(k' in max(0, k - 1) .. min(K, k + 2): x[n, k'] * w[0, k' - k + 1])",
		"y[n, k] = logsumexp(k' in max(0, k - 1) .. min(K, k + 2): x[n, k'] * (w[0, k - k'] else 0.3))",
		// Sums under a condition, and ranges that may end before 0.
		"y[n, k] = sum(i < 2: w[n, 3 * k - 2 * i] else w[n, k]) > 0.37 ? sqrt(2 + tanh(sum(i < 2: w[n, 3 * k - 2 * i] else w[n, k]))) : max(i < 2: w[n, k - i] else 0.3) / (2 + x[n, k]^2)",
		"t[n, k] = k < 1 ? max(i < 2: x[n, k - i] else 0.3) : w[n, k]\ny[n, k] = sum(i < 2: t[n, 3 * k - 2 * i] else t[n, k])\ns[n] = sum(k' if k' == n: sum(i' < 3: t[n, 2 * k' + i' - 1] else 0.5))",
	)
	for _, size := range extentsOfTests {
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			for _, text := range sampled(formulas, size, typ) {
				t.Run(fmt.Sprint(size, typ, text), func(t *testing.T) { compareLoops(t, text, typ, size[0], size[1]) })
			}
		}
	}
}

// TestLoopsOfOwnStrips compares loops with the interpreter, gradients included, for values that the same loop
// computes and reads twice, in every kind of expression.
func TestLoopsOfOwnStrips(t *testing.T) {
	const (
		signed   = "t[n, k] = x[n, k] * 2 - w[n, k]\n"
		positive = "t[n, k] = x[n, k] * x[n, k] + 0.5\n"
		small    = "t[n, k] = x[n, k] * w[n, k] * 0.6\n"
	)
	formulas := []string{
		signed + "y[n, k] = t[n, k] * (t[n, k] > 0 ? 1 : 2) + (t[n, k] < 0.3 ? 3 : 1)",
		signed + "y[n, k] = x[n, t[n, k] > 0 ? 0 : k] * t[n, k] + w[n, t[n, k] < 0.3 ? k : 0]",
		signed + "y[n, k] = (t[n, k] > 0 ? k : 2) < (t[n, k] > 0.3 ? 2 : k) ? t[n, k] : (t[n, k] > 0.5 ? k : 2) == 2 ? 7 : 8",
		signed + "y[n, k] = convert(t[n, k], i32) + convert(3 * t[n, k], i64) * t[n, k]",
		signed + "y[n, k] = convert(t[n, k], f32) + convert(3 * t[n, k], f32)",
		signed + "y[n, k] = uniform(t[n, k] > 0 ? 3 : 4, 1, n * K + k) + uniform(3, 1, t[n, k] > 0.3 ? k : 2 * k)",
		signed + "y[n, k] = normal(t[n, k] > 0 ? 3 : 4, 1, n * K + k) + normal(3, 1, t[n, k] > 0.3 ? k : 2 * k)",
		signed + "y[n, k] = sum(i < size: t[n, k] * i) + sum(i < size: (t[n, k] + i) * w[n, 0])",
		signed + "y[n, k] = max(i < size: t[n, k] * i) + argmax(i < size: t[n, k] * i)",
		signed + "y[n, k] = quotient(t[n, k] > 0 ? 5 : 3, 2) + (t[n, k] > 0.3 ? 5 : 4) % 2 + t[n, k]",
		signed + "y[n, k] = isnan(t[n, k]) || t[n, k] > 0 && !(t[n, k] == 0.3) ? 1 : -t[n, k]",
		signed + "b[n, k] = t[n, k] > 0\ny[n, k] = (b[n, k] ? 1 : 2) * t[n, k] + (b[n, k] && t[n, k] < 0.3 ? 1 : 0)",
		signed + "y[n, k] = t[n, k] in [0.3, 0.5] ? 1 : max(t[n, k], 0.2) - min(t[n, k], w[n, k], 0.4)",
		signed + "y[n, k] = t[n, k]^2 + t[n, k]^3 - (t[n, k] + 1)^4 / (3 - t[n, k]) + 2^t[n, k]",
		signed + "s[n] = sum(k: t[n, k] * (t[n, k] > 0 ? 1 : 2)) + max(k: t[n, k] > 0.3 ? 1 : t[n, k])",
		signed + "u[n, k] = t[n, k] * (t[n, k] > 0 ? 1 : 2)\ny[n, k] = u[n, k] * (u[n, k] > 0.3 ? 1 : 2) + t[n, k]",
		"t[n] = variance(k: x[n, k] * j[n] - max(w[n, k], w[n, k]))\nu[n, k] = x[n, k] * w[n, k] / (2 + w[n, K - 1 - k]^2) * quotient(k + 3, 2)\n" +
			"v[n] = sum(k if w[n, k] > 0.37 && t[n] > 0.37: max(w[n, k], u[n, K - 1]) / (2 + t[n]^2))\n" +
			"y[n, k] = rsqrt(2 + tanh(v[n] < 0.37 ? 0.15 : variance(k': u[n, k'])))",
		positive + "y[n, k] = t[n, k]^w[n, k] + pow(w[n, k], t[n, k]) + t[n, k]^0.5 + t[n, k]^-1",
		signed + "y[n, k] = ((t[n, k] - w[n, 0]) * 3 + 1) * (t[n, k] - w[n, 0]) + (2 + t[n, k]) * w[n, 0] - 5 * t[n, k]",
		signed + "u[n, k] = (t[n, k] - w[n, 0]) * x[n, 0]\ny[n, k] = (u[n, k] + w[n, 0]) * 3 - 0.5 + u[n, k] * (t[n, k] - w[n, 0])",
		signed + "y[n, k] = size > 3 ? (t[n, k] - w[n, 0]) * 2 + 1 : (t[n, k] - w[n, 0]) / 3 - 1",
		signed + "s[n] = sum(k: t[n, k] * w[n, k] - (t[n, k] - w[n, 0]) * 3) + sum(k: (t[n, k] - w[n, 0]) * 3)",
		"t[n, k] = k == j[n] ? w[n, 0] * 2 : 0.5\ns[n] = sum(k: t[n, k])\ny[n, k] = t[n, k] * x[n, k] + t[n, K - 1 - k]",
		"t[n, k] = k <= j[n] ? -w[n, 0] : 3\nu[n, k] = j[n] < k ? t[n, k] : x[n, k]\ny[n, k] = t[n, k] * u[n, k]",
		"y[n, k] = x[n, k] - logsumexp(k': x[n, k'])\nu[n, k] = w[n, k] - mean(k': w[n, k'])",
		"s[n] = sum(k: x[n, k] * w[0, k]) + sum(k: x[n, k] * w[0, k] * x[n, 0])",
		// Sums of elements with a stride, or in reverse order.
		"y[n, k] = x[n, k] + w[0, k]", "t[k] = sum(i < N: x[i, k])\ny[n, k] = w[n, k] * t[k]", "y[n, k] = sum(i < N: x[i, k])", "y[n, k] = sum(i < N: x[i, K - 1])", "s[n] = sum(i < N: x[i, 0]) * n + max(i < N: w[i, K - 1])",
		"s[n] = sum(k: x[n, K - 1 - k])", "s[n] = max(k: x[n, K - 1 - k] * 1)", "s[n] = sum(k: x[0, k]) + max(k: w[n, K - 1 - k])",
		// Both operands are sums that are stored in tensors.
		"t[n] = sum(k: x[n, k] * w[n, k])\nu[n] = sum(k: w[n, k])\ns[n] = t[n] + u[n]",
		"y[n, k] = sum(k': w[n, k'] * w[n, k']) + sum(k' if k' > n: w[n, k'])",
		"t[n] = max(k: x[n, k])\nu[n] = max(k: w[n, k])\ns[n] = max(t[n], u[n])",
		// A sum over other extents, or a part of a sum, must not be replaced by a stored sum.
		"y[n, k] = k < 2 ? sum(k': x[n, k'] * w[n, k]) : 2 * sum(k': x[n, k'] * w[n, k])",
		"y[n, k] = sum(k': x[n, k'] * k) + (k > 1 ? sum(k': x[n, k'] * (k - 1)) : 0)",
	}
	for _, f := range term.Functions {
		values := signed
		switch f.Name {
		case "log", "sqrt", "rsqrt":
			values = positive
		case "erfinv":
			values = small
		}
		if f.Args == 1 && f.Result == term.Real {
			formulas = append(formulas, fmt.Sprintf("%[1]sy[n, k] = %[2]s(t[n, k]) * t[n, k] + %[2]s(t[n, k] * w[n, k])", values, f.Name))
		}
	}
	for _, size := range [][2]int{{3, 4}, {1, 1}, {3, 1100}, {64, 10}} {
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			for _, text := range sampled(formulas, size, typ) {
				t.Run(fmt.Sprint(size, typ, text), func(t *testing.T) { compareLoops(t, text, typ, size[0], size[1]) })
			}
		}
	}
}

// TestLoopsOfExtremes compares gradients of extremes of computed values. A value that is the extreme must
// equal it to the last bit, although loops may compute the value and the extreme in different ways.
func TestLoopsOfExtremes(t *testing.T) {
	for _, text := range []string{
		"s[n] = max(k': (x[n, k'] + 2) / (2 + x[n, 0]^2))",
		"s[n] = max(k: (x[n, k] + 2) / (2 + w[n, 0]^2))",
		"s[n] = max(k: (x[n, k] + w[n, 0]) / (2 + x[n, 0]^2))",
		"t[n] = sum(k: w[n, k])\ns[n] = max(k: (x[n, k] + t[n]) / (2 + x[n, 0]^2))",
		"s[n] = min(k: exp(tanh(2 + w[n, w[n, k] > 0.4 ? k : 0])))",
		"t[n, k] = sin(x[n, k])\ns[n] = min(k: (0.3 + tanh(sin(t[n, (k + 1) % K]))))",
		"s[n] = max(k: log(2 + tanh(w[n, quotient(k, 2)])))",
		"t[n, k] = x[n, k] + 1\ns[n] = max(k: t[n, k] * j[n] / (2 + w[n, j[n]]^2))",
		"s[n] = min(k: exp(sin(w[n, k])) / (2 + x[n, j[n]]^2))",
		"s[n] = max(k if x[n, k] > 0.3: (x[n, k] + 2) / (2 + x[n, 0]^2))",
		"s[n] = max(k if k < K - 1: exp(sin(x[n, k + 1])) / (2 + x[n, 0]^2))",
		"s[n] = x[n, 0] > 0.4 ? max(k if k < K - 1: exp(sin(x[n, k + 1])) / (2 + x[n, 0]^2)) : 1",
		"y[n, k] = k < K - 1 ? max(k' if k' < k: exp(sin(x[n, k + 1] * w[n, k'])) / (2 + x[n, 0]^2)) : 1",
		"y[n, k] = k < K - 1 ? min(k': exp(sin(x[n, k + 1] * w[n, k'])) / (2 + x[n, 0]^2)) : 1",
	} {
		for _, size := range [][2]int{{3, 4}, {4, 3}, {5, 7}, {20, 30}} {
			for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
				t.Run(fmt.Sprint(size, typ, text), func(t *testing.T) { compareLoops(t, text, typ, size[0], size[1]) })
			}
		}
	}
}

// TestLoopsOfScansAndOrders compares reductions over the indices before, after and beside the present one,
// and orders, with what the interpreter computes.
func TestLoopsOfScansAndOrders(t *testing.T) {
	var formulas []string
	for _, over := range []string{"k' in 0 .. k", "k' in 0 .. k + 1", "k' in 1 .. k - 2", "k' in 0 .. min(k + 5, K)", "k' in 0 .. 2 * k", "k' in 1 .. max(k, 3)", "k' if k' <= k && k' != 1",
		"k' in k + 1 .. K", "k' in max(k - 3, 1) .. K", "k' if k <= k'", "k' if 2 * k < k'", "k' if k < k' && w[n, k'] < 0.7", "k' if k' != k", "k' if !(k == k') && k' > 0 && w[n, k'] < 0.9"} {
		for _, kind := range []string{"sum", "prod", "max", "min", "mean", "norm", "logsumexp"} {
			formulas = append(formulas, fmt.Sprintf("y[n, k] = %s(%s: 2 * x[n, k'])", kind, over))
		}
		formulas = append(formulas, fmt.Sprintf("b[n, k] = any(%s: x[n, k'] > 0.9)\nc[n, k] = all(%[1]s: x[n, k'] > 0.3)\ny[n, k] = b[n, k] ? 1 : c[n, k] ? 2 : 3", over),
			fmt.Sprintf("y[n, k] = count(%s) + sum(%[1]s: k' * j[n])", over))
		down := strings.NewReplacer("k'", "n'", "k", "n", "K", "N", "w[n, k']", "w[n', k]").Replace(over)
		for _, kind := range []string{"sum", "prod", "max", "mean", "logsumexp"} {
			formulas = append(formulas, fmt.Sprintf("y[n, k] = %s(%s: x[n', k]) + w[n, k]", kind, down))
		}
		formulas = append(formulas, fmt.Sprintf("s[n] = %s(%s: x[n', 0])", "sum", down))
	}
	for _, kind := range []string{"argmax", "argmin"} {
		for _, over := range []string{"k: x[n, k]", "k: ceil(9 * x[n, k])", "k: x[n, k] * 0", "k if w[n, k] > 0.5: x[n, k]", "n', k: x[n', k] + w[n, 0]"} {
			formulas = append(formulas, fmt.Sprintf("s[n] = %s(%s)", kind, over))
		}
		formulas = append(formulas, fmt.Sprintf("i[n, k] = %s(n': x[n', k])\ny[n, k] = i[n, k]", kind))
	}
	formulas = append(formulas,
		"y[n, k] = argsort(k': x[n, k'])[k]", "y[n, k] = argsort(k': x[n, k'] descending)[k]", "y[n, k] = rank(k': x[n, k'])[k]",
		"y[n, k] = rank(k': x[n, k'] descending)[k]", "s[n] = argsort(k: x[n, k])[0]", "s[n] = argsort(k: x[n, k] descending)[min(2, K - 1)]",
		"y[n, k] = argsort(n': x[n', k])[n]", "y[n, k] = rank(n': x[n', k] descending)[n] + x[n, k]", "s[n] = argsort(n', k': x[n', k'])[n]",
		"y[n, k] = rank(n', k': x[n', k'])[n, k]", "s[n] = argsort(n': j[n'])[n]", "y[n, k] = x[n, argsort(k': -x[n, k'])[k]]",
		"i[n, k] = argsort(k': x[n, k'] descending)[k] for k < min(3, K)\ns[n] = sum(k < min(3, K): x[n, argsort(k': i[n, k'])[k]])")
	for _, size := range append(extentsOfTests, [2]int{9, 21}, [2]int{0, 5}, [2]int{5, 0}) {
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			for _, text := range sampled(formulas, size, typ) {
				if strings.Contains(text, "norm(") && size[1] > 100 {
					continue // the interpreter works out the scale of a norm for each element: some minutes
				}
				t.Run(fmt.Sprint(size, typ, text), func(t *testing.T) {
					p, err := program.Build(useOfTest(t, text, typ, size[0], size[1]))
					if err != nil {
						return // the formula reads elements that these extents do not have
					}
					for _, special := range []bool{false, true} {
						if err := compareProgram(t, p, typ, size[1], special, roundingOfSums); err != nil && !unscanned.MatchString(err.Error()) {
							t.Error(err)
						}
					}
					if size[0]*size[1] < 1000 {
						compareLoops(t, text, typ, size[0], size[1])
					}
				})
			}
		}
	}
}

// TestLoopsOfSpecialValues compares loops with the interpreter for equal numbers, infinities and NaN.
func TestLoopsOfSpecialValues(t *testing.T) {
	formulas := []string{
		"y[n, k] = x[n, k] * 0 + w[n, k] * 0", "y[n, k] = 0 / x[n, k]", "s[n] = max(k: x[n, k] * 0)", "s[n] = sum(k: 0 * x[n, k])",
		"y[n, k] = (w[n, k] > 0.5 ? w[n, k] : 0) * x[n, k]", "y[n, k] = x[n, k] * (w[n, k] > 0.5 ? 0 : 1)", "y[n, k] = (w[n, k] > 0.5 ? 1 : 0) / x[n, k]",
		"y[n, k] = w[n, k] > 0.5 ? x[n, k] : 0", "s[n] = sum(k: (k == j[n] ? 1 : 0) * x[n, k])", "y[n, k] = x[n, k] - x[n, k]", "y[n, k] = x[n, k] / w[n, k]",
		"y[n, k] = max(x[n, k], w[n, k]) + min(x[n, k], w[n, k])", "y[n, k] = x[n, k] < w[n, k] ? 1 : x[n, k] == w[n, k] ? 2 : 3",
		"y[n, k] = x[n, k] != w[n, k] || x[n, k] >= 0.5 ? 1 : 0", "y[n, k] = abs(-x[n, k]) + sign(x[n, k]) + floor(x[n, k])", "y[n, k] = x[n, k]^2 + x[n, k]^-1 + x[n, k]^0.5",
		"y[n, k] = exp(x[n, k]) + tanh(x[n, k]) + sigmoid(x[n, k])", "y[n, k] = log(x[n, k]) + sqrt(x[n, k])", "s[n] = sum(k: x[n, k])", "s[n] = prod(k: x[n, k])",
		"s[n] = mean(k: x[n, k])", "s[n] = max(k: x[n, k]) + min(k: w[n, k])", "y[n, k] = logsumexp(k': x[n, k'])",
	}
	compareAll(t, formulas, extentsOfTests, true)
}

// TestLoopsOfHistograms compares loops with the interpreter for segment reductions, where a condition says to
// which result an element contributes: sum(n if j[n] == k: x[n]).
func TestLoopsOfHistograms(t *testing.T) {
	var formulas []string
	for _, kind := range []string{"sum", "prod", "max", "min"} {
		for _, text := range []string{
			"s[n] = %s(n' if j[n'] == n: x[n', 0])",
			"s[n] = %s(n' if n == j[n'] && x[n', 0] > 0.5: x[n', 0] * w[n, 0])",
			"s[n] = %s(n' if j[n'] - 1 == n: x[n', 0])",
			"y[n, k] = %s(n' if j[n'] == n: x[n', k])",
			"y[n, k] = %s(n' if j[n'] == n && x[n', k] > w[n, k]: x[n', k] + w[n, 0])",
			"y[n, k] = %s(n' if j[n'] == k: x[n, n' % K])",
			"i[n, k] = quotient(3 * j[n] + k * k, 2) % (K + 1)\ny[n, k] = %s(k' if i[n, k'] == k: x[n, k'] * w[n, k'])",
			"i[n, k] = quotient(3 * j[n] + k * k, 2) %% (N + 1)\ny[n, k] = %s(n' if i[n', k] == n: x[n', k])",
			"i[n, k] = quotient(3 * j[n] + k * k, 2) %% (K + 1)\nt[n, k] = %s(k' if i[n, k'] == k: x[n, k'])\ny[n, k] = t[n, k] + w[n, k]",
			"t[n] = %s(n' if j[n'] == n: x[n', 0])\ns[n] = max(t[n], x[n, 0])",
			"t[n] = %s(n' if j[n'] == n: x[n', 0])\ns[n] = x[n, 0] * t[n]",
			"t[m, k] = %s(n' if j[n'] == m: x[n', k]) for m < 2\ny[n, k] = t[n %% 2, k] * x[n, k]",
		} {
			formulas = append(formulas, strings.Replace(strings.ReplaceAll(text, "%%", "%"), "%s", kind, 1))
		}
	}
	for _, kind := range []string{"mean", "logsumexp"} {
		formulas = append(formulas, "s[n] = "+kind+"(n' if j[n'] == n: x[n', 0])", "y[n, k] = "+kind+"(n' if j[n'] == n && x[n', k] > w[n, k]: x[n', k] + w[n, 0])")
	}
	formulas = append(formulas, "s[n] = count(n' if j[n'] == n)", "s[n] = count(n' if j[n'] == n && x[n', 0] > 0.5)", "s[n] = max(n' if j[n'] == n: n')",
		"s[n] = sum(n', k if j[n'] == n && j[n'] < K: x[n', k])", "y[n, k] = sum(n', k' if j[n'] == n && j[k' % N] == k: x[n', k'])")
	for _, size := range append(extentsOfTests, [2]int{9, 21}, [2]int{0, 5}, [2]int{5, 0}) {
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			for _, text := range sampled(formulas, size, typ) {
				t.Run(fmt.Sprint(size, typ, text), func(t *testing.T) {
					p, err := program.Build(useOfTest(t, text, typ, size[0], size[1]))
					if err != nil {
						return // the formula divides by an extent of 0
					}
					for _, special := range []bool{false, true} {
						if err := compareProgram(t, p, typ, size[1], special, roundingOfSums); err != nil {
							t.Error(err)
						}
					}
					if size[0]*size[1] < 1000 {
						compareLoops(t, text, typ, size[0], size[1])
					}
				})
			}
		}
	}
}

// unscanned matches scans that loops do not support, since a result does not follow from the one before.
var unscanned = regexp.MustCompile(`(mean\(.* if .* && |(mean|logsumexp)\(.* if .*!)`)

// givenLine matches a definition in a formula: its name, its indices and its right side.
var givenLine = regexp.MustCompile(`(?m)^(\w+)\[([^\]]*)\] = (.*)`)

// used returns a formula that uses all of its definitions, so that none of them is dead code.
func used(text string) string {
	var parts []string
	for _, m := range givenLine.FindAllStringSubmatch(text, -1) {
		name, other := m[1], "0"
		if slices.Contains([]string{"y", "s", "z"}, name) {
			continue
		}
		if name == "truth" {
			other = "false"
		}
		at := strings.TrimSuffix(strings.Repeat("0, ", strings.Count(m[2], ",")+1), ", ")
		if m[2] == "" {
			at = ""
		}
		parts = append(parts, fmt.Sprintf("convert((%s[%s] else %s), f64)", name, at, other))
	}
	if len(parts) == 0 {
		return text
	}
	return strings.TrimSuffix(text, "\n") + "\nz[] = " + strings.Join(parts, " + ")
}

// compareAll compares loops with the interpreter for formulas without gradients, in f32 and f64 and at all
// extents.
func compareAll(t *testing.T, formulas []string, extents [][2]int, special bool) {
	t.Helper()
	for _, size := range extents {
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			for _, text := range sampled(formulas, size, typ) {
				t.Run(fmt.Sprint(size, typ, text), func(t *testing.T) {
					p, err := program.Build(useOfTest(t, used(text), typ, size[0], size[1]))
					if err != nil {
						t.Fatal(err)
					}
					if lines := len(givenLine.FindAllString(text, -1)); len(p.Statements) < lines {
						t.Fatalf("want %d statements at least, got %d", lines, len(p.Statements))
					}
					if err := compareProgram(t, p, typ, size[1], special, roundingOfSums); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// withoutLoops lists formulas for which there are no loops, gradients included, so that the interpreter
// computes them: an order or a scan is part of a value. The list may only become shorter.
//
//go:embed testdata/withoutloops.txt
var withoutLoops string

// compareLoops compares loops with the interpreter for a formula, gradients included.
func compareLoops(t *testing.T, text string, typ dtype.Type, rows, cols int) {
	t.Helper()
	if err := compareWithin(t, text, typ, rows, cols, roundingOfSums); err != nil {
		if quoted := strconv.Quote(text); !slices.Contains(strings.Split(withoutLoops, "\n"), quoted) {
			t.Errorf("want loops for %s, or the formula in testdata/withoutloops.txt: %v", quoted, err)
		}
	}
}

// TestNothingIsDivided builds formulas with a divisor that is 0 where nothing is evaluated, since a range is
// empty.
func TestNothingIsDivided(t *testing.T) {
	for _, c := range []struct {
		text       string
		rows, cols int
	}{
		{"y[n, k] = x[n, (k + 1) % K]", 3, 0},
		{"y[n, k] = x[n % N, k]", 0, 4},
		{"s[n] = sum(k in 0 .. n + 1: x[n, k] * x[n, 1 % K])", 3, 0},
	} {
		if _, err := program.Build(useOfTest(t, c.text, dtype.F64, c.rows, c.cols)); err != nil {
			t.Errorf("%s of [%d, %d]: %v", c.text, c.rows, c.cols, err)
		}
	}
}

// scans reports whether a program has a scan.
func scans(p *program.Program) bool {
	found := false
	for _, s := range p.Statements {
		s.Value.Walk(func(n *term.Term) { found = found || n.Op == term.Reduce && n.Reduction.Scan() != nil })
	}
	return found
}

// useOfTest returns the use of a formula of the test operator.
func useOfTest(t *testing.T, text string, typ dtype.Type, rows, cols int) *program.Use {
	t.Helper()
	o, attrs, r := operatorOf(t, text, typ, rows, cols)
	u, err := useOf(o, attrs, r, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// otherTensors are the names of integer tensors in these tests with other types than i64.
var otherTensors = map[string]dtype.Type{"tiny": dtype.I8, "tinys": dtype.I8, "byte": dtype.U8, "bytes": dtype.U8,
	"short": dtype.I16, "shorts": dtype.I16, "words": dtype.U16, "wides": dtype.U32, "narrow": dtype.U32, "long": dtype.U64, "longs": dtype.U64}

// compareProgram compares loops with the interpreter for a program. It returns an error if there are no loops
// for it.
//
// With special values, many real numbers are equal, and some are NaN or infinite. Where both differ, means
// says what is wrong with what loops give, if it is there; nothing, if rounding decides.
func compareProgram(t *testing.T, p *program.Program, typ dtype.Type, cols int, special bool, tolerance float64,
	means ...func(given, memory [][]byte) string) error {
	t.Helper()
	if len(p.Statements) == 0 {
		t.Fatal("the formula gives nothing that a slot needs")
	}
	tensors := make([]rewrite.Tensor, len(p.Tensors))
	for i, l := range p.Tensors {
		tensors[i] = rewrite.Tensor{Type: typ, Memory: i, Local: l.Given && l.Slot < 0 && len(l.Name) < 5}
		if l.Kind == term.Integer {
			tensors[i].Type = dtype.I64
		}
		if l.Kind == term.Boolean {
			tensors[i].Type = dtype.Bool
		}
		if other, ok := otherTensors[l.Name]; ok {
			tensors[i].Type, l.Unsigned = other, other == dtype.U64
		}
	}
	code, err := loops.Compile(p, p.Statements, slices.Clone(tensors), loops.Options{})
	if err != nil {
		return err
	}
	ref := (&compiled{p, compile(p)}).newMemory()
	memory := make([][]byte, len(tensors))
	random := rand.New(rand.NewPCG(1, 2))
	for i, l := range p.Tensors[:len(tensors)] {
		ref.computed[i] = true
		e := ref.tensors[i]
		for k := range e.real {
			if !l.Given || l.Slot < 0 {
				e.real[k] = float64(float32(0.1 + random.Float64()))
				if special {
					e.real[k] = math.Round(4*e.real[k]) / 4
				}
				if special && random.IntN(9) == 0 {
					e.real[k] = []float64{math.NaN(), math.Inf(1), 0}[random.IntN(3)]
				}
			}
		}
		for k := range e.integer {
			e.integer[k] = int64(random.IntN(max(cols, 1)))
		}
		data := make([]uint64, count(l))
		memory[i] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*tensors[i].Type.Size())
		if len(data) == 0 {
			memory[i] = nil
		}
		e.store(tensors[i].Type, memory[i])
	}
	if err := ref.forward(); err != nil {
		if !misfit.MatchString(err.Error()) {
			t.Error(err)
		}
		return nil
	}
	first := cloned(memory)
	for _, parts := range []int{1, 3} { // several rows run in one call only if a part has them
		for i, m := range first {
			copy(memory[i], m)
		}
		run, at := code.Bind(memory), loops.Time{Run: op.NextRun()}
		for g := range code.Groups() {
			for i := range parts {
				if err := run.Run(g, g+1, at, i, i+1, parts); err != nil {
					t.Fatal(err)
				}
			}
		}
		differences := compareTensors(p, tensors, memory, ref, typ, tolerance)
		for _, m := range means {
			if len(differences) > 0 {
				if d := m(first, memory); d == "" {
					differences = nil
				} else {
					differences = append(differences, d)
				}
			}
		}
		if len(differences) > 0 {
			t.Errorf("in %d parts: %s", parts, strings.Join(differences, "; "))
			break
		}
	}
	return nil
}

// cloned returns copies of memory.
func cloned(memory [][]byte) [][]byte {
	out := make([][]byte, len(memory))
	for i, m := range memory {
		out[i] = slices.Clone(m)
	}
	return out
}

// misfit matches the errors of formulas that load elements out of bounds at some extents of these tests. The
// check of specs refuses such formulas.
var misfit = regexp.MustCompile(`lies outside|has [0-9]+ places`)

// roundingOfSums bounds the rounding errors of sums of a few thousand elements in f64.
const roundingOfSums = 1e-10

// apart describes the difference of two numbers if it exceeds a tolerance for f64, or the tolerance of f32.
// It returns "" otherwise.
func apart(got, want float64, typ dtype.Type, tolerance float64) string {
	if typ == dtype.F32 {
		tolerance, want = 3e-4, float64(float32(want))
	}
	if math.IsNaN(got) && math.IsNaN(want) || got == want || !math.IsInf(want, 0) && math.Abs(got-want) <= tolerance*max(1, math.Abs(want)) {
		return ""
	}
	return fmt.Sprintf("got %v, want %v", got, want)
}

// TestDivided checks which groups of loops get their own steps: those with most work.
func TestDivided(t *testing.T) {
	for _, c := range []struct {
		work  []int
		steps int
		want  []int
	}{
		{[]int{5}, 1, []int{0, 1}},
		{[]int{5, 7}, 1, []int{0, 2}},
		{[]int{5, 7}, 2, []int{0, 1, 2}},
		{[]int{1, 9, 8}, 2, []int{0, 2, 3}},
		{[]int{9, 1, 1}, 2, []int{0, 1, 3}},
		{[]int{1, 9, 1}, 3, []int{0, 1, 2, 3}},
	} {
		if got := divided(c.work, c.steps); !slices.Equal(got, c.want) {
			t.Errorf("work %v in %d steps: got the groups %v, want %v", c.work, c.steps, got, c.want)
		}
	}
}
