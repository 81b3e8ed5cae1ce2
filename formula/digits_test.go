package formula

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// digitsExtents are row lengths around those at which loops change their form: short rows, strips, lanes and
// blocks.
func digitsExtents() (out []int) {
	for n := 1; n <= 70; n++ {
		out = append(out, n)
	}
	out = append(out, 127, 128, 129, 1000, 4095, 4096, 4097)
	if testing.Short() {
		return []int{1, 3, 16, 17, 64, 129, 1000}
	}
	return out
}

// computed computes a formula and the gradients of x and w with loops. given holds the elements of x, w, j
// and of the gradients of y and s, by name.
func computed(t *testing.T, text string, typ dtype.Type, rows, cols int, given map[string][]float64) map[string][]float64 {
	t.Helper()
	p, err := program.Build(useOfTest(t, text, typ, rows, cols))
	if err != nil {
		t.Fatal(err)
	}
	var outputs []int
	for i, l := range p.Tensors {
		if l.Given && l.Slot >= 0 && l.Varies && l.Kind == term.Real {
			outputs = append(outputs, i)
		}
	}
	of := map[int]int{}
	if len(outputs) > 0 {
		g, err := derive.Gradients(p, outputs)
		if err != nil {
			t.Fatal(err)
		}
		p, of = g.Program, g.Of
	}
	gradients := map[int]bool{}
	for _, g := range of {
		gradients[g] = true
	}
	tensors := make([]rewrite.Tensor, len(p.Tensors))
	for i, l := range p.Tensors {
		tensors[i] = rewrite.Tensor{Type: typ, Memory: i}
		switch {
		case l.Given && l.Slot < 0 && !gradients[i]:
			tensors[i] = rewrite.Tensor{Memory: i, Local: true}
		case l.Kind == term.Integer:
			tensors[i].Type = dtype.I64
		case l.Kind == term.Boolean:
			tensors[i].Type = dtype.Bool
		}
	}
	code, err := loops.Compile(p, p.Statements, slices.Clone(tensors), loops.Options{})
	if err != nil {
		t.Fatal(err)
	}
	memory := make([][]byte, len(tensors))
	for i, l := range p.Tensors[:len(tensors)] { // loops add others
		e := newElements(l.Kind, count(l))
		for k, v := range given[l.Name] {
			if l.Kind == term.Integer {
				e.integer[k] = int64(v)
			} else {
				e.real[k] = v
			}
		}
		if tensors[i].Local {
			continue
		}
		data := make([]uint64, count(l)+1)
		memory[i] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), count(l)*tensors[i].Type.Size())
		e.store(tensors[i].Type, memory[i])
	}
	run := code.Bind(memory)
	at := loops.Time{Run: op.NextRun()}
	for g := range code.Groups() {
		if err := run.Run(g, g+1, at, 0, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string][]float64{}
	for i, l := range p.Tensors[:len(tensors)] {
		if tensors[i].Local || l.Kind != term.Real {
			continue
		}
		e := newElements(l.Kind, count(l))
		e.load(tensors[i].Type, memory[i])
		out[l.Name] = e.real
	}
	return out
}

// interpreted is computed, but with the interpreter.
func interpreted(t *testing.T, text string, typ dtype.Type, rows, cols int, given map[string][]float64) map[string][]float64 {
	t.Helper()
	o, attrs, r := operatorOf(t, text, typ, rows, cols)
	p, err := newProgram(o, attrs, r, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := p.newMemory()
	for i, l := range p.Tensors {
		if l.Given {
			continue
		}
		m.computed[i] = true
		for k, v := range given[l.Name] {
			if l.Kind == term.Integer {
				m.tensors[i].integer[k] = int64(v)
			} else {
				m.tensors[i].real[k] = v
			}
		}
	}
	if err := m.forward(); err != nil {
		t.Fatal(err)
	}
	for i, l := range p.Tensors {
		if g := given["grad."+l.Name]; g != nil && l.Given {
			m.grads[i] = slices.Clone(g)
		}
	}
	if err := m.backward(); err != nil {
		t.Fatal(err)
	}
	out := map[string][]float64{}
	for i, l := range p.Tensors {
		if l.Kind == term.Real {
			out[l.Name] = m.tensors[i].real
			out["grad."+l.Name] = m.grads[i]
		}
	}
	return out
}

// softened holds expected values for a row: its maximum, the log of the sum of exp(x - maximum), and its
// softmax.
type softened struct {
	top, log float64
	share    []float64
}

func soften(x []float64) softened {
	s := softened{top: slices.Max(x), share: make([]float64, len(x))}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - s.top)
	}
	s.log = math.Log(sum)
	for i, v := range x {
		s.share[i] = math.Exp(v-s.top) / sum
	}
	return s
}

// TestLogsumexpOfGreatNumbers computes formulas with differences from a logsumexp, and their gradients, for
// rows of numbers of any magnitude. Some numbers are equal, and some differ by a few units in the last place.
func TestLogsumexpOfGreatNumbers(t *testing.T) {
	t.Parallel()
	soft := func(s softened, x, g []float64) (y, gx []float64) {
		all := 0.0
		for k := range x {
			all += g[k] * s.share[k]
		}
		for k := range x {
			y, gx = append(y, s.share[k]), append(gx, s.share[k]*(g[k]-all))
		}
		return y, gx
	}
	logarithm := func(s softened, x, g []float64) (y, gx []float64) {
		all := 0.0
		for k := range x {
			all += g[k]
		}
		for k := range x {
			y, gx = append(y, x[k]-s.top-s.log), append(gx, g[k]-all*s.share[k])
		}
		return y, gx
	}
	loss := func(s softened, x, g []float64) (y, gx []float64) { // what is beyond the last element, less than 1 times it
		last := len(x) - 1
		for k := range x {
			y, gx = append(y, 2*(s.top-x[last]+s.log)), append(gx, 2*g[0]*s.share[k])
		}
		gx[last] -= 2 * g[0]
		return y, gx
	}
	formulas := []struct {
		text string
		of   func(s softened, x, g []float64) (y, gx []float64)
		cols bool // whether rows of the judge are columns of the formula
		sum  bool // whether there is one result for a row
	}{
		{"y[n, k] = exp(x[n, k] - logsumexp(k': x[n, k']))", soft, false, false},
		{"y[n, k] = x[n, k] - logsumexp(k': x[n, k'])", logarithm, false, false},
		{"y[n, k] = exp(x[n, k] - logsumexp(n': x[n', k]))", soft, true, false},
		{"y[n, k] = -(logsumexp(n': x[n', k]) - x[n, k])", logarithm, true, false},
		{"t[n] = logsumexp(k: x[n, k])\ny[n, k] = exp(x[n, k] - t[n])", soft, false, false},
		{"t[k] = logsumexp(n: x[n, k])\ny[n, k] = x[n, k] - t[k]", logarithm, true, false},
		{"t[n], u[n] = logsumexp(k: x[n, k])\ny[n, k] = x[n, k] - t[n] - u[n]", logarithm, false, false},
		{"t[n], u[n] = logsumexp(k: x[n, k])\nv[n, k] = x[n, k] - (t[n] + u[n])\ny[n, k] = exp(v[n, k])", soft, false, false},
		{"d(a, b) = a - b\ny[n, k] = exp(d(x[n, k], logsumexp(k' if w[n, k'] > 0: x[n, k'])))", soft, false, false},
		{"y[n, k] = j[n] >= 0 ? exp(x[n, k] - logsumexp(k': x[n, k'])) : 3", soft, false, false},
		{"y[n, k] = (x[n, k] + 0 * k) + -logsumexp(k' < K: x[n, k'])", logarithm, false, false},
		{"s[n] = 2 * (logsumexp(k: x[n, k]) - x[n, K - 1])", loss, false, true},
		{"t[n] = logsumexp(k: x[n, k])\ns[n] = t[n] - x[n, K - 1] + (t[n] - x[n, K - 1])", loss, false, true},
	}
	random := rand.New(rand.NewPCG(5, 6))
	scales := []float64{1, 100, 1e8, 1e13, 1e16, 1e30, math.MaxFloat32}
	for _, length := range digitsExtents() {
		for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
			for i, f := range formulas {
				if length > 70 && (i+length)%3 > 0 {
					continue
				}
				const several = 3
				rows, cols := several, length
				if f.cols {
					rows, cols = cols, rows
				}
				at := func(row, k int) int {
					if f.cols {
						return k*cols + row
					}
					return row*cols + k
				}
				size := rows * cols
				x, w, g := make([]float64, size), make([]float64, size), make([]float64, size)
				sums := make([]float64, rows)
				for row := range several {
					scale := scales[random.IntN(len(scales))] * []float64{1, -1}[random.IntN(2)]
					for k := range length {
						v := float32(scale)
						switch random.IntN(3) {
						case 0:
							v = math.Nextafter32(v, 0)
						case 1:
							v -= min(float32(random.Float64()), math.MaxFloat32)
						}
						x[at(row, k)], w[at(row, k)] = float64(v), 1
						g[at(row, k)] = float64(float32(random.Float64()*2 - 1))
					}
				}
				for n := range sums {
					sums[n] = 1 + float64(n)/4
				}
				given := map[string][]float64{"x": x, "w": w, "j": make([]float64, rows), "grad.y": g, "grad.s": sums}
				for _, way := range []struct {
					name    string
					compute func(*testing.T, string, dtype.Type, int, int, map[string][]float64) map[string][]float64
				}{{"loops", computed}, {"interpreter", interpreted}} {
					if way.name == "interpreter" && (typ == dtype.F32 || length > 33) {
						continue
					}
					got := way.compute(t, f.text, typ, rows, cols, given)
					for row := range several {
						line, seed := make([]float64, length), make([]float64, length)
						for k := range line {
							line[k], seed[k] = x[at(row, k)], g[at(row, k)]
							if f.sum {
								seed[k] = sums[row]
							}
						}
						y, gx := f.of(soften(line), line, seed)
						for k := range line {
							value, gradient := 0.0, got["grad.x"][at(row, k)]
							if f.sum {
								value = got["s"][row]
							} else {
								value = got["y"][at(row, k)]
							}
							if !near(value, y[k], typ, 1) || !near(gradient, gx[k], typ, 4) {
								t.Fatalf("%s, %s, %v, %d of %d in row %v..: got %v and the gradient %v, want %v and %v",
									way.name, f.text, typ, k, length, line[:min(4, length)], value, gradient, y[k], gx[k])
							}
						}
					}
				}
			}
		}
	}
}

// near reports whether got is within a few units in the last place of its type of want, relative to the
// greater one of |want| and least.
func near(got, want float64, typ dtype.Type, least float64) bool {
	unit := 0x1p-52
	if typ == dtype.F32 {
		unit, want = 0x1p-23, float64(float32(want))
	}
	return got == want || math.Abs(got-want) <= 24*unit*max(math.Abs(want), least)
}

// TestQuotientGradients computes the gradients of quotients whose divisors have squares that overflow or
// are 0.
func TestQuotientGradients(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	formulas := []struct {
		text string
		row  bool // whether the divisor is that of the row
	}{
		{"y[n, k] = x[n, k] / w[n, k]", false},
		{"y[n, k] = 3 * (x[n, k] / w[n, k])", false},
		{"y[n, k] = x[n, k] / w[n, 0]", true},
		{"t[n] = w[n, 0] * 1\ny[n, k] = x[n, k] / t[n]", true},
	}
	for _, length := range []int{1, 3, 16, 17, 64, 70, 129, 1000, 4097} {
		for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
			for i, f := range formulas {
				const rows = 3
				x, w, g := make([]float64, rows*length), make([]float64, rows*length), make([]float64, rows*length)
				for n := range rows {
					exponent, scale := []int{-25, 25, 18, -20, 0, -36, 36}[random.IntN(7)], 1.0
					if exponent == 36 || exponent == -36 { // products of gradients with elements are infinite, or have few digits
						scale = math.Pow(10, float64(exponent)/9)
					}
					if typ == dtype.F64 {
						exponent, scale = exponent*8+exponent/4, math.Pow(scale, 8)
					}
					for k := range length {
						at := n*length + k
						x[at] = float64(float32(0.5+random.Float64())) * math.Ldexp(1, int(float64(exponent)*math.Log2(10)))
						w[at] = float64(float32(0.5+random.Float64())) * math.Ldexp(1, int(float64(exponent)*math.Log2(10)))
						g[at] = rounded(scale*(random.Float64()-0.5), typ)
					}
				}
				given := map[string][]float64{"x": x, "w": w, "grad.y": g}
				for _, got := range []map[string][]float64{computed(t, f.text, typ, rows, length, given), interpreted(t, f.text, dtype.F64, rows, length, given)} {
					for n := range rows {
						want, size := make([]float64, length), make([]float64, length)
						for k := range length {
							at, to := n*length+k, k
							if f.row {
								to = 0
							}
							factor := 1.0
							if i == 1 {
								factor = 3
							}
							term := -factor * g[at] * (x[at] / w[n*length+to]) / w[n*length+to]
							want[to] += term
							size[to] += math.Abs(term)
						}
						for k, v := range want {
							unit := 0x1p-20
							if typ == dtype.F64 {
								unit = 0x1p-45
							}
							if got := got["grad.w"][n*length+k]; !(math.Abs(got-v) <= unit*size[k]) {
								t.Fatalf("%s, %v, row %d, element %d of %d: got %v, want %v", f.text, typ, n, k, length, got, v)
							}
						}
					}
				}
			}
		}
	}
}

// TestRatios computes gradients of repeated inputs: sums of quotients of elements of any magnitude, each
// times a number that is not small.
func TestRatios(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 10))
	length := func(x, w float64) float64 { return math.Hypot(x, w) }
	formulas := []struct {
		text  string
		slope func(x, w float64) float64 // by w
	}{
		{"y[n, k] = hypot(x[n, k], w[0, k])", func(x, w float64) float64 { return w / length(x, w) }},
		{"t[n, k] = hypot(w[0, k], x[n, k])\ny[n, k] = t[n, k]", func(x, w float64) float64 { return w / length(x, w) }},
		{"y[n, k] = hypot(x[n, k], w[0, k]) * 5", func(x, w float64) float64 { return 5 * (w / length(x, w)) }},
		{"y[n, k] = norm(i < 2: i == 0 ? x[n, k] : w[0, k])", func(x, w float64) float64 { return w / length(x, w) }},
	}
	const rows, cols = 5, 20
	for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
		greatest := map[dtype.Type]float64{dtype.F32: math.MaxFloat32, dtype.F64: 1e300}[typ] // the interpreter scales no gradients
		for _, f := range formulas {
			x, w, g := make([]float64, rows*cols), make([]float64, rows*cols), make([]float64, rows*cols)
			for i := range x {
				size := []float64{greatest / 4, 1, 1e24 / greatest}[i%cols%3]
				x[i] = rounded(size*(random.Float64()-0.5), typ)
				w[i] = rounded(size*(random.Float64()-0.5), typ)
				g[i] = rounded(40*random.Float64(), typ)
			}
			given := map[string][]float64{"x": x, "w": w, "grad.y": g}
			for _, got := range []map[string][]float64{computed(t, f.text, typ, rows, cols, given), interpreted(t, f.text, dtype.F64, rows, cols, given)} {
				for k := range cols {
					want, size := 0.0, 0.0
					for n := range rows {
						term := g[n*cols+k] * f.slope(x[n*cols+k], w[k])
						want, size = want+term, size+math.Abs(g[n*cols+k])
					}
					unit := map[dtype.Type]float64{dtype.F32: 0x1p-20, dtype.F64: 0x1p-45}[typ]
					if got := got["grad.w"][k]; !(math.Abs(got-want) <= 5*unit*size) {
						t.Errorf("%s, %v, column %d, w = %v: got %v, want %v", f.text, typ, k, w[k], got, want)
					}
				}
			}
		}
	}
}

// TestNormsOfProducts compares gradients of norms of products with the interpreter, in float64: a square of
// one factor may be infinite or 0 where the norm is neither.
func TestNormsOfProducts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(11, 12))
	compared := 0
	for _, body := range []string{"x[n, 0] * w[0, k]", "-(x[n, 0] * w[0, k])", "3 * w[0, k] * x[n, k]", "w[0, k] / x[n, 0]", "x[n, k] / w[0, k]", "(x[n, 0] - x[n, k]) * w[0, k]", "x[n, 0] > 0.3 ? x[n, 0] * w[0, k] : w[0, k]", "1e18 * x[n, k] * w[0, k]"} {
		for _, size := range []float64{1e-36, 1e-25, 1e-18, 1, 1e18, 1e25, 1e36} {
			for _, text := range []string{"s[n] = norm(k: BODY)", "s[n] = x[n, 1] * norm(k: BODY)", "t[n] = norm(k: BODY)\ny[n, k] = t[n] * x[n, k]"} {
				text = strings.ReplaceAll(text, "BODY", body)
				const rows, cols = 4, 9
				given := map[string][]float64{"x": make([]float64, rows*cols), "w": make([]float64, rows*cols), "grad.s": make([]float64, rows), "grad.y": make([]float64, rows*cols)}
				for name, list := range given {
					for i := range list {
						list[i] = 0.25 + 0.75*random.Float64()
						if name == "w" {
							list[i] *= size
						}
						list[i] = rounded(list[i], dtype.F32)
					}
				}
				want, got := interpreted(t, text, dtype.F64, rows, cols, given), computed(t, text, dtype.F32, rows, cols, given)
				usual := func(name string) bool { // results, too, have a usual size
					for _, v := range want[name] {
						if a := math.Abs(v); a != 0 && !(a > 1e-37 && a < 1e38) {
							return false
						}
					}
					return true
				}
				for _, name := range []string{"s", "y", "grad.x", "grad.w"} {
					if !usual("s") || !usual("y") || !usual(name) {
						continue
					}
					most := 0.0
					for _, v := range want[name] {
						most = max(most, math.Abs(v))
					}
					for i, w := range want[name] {
						if compared++; !(math.Abs(got[name][i]-w) <= 1e-5*most) {
							t.Errorf("%s, size %v, %s[%d]: got %v, want %v", text, size, name, i, got[name][i], w)
							break
						}
					}
				}
			}
		}
	}
	if compared < 5000 {
		t.Errorf("%d numbers compared, want 5000 and more", compared)
	}
}

// rounded returns a number rounded to a type of elements.
func rounded(v float64, typ dtype.Type) float64 {
	if typ == dtype.F32 {
		return float64(float32(v))
	}
	return v
}

// TestQuotientsByAnyDivisor divides by elements of a row and by constants, also by those whose inverse is
// infinite or denormal. The quotients must be correctly rounded.
func TestQuotientsByAnyDivisor(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 10))
	for _, length := range digitsExtents() {
		for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
			exponents := []int{-149, -140, -127, -126, -100, 0, 100, 126, 127}
			if typ == dtype.F64 {
				exponents = []int{-1074, -1060, -1023, -1022, -900, 0, 900, 1022, 1023}
			}
			const rows = 3
			x, w := make([]float64, rows*length), make([]float64, rows*length)
			for n := range rows {
				scale := exponents[random.IntN(len(exponents))]
				for k := range length {
					x[n*length+k] = rounded(math.Ldexp(1+random.Float64(), scale), typ)
					w[n*length+k] = x[n*length+k]
				}
			}
			least := rounded(math.Ldexp(1.5, exponents[1]), typ)
			given := map[string][]float64{"x": x, "w": w}
			byRow := computed(t, "y[n, k] = x[n, k] / w[n, 0]", typ, rows, length, given)["y"]
			byOne := computed(t, fmt.Sprintf("y[n, k] = x[n, k] / %v", least), typ, rows, length, given)["y"]
			for i := range x {
				if want := rounded(x[i]/w[i/length*length], typ); byRow[i] != want {
					t.Fatalf("%v, element %d of rows of %d: got %v / %v = %v, want %v", typ, i, length, x[i], w[i/length*length], byRow[i], want)
				}
				if want := rounded(x[i]/least, typ); byOne[i] != want {
					t.Fatalf("%v, element %d of rows of %d: got %v / %v = %v, want %v", typ, i, length, x[i], least, byOne[i], want)
				}
			}
		}
	}
}

// TestLog1p computes log1p near 0, where log(1 + x) has few digits.
func TestLog1p(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(11, 12))
	for _, length := range digitsExtents() {
		for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
			x := make([]float64, length)
			for k := range x {
				x[k] = rounded(math.Ldexp(random.Float64()*2-1, -random.IntN(100)), typ)
			}
			seeds := slices.Repeat([]float64{1}, length)
			got := computed(t, "y[n, k] = log1p(x[n, k])", typ, 1, length, map[string][]float64{"x": x, "grad.y": seeds})
			for k, v := range x {
				unit := 0x1p-52
				if typ == dtype.F32 {
					unit = 0x1p-23
				}
				if want := math.Log1p(v); !(math.Abs(got["y"][k]-want) <= 2*unit*math.Abs(want)) {
					t.Fatalf("%v: log1p(%v): got %v, want %v", typ, v, got["y"][k], want)
				}
				if want := 1 / (1 + v); !(math.Abs(got["grad.x"][k]-want) <= 2*unit*math.Abs(want)) {
					t.Fatalf("%v: the derivative of log1p at %v: got %v, want %v", typ, v, got["grad.x"][k], want)
				}
			}
		}
	}
}

// TestTextbookForms computes log(1 + x) and exp(x) - 1 for small x, with loops and with the interpreter, and
// their gradients. As they are written, they would lose digits.
func TestTextbookForms(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(17, 18))
	const length = 301
	for _, f := range []struct {
		text         string
		value, slope func(x float64) float64
	}{
		{"log(1 + x[n, k])", math.Log1p, func(x float64) float64 { return 1 / (1 + x) }},
		{"log(x[n, k] + 1)", math.Log1p, func(x float64) float64 { return 1 / (1 + x) }},
		{"log(1 - x[n, k])", func(x float64) float64 { return math.Log1p(-x) }, func(x float64) float64 { return -1 / (1 - x) }},
		{"exp(x[n, k]) - 1", math.Expm1, math.Exp},
		{"-1 + exp(x[n, k])", math.Expm1, math.Exp},
		{"1 - exp(x[n, k])", func(x float64) float64 { return -math.Expm1(x) }, func(x float64) float64 { return -math.Exp(x) }},
		{"log(1 + exp(40 * x[n, k] - 40))", func(x float64) float64 { return math.Log1p(math.Exp(40*x - 40)) }, func(x float64) float64 { return 40 / (1 + math.Exp(40-40*x)) }},
	} {
		for typ, unit := range map[dtype.Type]float64{dtype.F32: 0x1p-24, dtype.F64: 0x1p-53} {
			x := make([]float64, length)
			for k := range x {
				x[k] = rounded(math.Ldexp(random.Float64()*2-1, -random.IntN(60)), typ)
			}
			given := map[string][]float64{"x": x, "grad.y": slices.Repeat([]float64{1}, length)}
			for _, got := range []map[string][]float64{computed(t, "y[n, k] = "+f.text, typ, 1, length, given), interpreted(t, "y[n, k] = "+f.text, typ, 1, length, given)} {
				for k, v := range x {
					want, slope := f.value(v), f.slope(v)
					if y, g := got["y"][k], got["grad.x"][k]; !(math.Abs(y-want) <= 128*unit*math.Abs(want)) || !(math.Abs(g-slope) <= 128*unit*math.Abs(slope)) {
						t.Fatalf("%s, %v, %v: got %v with the slope %v, want %v and %v", f.text, typ, v, y, g, want, slope)
					}
				}
			}
		}
	}
	for _, text := range []string{"log(1 + x[n, k] + w[n, k])", "x[n, k] + exp(w[n, k]) - 1"} { // in which the 1 may cancel
		x, w := []float64{-1, 1}, []float64{0x1p-60, 0}
		got := computed(t, "y[n, k] = "+text, dtype.F64, 1, 2, map[string][]float64{"x": x, "w": w})["y"]
		want := []float64{-60 * math.Ln2, math.Ln2}
		if text[0] == 'x' {
			want = []float64{-1, 1}
		}
		if !(math.Abs(got[0]-want[0]) <= 1e-14) || !(math.Abs(got[1]-want[1]) <= 1e-14) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// TestEqualRows normalizes rows of equal numbers, whose results are exactly 0, and computes variances of
// numbers with a large mean.
func TestEqualRows(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(13, 14))
	for _, length := range digitsExtents() {
		for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
			const several = 3
			for _, columns := range []bool{false, true} {
				rows, cols := several, length
				text := "m[n] = mean(k: x[n, k])\nr[n] = rsqrt(variance(k: x[n, k]) + 0.000001)\ny[n, k] = (x[n, k] - m[n]) * r[n]"
				if columns {
					rows, cols = cols, rows
					text = "m[k] = mean(n: x[n, k])\nr[k] = rsqrt(variance(n: x[n, k]) + 0.000001)\ny[n, k] = (x[n, k] - m[k]) * r[k]"
				}
				x, line := make([]float64, rows*cols), []float64{3.7, -123456.789, float64(float32(random.Float64()))}
				for i := range x {
					x[i] = rounded(line[i/cols%several], typ)
					if columns {
						x[i] = rounded(line[i%cols], typ)
					}
				}
				got := computed(t, text, typ, rows, cols, map[string][]float64{"x": x})
				for i, v := range got["y"] {
					if !(math.Abs(v) <= 0) && typ == dtype.F32 || !(math.Abs(v) <= 1e-5) {
						t.Fatalf("%v, %d rows of %d: element %d, of elements of %v, got %v, want 0", typ, rows, cols, i, x[i], v)
					}
				}
			}
			if length < 2 {
				continue
			}
			x, mean, want := make([]float64, length), 0.0, 0.0
			for i := range x {
				x[i] = rounded(1e4+float64(random.IntN(1000))/1000, typ)
				mean += x[i] / float64(length)
			}
			for _, v := range x {
				want += (v - mean) * (v - mean) / float64(length)
			}
			got := computed(t, "s[n] = variance(k: x[n, k])", typ, 1, length, map[string][]float64{"x": x})["s"][0]
			if !(math.Abs(got-want) <= 2e-6*want) {
				t.Fatalf("%v, variance of %d elements: got %v, want %v", typ, length, got, want)
			}
		}
	}
}

// TestVarianceOfEqualNumbers computes variances of equal numbers, which are exactly 0, or NaN over an empty
// range: of whole rows, of ranges that depend on an index, under a condition, over several indices, and
// beside the mean.
func TestVarianceOfEqualNumbers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(15, 16))
	extents := []int{1, 2, 3, 7, 17, 49, 64, 100, 129, 500, 1030}
	if testing.Short() {
		extents = []int{3, 17, 49, 129, 1000}
	}
	for _, text := range []string{
		"s[n] = variance(k: x[n, k])",
		"s[n] = variance(k: 0.3 * x[n, 0] + 0 * x[n, k])",
		"s[n] = variance(k, a < 3: x[n, k] * 0.7)",
		"s[n] = variance(a < 3, k if k != a: 0.3)",
		"s[n] = variance(k if w[n, k] > 0.5: x[n, k] * 1.1)",
		"s[n] = variance(k if k < j[n]: 0.3)",
		"s[n] = variance(k in n .. K: x[n, k])",
		"s[n] = variance(a in 0 .. n, k in a .. K: x[n, k] / 3)",
		"y[n, k] = variance(i in k - 5 .. k + 6: (x[n, i] else x[n, 0]))",
		"y[n, k] = variance(i in max(0, k - 3) .. min(K, k + 4): exp(0.1 * x[n, i]))",
		"y[n, k] = variance(i in 0 .. k % 50 + 1: x[n, i])",
		"s[n] = w[n, 0] > 0.5 ? variance(k: tanh(x[n, k])) : 0",
		"s[n] = mean(k: x[n, k]) * 0 + variance(k: x[n, k])",
		"s[n] = sum(a in n .. n + 2: variance(k: x[n, k] * (1 + a)))",
		"y[n, k] = variance(n': x[n', k])",
		"y[n, k] = variance(i in k .. k + 3, n': x[n', k] / 7)",
	} {
		for _, cols := range extents {
			for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
				const rows = 3
				x, w := make([]float64, rows*cols), make([]float64, rows*cols)
				v := rounded((random.Float64()-0.5)*math.Ldexp(1, random.IntN(20)-10), typ)
				for i := range x {
					x[i], w[i] = v, rounded(random.Float64(), typ)
				}
				given := map[string][]float64{"x": x, "w": w, "j": {1, float64(cols), float64(cols / 2)}}
				engines := map[string]map[string][]float64{"loops": computed(t, text, typ, rows, cols, given)}
				if cols < 200 {
					engines["the interpreter"] = interpreted(t, text, typ, rows, cols, given)
				}
				for name, got := range engines {
					for i, s := range append(slices.Clone(got["s"]), got["y"]...) {
						if s != 0 && !math.IsNaN(s) {
							t.Errorf("%s, %s, %v, rows of %d times %v: variance %d is %v", text, name, typ, cols, v, i, s)
							break
						}
					}
				}
			}
		}
	}
}
