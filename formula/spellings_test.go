package formula

import (
	"fmt"
	"maps"
	"math"
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
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
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
	{"attention", [5]int{130, 130, 186, 130, 130}, [5]string{
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
	{"causal mean", [5]int{130, 130, 130, 130, 130}, [5]string{
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
	{"attention with a soft cap", [5]int{130, 130, 130, 130, 130}, [5]string{
		"a[n, n'] = 20 * tanh(sum(k: x[n, k] * w[n', k]) / 20)\np[n, n'] = exp(a[n, n'] - logsumexp(n'': a[n, n'']))\ny[n, k] = sum(n': p[n, n'] * x[n', k])",
		"cap(v) = 20 * tanh(v / 20)\na[n, n'] = sum(k: x[n, k] * w[n', k])\nl[n] = logsumexp(n': cap(a[n, n']))\ny[n, k] = sum(n': exp(cap(a[n, n']) - l[n]) * x[n', k])",
		"a[n, n'] = tanh(sum(k: x[n, k] * w[n', k]) * 0.05)\ny[n, k] = sum(n': exp(20 * a[n, n']) * x[n', k]) / sum(n': exp(20 * a[n, n']))",
		"a[n, n'] = 20 * tanh(sum(k: x[n, k] * w[n', k]) / 20)\nm[n] = max(n': a[n, n'])\ne[n, n'] = exp(a[n, n'] - m[n])\ny[n, k] = sum(n': e[n, n'] / sum(n'': e[n, n'']) * x[n', k])",
		"a[n, n'] = sum(k: x[n, k] * w[n', k])\nc[n, n'] = 20 * (2 * sigmoid(a[n, n'] / 10) - 1)\ny[n, k] = sum(n': exp(c[n, n'] - logsumexp(n'': c[n, n''])) * x[n', k])",
	}},
	{"distance in the first norm", [5]int{130, 151, 176, 151, 130}, [5]string{
		"y[n, k] = sum(k': abs(x[n, k'] - w[k % N, k']))",
		"y[n, k] = sum(k': max(x[n, k'], w[k % N, k']) - min(x[n, k'], w[k % N, k']))",
		"y[n, k] = sum(k': max(x[n, k'] - w[k % N, k'], w[k % N, k'] - x[n, k']))",
		"d(a, b) = a > b ? a - b : b - a\ny[n, k] = sum(k': d(x[n, k'], w[k % N, k']))",
		"y[n, k] = K * mean(k': abs(w[k % N, k'] - x[n, k']))",
	}},
	{"focal loss", [5]int{166, 298, 130, 200, 266}, [5]string{
		"l[n] = x[n, j[n]] - logsumexp(k: x[n, k])\ns[n] = -(1 - exp(l[n]))^2 * l[n]",
		"p[n, k] = exp(x[n, k] - logsumexp(k': x[n, k']))\ns[n] = -(1 - p[n, j[n]])^2 * log(p[n, j[n]])",
		"p[n] = exp(x[n, j[n]]) / sum(k: exp(x[n, k]))\ns[n] = -(1 - p[n]) * (1 - p[n]) * log(p[n])",
		"p[n, k] = exp(x[n, k]) / sum(k': exp(x[n, k']))\ns[n] = -sum(k if k == j[n]: (1 - p[n, k])^2 * log(p[n, k]))",
		"l[n, k] = x[n, k] - logsumexp(k': x[n, k'])\ns[n] = sum(k: k == j[n] ? -(1 - exp(l[n, k]))^2 * l[n, k] : 0)",
	}},
	{"label smoothing", [5]int{130, 130, 143, 143, 130}, [5]string{
		"t[n] = logsumexp(k: x[n, k])\ns[n] = t[n] - 0.9 * x[n, j[n]] - 0.1 * mean(k: x[n, k])",
		"l[n, k] = x[n, k] - logsumexp(k': x[n, k'])\ns[n] = -0.9 * l[n, j[n]] - 0.1 * mean(k: l[n, k])",
		"l[n, k] = x[n, k] - logsumexp(k': x[n, k'])\ns[n] = -sum(k: (k == j[n] ? 0.9 + 0.1 / K : 0.1 / K) * l[n, k])",
		"l[n, k] = x[n, k] - logsumexp(k': x[n, k'])\nq[n, k] = 0.1 / K + (k == j[n] ? 0.9 : 0)\ns[n] = -sum(k: q[n, k] * l[n, k])",
		"s[n] = logsumexp(k: x[n, k]) - 0.9 * sum(k if k == j[n]: x[n, k]) - 0.1 / K * sum(k: x[n, k])",
	}},
	{"divergence of softmaxes", [5]int{228, 214, 214, 271, 130}, [5]string{
		"a[n, k] = x[n, k] - logsumexp(k': x[n, k'])\nb[n, k] = w[n, k] - logsumexp(k': w[n, k'])\ns[n] = sum(k: exp(b[n, k]) * (b[n, k] - a[n, k]))",
		"p[n, k] = exp(x[n, k] - logsumexp(k': x[n, k']))\nq[n, k] = exp(w[n, k] - logsumexp(k': w[n, k']))\ns[n] = sum(k: q[n, k] * log(q[n, k] / p[n, k]))",
		"p[n, k] = exp(x[n, k] - logsumexp(k': x[n, k']))\nq[n, k] = exp(w[n, k] - logsumexp(k': w[n, k']))\ns[n] = sum(k: q[n, k] * (log(q[n, k]) - log(p[n, k])))",
		"q[n, k] = exp(w[n, k] - logsumexp(k': w[n, k']))\ns[n] = sum(k: q[n, k] * (w[n, k] - x[n, k])) - logsumexp(k: w[n, k]) + logsumexp(k: x[n, k])",
		"s[n] = sum(k: exp(w[n, k]) * (w[n, k] - x[n, k])) / sum(k: exp(w[n, k])) - log(sum(k: exp(w[n, k]))) + log(sum(k: exp(x[n, k])))",
	}},
	{"norm times a gate", [5]int{130, 130, 130, 130, 130}, [5]string{
		"y[n, k] = x[n, k] * rsqrt(mean(k': x[n, k']^2) + 0.001) * w[n, k] * sigmoid(w[n, k])",
		"y[n, k] = x[n, k] / sqrt(mean(k': x[n, k']^2) + 0.001) * w[n, k] / (1 + exp(-w[n, k]))",
		"r[n] = rsqrt(mean(k: x[n, k]^2) + 0.001)\ng[n, k] = w[n, k] * sigmoid(w[n, k])\ny[n, k] = x[n, k] * r[n] * g[n, k]",
		"u[n, k] = x[n, k] / sqrt(sum(k': x[n, k'] * x[n, k']) / K + 0.001)\ny[n, k] = u[n, k] * w[n, k] * sigmoid(w[n, k])",
		"silu(v) = v * sigmoid(v)\ny[n, k] = silu(w[n, k]) * x[n, k] * (mean(k': x[n, k']^2) + 0.001)^(-0.5)",
	}},
	{"moving maximum", [5]int{134, 200, 134, 130, 400}, [5]string{
		"y[n, k] = max(k' in k - 1 .. k + 2: x[n, k'])",
		"y[n, k] = max(max(x[n, max(k - 1, 0)], x[n, k]), x[n, min(k + 1, K - 1)])",
		"y[n, k] = max(k' if k' >= k - 1 && k' <= k + 1: x[n, k'])",
		"y[n, k] = max(max((x[n, k - 1] else -1e30), x[n, k]), (x[n, k + 1] else -1e30))",
		"y[n, k] = max(i < 3: x[n, k + i - 1] else -1e30)",
	}},
	{"running maximum", [5]int{130, 130, 180, 130, 160}, [5]string{
		"y[n, k] = max(k' in 0 .. k + 1: x[n, k'])",
		"y[n, k] = max(k' if k' <= k: x[n, k'])",
		"y[n, k] = max(k': k' <= k ? x[n, k'] : -1e30)",
		"y[n, k] = max(x[n, k], (y[n, k - 1] else -1e30))",
		"y[n, k] = -min(k' in 0 .. k + 1: -x[n, k'])",
	}},
	{"rotary positions", [5]int{130, 300, 300, 650, 500}, [5]string{
		"y[n, k] = k < K / 2 ? x[n, k] * cos(w[n, k]) - x[n, k + K / 2] * sin(w[n, k]) : x[n, k] * cos(w[n, k - K / 2]) + x[n, k - K / 2] * sin(w[n, k - K / 2])",
		"y[n, k] = x[n, k] * cos(w[n, k % (K / 2)]) + (k < K / 2 ? -x[n, k + K / 2] : x[n, k - K / 2]) * sin(w[n, k % (K / 2)])",
		"c[n, k] = cos(w[n, k])\nd[n, k] = sin(w[n, k])\ny[n, k] = k < K / 2 ? x[n, k] * c[n, k] - x[n, k + K / 2] * d[n, k] : x[n, k] * c[n, k - K / 2] + x[n, k - K / 2] * d[n, k - K / 2]",
		"r[n, k] = k < K / 2 ? -x[n, k + K / 2] : x[n, k - K / 2]\ny[n, k] = x[n, k] * cos(w[n, k % (K / 2)]) + r[n, k] * sin(w[n, k % (K / 2)])",
		"y[n, k] = x[n, k] * cos(w[n, k % (K / 2)]) + (k < K / 2 ? -1 : 1) * x[n, (k + K / 2) % K] * sin(w[n, k % (K / 2)])",
	}},
	{"bilinear form", [5]int{130, 130, 130, 130, 149}, [5]string{
		"s[n] = sum(k, k': x[n, k] * w[k, k'] * x[n, k'])",
		"t[n, k'] = sum(k: x[n, k] * w[k, k'])\ns[n] = sum(k': t[n, k'] * x[n, k'])",
		"s[n] = sum(k: x[n, k] * sum(k': w[k, k'] * x[n, k']))",
		"s[n] = sum(k': sum(k: x[n, k] * w[k, k']) * x[n, k'])",
		"p[n, k, k'] = x[n, k] * x[n, k']\ns[n] = sum(k, k': p[n, k, k'] * w[k, k'])",
	}},
	{"contrastive loss", [5]int{130, 130, 130, 130, 130}, [5]string{
		"a[n, n'] = sum(k: x[n, k] * w[n', k])\ns[n] = logsumexp(n': a[n, n']) - a[n, n]",
		"a[n, n'] = sum(k: x[n, k] * w[n', k])\ns[n] = -log(exp(a[n, n]) / sum(n': exp(a[n, n'])))",
		"a[n, n'] = sum(k: x[n, k] * w[n', k])\nl[n, n'] = a[n, n'] - logsumexp(n'': a[n, n''])\ns[n] = -l[n, n]",
		"s[n] = logsumexp(n': sum(k: x[n, k] * w[n', k])) - sum(k: x[n, k] * w[n, k])",
		"a[n, n'] = sum(k: x[n, k] * w[n', k])\nl[n, n'] = a[n, n'] - logsumexp(n'': a[n, n''])\ns[n] = -sum(n' if n' == n: l[n, n'])",
	}},
	{"entropy of softmax", [5]int{143, 130, 130, 143, 172}, [5]string{
		"l[n, k] = x[n, k] - logsumexp(k': x[n, k'])\ns[n] = -sum(k: exp(l[n, k]) * l[n, k])",
		"p[n, k] = exp(x[n, k] - logsumexp(k': x[n, k']))\ns[n] = -sum(k: p[n, k] * log(p[n, k]))",
		"t[n] = logsumexp(k: x[n, k])\ns[n] = t[n] - sum(k: exp(x[n, k] - t[n]) * x[n, k])",
		"s[n] = logsumexp(k: x[n, k]) - sum(k: exp(x[n, k]) * x[n, k]) / sum(k: exp(x[n, k]))",
		"m[n] = max(k: x[n, k])\ne[n, k] = exp(x[n, k] - m[n])\nc[n] = sum(k: e[n, k])\ns[n] = m[n] + log(c[n]) - sum(k: e[n, k] / c[n] * x[n, k])",
	}},
	{"group norm", [5]int{130, 130, 148, 130, 163}, [5]string{
		"m[n, g] = mean(i < K / 4: x[n, g * (K / 4) + i]) for g < 4\nv[n, g] = variance(i < K / 4: x[n, g * (K / 4) + i]) for g < 4\ny[n, k] = (x[n, k] - m[n, k / (K / 4)]) * rsqrt(v[n, k / (K / 4)] + 0.001)",
		"y[n, g * (K / 4) + i] = (x[n, g * (K / 4) + i] - mean(i' < K / 4: x[n, g * (K / 4) + i'])) * rsqrt(variance(i' < K / 4: x[n, g * (K / 4) + i']) + 0.001) for g < 4, i < K / 4",
		"m[n, g] = mean(i < K / 4: x[n, g * (K / 4) + i]) for g < 4\nc[n, k] = x[n, k] - m[n, k / (K / 4)]\nv[n, g] = mean(i < K / 4: c[n, g * (K / 4) + i]^2) for g < 4\ny[n, k] = c[n, k] / sqrt(v[n, k / (K / 4)] + 0.001)",
		"m[n, g] = sum(i < K / 4: x[n, g * (K / 4) + i]) / (K / 4) for g < 4\nv[n, g] = mean(i < K / 4: (x[n, g * (K / 4) + i] - m[n, g])^2) for g < 4\ny[n, k] = (x[n, k] - m[n, k / (K / 4)]) * rsqrt(v[n, k / (K / 4)] + 0.001)",
		"y[n, k] = (x[n, k] - mean(i < K / 4: x[n, k / (K / 4) * (K / 4) + i])) * rsqrt(variance(i < K / 4: x[n, k / (K / 4) * (K / 4) + i]) + 0.001)",
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

// spelled returns what a formula gives in float64, and its gradients, by loops or by the interpreter.
func spelled(t *testing.T, text string, rows, cols int, interpreted bool) (out []float64) {
	t.Helper()
	o, at, r := operatorOf(t, text, dtype.F64, rows, cols)
	result := slotY
	if !strings.Contains(text, "y[n") {
		result = slotS
	}
	param := func(slot int, grad bool, p perm.Perm) task.Param { return task.Param{Slot: slot, Grad: grad, Perm: p} }
	inputs := []task.Param{param(slotX, false, perm.Read), param(slotW, false, perm.Read), param(slotJ, false, perm.Read)}
	forward := &task.Signature{Operator: o, Task: "forward", Kind: task.KindForward, Steps: []task.Step{{}}, Params: append(slices.Clone(inputs), param(result, false, perm.Write))}
	backward := &task.Signature{Operator: o, Task: "backward", Kind: task.KindBackward, Steps: []task.Step{{}}, Params: append(slices.Clone(inputs),
		param(result, true, perm.Read), param(slotX, true, perm.Write), param(slotW, true, perm.Write))}
	r.Grids = [][]op.Grid{{*op.Line(1, 1)}}
	memory := memoryOf(r)
	real := func(slot int, grad bool) []float64 { return as[float64](memory(slot, grad)[0].Bytes) }
	for i := range rows * cols {
		real(slotX, false)[i], real(slotW, false)[i] = math.Sin(float64(i*i)+1)+1.1, math.Cos(float64(3*i))/2+0.8
	}
	for i := range rows {
		as[int64](memory(slotJ, false)[0].Bytes)[i] = int64(i * 5 % min(rows, cols))
	}
	for i := range real(result, true) {
		real(result, true)[i] = float64(i%5) - 1.5
	}
	for _, s := range []*task.Signature{forward, backward} {
		o.Signatures = []*task.Signature{s}
		bind := loopKernel{s, &uses{}}.bind
		if interpreted {
			bind = kernel{s}.bind
		}
		bodies, err := bind(&task.Accessor{Signature: s, Attrs: at, Resolved: r, Memory: memory})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := bodies[0].Run(&op.Ctx{Run: op.NextRun()}, op.Range{Hi: 1}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return slices.Concat(real(result, false), real(slotX, true), real(slotW, true))
}

// TestSpellingsAgree compares what loops compute of each spelling, forward and backward, with what the
// interpreter computes of the first one.
func TestSpellingsAgree(t *testing.T) {
	const rows, cols = 24, 20
	for _, o := range spellings {
		want := spelled(t, o.texts[0], rows, cols, true)
		for _, text := range o.texts {
			for i, x := range spelled(t, text, rows, cols, false) {
				if !(math.Abs(x-want[i]) <= 1e-9*(1+math.Abs(want[i]))) && !(x != x && want[i] != want[i]) {
					t.Errorf("%s: number %d is %v, want %v: %s", o.name, i, x, want[i], strings.ReplaceAll(text, "\n", "; "))
					break
				}
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
