package formula

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/task"
)

// The slots of the test operator: the inputs x and w are f64[N, K], the input j is i64[N] with values below
// K, and the outputs are y of f64[N, K] and s of f64[N].
const (
	slotX = iota
	slotW
	slotJ
	slotY
	slotS
	_
	slotZ
)

const rows, cols = 3, 4

type attrs struct {
	Kind string  `json:"kind"`
	Size int     `json:"size"`
	Rate float64 `json:"rate"`
	Axes []int   `json:"axes"`
}

type dims struct{ N, K int }

// useFormula returns the compiled program of a formula of the test operator.
func useFormula(t testing.TB, text string) (*compiled, error) {
	t.Helper()
	o, at, r := operatorWith(t, text)
	return newProgram(o, at, r, 0, nil)
}

// operatorWith returns the test operator with a formula, and its attributes and shapes in one use.
func operatorWith(t testing.TB, text string) (*task.Operator, task.Attrs, *task.Resolution) {
	t.Helper()
	return operatorOf(t, text, dtype.F64, rows, cols)
}

// operatorOf is operatorWith for a type of real numbers and extents.
func operatorOf(t testing.TB, text string, typ dtype.Type, rows, cols int) (*task.Operator, task.Attrs, *task.Resolution) {
	t.Helper()
	o := opimpl.New(graph.Operator{Operator: task.Operator{
		Name: "test",
		Slots: []task.Slot{
			{Name: "x", Role: task.RoleInput, Type: "f64", Shape: "[N, K]", Trainable: true},
			{Name: "w", Role: task.RoleInput, Type: "f64", Shape: "[N, K]", Trainable: true},
			{Name: "j", Role: task.RoleInput, Type: "i64", Shape: "[N]"},
			{Name: "y", Role: task.RoleOutput, Type: "f64", Shape: "[N, K]"},
			{Name: "s", Role: task.RoleOutput, Type: "f64", Shape: "[N]"},
			{Name: "gone", Role: task.RoleSaved, Type: "f64", Shape: "[N]", Optional: true},
			{Name: "z", Role: task.RoleOutput, Type: "f64", Shape: "[]"},
		},
		Formula:    strings.Split(text, "\n"),
		AttrNames:  []string{"kind", "size", "rate", "axes"},
		Signatures: []*task.Signature{{Task: "forward", ID: task.IDOf("test", "forward"), Steps: []task.Step{{}}}},
		Resolve: opimpl.Resolve(func(r *opimpl.Resolver[int], _ attrs, d *dims) {
			d.N, d.K = rows, cols
			r.Set(slotY, typ, rows, cols)
			r.Set(slotS, typ, rows)
			r.Set(slotZ, typ)
		}),
	}})
	given := task.NoneGiven(&o.Operator)
	given.Operands[slotX] = []task.Operand{{Type: typ, Shape: []int{rows, cols}}}
	given.Operands[slotW] = given.Operands[slotX]
	given.Operands[slotJ] = []task.Operand{{Type: dtype.I64, Shape: []int{rows}}}
	at := attrs{Kind: "B", Size: 2, Rate: 0.5, Axes: []int{1}}
	r, err := task.Resolve(&o.Operator, at, given)
	if err != nil {
		t.Fatal(err)
	}
	return &o.Operator, at, r
}

// testValues are the elements of x and w in these tests. No two elements of x are equal.
func testValues() (x, w []float64) {
	for i := range rows * cols {
		x = append(x, math.Sin(float64(i*i)+1)+0.01*float64(i))
		w = append(w, 1+math.Cos(float64(3*i))/2)
	}
	return x, w
}

var picked = []int64{2, 0, 3} // the elements of j

// compute runs a program on values and returns the outputs.
func compute(t testing.TB, p *compiled, x, w []float64) (*memory, []float64, []float64) {
	t.Helper()
	m := p.newMemory()
	m.step = 5
	copy(m.tensors[slotX].real, x)
	copy(m.tensors[slotW].real, w)
	copy(m.tensors[slotJ].integer, picked)
	m.computed[slotX], m.computed[slotW], m.computed[slotJ] = true, true, true
	if err := m.forward(); err != nil {
		t.Fatal(err)
	}
	return m, m.tensors[slotY].real, m.tensors[slotS].real
}

// TestValues compares results of formulas with Go code.
func TestValues(t *testing.T) {
	x, w := testValues()
	at := func(v []float64, n, k int) float64 { return v[n*cols+k] }
	row := func(n int) []float64 { return x[n*cols : (n+1)*cols] }
	for _, c := range []struct {
		formula string
		want    func(n int) float64 // of s
	}{
		{"s[n] = sum(k: x[n, k] * w[n, k])", func(n int) (s float64) {
			for k := range cols {
				s += at(x, n, k) * at(w, n, k)
			}
			return s
		}},
		{"s[n] = max(k: x[n, k]) - min(k: x[n, k])", func(n int) float64 {
			hi, lo := math.Inf(-1), math.Inf(1)
			for _, v := range row(n) {
				hi, lo = max(hi, v), min(lo, v)
			}
			return hi - lo
		}},
		{"s[n] = x[n, argmax(k: x[n, k])] - max(k: x[n, k])", func(int) float64 { return 0 }},
		{"s[n] = count(k if x[n, k] > 0)", func(n int) (s float64) {
			for _, v := range row(n) {
				s += term.Truth(v > 0)
			}
			return s
		}},
		{"s[n] = any(k: x[n, k] > 0) && !all(k: x[n, k] > 0) ? 1 : 0", func(n int) float64 {
			s := 0.0
			for _, v := range row(n) {
				s += term.Truth(v > 0)
			}
			return term.Truth(s > 0 && s < cols)
		}},
		{"s[n] = x[n, j[n]]", func(n int) float64 { return at(x, n, int(picked[n])) }},
		{"s[n] = x[n, j[n] + 1] else -7", func(n int) float64 {
			if int(picked[n])+1 < cols {
				return at(x, n, int(picked[n])+1)
			}
			return -7
		}},
		{"window(n) = n * 2 - 1\ns[n] = sum(k in window(n) .. window(n) + 3: x[n, k])", func(n int) (s float64) { // cut to K
			for k := max(0, n*2-1); k < min(cols, n*2+2); k++ {
				s += at(x, n, k)
			}
			return s
		}},
		{"s[n] = n * K / size + iteration", func(n int) float64 { return float64(n*cols)/2 + 5 }},
		{"s[n] = x[n, n / size]", func(n int) float64 { return at(x, n, n/2) }},
		{"s[n] = quotient(n - 2, 2) + (n - 2) % 2", func(n int) float64 { return float64((n-2)/2 + (n%2+2)%2) }},
		{"s[n] = #n * (kind == 'B' ? 1 : 0) when size == 2\ns[n] = 0 when size != 2", func(n int) float64 { return float64(n) }},
		{"kind.A(v) = v\nkind.B(v) = 2 * v\ns[n] = kind(x[n, 0])", func(n int) float64 { return 2 * at(x, n, 0) }},
		{"t = rate + 1\nu[k] = sum(n: x[n, k])\ns[n] = t * u[n]", func(n int) (s float64) {
			for m := range rows {
				s += 1.5 * at(x, m, n)
			}
			return s
		}},
		{"s[n] = variance(k: x[n, k]) - mean(k: x[n, k]^2) + mean(k: x[n, k])^2", func(int) float64 { return 0 }},
		{"s[n] = logsumexp(k: x[n, k]) - log(sum(k: exp(x[n, k])))", func(int) float64 { return 0 }},
		{"s[n] = prod(k: x[n, k])", func(n int) float64 {
			p := 1.0
			for _, v := range row(n) {
				p *= v
			}
			return p
		}},
		{"s[n] = min(x[n, 0], x[n, 1], 0) + max(0, 1) + abs(-3) + floor(1.5)", func(n int) float64 { return min(at(x, n, 0), at(x, n, 1), 0) + 5 }},
		{"s[n] = convert(1.00000001, f32) + convert(2.7, i32)", func(int) float64 { return 3 }},
		{"s[n] = -2^2 + 2^-1", func(int) float64 { return -3.5 }},
		{"s[n] = argmax(k: 2147483647 * 2147483647 * 2 + k)", func(int) float64 { return cols - 1 }},
		{"s[n] = argmin(k: 2147483647 * 2147483647 * 2 - k)", func(int) float64 { return cols - 1 }},
	} {
		p, err := useFormula(t, c.formula)
		if err != nil {
			t.Errorf("%s: %v", c.formula, err)
			continue
		}
		_, _, s := compute(t, p, x, w)
		for n := range rows {
			if !(math.Abs(s[n]-c.want(n)) <= 1e-12) {
				t.Errorf("%s: s[%d] = %v, want %v", c.formula, n, s[n], c.want(n))
			}
		}
	}
}

// differentiable returns formulas that together contain each kind of expression with a gradient.
func differentiable() []string {
	var formulas []string
	for _, kind := range []string{"sum", "prod", "max", "min", "mean", "variance", "norm", "logsumexp"} {
		formulas = append(formulas,
			fmt.Sprintf("s[n] = %s(k: x[n, k] * w[n, k])", kind),
			fmt.Sprintf("s[n] = %s(k if k != 1: x[n, k])", kind),
			fmt.Sprintf("y[n, k] = w[n, k] * %s(k': x[n, k'])", kind),
			fmt.Sprintf("s[n] = %s(n', k: x[n', k]) * w[n, 0]", kind))
	}
	for _, f := range []string{"exp", "sqrt", "rsqrt", "log", "sin", "cos", "tanh", "sigmoid", "Phi", "expm1", "log1p", "abs", "erfinv", "erfc",
		"tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "atanh", "softplus", "erf", "lgamma", "digamma", "sign"} {
		formulas = append(formulas, fmt.Sprintf("y[n, k] = %s(0.3 + abs(x[n, k]) / 2)", f), fmt.Sprintf("y[n, k] = w[n, k] * %s(0.3 + abs(x[n, k]) / 2)", f))
	}
	for _, kind := range []string{"sum", "prod", "max", "min", "mean", "logsumexp"} {
		for _, over := range []string{"k' in 0 .. k + 1", "k' if k' <= k", "k' in k .. K", "k' if k' >= k && k' != 2", "k' if k' != k"} {
			formulas = append(formulas, fmt.Sprintf("y[n, k] = %s(%s: x[n, k'] * w[n, k'])", kind, over),
				fmt.Sprintf("y[n, k] = w[n, k] * %s(%s: x[n, k'])", kind, over))
		}
		formulas = append(formulas, fmt.Sprintf("y[n, k] = w[n, k] * %s(m in k .. K: x[n, m])", kind))
	}
	return append(formulas,
		"s[n] = sum(k if x[n, k] > 0: 0.5) + count(k if w[n, k] > 1)",
		"s[n] = sum(n', k if j[n'] == n: x[n', k] * w[n', k])",
		"y[n, k] = sum(n' if j[n'] == k && n' != 1: x[n', n] * w[n, k])",
		"first[n, i] = argsort(k: x[n, k])[i] for i < K\ny[n, k] = x[n, first[n, k]] * w[n, k]",
		"place[n, k] = rank(k': x[n, k'] descending)[k]\ny[n, k] = x[n, k] * place[n, k] + w[n, place[n, k]]",
		"y[n, k] = sum(m in max(k - 3, 0) .. k: x[n, m] * sum(o in m .. k: w[n, o]))",
		"y[n, k] = x[n, k] / w[n, k] - w[n, k]^3 + 2^x[n, k]",
		"y[n, k] = pow(w[n, k], x[n, k]) + max(x[n, k], 0) + min(x[n, k], w[n, k])",
		"y[n, k] = x[n, k] > 0.1 ? x[n, k] * w[n, k] : -x[n, k]",
		"y[n, k] = exp(x[n, k] - logsumexp(k': x[n, k']))",
		"y[n, k] = sum(i < 3: (x[n, k + i - 1] else 0) * w[n, i])",
		"y[n, k] = (x[n, k - 1] else 1) * (w[n, k + 1] else x[n, 0]) * w[n, k]",
		"y[n, k] = x[n, j[n]] * w[n, k]",
		"t[n] = rsqrt(variance(k: x[n, k]) + 0.1)\ny[n, k] = (x[n, k] - mean(k': x[n, k'])) * t[n] * w[n, k]",
		"y[#i] = x[#i] * w[#i]\ns[n] = y[n, 1] + convert(x[n, 0], f64)",
		"a, b = argmax(n, k: x[n, k])\ns[n] = x[a, b] * w[n, 0]",
		"y[n, k] = k > n ? 0 : exp(x[n, k] - logsumexp(k' if k' <= n: x[n, k']))",
		"y[n, k] = k < n ? w[n, k] : max(k' if k' <= n: x[n, k']) * prod(k' if k' <= n: w[n, k'])",
	)
}

// TestGradients compares the gradients of the interpreter with central finite differences.
func TestGradients(t *testing.T) {
	x, w := testValues()
	for _, f := range differentiable() {
		p, err := useFormula(t, f)
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		weight := func(i int) float64 { return 1 + 0.3*float64(i%5) }
		loss := func() float64 {
			_, y, s := compute(t, p, x, w)
			sum := 0.0
			for i, v := range y {
				sum += weight(i) * v
			}
			for i, v := range s {
				sum += weight(i+2) * v
			}
			return sum
		}
		m, y, s := compute(t, p, x, w)
		m.grads[slotY], m.grads[slotS] = make([]float64, len(y)), make([]float64, len(s))
		for i := range y {
			m.grads[slotY][i] = weight(i)
		}
		for i := range s {
			m.grads[slotS][i] = weight(i + 2)
		}
		if err := m.backward(); err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		for slot, v := range [][]float64{x, w} {
			for i := range v {
				const step = 1e-6
				was := v[i]
				v[i] = was + step
				above := loss()
				v[i] = was - step
				below := loss()
				v[i] = was
				got, want := 0.0, (above-below)/(2*step)
				if g := m.grads[slot]; g != nil {
					got = g[i]
				}
				if !(math.Abs(got-want) <= 1e-7*max(1, math.Abs(want))) {
					t.Errorf("%s: gradient of %s, element %d: got %v, want %v", f, p.Tensors[slot].Name, i, got, want)
				}
			}
		}
	}
}

// TestKinks checks gradients where there is no derivative: elements that tie for a maximum share its
// gradient, and the slope of max(x, 0) and of abs(x) at 0 is 0.
func TestKinks(t *testing.T) {
	x, w := make([]float64, rows*cols), make([]float64, rows*cols)
	x[5], x[6] = 2, 2
	for _, c := range []struct {
		formula string
		want    map[int]float64
	}{
		{"s[n] = max(k: x[n, k]) when size == 2", map[int]float64{0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25, 5: 0.5, 6: 0.5, 8: 0.25, 9: 0.25, 10: 0.25, 11: 0.25}},
		{"y[n, k] = max(x[n, k], 0)", map[int]float64{5: 1, 6: 1}},
		{"y[n, k] = abs(x[n, k])", map[int]float64{5: 1, 6: 1}},
		{"s[n] = max(x[n, 0], x[n, 1])", map[int]float64{0: 0.5, 1: 0.5, 5: 1, 8: 0.5, 9: 0.5}},
		{"s[n] = prod(k: x[n, k])", map[int]float64{}},
		{"y[n, k] = x[n, k]^0 + x[n, k]^2", map[int]float64{5: 4, 6: 4}},
	} {
		p, err := useFormula(t, c.formula)
		if err != nil {
			t.Fatal(err)
		}
		m, y, s := compute(t, p, x, w)
		m.grads[slotY], m.grads[slotS] = make([]float64, len(y)), make([]float64, len(s))
		for i := range y {
			m.grads[slotY][i] = 1
		}
		for i := range s {
			m.grads[slotS][i] = 1
		}
		if err := m.backward(); err != nil {
			t.Fatal(err)
		}
		for i, got := range m.grads[slotX] {
			if got != c.want[i] {
				t.Errorf("%s: gradient of x, element %d: got %v, want %v", c.formula, i, got, c.want[i])
			}
		}
	}
}

// TestErrors checks the error messages for formulas that cannot be computed.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ formula, want string }{
		{"s[n] = x[n]", "s[n] = x[n]: x has 2 dimensions, and got 1 indices"},
		{"s[n] = x[n, k]", "s[n] = x[n, k]: nothing goes over k"},
		{"s[n] = sum(n: x[n, 0])", "s[n] = sum(n: x[n, 0]): n is in use: write n'"},
		{"s[k] = 1", "s[k] = 1: k ranges over 4, and dimension 0 of s has 3"},
		{"s[n] = missing", "s[n] = missing: missing is not defined"},
		{"s[n] = missing(1)", "s[n] = missing(1): there is no function missing"},
		{"s[n] = f(1)\nf(a, b) = a", "s[n] = f(1): f has 2 parameters, and got 1 arguments"},
		{"s[n] = f(n)\nf(a) = f(a)", "s[n] = f(n): f applies itself"},
		{"kind.A(x) = x\ns[n] = kind(1)", "s[n] = kind(1): nothing says what kind 'B' means"},
		{"s[n] = exp(1, 2)", "s[n] = exp(1, 2): exp has 1 parameters, and got 2 arguments"},
		{"s[n] = kind + 1", "s[n] = kind + 1: want numbers or conditions around +, got 'B' and a whole number"},
		{"s[n] = x[n, 0] % 2", "s[n] = x[n, 0] % 2: want numbers around %, got a real number and a whole number"},
		{"s[n] = 1 when x[0, 0] > 1", "s[n] = 1 when x[0, 0] > 1: the condition behind when depends on values of tensors"},
		{"s[n] = axes[3]", "s[n] = axes[3]: want a place in a list of 1"},
		{"s[n] = keep(axes, axes)", "s[n] = keep(axes, axes): keep: want axes below 1"},
		{"s[n] = gone[n]", "s[n] = gone[n]: gone is read, and is not there"},
		{"s[n] = n % (size - 2)", "s[n] = n % (size - 2): the divisor is 0"},
		{"s[n] = = 1", `want a value, got "="`},
		{"g0(a) = a + a\n" + func() string {
			s := ""
			for i := range 40 {
				s += fmt.Sprintf("g%d(a) = g%d(a) + g%d(a)\n", i+1, i, i)
			}
			return s
		}() + "s[n] = g40(n)", "s[n] = g40(n): a statement has more than 512 operations once functions are applied"},
	} {
		_, err := useFormula(t, c.formula)
		if want := "operator test: formula: " + c.want; err == nil || err.Error() != want {
			t.Errorf("%.60s\ngot  %v\nwant %s", c.formula, err, want)
		}
	}
}

// TestRangesElsewhere checks that an index has its range although the line that declares the range is not
// lowered before: in a recurrence, in a branch that is not selected, and in a line for other uses.
func TestRangesElsewhere(t *testing.T) {
	x, _ := testValues()
	for formula, want := range map[string]float64{
		"h[t, n] = t == 0 ? x[n, 0] : sum(q < 4: g[t - 1, n, q]) for t < 3\ng[t, n, q] = h[t, n] + q\ns[n] = h[2, n]":  16*x[0] + 30,
		"a[n, q] = x[n, q] for q < 2 when kind == 'A'\na[n, q] = x[n, q] * q when kind == 'B'\ns[n] = sum(q: a[n, q])": x[1],
		"y[n, q] = x[n, q] when kind == 'A'\ny[n, k] = x[n, k] * k when kind == 'B'\ns[n] = sum(q: x[n, q])":           x[0] + x[1] + x[2] + x[3],
		"s[n] = kind == 'A' ? sum(q < 3: x[n, q]) : f(n)\nf(n) = sum(q: x[n, q])":                                      x[0] + x[1] + x[2],
	} {
		p, err := useFormula(t, formula)
		if err != nil {
			t.Error(err)
			continue
		}
		m := p.newMemory()
		copy(m.tensors[slotX].real, x)
		if err := m.forward(); err != nil {
			t.Fatal(err)
		}
		if got := m.tensors[slotS].real[0]; !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s: got %v, want %v", formula, got, want)
		}
	}
}

// TestConvertedQuotients checks that / in the argument of convert is division of real numbers, also in a
// subscript.
func TestConvertedQuotients(t *testing.T) {
	x, _ := testValues()
	for formula, want := range map[string]float64{
		"s[n] = x[n, convert(ceil((n + 1) / 2), 'i64')]":                   x[1],
		"s[n] = x[n, convert(round((n + 3) / 2), 'i64')]":                  x[2],
		"s[n] = x[n, (n + 3) / 2]":                                         x[1],
		"s[n] = sum(k in convert((n + 3) / 2 + 0.5, 'i64') .. K: x[n, k])": x[2] + x[3],
	} {
		p, err := useFormula(t, formula)
		if err != nil {
			t.Error(err)
			continue
		}
		m := p.newMemory()
		copy(m.tensors[slotX].real, x)
		if err := m.forward(); err != nil {
			t.Fatal(err)
		}
		if got := m.tensors[slotS].real[0]; !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s: got %v, want %v", formula, got, want)
		}
	}
}

// TestOutside checks that loads out of bounds are errors at run time.
func TestOutside(t *testing.T) {
	x, w := testValues()
	for formula, want := range map[string]string{
		"s[n] = x[n, j[n] + 1]":       "operator test: formula: x[2, 4] lies outside x[3, 4]",
		"s[n] = 1 / x[n, 0 - j[n]]":   "operator test: formula: x[0, -2] lies outside x[3, 4]",
		"s[n] = x[n, 1 % (j[n] - 2)]": "operator test: formula: an integer is divided by 0",
	} {
		p, err := useFormula(t, formula)
		if err != nil {
			t.Fatal(err)
		}
		m := p.newMemory()
		copy(m.tensors[slotX].real, x)
		copy(m.tensors[slotW].real, w)
		copy(m.tensors[slotJ].integer, picked)
		if err := m.forward(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", formula, err, want)
		}
	}
}

// FuzzProgram checks that no formula makes the package panic.
func FuzzProgram(f *testing.F) {
	for _, s := range []string{"s[n] = sum(k: x[n, k])", "y[#i] = x[#i] * w[#i]", "f(a) = a\ns[n] = f(keep(axes, axes)[0])", "a, b = argmax(n, k: x[n, k])\ns[n] = x[a, b]",
		"y[; n] = x[n]", "s[n] = x[; n]", "s[;] = x[;]", "s[n] = x[n, 0]\ngrad.x[n, k] = grad.s[n] as surrogate", "s[n] = rank(n': j[n'])[n]", "s[n] = argsort(k: x[n, k] descending)[0]", "v[n] = x[i; n] * w[;]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = useFormula(t, text)
	})
}
