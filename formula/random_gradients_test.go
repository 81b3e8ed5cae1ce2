package formula

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

var randomGradients = flag.Int("random-gradients", 500, "how many random formulas are differentiated")

// TestRandomGradients compares derived gradients with the interpreter's reverse mode, for random formulas
// with windows, conditions, defaults, lookups and extremes.
func TestRandomGradients(t *testing.T) {
	derived := 0
	for i := range *randomGradients {
		w := &windows{rand.New(rand.NewPCG(*randomSeed, uint64(i)))}
		text := w.formula()
		size := [][2]int{{3, 4}, {4, 3}, {1, 1}, {2, 5}, {5, 2}, {0, 3}, {3, 1}}[i%7]
		p, err := program.Build(useOfTest(t, text, dtype.F64, size[0], size[1]))
		if err != nil {
			continue
		}
		if got, err := differ(t, p, w.Rand, size[1]); err != nil {
			t.Errorf("%d, extents %v:\n%s\n%v", i, size, text, err)
		} else if got {
			derived++
		}
	}
	if derived < *randomGradients/4 {
		t.Errorf("%d of %d formulas were compared", derived, *randomGradients)
	}
}

// windows generates random formulas for TestRandomGradients.
type windows struct{ *rand.Rand }

func (w *windows) pick(of ...string) string { return of[w.IntN(len(of))] }

// offset generates an integer expression of indices.
func (w *windows) offset(of ...string) string {
	x := w.pick(of...)
	switch w.IntN(9) {
	case 0, 1:
		return x + w.pick(" + 1", " - 1", " - 2", " + 2")
	case 2:
		if len(of) > 1 {
			return x + w.pick(" - ", " + ") + w.pick(of...)
		}
	case 3:
		return w.pick("2 * ", "-", "3 * ") + x
	case 4:
		return fmt.Sprintf("quotient(%s, 2)", x)
	case 5:
		return x + " % 2"
	case 6:
		return fmt.Sprintf("K - 1 - %s", x)
	}
	return x
}

// element generates a load, in most cases with a default.
func (w *windows) element(of ...string) string {
	rows := w.offset("n", "n", w.pick(of...))
	if w.IntN(3) > 0 {
		rows = "n"
	}
	if w.IntN(8) == 0 {
		rows = w.pick("j[n]", "j[n] - 1")
	}
	return fmt.Sprintf("(%s[%s, %s] else %s)", w.pick("x", "w"), rows, w.offset(of...), w.pick("0", "0.3", "w[n, 0]"))
}

// value generates an expression of real numbers.
func (w *windows) value(depth int, of ...string) string {
	if depth == 0 {
		return w.element(of...)
	}
	sub := func() string { return w.value(depth-1, of...) }
	switch w.IntN(11) {
	case 0:
		return fmt.Sprintf("%s * %s", sub(), sub())
	case 1:
		return fmt.Sprintf("tanh(%s)", sub())
	case 2:
		return fmt.Sprintf("(%s ? %s : %s)", w.condition(of...), sub(), w.pick("0", "1", sub()))
	case 3:
		return fmt.Sprintf("%s(%s, %s)", w.pick("max", "min"), sub(), w.pick("0.4", sub(), sub()+", "+sub()))
	case 4, 5:
		if len(of) < 4 {
			return w.reduction(depth-1, of...)
		}
	case 6:
		return fmt.Sprintf("%s / %s", sub(), w.pick("(2 + w[n, 0]^2)", "x[n, 0]", fmt.Sprintf("(1.5 + %s)", w.element(of...))))
	case 7:
		return fmt.Sprintf("%s(0.5 + abs(%s))", w.pick("sqrt", "log", "rsqrt"), sub())
	case 8:
		return fmt.Sprintf("%s * %s", sub(), w.pick(of...))
	}
	return w.element(of...)
}

// condition generates a condition.
func (w *windows) condition(of ...string) string {
	switch w.IntN(5) {
	case 0:
		return fmt.Sprintf("%s > 0.4", w.element(of...))
	case 1:
		return fmt.Sprintf("(j[%s] else 0) == %s", w.offset("n", w.pick(of...)), w.pick(of...))
	case 2:
		return fmt.Sprintf("%s %s %s && %s > 0.3", w.offset(of...), w.pick("<", "<=", "!="), w.offset(of...), w.element(of...))
	}
	return fmt.Sprintf("%s %s %s", w.offset(of...), w.pick("<", "<=", "==", "!="), w.offset(of...))
}

// reduction generates a reduction over one or two new indices.
func (w *windows) reduction(depth int, of ...string) string {
	var over []string
	for range 1 + w.IntN(2) {
		i := []string{"a", "b", "c", "d", "e", "f"}[len(of)-1]
		lo, hi := w.offset(append(of, "0")...), w.pick("K", "3", "2", "")
		if hi == "" || w.IntN(2) == 0 {
			hi = fmt.Sprintf("%s + %s", w.pick(lo, w.offset(of...)), w.pick("1", "2", "3"))
		}
		over = append(over, fmt.Sprintf("%s in %s .. %s", i, lo, hi))
		of = append(slices.Clip(of), i)
		if len(of) == 5 {
			break
		}
	}
	text := strings.Join(over, ", ")
	if w.IntN(3) == 0 {
		text += " if " + w.condition(of...)
	}
	if w.IntN(3) == 0 {
		of = of[:len(of)-1] // a body without the index
	}
	return fmt.Sprintf("%s(%s: %s)", w.pick("sum", "sum", "mean", "max", "min", "prod", "variance", "norm", "logsumexp"), text, w.value(depth, of...))
}

// formula generates a formula of one or two lines.
func (w *windows) formula() string {
	first := ""
	of := "x"
	if w.IntN(2) == 0 {
		first = fmt.Sprintf("t[n, k] = %s\n", w.value(2, "k", "n"))
		of = "t"
	}
	switch w.IntN(3) {
	case 0:
		return first + fmt.Sprintf("s[n] = %s * (%s[n, 0] else 1)", w.reduction(1, "n"), of)
	case 1:
		return first + fmt.Sprintf("y[n, k] = %s + (%s[n, %s] else 0)", w.value(2, "k", "n"), of, w.offset("k", "n"))
	}
	return first + fmt.Sprintf("y[n, k] = %s * (%s[n, k] else 0)\ns[n] = %s", w.reduction(1, "k", "n"), of, w.reduction(1, "n"))
}

// differ compares the derived gradients of a program with those of reverse mode, at random inputs and output
// gradients. It reports whether there are derived gradients. It skips programs that load out of bounds.
func differ(t *testing.T, p *program.Program, random *rand.Rand, below int) (derived bool, err error) {
	t.Helper()
	var outputs []int
	for i, l := range p.Tensors {
		if l.Slot >= 0 && l.Given && l.Kind == term.Real && l.Varies {
			outputs = append(outputs, i)
		}
	}
	ref := (&compiled{p, compile(p)}).newMemory()
	for i, l := range p.Tensors {
		if l.Slot < 0 || l.Given {
			continue
		}
		ref.computed[i] = true
		for k := range ref.tensors[i].real {
			ref.tensors[i].real[k] = 0.1 + random.Float64()
			if random.IntN(6) == 0 {
				ref.tensors[i].real[k] = 0.5 // so that there are ties
			}
		}
		for k := range ref.tensors[i].integer {
			ref.tensors[i].integer[k] = int64(random.IntN(max(below, 1)))
		}
	}
	if len(outputs) == 0 || ref.forward() != nil {
		return false, nil
	}
	g, err := derive.Gradients(p, outputs)
	if err != nil {
		return false, err
	}
	m := (&compiled{g.Program, compile(g.Program)}).newMemory()
	for _, o := range outputs {
		ref.grads[o] = make([]float64, len(ref.tensors[o].real))
		for k := range ref.grads[o] {
			ref.grads[o][k] = random.Float64() - 0.3
		}
	}
	for i, l := range p.Tensors {
		if l.Slot >= 0 && !l.Given {
			m.tensors[i], m.computed[i] = ref.tensors[i].clone(), true
		}
	}
	for _, o := range outputs {
		copy(m.tensors[g.Of[o]].real, ref.grads[o])
	}
	nan := slices.ContainsFunc(outputs, func(o int) bool { return slices.ContainsFunc(ref.tensors[o].real, math.IsNaN) })
	fail := func(err error) (bool, error) {
		var text []string
		for _, s := range g.Statements {
			text = append(text, "  "+s.String())
		}
		return true, fmt.Errorf("%w\n%s", err, strings.Join(text, "\n"))
	}
	if err := ref.backward(); err != nil {
		return fail(fmt.Errorf("reverse mode: %w", err))
	}
	if err := m.forward(); err != nil {
		return fail(err)
	}
	for i, l := range p.Tensors {
		if !l.Varies || l.Given || l.Slot < 0 {
			continue
		}
		id, ok := g.Of[i]
		for k, want := range ref.grads[i] {
			got := 0.0
			if ok {
				got = m.tensors[id].real[k]
			}
			if !math.IsInf(want, 0) && !math.IsNaN(want) && !(nan && math.IsNaN(got)) && !(math.Abs(got-want) <= 1e-8*max(1, math.Abs(want))) {
				return fail(fmt.Errorf("gradient of %s, element %d: got %v, want %v", l.Name, k, got, want))
			}
		}
	}
	return true, nil
}
