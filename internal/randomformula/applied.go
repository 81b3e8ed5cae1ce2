package randomformula

import "fmt"

// OtherSpec returns the spec of an operator that formulas apply.
func OtherSpec(name string) string {
	return fmt.Sprintf("edition = 1\nname = %q\n%s", name, others[name])
}

// others are the specs of operators that formulas apply, behind edition and name: with axes, several outputs,
// optional inputs, values of their own, a recurrence, look-ups, and names that formulas have, too.
var others = map[string]string{
	initializer: `kind = "initializer"
doc = "Fills a weight."
formula = "tensor[n] = 0"
dtypes = { T = ["floating", "integer"] }
examples = [{ tensor = [2, 3] }]
`,
	"share": `doc = "Divides exponentials by their sum."
formula = "output[a, r, b] = exp(input[a, r, b] - logsumexp(r': input[a, r', b]))"
attrs = { dim = { type = "axis", binds = "R", default = -1 } }
examples = [{ input = [2, 3] }]
[slots]
input = { role = "input", type = "T", shape = ["A...", "R", "B..."] }
output = { role = "output", type = "T", shape = ["A...", "R", "B..."] }
`,
	"center": `doc = "Subtracts a mean."
formula = """
t0[drop(x, axes)] = mean(keep(x, axes): input[x])
output[x] = (input[x] - t0[drop(x, axes)]) * rate
mean[#drop(x, axes)] = t0[#drop(x, axes)]"""
examples = [{ attrs = { axes = [0] }, input = [2, 3] }]
[attrs]
axes = { type = "axes" }
rate = { type = "float", default = 1.0 }
[slots]
input = { role = "input", type = "T", shape = ["X..."] }
output = { role = "output", type = "T", shape = ["X..."] }
mean = { role = "output", type = "T", shape = ["ones(X, axes)..."] }
`,
	"affine": `doc = "A product of matrices, with a bias."
formula = """
f(p) = mode == 'TANH' ? tanh(p) : p
t0[n, o] = sum(k: x[n, k] * w[o, k])
y[n, o] = f(t0[n, o] + (present(v) ? v[o] : 0)) * (square ? t0[n, o] : 1)
length[n] = norm(o: t0[n, o])"""
examples = [{ x = [2, 3], w = [4, 3], v = [4] }, { attrs = { mode = "TANH", square = true }, x = [2, 3], w = [4, 3] }]
[attrs]
mode = { type = "enum", values = ["NONE", "TANH"], default = "NONE" }
square = { type = "bool", default = false }
[slots]
x = { role = "input", type = "T", shape = ["N...", "K"] }
w = { role = "input", type = "T", shape = ["O", "K"] }
v = { role = "input", type = "T", shape = ["O"], present = "caller" }
y = { role = "output", type = "T", shape = ["N...", "O"] }
length = { role = "output", type = "T", shape = ["N..."] }
`,
	"decay": `doc = "A recurrence, and its last value."
formula = """
t1[n, k] = (k == 0 ? x[n, 0] : t1[n, k - 1] * rate + x[n, k]) for n < N, k < K
y[n, k] = t1[n, k]
last[n] = (t1[n, K - 1] else 0)"""
attrs = { rate = { type = "float", default = 0.5 } }
examples = [{ x = [2, 3] }]
[slots]
x = { role = "input", type = "T", shape = ["N", "K"] }
y = { role = "output", type = "T", shape = ["N", "K"] }
last = { role = "output", type = "T", shape = ["N"] }
`,
	"pick": `doc = "Selects an element of each row."
formula = """
y[n] = x[n, at[n]]
place[n] = argmax(k: x[n, k])"""
examples = [{ x = [2, 3], at = [2] }]
[slots]
x = { role = "input", type = "T", shape = ["N", "K"] }
at = { role = "input", type = "i64", shape = ["N"], below = "K" }
y = { role = "output", type = "T", shape = ["N"] }
place = { role = "output", type = "i64", shape = ["N"] }
`,
	"turn": `doc = "Moves elements along rows, which begin again."
formula = "y[n, k] = x[n, (k + by) % K] + (x[n, k + by] else 0.25)"
attrs = { by = { type = "int", default = 1 } }
require = { some = { that = "K >= 1", message = "want columns" } }
examples = [{ x = [2, 3] }]
[slots]
x = { role = "input", type = "T", shape = ["N", "K"] }
y = { role = "output", type = "T", shape = ["N", "K"] }
`,
}
