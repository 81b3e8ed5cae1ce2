//go:build unix

package driver_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// wideSpec is a spec that has much of one sort. What it does not give is the usual.
type wideSpec struct{ formula, dtypes, attrs, dims, slots, require, examples []string }

// text returns the spec as a file.
func (w *wideSpec) text() string {
	var b strings.Builder
	b.WriteString("edition = 1\nname = \"nested\"\ndoc = \"Has much of one sort.\"\nformula = \"\"\"\n")
	if w.formula == nil {
		w.formula = []string{usualLine}
	}
	b.WriteString(strings.Join(w.formula, "\n") + "\n\"\"\"\n")
	for _, table := range []struct {
		name         string
		lines, usual []string
	}{
		{"dtypes", w.dtypes, []string{`T = ["f32", "f64"]`}}, {"attrs", w.attrs, nil}, {"dims", w.dims, nil},
		{"slots", w.slots, usualSlots}, {"require", w.require, nil},
	} {
		if table.lines == nil {
			table.lines = table.usual
		}
		if table.lines != nil {
			fmt.Fprintf(&b, "\n[%s]\n%s\n", table.name, strings.Join(table.lines, "\n"))
		}
	}
	b.WriteString("\n[tasks.forward]\n[tasks.backward]\n")
	if w.examples == nil {
		w.examples = []string{usualExample}
	}
	for _, x := range w.examples {
		fmt.Fprintf(&b, "\n[[examples]]\n%s\n", x)
	}
	return b.String()
}

const (
	usualLine    = "output[n, k] = x[n, k] * sigmoid(x[n, k])"
	usualExample = "x = [3, 4]"
)

var usualSlots = []string{slotText("x", "input", "T", `"N", "K"`), slotText("output", "output", "T", `"N", "K"`)}

// slotText returns the line of a slot.
func slotText(name, role, dtype, shape string) string {
	return fmt.Sprintf("%s = { role = %q, type = %q, shape = [%s] }", name, role, dtype, shape)
}

// many returns what a function gives for the numbers below n.
func many(n int, f func(i int) string) []string {
	var out []string
	for i := range n {
		out = append(out, f(i))
	}
	return out
}

// joined returns texts with each % replaced by a number below n, with a separator between them.
func joined(n int, separator, text string) string {
	return strings.Join(many(n, func(i int) string { return strings.ReplaceAll(text, "%", fmt.Sprint(i)) }), separator)
}

// lines is joined as lines of their own, before the given ones.
func lines(n int, text string, last ...string) []string {
	return append(strings.Split(joined(n, "\n", text), "\n"), last...)
}

// chain returns lines of which each gives a value from that of the one before, which @ stands for, in one of
// some ways; % is its number.
func chain(r *rand.Rand, n int, first, name string, ways ...string) []string {
	out := []string{first}
	for i := 1; i < n; i++ {
		way := strings.ReplaceAll(ways[r.IntN(len(ways))], "@", fmt.Sprint(name, i-1))
		out = append(out, strings.ReplaceAll(way, "%", fmt.Sprint(i)))
	}
	return out
}

// wide returns specs that have n of one sort each, or as many as the limits allow.
func wide(n int, r *rand.Rand) map[string]*wideSpec {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	rank := min(n, 60)
	indices, ones := joined(rank, ", ", "d%"), joined(rank, ", ", "1")
	cube, scalar := slotText("x", "input", "T", joined(rank, ", ", `"D%"`)), slotText("output", "output", "T", "")
	windows := many(min(n, 12), func(i int) string {
		return fmt.Sprintf("w%d in %s - 1 .. k + 1", i, pick("k", fmt.Sprintf("w%d", max(i-1, 0))))
	})
	windows[0] = "w0 in k - 1 .. k + 1"
	return map[string]*wideSpec{
		"dimensions of a tensor": {
			formula: []string{"output[" + indices + "] = x[" + indices + "] * 2"}, examples: []string{"x = [" + ones + "]"},
			slots: []string{cube, slotText("output", "output", "T", joined(rank, ", ", `"D%"`))}},
		"reduced dimensions": {
			formula: []string{"output[] = " + pick("sum", "max", "logsumexp", "variance", "prod") + "(" + indices + ": x[" + indices + "])"},
			slots:   []string{cube, scalar}, examples: []string{"x = [2, " + ones[:max(len(ones)-3, 0)] + "]"}},
		"windows": {formula: []string{"output[n, k] = " + pick("sum", "max") + "(" + strings.Join(windows, ", ") + ": (x[n, " +
			joined(len(windows), " + ", "w%") + "] else 0))"}},
		"inputs": {
			formula: []string{"output[n, k] = x[n, k] + " + joined(min(n, 250), " + ", "a%[k]")},
			slots:   lines(min(n, 250), slotText("a%", "input", "T", `"K"`), usualSlots...), examples: []string{"x = [3, 4]\n" + joined(min(n, 250), "\n", "a% = [4]")}},
		"optional inputs": {
			formula: []string{"output[n, k] = x[n, k] + " + joined(min(n, 125), " + ", "(present(a%) ? a%[k] : 0)")},
			slots:   append(slices.Clone(usualSlots), lines(min(n, 125), `a% = { role = "input", type = "T", shape = ["K"], present = "caller" }`)...)},
		"outputs": {
			formula: lines(min(n, 400), "a%[k] = sum(n: x[n, k])", usualLine),
			slots:   lines(min(n, 400), slotText("a%", "output", "T", `"K"`), usualSlots...)},
		"attributes": {
			attrs: lines(n, `a% = { type = "int", default = 1 }`), require: lines(n, `a% = { that = "a% < K + 9", message = "want less" }`)},
		"enums": {
			formula: lines(min(n, 50), "a%.A(x) = x * x\na%.B(x) = max(x, 1)", "output[n, k] = "+joined(min(n, 50), " + ", "a%(x[n, k])")),
			attrs:   lines(min(n, 50), `a% = { type = "enum", values = ["A", "B"], default = "A" }`)},
		"values of an enum": {
			formula: lines(min(n, 250), "op.V%(x) = x * %", "output[n, k] = op(op(op(x[n, k])))"),
			attrs:   []string{`op = { type = "enum", values = [` + joined(min(n, 250), ", ", `"V%"`) + `], default = "V0" }`}},
		"sizes": {
			formula: []string{fmt.Sprintf("output[n, k] = x[n, k] * D%d", n-1)},
			dims:    chain(r, n, `D0 = "N + K"`, "D", `D% = "@ + K"`, `D% = "max(@, N) + 1"`, `D% = "@ / 2 + N"`, `D% = "@ / 3 * 2 + K"`)},
		"sizes in reverse": {dims: append(many(n-1, func(i int) string { return fmt.Sprintf(`D%d = "D%d + K"`, i, i+1) }),
			fmt.Sprintf(`D%d = "%s"`, n-1, pick("N", "D0", "D0 + D1")))},
		"conditions": {require: lines(n, `r% = { that = "`+strings.Repeat(pick("N * K + ", "max(N, K) + ", "N / 2 * 2 + "), 12)+`% >= 0", message = "want others" }`)},
		"element types": {
			formula: []string{"output[n, k] = x[n, k] + " + joined(min(n, 5), " + ", "convert(a%[k], T)")},
			dtypes:  lines(min(n, 5), `V% = ["f32", "f64", "i32"]`, `T = ["f32", "f64"]`),
			slots:   lines(min(n, 5), slotText("a%", "input", "V%", `"K"`), usualSlots...), examples: []string{"x = [3, 4]\n" + joined(min(n, 5), "\n", "a% = [4]")}},
		"functions": {formula: append(chain(r, min(n, 45), "f0(x) = x * 2", "f", "f%(x) = @(x) + 1", "f%(x) = max(@(x), x)", "f%(x) = @(x) / (1 + x^2)"),
			fmt.Sprintf("output[n, k] = f%d(x[n, k])", min(n, 45)-1))},
		"different examples": {
			formula: []string{pick(usualLine, "output[n, k] = sum(k' in 0 .. k + 1: x[n, k'] * x[n, K - 1 - k])",
				"output[n, k] = exp(x[n, k] - logsumexp(k': x[n, k']))", "output[n, k] = (x[n - 1, k / 2] else 0) * max(n': x[n', k])")},
			examples: many(n, func(i int) string { return fmt.Sprintf("x = [%d, %d]", 1+i%29, 1+i/29%31) })},
		"large examples": {
			formula: []string{pick(usualLine, "output[n, k] = sum(k': x[n, k'])", "output[n, k] = max(n', k' in 0 .. k + 1: x[n', k'])",
				"output[n, k] = (x[n, k - 1] else 0)")},
			examples: many(min(n, 50), func(i int) string { return fmt.Sprintf("x = [%d, %d]", 1000+i, 100000+i) })},
		"statements": {formula: append(chain(r, min(n, 200), "t0[n, k] = x[n, k]", "t", "t%[n, k] = @[n, k] * 2", "t%[n, k] = sum(k': @[n, k'])",
			"t%[n, k] = (@[n, k - 1] else 0)", "t%[n, k] = max(n': @[n', k])", "t%[n, k] = exp(@[n, k] - logsumexp(k': @[n, k']))",
			"t%[n, k] = @[n, K - 1 - k] * @[n, k]"), fmt.Sprintf("output[n, k] = t%d[n, k]", min(n, 200)-1))},
		"statements that use all": {formula: append(many(min(n, 50), func(i int) string {
			return fmt.Sprintf("t%d[n, k] = x[n, k] %s", i, joined(i, "", pick("+ t%[n, k] ", "* t%[n, k] ")))
		}), fmt.Sprintf("output[n, k] = t%d[n, k]", min(n, 50)-1))},
		"statements that use the two before": {formula: append(many(min(n, 120), func(i int) string {
			x, y := fmt.Sprintf("t%d", i-1), fmt.Sprintf("t%d", i-2)
			switch i {
			case 0:
				return "t0[n, k] = x[n, k] / 2"
			case 1:
				return "t1[n, k] = x[n, k] + 1"
			}
			return fmt.Sprintf("t%d[n, k] = ", i) + fmt.Sprintf(pick("tanh(%s[n, k]) * %s[n, k]", "max(k': %s[n, k']) * %s[n, k]", "%s[n, k] > 0 ? %s[n, k] : 1",
				"sum(k': %s[n, k']^2) * %s[n, k]"), x, y)
		}), fmt.Sprintf("output[n, k] = t%d[n, k]", min(n, 120)-1))},
		"lines of one value": {
			formula: lines(min(n, 300), "output[n, k] = x[n, k] * % when size == %"), attrs: []string{`size = { type = "int", min = 0, default = 1 }`}},
		"values in two cases": {
			formula: append(many(min(n, 300), func(i int) string {
				of := "x"
				if i > 1 {
					of = fmt.Sprint("t", i/2-1)
				}
				if i%2 == 0 {
					return fmt.Sprintf("t%d[n, k] = %s[n, k] * 2 when a%d", i/2, of, i/2)
				}
				return fmt.Sprintf("t%d[n, k] = tanh(%s[n, k]) when !a%d", i/2, of, i/2)
			}), fmt.Sprintf("output[n, k] = t%d[n, k]", (min(n, 300)-1)/2)),
			attrs: lines((min(n, 300)+1)/2, `a% = { type = "bool", default = true }`)},
		"gradients by hand": {
			formula: strings.Split(pick("output[n, k] = sum(k': x[n, k']^2)\ngrad.x[n, k] = 2 * x[n, k] * sum(k': grad.output[n, k'])",
				"output[n, k] = max(x[n, k], 0.5)\ngrad.x[n, k] = x[n, k] > 0.5 ? grad.output[n, k] : 0"), "\n"),
			examples: []string{fmt.Sprintf("x = [%d, %d]", 20*n, 20*n), fmt.Sprintf("x = [2, %d]", n)}},
		"recurrences": {formula: append(many(min(n, 120), func(i int) string {
			next, before := (i+1)%min(n, 120), fmt.Sprintf("h%d[n, k]", i-1)
			if i == 0 {
				before = "x[n, k]"
			}
			return fmt.Sprintf("h%d[n, k] = ", i) + fmt.Sprintf(pick("(h%d[n - 1, k] else x[n, k]) * %s", "max(k': (h%d[n - 1, k'] else 0) + x[n, k']) - %s"), next, before)
		}), fmt.Sprintf("output[n, k] = h%d[n, k]", min(n, 120)-1))},
		"a long sum": {formula: []string{"output[n, k] = " + joined(min(n, 60), pick(" + ", " * "), "(x[n, k + %] else %)")}},
		"look-ups":   {formula: []string{"output[n, k] = " + joined(min(n, 10), " + ", "(x[n, argmax(k': x[n, k'] * %)] else 0)")}},
		"orders": {formula: lines(min(n, 30), "o%[n, k] = argsort(k': x[n, k'] * (% + 1))[k]",
			"output[n, k] = "+joined(min(n, 30), " + ", "x[n, o%[n, k]]"))},
	}
}

// TestWide checks specs that have as much of one sort as the limits allow, and more: each check ends in time.
func TestWide(t *testing.T) {
	right := 0
	for _, n := range []int{12, 100, 900} {
		for what, w := range wide(n, rand.New(rand.NewPCG(uint64(n), 1))) {
			t.Run(fmt.Sprintf("%d %s", n, what), func(t *testing.T) {
				if said := checkFast(t, w.text(), checkTime); len(said) == 0 {
					right++
				} else {
					t.Log(said[0])
				}
			})
		}
	}
	if right < 40 {
		t.Errorf("want 40 specs without findings at least, got %d", right)
	}
}

// FuzzWide checks other specs of these sorts, of other sizes. Code that counts coverage is slower.
func FuzzWide(f *testing.F) {
	f.Add(uint64(1), uint16(30))
	f.Add(uint64(2), uint16(300))
	f.Fuzz(func(t *testing.T, seed uint64, n uint16) {
		specs := wide(2+int(n)%999, rand.New(rand.NewPCG(seed, 2)))
		sorts := slices.Sorted(maps.Keys(specs))
		checkFast(t, specs[sorts[seed%uint64(len(sorts))]].text(), 2*checkTime)
	})
}
