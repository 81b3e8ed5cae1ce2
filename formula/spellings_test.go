package formula

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// spellings are operators, each written in five ways. At most, a spelling costs so many percent of the
// cheapest one. The numbers may only fall, to 130: who makes one smaller writes it here.
var spellings = []struct {
	name  string
	most  [5]int
	texts [5]string
}{
	{"softmax", [5]int{134, 134, 217, 150, 130}, [5]string{
		"y[n, k] = exp(x[n, k] - logsumexp(k': x[n, k']))",
		"t[n] = logsumexp(k: x[n, k])\ny[n, k] = exp(x[n, k] - t[n])",
		"m[n] = max(k: x[n, k])\ne[n, k] = exp(x[n, k] - m[n])\ny[n, k] = e[n, k] / sum(k': e[n, k'])",
		"m[n] = max(k: x[n, k])\ny[n, k] = exp(x[n, k] - m[n]) / sum(k': exp(x[n, k'] - m[n]))",
		"y[n, k] = exp(x[n, k]) / sum(k': exp(x[n, k']))",
	}},
	{"cross entropy", [5]int{165, 165, 230, 132, 130}, [5]string{
		"s[n] = logsumexp(k: x[n, k]) - x[n, j[n]]",
		"t[n] = logsumexp(k: x[n, k])\ns[n] = t[n] - x[n, j[n]]",
		"t[n, k] = x[n, k] - logsumexp(k': x[n, k'])\ns[n] = -t[n, j[n]]",
		"s[n] = -log(exp(x[n, j[n]]) / sum(k: exp(x[n, k])))",
		"s[n] = log(sum(k: exp(x[n, k] - x[n, j[n]])))",
	}},
	{"layer norm", [5]int{130, 130, 130, 151, 138}, [5]string{
		"y[n, k] = (x[n, k] - mean(k': x[n, k'])) * rsqrt(variance(k': x[n, k']) + 0.001)",
		"m[n] = mean(k: x[n, k])\nv[n] = variance(k: x[n, k])\ny[n, k] = (x[n, k] - m[n]) * rsqrt(v[n] + 0.001)",
		"m[n] = mean(k: x[n, k])\nv[n] = mean(k: (x[n, k] - m[n])^2)\ny[n, k] = (x[n, k] - m[n]) / sqrt(v[n] + 0.001)",
		"m[n] = sum(k: x[n, k]) / K\nc[n, k] = x[n, k] - m[n]\ny[n, k] = c[n, k] / sqrt(sum(k': c[n, k']^2) / K + 0.001)",
		"c[n, k] = x[n, k] - mean(k': x[n, k'])\ny[n, k] = c[n, k] * rsqrt(mean(k': c[n, k'] * c[n, k']) + 0.001)",
	}},
	{"product with a common factor", [5]int{130, 130, 130, 130, 130}, [5]string{
		"y[n, k] = sum(n': x[n, n' % K] * w[n', k]) * x[n, 0]",
		"y[n, k] = x[n, 0] * sum(n': x[n, n' % K] * w[n', k])",
		"y[n, k] = sum(n': x[n, 0] * x[n, n' % K] * w[n', k])",
		"y[n, k] = sum(n': x[n, n' % K] * x[n, 0] * w[n', k])",
		"t[n, k] = sum(n': x[n, n' % K] * w[n', k])\ny[n, k] = t[n, k] * x[n, 0]",
	}},
	{"squared distance", [5]int{130, 130, 130, 130, 130}, [5]string{
		"y[n, k] = sum(k': (x[n, k'] - w[k % N, k'])^2)",
		"y[n, k] = sum(k': (x[n, k'] - w[k % N, k']) * (x[n, k'] - w[k % N, k']))",
		"y[n, k] = sum(k': x[n, k']^2 - 2 * x[n, k'] * w[k % N, k'] + w[k % N, k']^2)",
		"a[n] = sum(k: x[n, k]^2)\nb[n] = sum(k: w[n, k]^2)\ny[n, k] = a[n] + b[k % N] - 2 * sum(k': x[n, k'] * w[k % N, k'])",
		"y[n, k] = sum(k': x[n, k']^2) + sum(k': w[k % N, k']^2) - 2 * sum(k': x[n, k'] * w[k % N, k'])",
	}},
	{"mean of classes", [5]int{130, 130, 130, 130, 130}, [5]string{
		"s[n] = mean(n' if j[n'] == n: x[n', 0])",
		"s[n] = sum(n' if j[n'] == n: x[n', 0]) / count(n' if j[n'] == n)",
		"t[n] = sum(n' if n == j[n']: x[n', 0])\nc[n] = count(n' if j[n'] == n)\ns[n] = t[n] / c[n]",
		"t[n] = sum(n': j[n'] == n ? x[n', 0] : 0)\ns[n] = t[n] / count(n' if j[n'] == n)",
		"t[n] = sum(n' if j[n'] == n: x[n', 0])\nc[n] = sum(n' if j[n'] == n: 1)\ns[n] = t[n] / c[n]",
	}},
	{"root mean square norm", [5]int{149, 149, 149, 130, 149}, [5]string{
		"y[n, k] = x[n, k] * rsqrt(mean(k': x[n, k']^2) + 0.001)",
		"m[n] = mean(k: x[n, k] * x[n, k])\ny[n, k] = x[n, k] / sqrt(m[n] + 0.001)",
		"y[n, k] = x[n, k] / sqrt(sum(k': x[n, k']^2) / K + 0.001)",
		"r[n] = 1 / sqrt(sum(k: x[n, k] * x[n, k]) / K + 0.001)\ny[n, k] = x[n, k] * r[n]",
		"y[n, k] = x[n, k] * (mean(k': x[n, k']^2) + 0.001)^(-0.5)",
	}},
	{"unit rows", [5]int{134, 135, 130, 130, 130}, [5]string{
		"y[n, k] = x[n, k] / max(norm(k': x[n, k']), 0.001)",
		"r[n] = norm(k: x[n, k])\ny[n, k] = x[n, k] / max(r[n], 0.001)",
		"y[n, k] = x[n, k] / max(sqrt(sum(k': x[n, k']^2)), 0.001)",
		"q[n] = sum(k: x[n, k]^2)\ny[n, k] = x[n, k] * rsqrt(max(q[n], 0.000001))",
		"y[n, k] = x[n, k] / sqrt(max(sum(k': x[n, k'] * x[n, k']), 0.000001))",
	}},
	{"attention", [5]int{130, 130, 174, 130, 130}, [5]string{
		"a[n, n'] = sum(k: x[n, k] * w[n', k])\np[n, n'] = exp(a[n, n'] - logsumexp(n'': a[n, n'']))\ny[n, k] = sum(n': p[n, n'] * x[n', k])",
		"a[n, n'] = sum(k: x[n, k] * w[n', k])\nm[n] = max(n': a[n, n'])\ne[n, n'] = exp(a[n, n'] - m[n])\ny[n, k] = sum(n': e[n, n'] * x[n', k]) / sum(n': e[n, n'])",
		"y[n, k] = sum(n': exp(sum(k': x[n, k'] * w[n', k']) - logsumexp(n'': sum(k': x[n, k'] * w[n'', k']))) * x[n', k])",
		"a[n, n'] = sum(k: x[n, k] * w[n', k])\ne[n, n'] = exp(a[n, n'] - max(n'': a[n, n'']))\nc[n] = sum(n': e[n, n'])\ny[n, k] = sum(n': e[n, n'] / c[n] * x[n', k])",
		"a[n, n'] = sum(k: x[n, k] * w[n', k])\nl[n] = logsumexp(n': a[n, n'])\ny[n, k] = sum(n': exp(a[n, n'] - l[n]) * x[n', k])",
	}},
	{"binary cross entropy", [5]int{130, 130, 130, 134, 135}, [5]string{
		"s[n] = mean(k: max(x[n, k], 0) - x[n, k] * w[n, k] + log(1 + exp(-abs(x[n, k]))))",
		"s[n] = mean(k: softplus(x[n, k]) - x[n, k] * w[n, k])",
		"s[n] = -mean(k: w[n, k] * log(sigmoid(x[n, k])) + (1 - w[n, k]) * log(1 - sigmoid(x[n, k])))",
		"l[n, k] = softplus(-x[n, k]) * w[n, k] + softplus(x[n, k]) * (1 - w[n, k])\ns[n] = mean(k: l[n, k])",
		"p[n, k] = sigmoid(x[n, k])\ns[n] = -sum(k: w[n, k] * log(p[n, k]) + (1 - w[n, k]) * log(1 - p[n, k])) / K",
	}},
	{"cosine", [5]int{202, 130, 141, 130, 239}, [5]string{
		"s[n] = sum(k: x[n, k] * w[n, k]) / (norm(k: x[n, k]) * norm(k: w[n, k]))",
		"s[n] = sum(k: x[n, k] * w[n, k]) / sqrt(sum(k: x[n, k]^2) * sum(k: w[n, k]^2))",
		"a[n] = sqrt(sum(k: x[n, k]^2))\nb[n] = sqrt(sum(k: w[n, k]^2))\ns[n] = sum(k: x[n, k] / a[n] * w[n, k] / b[n])",
		"s[n] = sum(k: x[n, k] * w[n, k]) * rsqrt(sum(k: x[n, k]^2)) * rsqrt(sum(k: w[n, k]^2))",
		"u[n, k] = x[n, k] / sqrt(sum(k': x[n, k']^2))\nv[n, k] = w[n, k] / sqrt(sum(k': w[n, k']^2))\ns[n] = sum(k: u[n, k] * v[n, k])",
	}},
	{"variance", [5]int{166, 166, 166, 130, 266}, [5]string{
		"s[n] = variance(k: x[n, k])",
		"s[n] = mean(k: (x[n, k] - mean(k': x[n, k']))^2)",
		"m[n] = mean(k: x[n, k])\ns[n] = sum(k: (x[n, k] - m[n])^2) / K",
		"s[n] = mean(k: x[n, k]^2) - mean(k: x[n, k])^2",
		"m[n] = sum(k: x[n, k]) / K\nd[n, k] = x[n, k] - m[n]\ns[n] = mean(k: d[n, k] * d[n, k])",
	}},
	{"cumulative sum", [5]int{130, 130, 206, 130, 130}, [5]string{
		"y[n, k] = sum(k' in 0 .. k + 1: x[n, k'])",
		"y[n, k] = sum(k' if k' <= k: x[n, k'])",
		"y[n, k] = sum(k': x[n, k']) - sum(k' in k + 1 .. K: x[n, k'])",
		"y[n, k] = sum(k': k' <= k ? x[n, k'] : 0)",
		"t[n, k] = sum(k' in 0 .. k: x[n, k'])\ny[n, k] = t[n, k] + x[n, k]",
	}},
	{"exponential average", [5]int{130, 130, 130, 150, 1275}, [5]string{
		"y[n, k] = 0.9 * (y[n, k - 1] else 0) + 0.1 * x[n, k]",
		"y[n, k] = k > 0 ? 0.9 * y[n, k - 1] + 0.1 * x[n, k] : 0.1 * x[n, k]",
		"y[n, k] = (y[n, k - 1] else 0) + 0.1 * (x[n, k] - (y[n, k - 1] else 0))",
		"t[n, k] = 0.1 * x[n, k]\ny[n, k] = t[n, k] + 0.9 * (y[n, k - 1] else 0)",
		"y[n, k] = sum(k' in 0 .. k + 1: 0.1 * 0.9^(k - k') * x[n, k'])",
	}},
	{"average of neighbors", [5]int{130, 130, 130, 130, 130}, [5]string{
		"y[n, k] = mean(k' in k - 1 .. k + 2: x[n, k'])",
		"y[n, k] = sum(k' in k - 1 .. k + 2: x[n, k']) / (min(k + 2, K) - max(k - 1, 0))",
		"y[n, k] = ((x[n, k - 1] else 0) + x[n, k] + (x[n, k + 1] else 0)) / (1 + (k > 0 ? 1 : 0) + (k < K - 1 ? 1 : 0))",
		"y[n, k] = sum(i < 3: x[n, k + i - 1] else 0) / (min(k + 2, K) - max(k - 1, 0))",
		"y[n, k] = mean(k' if k' >= k - 1 && k' <= k + 1: x[n, k'])",
	}},
	{"log of softmax", [5]int{134, 150, 130, 130, 130}, [5]string{
		"y[n, k] = x[n, k] - logsumexp(k': x[n, k'])",
		"m[n] = max(k: x[n, k])\ny[n, k] = x[n, k] - m[n] - log(sum(k': exp(x[n, k'] - m[n])))",
		"y[n, k] = log(exp(x[n, k]) / sum(k': exp(x[n, k'])))",
		"p[n, k] = exp(x[n, k]) / sum(k': exp(x[n, k']))\ny[n, k] = log(p[n, k])",
		"y[n, k] = x[n, k] - log(sum(k': exp(x[n, k'])))",
	}},
	{"product of three", [5]int{130, 134, 134, 130, 130}, [5]string{
		"y[n, k] = sum(n', k': x[n, k'] * w[n', k'] * x[n', k])",
		"t[n, n'] = sum(k: x[n, k] * w[n', k])\ny[n, k] = sum(n': t[n, n'] * x[n', k])",
		"y[n, k] = sum(n': sum(k': x[n, k'] * w[n', k']) * x[n', k])",
		"y[n, k] = sum(k': x[n, k'] * sum(n': w[n', k'] * x[n', k]))",
		"t[k, k'] = sum(n: w[n, k] * x[n, k'])\ny[n, k] = sum(k': x[n, k'] * t[k', k])",
	}},
	{"silu", [5]int{130, 130, 130, 130, 130}, [5]string{
		"y[n, k] = x[n, k] * sigmoid(x[n, k])",
		"y[n, k] = x[n, k] / (1 + exp(-x[n, k]))",
		"t[n, k] = sigmoid(x[n, k])\ny[n, k] = x[n, k] * t[n, k]",
		"y[n, k] = 0.5 * x[n, k] * (1 + tanh(0.5 * x[n, k]))",
		"y[n, k] = x[n, k] * exp(x[n, k]) / (1 + exp(x[n, k]))",
	}},
	{"rows looked up", [5]int{130, 134, 134, 6489, 4334}, [5]string{
		"y[n, k] = w[j[n], k]",
		"y[n, k] = sum(n' if n' == j[n]: w[n', k])",
		"y[n, k] = sum(n': n' == j[n] ? w[n', k] : 0)",
		"h[n, n'] = n' == j[n] ? 1 : 0\ny[n, k] = sum(n': h[n, n'] * w[n', k])",
		"y[n, k] = sum(n': (j[n] == n' ? 1 : 0) * w[n', k])",
	}},
	{"causal mean", [5]int{130, 130, 130, 289, 130}, [5]string{
		"y[n, k] = mean(k' in 0 .. k + 1: x[n, k'])",
		"y[n, k] = sum(k' in 0 .. k + 1: x[n, k']) / (k + 1)",
		"t[n, k] = sum(k' if k' <= k: x[n, k'])\ny[n, k] = t[n, k] / (k + 1)",
		"y[n, k] = mean(k' if k' <= k: x[n, k'])",
		"y[n, k] = sum(k': k' <= k ? x[n, k'] : 0) / (k + 1)",
	}},
	{"hinge of the best other", [5]int{130, 150, 130, 176, 175}, [5]string{
		"s[n] = max(0, 1 + max(k if k != j[n]: x[n, k]) - x[n, j[n]])",
		"t[n] = max(k: k == j[n] ? -1e30 : x[n, k])\ns[n] = max(0, 1 + t[n] - x[n, j[n]])",
		"s[n] = max(1 + max(k if j[n] != k: x[n, k]) - sum(k if k == j[n]: x[n, k]), 0)",
		"a[n] = x[n, j[n]]\ns[n] = max(0, max(k if k != j[n]: 1 + x[n, k] - a[n]))",
		"d[n, k] = 1 + x[n, k] - x[n, j[n]]\ns[n] = max(0, max(k if k != j[n]: d[n, k]))",
	}},
}

// compileSpelling compiles a formula and its gradients, and makes their memory.
func compileSpelling(t testing.TB, text string, rows, cols int) (codes []loops.Code, runs []loops.Runner) {
	t.Helper()
	o, attrs, r := operatorOf(t, text, dtype.F32, rows, cols)
	u, err := useOf(o, attrs, r, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Build(u)
	if err != nil {
		t.Fatal(err)
	}
	var outputs []int
	for i, l := range p.Tensors {
		if l.Given && l.Slot >= 0 && l.Kind == term.Real {
			outputs = append(outputs, i)
		}
	}
	g, err := derive.Gradients(p, outputs)
	if err != nil {
		t.Fatal(err)
	}
	ends := slices.Collect(maps.Values(g.Of))
	for _, q := range []*program.Program{p, g.Program} {
		tensors := make([]rewrite.Tensor, len(q.Tensors))
		memory := make([][]byte, len(q.Tensors))
		for i, l := range q.Tensors {
			tensors[i] = rewrite.Tensor{Type: dtype.F32, Memory: i, Local: l.Given && l.Slot < 0 && !slices.Contains(ends, i)}
			if l.Kind == term.Integer {
				tensors[i].Type = dtype.I64
			}
			if !tensors[i].Local {
				e := newElements(l.Kind, count(l))
				for k := range count(l) {
					if l.Kind == term.Integer {
						e.integer[k] = int64(k % min(rows, cols))
					} else {
						e.real[k] = float64(k*7%11)/11 + 0.1
					}
				}
				memory[i] = make([]byte, count(l)*tensors[i].Type.Size())
				e.store(tensors[i].Type, memory[i])
			}
		}
		code, err := loops.Compile(q, q.Statements, tensors, loops.Options{})
		if err != nil {
			t.Fatal(err)
		}
		codes, runs = append(codes, code), append(runs, code.Bind(memory))
	}
	return codes, runs
}

// TestSpellings compares what the compiler says that spellings cost, forward and backward: the work by which
// it divides loops among workers.
func TestSpellings(t *testing.T) {
	for _, o := range spellings {
		var costs []int
		for _, text := range o.texts {
			codes, _ := compileSpelling(t, text, 64, 48)
			cost := 0
			for _, code := range codes {
				for group := range code.Groups() {
					cost += code.Work(group)
				}
			}
			costs = append(costs, cost)
		}
		for i, c := range costs {
			if got := (100*c + slices.Min(costs) - 1) / slices.Min(costs); got > o.most[i] || got < o.most[i] && o.most[i] > 130 {
				t.Errorf("%s: %d %% of the cheapest spelling, want %d: %s", o.name, got, o.most[i], strings.ReplaceAll(o.texts[i], "\n", "; "))
			}
		}
	}
}

// BenchmarkSpellings measures spellings, forward and backward.
func BenchmarkSpellings(b *testing.B) {
	for _, o := range spellings {
		for i, text := range o.texts {
			b.Run(fmt.Sprintf("%s/%d", o.name, i), func(b *testing.B) {
				codes, runs := compileSpelling(b, text, 512, 384)
				for b.Loop() {
					for k, run := range runs {
						for group := range codes[k].Groups() {
							if err := run.Run(group, group+1, loops.Time{Run: op.NextRun()}, 0, 1, 1); err != nil {
								b.Fatal(err)
							}
						}
					}
				}
			})
		}
	}
}
