package formula

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

var nan, inf = math.NaN(), math.Inf(1)

// TestConventions checks the gradients at ties, at NaN, at infinite slopes and of empty reductions: by
// reverse mode, by derived statements in the interpreter, and by their loops, in f32 and f64. The gradients
// of outputs are 1.
func TestConventions(t *testing.T) {
	zeros := []float64{0, 0, 0, 0}
	for _, c := range []struct {
		text       string
		rows, cols int
		x, w       []float64
		dx, dw     []float64
	}{
		// Elements that tie for an extreme share its gradient evenly, as do operands of which one is NaN. An
		// element that ties with a constant gets no gradient.
		{"y[n, k] = max(x[n, k], w[n, k])", 1, 4, []float64{1, 2, nan, nan}, []float64{1, 3, 1, nan}, []float64{0.5, 0, 1, 0.5}, []float64{0.5, 1, 0, 0.5}},
		{"y[n, k] = min(x[n, k], w[n, k])", 1, 4, []float64{1, 2, nan, nan}, []float64{1, 3, 1, nan}, []float64{0.5, 1, 1, 0.5}, []float64{0.5, 0, 0, 0.5}},
		{"y[n, k] = max(x[n, k], w[n, k], x[n, k])", 1, 3, []float64{1, 2, nan}, []float64{1, 3, 1}, []float64{2. / 3, 0, 1}, []float64{1. / 3, 1, 0}},
		{"y[n, k] = max(x[n, k], max(w[n, k], w[n, 0]), 1)", 1, 3, []float64{1, 2, 5}, []float64{1, 2, 5}, []float64{0, 0.5, 0.5}, []float64{0, 0.5, 0.5}},
		{"y[n, k] = max(x[n, k], 0)", 1, 4, []float64{1, 0, -1, nan}, zeros, []float64{1, 0, 0, 1}, zeros},
		{"y[n, k] = min(x[n, k], 0)", 1, 4, []float64{1, 0, -1, nan}, zeros, []float64{0, 0, 1, 1}, zeros},
		{"y[n, k] = max(x[n, k], j[n] / 0 - j[n] / 0)", 1, 2, []float64{1, nan}, []float64{0, 0}, []float64{0, 0}, []float64{0, 0}},
		{"s[n] = max(k: x[n, k])", 1, 4, []float64{1, 3, 3, 2}, zeros, []float64{0, 0.5, 0.5, 0}, zeros},
		{"s[n] = min(k: tanh(9 * x[n, k]))", 1, 4, []float64{9, 9, 9, 9}, zeros, zeros, zeros}, // the slope of tanh is 0
		{"s[n] = min(k: x[n, k] * w[n, k])", 1, 4, []float64{1, 2, 3, 6}, []float64{6, 3, 2, 1}, []float64{1.5, 0.75, 0.5, 0.25}, []float64{0.25, 0.5, 0.75, 1.5}},
		{"s[n] = max(k: x[n, k])", 1, 4, []float64{1, nan, 3, nan}, zeros, []float64{0, 0.5, 0, 0.5}, zeros},
		{"y[n, k] = max(k' in 0 .. k + 1: x[n, k'])", 1, 4, []float64{1, nan, 3, nan}, zeros, []float64{1, 2.5, 0, 0.5}, zeros},
		{"y[n, k] = max(k' in 0 .. k + 1: x[n, k'])", 1, 4, []float64{1, 1, 3, 3}, zeros, []float64{1.5, 0.5, 1.5, 0.5}, zeros},
		{"y[n, k] = max(k' in 0 .. k + 1: x[n, k'] * w[n, 0])", 1, 4, []float64{1, 1, 3, 3}, []float64{2, 0, 0, 0}, []float64{3, 1, 3, 1}, []float64{8, 0, 0, 0}},
		// A range that ends before it begins has 0 indices.
		{"y[n, k] = sum(k': x[n, k' / 2])", 1, 4, zeros, zeros, []float64{8, 8, 0, 0}, zeros},
		{"y[n, k] = sum(k', a in 0 .. k - 2: x[n, k'])", 1, 4, zeros, zeros, []float64{1, 1, 1, 1}, zeros},
		{"s[n] = mean(c in 0 .. 2 - 2 * n, f < 3: x[n, 0])", 3, 1, []float64{1, 1, 1}, []float64{0, 0, 0}, []float64{1, 0, 0}, []float64{0, 0, 0}},
		// The gradient of an element that no result reads is 0.
		{"s[n] = max(k if w[n, k] > 1: -x[n, k])", 2, 2, []float64{1, 2, 3, 4}, []float64{2, 2, 0, 0}, []float64{-1, 0, 0, 0}, zeros},
		{"s[n] = mean(k if w[n, k] > 1: x[n, k] * 2)", 2, 2, []float64{1, 2, 3, 4}, []float64{2, 2, 0, 0}, []float64{1, 1, 0, 0}, zeros},
		{"s[n] = variance(k if w[n, k] > 1: x[n, k])", 2, 2, []float64{1, 2, 3, 4}, []float64{2, 2, 0, 0}, []float64{-0.5, 0.5, 0, 0}, zeros},
		{"t[n] = sqrt(sum(k if w[n, k] > 1: x[n, k]^2))\ny[n, k] = w[n, k] > 1 ? x[n, k] / t[n] : 0", 1, 2, []float64{1, 2}, []float64{0, 0}, []float64{0, 0}, []float64{0, 0}},
		// An operand that is not selected has gradient 0, even if the slope of its definition is infinite.
		{"t[n] = sqrt(sum(k: x[n, k]^2))\ny[n, k] = x[n, k] / max(t[n], 0.5)", 2, 2, []float64{0, 0, 3, 4}, zeros, []float64{2, 2, 0.2 - 21./125, 0.2 - 28./125}, zeros},
		{"t[n] = sqrt(sum(k: x[n, k]^2))\ny[n, k] = t[n] > 0.5 ? x[n, k] / t[n] : x[n, k]", 2, 2, []float64{0, 0, 3, 4}, zeros, []float64{1, 1, 0.2 - 21./125, 0.2 - 28./125}, zeros},
		{"t[n, k] = log(x[n, k])\ns[n] = sum(k: w[n, k] == 0 ? 0 : w[n, k] * t[n, k])", 1, 3, []float64{0.5, 0.25, 0}, []float64{1, 1, 0}, []float64{2, 4, 0}, []float64{math.Log(0.5), math.Log(0.25), 0}},
		{"t[n, k] = x[n, k] / w[n, k]\ny[n, k] = w[n, k] == 0 ? 1 : t[n, k] * 2", 1, 2, []float64{1, 1}, []float64{0, 1}, []float64{0, 2}, []float64{0, -2}},
		{"t[n, k] = sqrt(x[n, k])\nu[n, k] = t[n, k] * 2\ny[n, k] = u[n, k + 1] else 0", 1, 2, []float64{0, 1}, []float64{0, 0}, []float64{0, 1}, []float64{0, 0}},
		{"y[n, k] = pow(x[0, k], w[n, k])", 2, 1, []float64{0, 5}, []float64{0, 0.5}, []float64{inf, 0}, []float64{0, 0}}, // nor has a power of 0
		// A conditional or a default of an integer and a real number is a real number.
		{"t[n] = 1\ny[n, k] = (t[n + k] else x[n, k]) * 2", 1, 3, []float64{0.5, 1.5, -0.5}, zeros, []float64{0, 2, 2}, zeros},
		{"t[n] = argmax(k: w[n, k])\ny[n, k] = (t[k - 1] else x[n, k]) * w[n, k]", 2, 3, []float64{0.5, 1, 1, -0.5, 1, 1}, []float64{1, 2, 3, 6, 5, 4}, []float64{1, 0, 0, 6, 0, 0}, []float64{0.5, 2, 0, -0.5, 2, 0}},
		{"t[n, k] = rsqrt(x[n, k])\ns[n] = max(t[n, 0], t[n, 1], w[n, 0])", 1, 2, []float64{inf, 1}, []float64{0.5, 0}, []float64{0, -0.5}, []float64{0, 0}},
	} {
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			t.Run(fmt.Sprint(c.text, c.rows, c.cols, typ), func(t *testing.T) {
				ways := gradientsOf(t, c.text, typ, c.rows, c.cols, c.x, c.w)
				for _, way := range []string{"reverse mode", "derived", "loops"} {
					for i, want := range [][]float64{c.dx, c.dw} {
						for k, got := range ways[way][i] {
							if d := apart(got, want[k], dtype.F32, 0); d != "" || math.IsNaN(got) {
								t.Errorf("%s, gradient of %s, element %d: got %v, want %v", way, []string{"x", "w"}[i], k, got, want[k])
							}
						}
					}
				}
			})
		}
	}
}

// TestExtremesKeepTheGradient checks that the gradients of the operands of an extreme sum to the extreme's
// gradient, for functions that loops round differently in different places. Each element of a row is added to
// the operand with slope 1, so that its gradients sum to those of the results.
func TestExtremesKeepTheGradient(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, over := range []string{"k'", "k' in 0 .. k + 1", "k' in k .. K", "k' in k - 1 .. k + 2", "k' in max(0, k - n) .. min(K, k + 3)", "k' if k' != k || K == 1", "k' if k' <= k && w[n, k'] > 0.2 || k' == k"} {
		for _, value := range []string{"x[n, k'] + tanh(2 * w[n, k'])", "x[n, k'] - (k - k') * w[n, 0]", "x[n, k'] + w[n, k'] * w[n, 0] * 0.3", "x[n, k'] + exp(w[n, k']) / (1.5 + w[n, k])",
			"max(x[n, k'] + sin(w[n, k']), x[n, k'] + cos(w[n, 0] + k'))", "(x[n, k'] + 0.3 * w[n, k']) * 1.0"} {
			for _, kind := range []string{"max", "min"} {
				for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
					for _, size := range [][2]int{{2, 5}, {3, 70}} {
						text := fmt.Sprintf("y[n, k] = %s(%s: %s)", kind, over, value)
						x, w := make([]float64, size[0]*size[1]), make([]float64, size[0]*size[1])
						for i := range x {
							x[i], w[i] = float64(float32(random.Float64())), float64(float32(random.Float64()))
						}
						ways := gradientsOf(t, text, typ, size[0], size[1], x, w)
						for n := range size[0] {
							sum := 0.0
							for _, g := range ways["loops"][0][n*size[1] : (n+1)*size[1]] {
								sum += g
							}
							if !(math.Abs(sum-float64(size[1])) <= 1e-4) {
								t.Errorf("%s, %v, %v, row %d: the gradients sum to %v, want %d", text, typ, size, n, sum, size[1])
							}
						}
					}
				}
			}
		}
	}
}

// gradientsOf returns the gradients of x and w for output gradients of 1: by reverse mode, by derived
// statements in the interpreter, and by their loops.
func gradientsOf(t *testing.T, text string, typ dtype.Type, rows, cols int, x, w []float64) map[string][2][]float64 {
	t.Helper()
	p, err := program.Build(useOfTest(t, text, typ, rows, cols))
	if err != nil {
		t.Fatal(err)
	}
	var outputs []int
	for i, l := range p.Tensors {
		if l.Slot >= 0 && l.Given && l.Kind == term.Real && l.Varies {
			outputs = append(outputs, i)
		}
	}
	g, err := derive.Gradients(p, outputs)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range g.Statements {
		t.Log(s)
	}
	ref := (&compiled{p, compile(p)}).newMemory()
	m := (&compiled{g.Program, compile(g.Program)}).newMemory()
	copy(ref.tensors[slotX].real, x)
	copy(ref.tensors[slotW].real, w)
	for _, i := range []int{slotX, slotW, slotJ} {
		m.tensors[i], m.computed[i], ref.computed[i] = ref.tensors[i], true, true
	}
	if err := ref.forward(); err != nil {
		t.Fatal(err)
	}
	for _, o := range outputs {
		for k := range m.tensors[g.Of[o]].real {
			m.tensors[g.Of[o]].real[k] = 1
		}
		ref.grads[o] = slices.Clone(m.tensors[g.Of[o]].real)
	}
	looped := loopsOf(t, g, typ, m)
	if err := ref.backward(); err != nil {
		t.Fatal(err)
	}
	if err := m.forward(); err != nil {
		t.Fatal(err)
	}
	out := map[string][2][]float64{}
	for way, of := range map[string]func(t int) []float64{
		"reverse mode": func(t int) []float64 { return ref.grads[t] },
		"derived":      func(t int) []float64 { return m.tensors[g.Of[t]].real },
		"loops":        func(t int) []float64 { return looped[g.Of[t]] },
	} {
		var both [2][]float64
		for i, tensor := range []int{slotX, slotW} {
			both[i] = make([]float64, rows*cols)
			if _, ok := g.Of[tensor]; ok || way == "reverse mode" {
				copy(both[i], of(tensor))
			}
		}
		out[way] = both
	}
	return out
}

// loopsOf runs the statements of a gradient program in loops, with the tensors in m as inputs, and returns
// all tensors.
func loopsOf(t *testing.T, g *derive.Gradient, typ dtype.Type, m *memory) [][]float64 {
	t.Helper()
	p := g.Program
	tensors := make([]rewrite.Tensor, len(p.Tensors))
	memory := make([][]byte, len(tensors))
	ends := map[int]bool{}
	for _, id := range g.Of {
		ends[id] = true
	}
	for i, l := range p.Tensors {
		tensors[i] = rewrite.Tensor{Type: typ, Memory: i, Local: l.Given && l.Slot < 0 && !ends[i]}
		switch l.Kind {
		case term.Integer:
			tensors[i].Type = dtype.I64
		case term.Boolean:
			tensors[i].Type = dtype.Bool
		}
		data := make([]uint64, count(l)+1)
		memory[i] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), count(l)*tensors[i].Type.Size())
		m.tensors[i].store(tensors[i].Type, memory[i])
	}
	code, err := loops.Compile(p, p.Statements, slices.Clone(tensors), loops.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := code.Bind(memory)
	at := loops.Time{Run: op.NextRun()}
	for group := range code.Groups() {
		if err := run.Run(group, group+1, at, 0, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	out := make([][]float64, len(tensors))
	for i, l := range p.Tensors[:len(tensors)] {
		if l.Kind == term.Real {
			got := newElements(l.Kind, count(l))
			got.load(tensors[i].Type, memory[i])
			out[i] = got.real
		}
	}
	return out
}
