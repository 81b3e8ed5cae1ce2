package formula

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestWithoutLoops checks that loops do not support the formulas in the list withoutLoops, at some extents.
func TestWithoutLoops(t *testing.T) {
	for _, quoted := range strings.Split(strings.TrimSpace(withoutLoops), "\n") {
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(extentsOfTests, func(size [2]int) bool {
			return compareWithin(t, text, dtype.F64, size[0], size[1], roundingOfSums) != nil
		}) {
			t.Errorf("there are loops for %s: leave it out of testdata/withoutloops.txt", quoted)
		}
	}
}

// TestLoopsOfChains compares loops with the interpreter for sums of products that leave out one factor, and
// for ranges that depend on tensors.
func TestLoopsOfChains(t *testing.T) {
	var formulas []string
	for _, text := range []string{
		"prod(k' in 0 .. k + 1: F)", "prod(k' in 0 .. k: F)", "prod(k' in k .. K: F)", "prod(k' in k + 1 .. K: F)", "prod(k' in 0 .. min(k + 3, K): F)",
		"prod(k' in max(k - 2, 0) .. K: F)", "prod(k' if k' <= k && w[n, k'] < 0.8: F)", "prod(k' if k' > k && k' != 1: F)",
		"2 * prod(k' in 0 .. k + 1: F)", "(k > 1 ? prod(k' in 0 .. k: F) : x[n, k])",
	} {
		for _, factor := range []string{"x[n, k']", "(1 + x[n, k'] * w[n, k'])", "x[n, K - 1 - k']"} {
			formulas = append(formulas, "y[n, k] = "+strings.ReplaceAll(text, "F", factor), "y[n, k] = x[n, k] * "+strings.ReplaceAll(text, "F", factor))
		}
	}
	formulas = append(formulas,
		"y[n, k] = prod(n' in 0 .. n + 1: x[n', k])", "y[n, k] = prod(n' in n .. N: x[n', k]) / w[n, k]",
		"y[n, k] = prod(n' in 0 .. n: x[n', k]) * prod(n' in n .. N: w[n', k])",
		"y[n, k] = sum(m in 0 .. K - k: x[n, m])", "y[n, k] = 2 * prod(m in 0 .. k + 1: x[n, K - 1 - m] + m)",
		"y[n, k] = sum(n' if j[n'] <= k && k < j[n'] + 3: x[n', k])", "y[n, k] = max(n' if j[n'] <= k && k < j[n'] + 3: x[n', k])",
		"y[n, k] = prod(n' if j[n'] <= k && k < j[n'] + 3: x[n', k])", "y[n, k] = mean(n' if k < j[N - 1 - n'] && k >= j[n']: x[n', k])",
		"y[n, k] = sum(n', m < K if j[n'] <= k && k < j[(n' + 1) % max(N, 1)] && x[n', m] > 0.5: x[n', m] * w[n, k])",
		"s[n] = sum(k if j[k % max(N, 1)] <= n && n < j[k % max(N, 1)] + k && k > 1: x[n, k]) + x[n, 0]",
		"i[n] = sum(n' if j[n'] <= n && n < j[n'] + 2: j[n'] + n)\ny[n, k] = x[n, k] * i[n]",
		"s[n] = sum(k in j[n] .. K: x[n, k] * w[j[k % max(N, 1)] % max(N, 1), k])",
		"s[n] = sum(k in j[n] .. min(j[n] + 3, K): x[j[k % max(N, 1)] % max(N, 1), k] * w[n, k])",
		"y[n, k] = sum(m in max(j[n], 0) .. K: x[n, m] * w[j[m % max(N, 1)] % max(N, 1), k])",
		"y[n, k] = k > 1 ? sum(m in max(j[n], 0) .. min(j[N - 1 - n] + 1, K): x[j[m % max(N, 1)] % max(N, 1), m] * w[n, k]) : 1",
	)
	for _, size := range [][2]int{{1, 1}, {3, 4}, {4, 70}, {9, 21}, {40, 5}, {0, 5}, {5, 0}} {
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			for _, text := range formulas {
				t.Run(fmt.Sprint(size, typ, text), func(t *testing.T) { compareLoops(t, text, typ, size[0], size[1]) })
			}
		}
	}
}

// TestLongChains compares gradients of running products of thousands of elements with the interpreter's
// reverse mode. Loops compute them in one pass.
func TestLongChains(t *testing.T) {
	for _, text := range []string{
		"y[n, k] = prod(k' in 0 .. k + 1: x[n, k'])", "y[n, k] = prod(k' in k + 1 .. K: x[n, k'])", "y[n, k] = prod(k' in 0 .. min(k + 3, K): 2 * x[n, k'])",
		"y[n, k] = prod(n' in n .. N: x[n', k])", "y[n, k] = 3 * prod(n' in 0 .. n: x[n', k])",
	} {
		for _, size := range [][2]int{{2, 2500}, {2500, 2}, {1, 1025}} {
			t.Run(fmt.Sprint(text, size), func(t *testing.T) { compareReverse(t, text, size[0], size[1]) })
		}
	}
}

// compareReverse compares the gradient of x by loops with the interpreter's reverse mode, for a formula that
// defines y.
func compareReverse(t *testing.T, text string, rows, cols int) {
	t.Helper()
	p, err := program.Build(useOfTest(t, text, dtype.F64, rows, cols))
	if err != nil {
		t.Fatal(err)
	}
	tensor := func(name string) int {
		return slices.IndexFunc(p.Tensors, func(l *program.Local) bool { return l.Name == name })
	}
	x, y := tensor("x"), tensor("y")
	g, err := derive.Gradients(p, []int{y})
	if err != nil {
		t.Fatal(err)
	}
	tensors, memory := make([]rewrite.Tensor, len(g.Program.Tensors)), make([][]byte, len(g.Program.Tensors))
	random := rand.New(rand.NewPCG(1, 2))
	ref := (&compiled{p, compile(p)}).newMemory()
	fill := func(i int, least float64) []float64 {
		out := make([]float64, rows*cols)
		for k := range out {
			out[k] = least + random.Float64()/50
		}
		memory[i] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), 8*len(out))
		return out
	}
	for i := range tensors {
		tensors[i] = rewrite.Tensor{Type: dtype.F64, Memory: i, Local: i != x && i != y && i != g.Of[x] && i != g.Of[y]}
	}
	ref.tensors[x].real, ref.computed[x] = fill(x, 0.99), true
	ref.grads[y] = fill(g.Of[y], -0.01)
	fill(y, 0)
	got := fill(g.Of[x], 0)
	code, err := loops.Compile(g.Program, g.Program.Statements, tensors, loops.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := code.Bind(memory).Run(0, code.Groups(), loops.Time{}, 0, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := ref.forward(); err != nil {
		t.Fatal(err)
	}
	if err := ref.backward(); err != nil {
		t.Fatal(err)
	}
	for k, v := range ref.grads[x] {
		if d := apart(got[k], v, dtype.F64, roundingOfSums); d != "" {
			t.Fatalf("the gradient of x, element %d: %s", k, d)
		}
	}
}
