package formula

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

var (
	randomFormulas = flag.Int("random-formulas", 150, "how many random formulas run in loops")
	randomSeed     = flag.Uint64("random-seed", 1, "which random formulas they are")
)

// formulas returns the number of random formulas in a test. With -short, it is one in ten: these tests
// compute with one goroutine.
func formulas() int {
	if testing.Short() {
		return *randomFormulas / 10
	}
	return *randomFormulas
}

// TestRandomLoops compares loops with the interpreter for random formulas of several lines, gradients
// included.
func TestRandomLoops(t *testing.T) {
	refused := 0
	for i := range formulas() {
		tolerance := 10 * roundingOfSums // gradients subtract numbers of about the same size
		size, nested := [][2]int{{3, 4}, {4, 3}, {1, 1}, {2, 3}}[i%4], 2
		switch i % 16 {
		case 3:
			size, nested = [2]int{1, 1100}, 0 // more than a strip
			tolerance = 1e-7                  // sines of numbers as large as the indices have fewer digits
		case 7:
			size, nested = [2]int{2, 64}, 1 // whole lanes
		}
		w := &writer{Rand: rand.New(rand.NewPCG(*randomSeed, uint64(i))), nested: nested}
		text := w.formula()
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("extents %v:\n%s", size, text)
				}
			}()
			if err := compareWithin(t, text, dtype.F64, size[0], size[1], tolerance); err != nil {
				refused++
			}
		})
	}
	if refused > formulas()/10 {
		t.Errorf("there are no loops for %d formulas", refused)
	}
}

// writer generates random formulas.
type writer struct {
	*rand.Rand
	matrices, rows []string // tensors that lines before have given
	inner, nested  int      // how many reductions are open, and how many may be
}

// formula generates one to four lines with intermediate results, and then the outputs.
func (w *writer) formula() string {
	var lines []string
	w.matrices = []string{"x", "w"}
	for i := range 1 + w.IntN(4) {
		name := fmt.Sprint("t", i)
		if w.IntN(4) == 0 {
			lines = append(lines, fmt.Sprintf("%s[n] = %s", name, w.reduction(2)))
			w.rows = append(w.rows, name)
		} else {
			lines = append(lines, fmt.Sprintf("%s[n, k] = %s", name, w.real("k", 3)))
			w.matrices = append(w.matrices, name)
		}
	}
	return strings.Join(append(lines, "y[n, k] = "+w.real("k", 3), "s[n] = "+w.reduction(2)), "\n")
}

func (w *writer) pick(of ...string) string { return of[w.IntN(len(of))] }

// real generates an expression of real numbers. index is the index of columns to use, and depth bounds the
// size of the expression.
func (w *writer) real(index string, depth int) string {
	if depth == 0 {
		return w.leaf(index)
	}
	sub := func() string { return w.real(index, depth-1) }
	switch w.IntN(14) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", sub(), w.pick("+", "-"), sub())
	case 2, 3:
		return fmt.Sprintf("%s * %s", sub(), sub())
	case 4:
		return fmt.Sprintf("%s / (2 + %s^2)", sub(), w.leaf(index))
	case 5:
		return fmt.Sprintf("%s(%s)", w.pick("tanh", "sin", "cos", "sigmoid", "abs", "Phi", "exp", "erfc"), w.pick("sin", "tanh")+"("+sub()+")")
	case 6:
		return fmt.Sprintf("%s(2 + tanh(%s))", w.pick("log", "sqrt", "rsqrt"), sub())
	case 7, 8:
		return fmt.Sprintf("(%s ? %s : %s)", w.condition(index, depth-1), sub(), sub())
	case 9:
		return fmt.Sprintf("%s(%s, %s)", w.pick("max", "min"), sub(), sub())
	case 10:
		if w.inner < w.nested {
			return w.reduction(depth - 1)
		}
	case 11:
		return fmt.Sprintf("%s * %s", sub(), w.whole(index, depth-1))
	case 12:
		if w.inner < w.nested {
			return w.window(index)
		}
	case 13: // a function of fewer indices, or of nothing but indices
		return strings.ReplaceAll(w.pick("exp(-@ / 5)", "2 ^ (-@ / K)", "cos(n * 3 ^ (-@ / K))", "sigmoid(w[0, @])", "exp(sin(w[n, 0]))"), "@", index)
	}
	return w.leaf(index)
}

// window generates a reduction over a window of columns, which may extend out of bounds.
func (w *writer) window(index string) string {
	text := w.pick("sum(# < 3: $[n, 2 * @ + # - 1] else 0.5)", "max(# < 2: $[n, @ - #] else 0.3)", "sum(# in max(0, @ - 1) .. min(K, @ + 2): $[n, #] * w[n, @])",
		"sum(# < 2: $[n, 3 * @ - 2 * #] else $[n, @])", "sum(# in (@ + 1) / 2 .. min(K, (@ + 1) / 2 + 2): $[n, #])")
	return strings.NewReplacer("#", "i"+strings.Repeat("'", w.inner), "@", index, "$", w.pick(w.matrices...)).Replace(text)
}

// leaf generates an element or a constant.
func (w *writer) leaf(index string) string {
	if w.IntN(5) == 0 {
		return w.pick("0.5", "2", "rate", "0.3")
	}
	if len(w.rows) > 0 && w.IntN(4) == 0 {
		return w.pick(w.rows...) + "[n]"
	}
	name := w.pick(w.matrices...)
	switch w.IntN(30) {
	case 0:
		return fmt.Sprintf("(%s[n, %s + 1 - 2 * (%s %% 2)] else rate)", name, index, index)
	case 1, 2, 3, 4, 5, 6, 7:
		return fmt.Sprintf("%s[n, %s]", name, w.pick("0", "K - 1", "K - 1 - "+index, "("+index+" + 1) % K", "quotient("+index+", 2)", "("+index+" + 1) / 2", "j[n]", w.place(index)))
	}
	return fmt.Sprintf("%s[n, %s]", name, index)
}

// place generates a subscript that depends on values.
func (w *writer) place(index string) string {
	return fmt.Sprintf("%s[n, %s] > 0.4 ? %s : 0", w.pick(w.matrices...), index, index)
}

// whole generates an integer expression.
func (w *writer) whole(index string, depth int) string {
	return w.pick(index, "n", "j[n]", fmt.Sprintf("(%s ? 1 : 2)", w.condition(index, depth)), fmt.Sprintf("quotient(%s + 3, 2)", index))
}

// condition generates a condition. It compares real numbers with constants that they never equal.
func (w *writer) condition(index string, depth int) string {
	if depth <= 0 {
		return fmt.Sprintf("%s > 0.37", w.leaf(index))
	}
	switch w.IntN(6) {
	case 0:
		return fmt.Sprintf("%s %s %s", index, w.pick("<", "<=", "==", "!="), w.pick("n", "j[n]", "1"))
	case 1:
		return fmt.Sprintf("(%s) %s (%s)", w.condition(index, depth-1), w.pick("&&", "||"), w.condition(index, depth-1))
	case 2:
		return fmt.Sprintf("!(%s)", w.condition(index, depth-1))
	}
	return fmt.Sprintf("%s %s 0.37", w.real(index, depth-1), w.pick("<", ">"))
}

// reduction generates a reduction over columns.
func (w *writer) reduction(depth int) string {
	w.inner++
	defer func() { w.inner-- }()
	i := "k" + strings.Repeat("'", w.inner)
	over := i
	if w.IntN(4) == 0 {
		over += fmt.Sprintf(" if %s", w.condition(i, depth-1))
		return fmt.Sprintf("sum(%s: %s)", over, w.real(i, depth))
	}
	return fmt.Sprintf("%s(%s: %s)", w.pick("sum", "mean", "max", "min", "logsumexp", "variance", "norm"), over, w.real(i, depth))
}
