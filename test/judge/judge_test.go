package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/randomformula"
)

// TestMain lets the program of the tests be the children that judge formulas.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args[1:], "-child") {
		main()
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// TestFormulas judges some random formulas. Make judge judges more.
func TestFormulas(t *testing.T) {
	formulas := 150
	if testing.Short() {
		formulas = 20
	}
	children := newChildren(configurations, 1)
	defer stopAll(children)
	judged := 0
	for i := range uint64(formulas) {
		v, err := judgeAll(children, request{Number: i})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(bad, v.Status) {
			t.Errorf("seed 1, formula %d, %s: %s: %s\n%s", i, v.Variant, v.Status, v.Message, caseOf("", 1, i).Spec())
		}
		if v.Compared > 0 {
			judged++
		}
	}
	if judged < formulas/3 {
		t.Errorf("want a third of %d formulas to be judged, got %d", formulas, judged)
	}
}

// TestKinds judges some formulas of each kind in which an implementation has been wrong.
func TestKinds(t *testing.T) {
	each := 4
	if testing.Short() {
		each = 1
	}
	children := newChildren(configurations, 1)
	defer stopAll(children)
	for _, kind := range randomformula.Kinds() {
		t.Run(kind, func(t *testing.T) {
			compared := 0
			for i := range uint64(each) {
				c := caseOf(kind, 1, i)
				v, err := judgeAll(children, request{Number: i, Case: c})
				if err != nil {
					t.Fatal(err)
				}
				if slices.Contains(bad, v.Status) {
					t.Errorf("seed 1, formula %d, %s: %s: %s\n%s", i, v.Variant, v.Status, v.Message, c.Spec())
				}
				compared += v.Compared
			}
			if compared == 0 && each > 1 {
				t.Error("want elements to be compared, got none")
			}
		})
	}
}

// TestMeant judges a formula beside lines that mean something else, which must be noticed, and beside lines
// that mean the same.
func TestMeant(t *testing.T) {
	r := newRunner(false)
	defer r.close()
	for meant, want := range map[string]string{"y0[n] = x[n] + x[n]": "right", "y0[n] = 2.001 * x[n]": "wrong", "y0[n] = a[n]": "oracle"} {
		c := &randomformula.Case{Name: "op", Lines: []string{"y0[n] = 2 * x[n]"}, Meant: []string{meant}, Attrs: "{}",
			Inputs:  []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N"}}},
			Outputs: []randomformula.Slot{{Name: "y0", Type: "T", Shape: []string{"N"}}},
			Dims:    map[string]int{"N": 3}, Example: map[string]int{"N": 2}, Type: "f64", Features: map[string]bool{}}
		if v := r.judge(c, false); v.Status != want {
			t.Errorf("%s: want %s, got %s: %s", meant, want, v.Status, v.Message)
		}
	}
}

// TestApart judges angles of 1,000,000 in f32 beside angles that f32 has rounded, which must be noticed.
func TestApart(t *testing.T) {
	r := newRunner(false)
	defer r.close()
	for meant, want := range map[string]string{"(n + 1000000) * 0.7": "right", "round((n + 1000000) * 0.7 * 16) / 16": "wrong"} {
		c := &randomformula.Case{Name: "op", Lines: []string{"y0[n] = x[n] * cos((n + 1000000) * 0.7)"}, Meant: []string{"y0[n] = x[n] * cos(" + meant + ")"}, Attrs: "{}", Apart: 1e-5,
			Inputs:  []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N"}}},
			Outputs: []randomformula.Slot{{Name: "y0", Type: "T", Shape: []string{"N"}}},
			Dims:    map[string]int{"N": 3}, Example: map[string]int{"N": 2}, Type: "f32", Features: map[string]bool{}}
		if v := r.judge(c, false); v.Status != want {
			t.Errorf("%s: want %s, got %s: %s", meant, want, v.Status, v.Message)
		}
	}
}

// TestNumbers checks that numbers of each kind are what the kind says.
func TestNumbers(t *testing.T) {
	least := map[string]float64{"f32": 0x1p-126, "f64": 0x1p-1022}
	for _, kind := range randomformula.Kinds() {
		for i := range uint64(40) {
			c := caseOf(kind, 9, i)
			x, ok := draw(c).inputs["x"]
			if !ok || len(x.real) == 0 {
				continue
			}
			for k, v := range x.real {
				row := x.real[k-k%c.Dims["K"]]
				finite, size := !math.IsNaN(v) && !math.IsInf(v, 0), math.Abs(v)
				fits := map[string]bool{"": finite && size <= 1.5, "zeros": finite && size <= 1.5, "equal": v == row, "great": finite && size < math.MaxFloat32 || c.Type == "f64",
					"small": finite && size < 1.5, "far": size > 1e9 || size < 1e-9, "tiny": size > 0 && size < least[c.Type], "shares": v >= 0 && v <= 1, "special": true, "bits": true, "bounds": true}
				if !fits[c.Numbers] {
					t.Fatalf("%s, formula %d: %s numbers of %s have %v at %d", kind, i, c.Numbers, c.Type, v, k)
				}
			}
		}
	}
}

var everywhere = flag.Bool("everywhere", false, "judge the corpus in all configurations, as make judge does, and not each case in one of two")

// TestCorpus judges specs that were wrong at some time: as this machine runs them, and in small blocks.
func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.toml")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, len(paths))
	}
	in := slices.Clone(configurations)
	if !*everywhere {
		in = slices.DeleteFunc(in, func(c configuration) bool { return c.name != "default" && c.name != "small blocks" })
	}
	children := newChildren(in, 1)
	defer stopAll(children)
	for number, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".toml"), func(t *testing.T) {
			cases, err := casesOf(path)
			if err != nil {
				t.Fatal(err)
			}
			compared := 0
			for i, c := range cases {
				in := children
				if !*everywhere { // in turn
					in = children[(number+i)%len(children):][:1]
				}
				v, err := judgeAll(in, request{Number: uint64(i), Case: c})
				if err != nil {
					t.Fatal(err)
				}
				compared += v.Compared
				if slices.Contains(bad, v.Status) {
					t.Errorf("case %d, %s, %s: %s: %s", i, c.Type, v.Variant, v.Status, v.Message)
				}
			}
			if compared == 0 {
				t.Error("want elements to be compared, got none")
			}
		})
	}
}

// right returns a formula whose results are right, with what the oracle says and what the loops give.
func right(t *testing.T) (*judged, map[string]elements) {
	t.Helper()
	c := &randomformula.Case{Name: "op", Lines: []string{"y0[n, k] = x[n, k] * sum(k': w[n, k'])", "y1[n] = argmax(k: x[n, k])"}, Attrs: "{}",
		Inputs:  []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N", "K"}}, {Name: "w", Type: "T", Shape: []string{"N", "K"}}},
		Outputs: []randomformula.Slot{{Name: "y0", Type: "T", Shape: []string{"N", "K"}}, {Name: "y1", Type: "i64", Shape: []string{"N"}}},
		Dims:    map[string]int{"N": 2, "K": 3}, Example: map[string]int{"N": 2, "K": 3}, Type: "f64", Features: map[string]bool{}}
	o, why := check(c)
	if o == nil {
		t.Fatal(why)
	}
	j, err := ask(o, c)
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(false)
	defer r.close()
	got, err := r.run(o, c, j.d, variant{workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d, n := j.differences(got, variant{}); d != "" || n != 6+2+12 {
		t.Fatalf("want 20 elements that are equal, got %d and %q", n, d)
	}
	return j, got
}

// TestDifferences changes each result of a formula, which must be noticed.
func TestDifferences(t *testing.T) {
	j, got := right(t)
	for name, e := range got {
		for i := range e.real {
			for _, by := range []float64{1e-9, math.NaN(), math.Inf(1)} {
				was := e.real[i]
				e.real[i] += by
				if d, _ := j.differences(got, variant{}); !strings.Contains(d, strings.TrimPrefix(name, "grad.")) {
					t.Errorf("%s[%d] + %v: want a difference, got %q", name, i, by, d)
				}
				e.real[i] = was
			}
		}
		for i := range e.whole {
			e.whole[i]++
			if d, _ := j.differences(got, variant{}); !strings.HasPrefix(d, name) {
				t.Errorf("%s[%d]: want a difference, got %q", name, i, d)
			}
			e.whole[i]--
		}
	}
	delete(got, "grad.w")
	if d, _ := j.differences(got, variant{}); !strings.Contains(d, "gradient of w") {
		t.Errorf("a gradient that is left out counts as 0: want a difference, got %q", d)
	}
}

// TestPlaceOfNothing judges a formula that reads an element at the place of an extreme of nothing. An error
// at run time refuses it, and it is no finding.
func TestPlaceOfNothing(t *testing.T) {
	for k, want := range map[int]string{0: "refused", 2: "right"} {
		c := &randomformula.Case{Name: "op", Lines: []string{"t[n] = argmin(k: x[n, k] * 2)", "y[n] = x[n, t[n]]"}, Attrs: "{}",
			Inputs: []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N", "K"}}}, Outputs: []randomformula.Slot{{Name: "y", Type: "T", Shape: []string{"N"}}},
			Dims: map[string]int{"N": 2, "K": k}, Example: map[string]int{"N": 2, "K": 3}, Type: "f64", Features: map[string]bool{}}
		r := newRunner(false)
		v := r.judge(c, false)
		if err := r.close(); err != nil || v.Status != want {
			t.Errorf("K = %d: want %s, got %s: %s (%v)", k, want, v.Status, v.Message, err)
		}
	}
}

// TestBeyond judges a formula that the great value of an attribute takes beyond the integers of indices,
// which is no finding, one that is beyond them with every value, which is, and one that fails with a small
// value, too.
func TestBeyond(t *testing.T) {
	for _, tt := range []struct {
		line, attrs, want string
	}{
		{"y[n] = (x[n + size] else 0.5)", `{"size": 4611686018427387904}`, "beyond"},
		{"y[n] = (x[n + size] else 0.5)", `{"size": 2}`, "right"},
		{"y[n] = (x[n * 2147483647 * 500000000] else 0.5) * size", `{"size": 2}`, "failed"},
		{"y[n] = (x[n * 2147483647 * 500000000] else 0.5) * size", `{"size": 4611686018427387904}`, "failed"},
	} {
		c := &randomformula.Case{Name: "op", Lines: []string{tt.line}, Attrs: tt.attrs, Declared: "size = { type = \"int\", default = 1 }\n",
			Inputs: []randomformula.Slot{{Name: "x", Type: "T", Shape: []string{"N"}}}, Outputs: []randomformula.Slot{{Name: "y", Type: "T", Shape: []string{"N"}}},
			Dims: map[string]int{"N": 4}, Example: map[string]int{"N": 2}, Type: "f64", Features: map[string]bool{}}
		r := newRunner(false)
		v := r.judge(c, false)
		if err := r.close(); err != nil || v.Status != tt.want {
			t.Errorf("%s, %s: want %s, got %s: %s (%v)", tt.line, tt.attrs, tt.want, v.Status, v.Message, err)
		}
	}
}

// TestShorter checks that shorter lines are formulas, and shorter.
func TestShorter(t *testing.T) {
	line := "y[n] = (x[n] > 0 ? sum(k if k < 2: x[n] * (w[n, k - 1] else 0)) : max(1, -x[n]))"
	lines := shorter(line)
	for _, want := range []string{"y[n] = 1", "y[n] = (x[n] > 0 ? sum(k: x[n] * (w[n, k - 1] else 0)) : max(1, -x[n]))", "y[n] = max(1, -x[n])"} {
		if !slices.Contains(lines, want) {
			t.Errorf("want %q among the shorter lines, got %q", want, lines)
		}
	}
	for _, l := range lines {
		if len(l) >= len(line) {
			t.Errorf("want less than %d bytes, got %q", len(line), l)
		}
	}
}

// TestCrash reads the message of a process that ended.
func TestCrash(t *testing.T) {
	got := crash("panic: boom\n\ngoroutine 1 [running]:\ngithub.com/opgen/opgen/formula/term.f(0x1, 0x2)\n\t/x.go:1\n")
	if want := "panic: boom; formula/term.f"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFaults checks that the text of each fault is where it says.
func TestFaults(t *testing.T) {
	if len(faults) < 20 {
		t.Errorf("want 20 faults at least, got %d", len(faults))
	}
	ci, err := os.ReadFile("../../.ci/run")
	if want := fmt.Sprintf("make judge FORMULAS=$(sample %d) ", shareOfCI); err != nil || !strings.Contains(string(ci), want) {
		t.Errorf("want %q in .ci/run: %v", want, err)
	}
	for _, f := range faults {
		if _, err := f.changed("../.."); err != nil || f.old == f.new {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// TestOtherBits compares gradients alone with those among others: an infinity counts unless twice the
// gradient is beyond the greatest number.
func TestOtherBits(t *testing.T) {
	of := func(x float64) map[string]elements { return map[string]elements{"grad.x": {real: []float64{x}}} }
	inf := math.Inf(-1)
	for _, c := range []struct {
		alone, among, greatest float64
		same                   bool
	}{
		{1, 1, math.Inf(1), true},
		{math.NaN(), math.NaN(), math.Inf(1), true},
		{1, 1.5, math.Inf(1), false},
		{inf, -3e38, math.Inf(1), false},
		{inf, -3e38, math.MaxFloat32 / 2, true},
		{inf, -1e38, math.MaxFloat32 / 2, false},
	} {
		if got := otherBits("grad.x", of(c.alone), of(c.among), c.greatest); (got == "") != c.same {
			t.Errorf("%v alone and %v among others, up to %v: got %q", c.alone, c.among, c.greatest, got)
		}
	}
}

// TestSettledCase checks that a case whose inputs are drawn again, since rounding decides about an integer,
// keeps its spec and its variants: other processes run the settled case, and compare bits.
func TestSettledCase(t *testing.T) {
	c := caseOf("", 20261128, 52629)
	o, why := check(c)
	if o == nil {
		t.Fatal(why)
	}
	r := newRunner(false)
	first, spec, variants := c.Values, c.Spec(), fmt.Sprint(r.variants(c))
	if _, err := ask(o, c); err != nil {
		t.Fatal(err)
	}
	if c.Values == first || c.Spec() != spec || fmt.Sprint(r.variants(c)) != variants {
		t.Errorf("want other values than %d, the same variants %s, and the same spec:\n%s\ngot %d, %s and\n%s", first, variants, spec, c.Values, fmt.Sprint(r.variants(c)), c.Spec())
	}
}
