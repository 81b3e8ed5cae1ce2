package formula

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestRandomRanges compares loops with the interpreter for random reductions whose ranges depend on indices
// of the result and of the same reduction: shifted ranges, empty ones, ranges that end before they begin or
// are out of bounds, beside values and conditions that depend on some indices only.
func TestRandomRanges(t *testing.T) {
	refused := 0
	for i := range formulas() {
		w := &ranger{Rand: rand.New(rand.NewPCG(*randomSeed+77, uint64(i)))}
		size := [][2]int{{3, 5}, {2, 6}, {1, 1}, {4, 3}, {1, 17}, {9, 2}, {2, 8}}[i%7]
		text, typ := w.formula(), []dtype.Type{dtype.F64, dtype.F32}[i/7%2]
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("panic: %v", v)
				}
				if t.Failed() {
					t.Logf("extents %v, %s:\n%s", size, typ, text)
				}
			}()
			p, err := program.Build(useOfTest(t, text, typ, size[0], size[1]))
			if err != nil {
				return // the formula reads elements that these extents do not have
			}
			if err := compareProgram(t, p, typ, size[1], false, 100*roundingOfSums); err != nil {
				refused++ // a scan that is part of a value
			}
		})
	}
	if refused > formulas()/10 {
		t.Errorf("there are no loops for %d formulas", refused)
	}
}

// ranger generates random formulas with reductions.
type ranger struct {
	*rand.Rand
	in    []string // the indices that there are
	names int
}

func (w *ranger) pick(of ...string) string { return of[w.IntN(len(of))] }

func (w *ranger) formula() string {
	var lines []string
	for i := range 1 + w.IntN(3) {
		w.in, w.names = []string{"n"}, 0
		switch w.IntN(3) {
		case 0:
			lines = append(lines, fmt.Sprintf("t%d[n] = %s", i, w.reduction(2)))
		case 1:
			w.in = append(w.in, "k")
			lines = append(lines, fmt.Sprintf("t%d[n, k] = %s", i, w.value(2)))
		default:
			w.in = append(w.in, "k")
			lines = append(lines, fmt.Sprintf("t%d[n, k] = %s", i, w.reduction(2)))
		}
	}
	w.in, w.names = []string{"n", "k"}, 0
	lines = append(lines, "y[n, k] = "+w.sum(lines)+w.reduction(2))
	w.in, w.names = []string{"n"}, 0
	return strings.Join(append(lines, "s[n] = "+w.reduction(2)), "\n")
}

// sum generates a sum of the results of all lines, so that none is dead code.
func (w *ranger) sum(lines []string) string {
	out := ""
	for _, l := range lines {
		name, _, _ := strings.Cut(l, " =")
		if t, at, _ := strings.Cut(name, "["); w.IntN(3) == 0 && at == "n, k]" {
			out += fmt.Sprintf("(%s[n, k + %s] else 0) + ", t, w.pick("1", "-1", "n"))
			continue
		}
		out += name + " + "
	}
	return out
}

// index generates an integer expression of indices.
func (w *ranger) index(depth int) string {
	i := w.in[w.IntN(len(w.in))]
	if depth == 0 {
		return w.pick(i, i, "1", "0", "2")
	}
	sub := func() string { return w.index(depth - 1) }
	switch w.IntN(9) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s %s %s)", sub(), w.pick("+", "-"), sub())
	case 3:
		return fmt.Sprintf("%s * %s", w.pick("2", "3"), i)
	case 4:
		return fmt.Sprintf("(%s %s %s)", sub(), w.pick("/", "%"), w.pick("2", "3"))
	case 5:
		return fmt.Sprintf("%s(%s, %s)", w.pick("min", "max"), sub(), sub())
	case 6:
		return "-" + i
	}
	return w.pick(i, "1", "j[n]", "K", "N - 1", "-1")
}

// binder generates an index of a reduction with its range.
func (w *ranger) binder() (name, text string) {
	w.names++
	primes := strings.Repeat("'", w.names)
	name = w.pick("k"+primes, "n"+primes, strings.Repeat("c", w.names), strings.Repeat("d", w.names))
	switch w.IntN(9) {
	case 0, 1:
		if name[0] == 'k' || name[0] == 'n' {
			return name, name
		}
		return name, fmt.Sprintf("%s < %s", name, w.pick("1", "2", "3", "K"))
	case 2, 3, 4: // a window
		at := w.index(1 + w.IntN(2))
		return name, fmt.Sprintf("%s in %s .. %s + %s", name, at, at, w.pick("1", "2", "3"))
	case 5:
		return name, fmt.Sprintf("%s in %s .. %s", name, w.pick("0", "1", "-1"), w.index(2))
	case 6:
		return name, fmt.Sprintf("%s in %s .. K", name, w.index(2))
	case 7:
		return name, fmt.Sprintf("%s in %s .. %s", name, w.index(1), w.index(1))
	}
	return name, fmt.Sprintf("%s in max(0, %s) .. min(K, %s)", name, w.index(1), w.index(1))
}

func (w *ranger) reduction(depth int) string {
	was, names := len(w.in), w.names
	defer func() { w.in, w.names = w.in[:was], names }()
	var binders []string
	for range 1 + w.IntN(max(1, 4-w.names)) {
		name, text := w.binder()
		binders = append(binders, text)
		w.in = append(w.in, name)
	}
	kind, over, guard := w.pick("sum", "sum", "mean", "max", "min", "prod", "logsumexp", "variance", "norm", "count", "argmax", "argmin"), strings.Join(binders, ", "), ""
	if w.IntN(3) == 0 {
		guard = " if " + w.condition(1)
	}
	if kind == "count" {
		return fmt.Sprintf("count(%s if %s)", over, w.condition(1))
	}
	return fmt.Sprintf("%s(%s%s: %s)", kind, over, guard, w.value(depth-1))
}

func (w *ranger) condition(depth int) string {
	switch w.IntN(5) {
	case 0, 1:
		return fmt.Sprintf("%s %s %s", w.index(1), w.pick("<", "<=", "==", "!=", ">"), w.index(1))
	case 2:
		if depth > 0 {
			return fmt.Sprintf("(%s) %s (%s)", w.condition(depth-1), w.pick("&&", "||"), w.condition(depth-1))
		}
	}
	return fmt.Sprintf("%s > 0.37", w.leaf())
}

func (w *ranger) value(depth int) string {
	if depth <= 0 {
		return w.leaf()
	}
	sub := func() string { return w.value(depth - 1) }
	switch w.IntN(9) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", sub(), w.pick("+", "-"), sub())
	case 2:
		return fmt.Sprintf("%s * %s", sub(), sub())
	case 3:
		return fmt.Sprintf("%s(%s)", w.pick("tanh", "sin", "exp"), "sin("+sub()+")")
	case 4:
		return fmt.Sprintf("(%s ? %s : %s)", w.condition(1), sub(), sub())
	case 5, 6:
		if w.names < 3 {
			return w.reduction(depth)
		}
	}
	return w.leaf()
}

// leaf generates a load, which may be out of bounds, or a number.
func (w *ranger) leaf() string {
	switch w.IntN(8) {
	case 0:
		return w.pick("0.5", "rate", w.in[w.IntN(len(w.in))], w.index(1))
	case 1:
		return "w[0, 0]"
	case 2:
		return "x[n, 0]"
	}
	n := "n"
	if w.IntN(3) == 0 {
		n = w.index(1)
	}
	return fmt.Sprintf("(%s[%s, %s] else %s)", w.pick("x", "w"), n, w.index(1), w.pick("0.5", "0", "rate", "w[0, 0]"))
}
