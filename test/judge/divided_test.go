package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/randomformula"
	"github.com/opgen/opgen/runtime/shape"
)

var (
	divided     = flag.Int("divided", 100, "how many operators TestDivided divides")
	dividedSeed = flag.Uint64("divided-seed", 1, "the seed of the operators that TestDivided divides")
)

// TestDivided judges random operators with attributes, inputs and extents that no example shows: facts that
// follow from their formulas hold there, too. It divides them along each dimension that may be divided. The
// parts run by themselves: their results and gradients are parts of those of the whole, or add up to them.
func TestDivided(t *testing.T) {
	r := rand.New(rand.NewPCG(*dividedSeed, 9))
	run := newRunner(false)
	defer run.close()
	judged, refused, wrong := 0, 0, 0
	for i := range *divided {
		c := attributed(r)
		o, why := check(c)
		if o == nil {
			if refused++; refused < 4 {
				t.Logf("%d: refused: %s", i, why)
			}
			continue
		}
		for range 4 {
			c := otherUse(c, r)
			if _, err := resolve(o, c); err != nil {
				continue // the operator has no such use
			}
			j, err := ask(o, c)
			if err != nil {
				t.Fatalf("%d: %v\n%s\nuse %v %s", i, err, c.Text, c.Dims, c.Attrs)
			}
			d := j.d
			var whole map[string]elements
			for _, v := range []variant{{name: "plain", workers: 1}, {name: "beside elementwise operators", workers: 2, grouped: true}, {name: "small ranges", workers: 3, grain: 1}} {
				got, err := run.run(o, c, d, v)
				if err != nil {
					t.Fatalf("%d: %s: %v\n%s\nuse %v %s", i, v.name, err, c.Text, c.Dims, c.Attrs)
				}
				if m, _ := j.differences(got, v); m != "" {
					t.Errorf("%d: %s: %s\n%s\nuse %v %s", i, v.name, m, c.Text, c.Dims, c.Attrs)
				}
				if whole == nil {
					whole = got
				}
			}
			for _, s := range o.Shards {
				n := c.Dims[s.Dim]
				if n < 2 {
					continue
				}
				judged++
				cut := 1 + r.IntN(n-1)
				var parts []map[string]elements
				for _, at := range [][2]int{{0, cut}, {cut, n}} {
					part, own := partOf(c, d, s.Dim, at)
					got, err := run.run(o, part, own, variant{workers: 1})
					if err != nil {
						t.Fatalf("%d: %v\n%s\nuse %v %s", i, err, c.Text, c.Dims, c.Attrs)
					}
					parts = append(parts, got)
				}
				if m := misdivided(c, s.Dim, s.Partial, cut, whole, parts); m != "" {
					t.Errorf("%d: divided along %s, partial %v: %s\n%s\nuse %v %s", i, s.Dim, s.Partial, m, c.Text, c.Dims, c.Attrs)
					if wrong++; wrong > 5 {
						t.FailNow()
					}
				}
			}
		}
	}
	if t.Logf("%d divisions of %d operators judged, %d refused", judged, *divided, refused); judged < *divided/2 || refused > *divided/4 {
		t.Error("want more divisions, and fewer operators that are refused")
	}
}

// attributed returns an operator whose formula depends on attributes, and on whether an input is there. Its
// examples show few of their values.
func attributed(r *rand.Rand) *randomformula.Case {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	condition := func() string {
		return pick("flip", "!flip", "mode == 'BACK'", "mode != 'SUM'", "size > 2", "size == 1", "size < 1", "rate < 0.37", "rate >= 0.7", "has(extra)",
			"present(bias)", "flip && rate < 0.6", "!flip && size > 2", "mode == 'SUM' || flip", "or(extra, 0) > 1", "N > 3", "K > N", "at[0] == 1", "at[1] > at[0]", "true")
	}
	var value func(depth int) string
	value = func(depth int) string {
		if depth == 0 || r.IntN(4) == 0 {
			return pick("x[n, k]", "x[n, k]", "x[n, k]", "w[k]", "w[k]", "x[N - 1 - n, k]", "x[n, K - 1 - k]", "(x[n - size, k] else 0)", "x[0, k]", "x[n, 0]", "w[0]",
				"0.5", "rate", "n", "k", "N", "size", "(present(bias) ? bias[k] : 0)", "sum(n': x[n', k])", "sum(k': x[n, k'])", "mean(n': x[n', k])",
				"max(k': x[n, k'])", "sum(n', k': x[n', k'])", "sum(k': w[k'])", "mode(x[n, k])", "0")
		}
		a, b := value(depth-1), value(depth-1)
		switch r.IntN(6) {
		case 0, 1:
			return fmt.Sprintf("(%s ? %s : %s)", condition(), a, b)
		case 2:
			return fmt.Sprintf("(%s + %s)", a, b)
		case 3:
			return fmt.Sprintf("%s * %s", a, b)
		case 4:
			return fmt.Sprintf("tanh(%s)", a)
		}
		return fmt.Sprintf("(%s - %s)", a, b)
	}
	statement := func(left, before, after string) []string {
		if r.IntN(3) > 0 {
			return []string{left + " = " + before + value(2) + after}
		}
		c := pick("flip", "mode == 'BACK'", "has(extra)", "rate < 0.37", "size > 2", "present(bias)")
		return []string{left + " = " + before + value(1) + after + " when " + c, left + " = " + before + value(1) + after + " when !(" + c + ")"}
	}
	lines := statement("y0[n, k]", "", "")
	outputs := []randomformula.Slot{{Name: "y0", Type: "T", Shape: []string{"N", "K"}}}
	add := func(name string, shape []string, lines2 []string) {
		lines = append(lines, lines2...)
		outputs = append(outputs, randomformula.Slot{Name: name, Type: "T", Shape: shape})
	}
	if r.IntN(2) == 0 {
		add("y1", []string{"K"}, statement("y1[k]", "sum(n: x[n, k] * ", ")"))
	}
	if r.IntN(3) == 0 {
		add("y2", []string{}, statement("y2[]", "sum(n, k: x[n, k] * ", ")"))
	}
	if r.IntN(4) == 0 {
		add("y3", []string{"N"}, statement("y3[n]", "sum(k: x[n, k] * ", ")"))
	}
	lines = append(lines, "mode.PLAIN(x) = x", "mode.BACK(x) = 2 * x", "mode.SUM(x) = max(x, 0)")
	if !strings.Contains(strings.Join(lines[:len(lines)-3], " "), "mode(") {
		lines = lines[:len(lines)-3]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "edition = 1\nname = \"op\"\ndoc = \"A random operator.\"\nformula = '''\n%s'''\ndtypes = { T = [\"f64\"] }\n", strings.Join(lines, "\n"))
	b.WriteString("\n[attrs]\nflip = { type = \"bool\", default = false }\nmode = { type = \"enum\", values = [\"PLAIN\", \"BACK\", \"SUM\"], default = \"PLAIN\" }\n" +
		"size = { type = \"int\", default = 2, min = 0 }\nrate = { type = \"float\", default = 0.5 }\nextra = { type = \"int\", optional = true }\n" +
		"at = { type = \"int\", list = true, len = 2, default = [0, 0] }\n")
	b.WriteString("\n[slots]\nx = { role = \"input\", type = \"T\", shape = [\"N\", \"K\"] }\nw = { role = \"input\", type = \"T\", shape = [\"K\"] }\n" +
		"bias = { role = \"input\", type = \"T\", shape = [\"K\"], present = \"caller\" }\n")
	for _, s := range outputs {
		fmt.Fprintf(&b, "%s = { role = \"output\", type = \"T\", shape = [%s] }\n", s.Name, quoted(s.Shape))
	}
	b.WriteString("\n[tasks]\nforward = {}\nbackward = {}\n\n[[examples]]\nx = [4, 3]\nw = [3]\n")
	return &randomformula.Case{Name: "op", Text: b.String(), Type: "f64", Attrs: "{}", Outputs: outputs, Features: map[string]bool{},
		Dims: map[string]int{"N": 4, "K": 3}, Inputs: []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N", "K"}}, {Name: "w", Type: "T", Shape: []string{"K"}}}}
}

func quoted(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return strings.Join(out, ", ")
}

// otherUse returns another use of an operator that attributed made.
func otherUse(c *randomformula.Case, r *rand.Rand) *randomformula.Case {
	c = c.Clone()
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	c.Attrs = fmt.Sprintf(`{"flip": %s, "mode": %q, "size": %s, "rate": %s, "at": [%d, %d]%s}`, pick("true", "false"), pick("PLAIN", "BACK", "SUM"), pick("0", "1", "2", "3"),
		pick("0.25", "0.5", "0.75"), r.IntN(3), r.IntN(3), pick("", "", `, "extra": 1`, `, "extra": 2`))
	c.Dims = map[string]int{"N": 2 + r.IntN(4), "K": 2 + r.IntN(4)}
	c.Values = r.Uint64()
	if r.IntN(2) == 0 {
		c.Inputs = append(c.Inputs, randomformula.Slot{Name: "bias", Type: "T", Shape: []string{"K"}})
	}
	return c
}

// partOf returns the use of a device, which has the indices from at[0] to at[1] - 1 of a dimension.
func partOf(c *randomformula.Case, d drawn, dim string, at [2]int) (*randomformula.Case, drawn) {
	part, own := c.Clone(), drawn{map[string]elements{}, map[string][]float64{}}
	part.Dims[dim] = at[1] - at[0]
	for _, s := range c.Inputs {
		own.inputs[s.Name] = elements{real: cutOut(c, s, d.inputs[s.Name].real, dim, at)}
	}
	for _, s := range c.Outputs {
		own.seeds[s.Name] = cutOut(c, s, d.seeds[s.Name], dim, at)
	}
	return part, own
}

// cutOut returns the elements of a tensor whose index of a dimension lies in a range: all, if it has not the
// dimension.
func cutOut(c *randomformula.Case, s randomformula.Slot, v []float64, dim string, at [2]int) []float64 {
	axis := slices.Index(s.Shape, dim)
	if axis < 0 {
		return v
	}
	dims := c.Extents(s.Shape)
	inner := shape.Prod(dims[axis+1:])
	var out []float64
	for i, x := range v {
		if k := i / inner % dims[axis]; k >= at[0] && k < at[1] {
			out = append(out, x)
		}
	}
	return out
}

// misdivided says in what results of parts differ from those of the whole; "" if in nothing.
func misdivided(c *randomformula.Case, dim string, partial bool, cut int, whole map[string]elements, parts []map[string]elements) string {
	compare := func(name string, s randomformula.Slot, sums bool) string {
		want, there := whole[name]
		if !there {
			return ""
		}
		for p, at := range [][2]int{{0, cut}, {cut, c.Dims[dim]}} {
			part, own := cutOut(c, s, want.real, dim, at), parts[p][name].real
			if own == nil {
				own = make([]float64, len(part)) // a gradient of 0
			}
			if sums && !slices.Contains(s.Shape, dim) {
				own = slices.Clone(own)
				for i := range own {
					if other := parts[1-p][name].real; other != nil {
						own[i] += other[i]
					}
				}
			}
			for i, w := range part {
				if !(math.Abs(own[i]-w) <= 1e-9*(1+math.Abs(w))) {
					return fmt.Sprintf("%s, part %d, element %d: got %v, want %v", name, p, i, own[i], w)
				}
			}
		}
		return ""
	}
	for _, s := range c.Outputs {
		if m := compare(s.Name, s, partial); m != "" {
			return m
		}
	}
	for _, s := range c.Inputs {
		if m := compare("grad."+s.Name, s, true); m != "" {
			return m
		}
	}
	return ""
}
