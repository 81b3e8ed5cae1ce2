package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/internal/randomformula"
)

var choices = flag.Int("choices", 1000, "how many formulas with choices between integers with and without sign to judge")

// TestChoicesBetweenSigns judges choices between elements without sign, some from 2^63 on, and integers that
// may have one.
func TestChoicesBetweenSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 64))
	run := newRunner(false)
	defer run.close()
	judged, refused := 0, 0
	for i := range *choices {
		c := choiceBetweenSigns(r)
		o, why := check(c)
		if o == nil {
			t.Fatalf("%d: %s\n%s", i, why, c.Lines)
		}
		j, err := ask(o, c)
		if err != nil {
			t.Fatalf("%d: %v\n%s", i, err, c.Lines)
		}
		if j.answer == nil {
			refused++
			continue
		}
		got, err := run.run(o, c, j.d, variant{workers: 1})
		if err != nil {
			t.Errorf("%d: %v\n%s", i, err, c.Lines)
			continue
		}
		if d, n := j.differences(got, variant{}); d != "" {
			t.Errorf("%d: %s\n%s\n%v", i, d, c.Lines, j.d.inputs)
		} else if n > 0 {
			judged++
		}
	}
	if t.Logf("%d judged, %d without an answer", judged, refused); judged < *choices/2 {
		t.Errorf("want half of %d formulas to be judged, got %d", *choices, judged)
	}
}

func choiceBetweenSigns(r *rand.Rand) *randomformula.Case {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	operand := func() string {
		return pick("big[n]", "big[n]", "more[n]", "free[n, k]", "short[n, k]", "-1", "3", "0", "size",
			"count(k' if k' > 0)", "-free[n, k]", "max(n': big[n'])")
	}
	var choose func(depth int) string
	choose = func(depth int) string {
		a, b := "big[n]", operand()
		if depth > 0 && r.IntN(3) == 0 {
			b = choose(depth - 1)
		}
		if r.IntN(2) == 0 {
			a, b = b, a
		}
		if r.IntN(3) == 0 {
			return fmt.Sprintf("(%s[n + %d] else %s)", pick("big", "more"), r.IntN(3)-1, b)
		}
		return fmt.Sprintf("(%s ? %s : %s)", pick("on[n]", "x[n, k] < 0.37", "free[n, k] > 0", "k == n"), a, b)
	}
	x := choose(1)
	uses := [][]string{
		{"y0[n, k] = " + x}, {"y0[n, k] = " + x + " * 0.5"}, {"y0[n, k] = " + x + " % 5"},
		{"y0[n, k] = " + x + " > 0.37 ? 1 : 0"}, {"y0[n, k] = " + x + " < free[n, k] ? 1 : 0"},
		{"y0[n, k] = quotient(" + x + ", 3)"}, {"t0[n, k] = " + x, "y0[n, k] = max(n': t0[n', k])"},
		{"t0[n, k] = " + x, "y0[n, k] = t0[n, k] == big[n] ? 1 : 2"},
	}
	lines := append(uses[r.IntN(len(uses))], "y1[n, k] = x[n, k]")
	c := &randomformula.Case{
		Name: "op", Lines: lines, Attrs: `{"size": 2}`, Type: "f64", Features: map[string]bool{}, Values: r.Uint64(),
		Dims: map[string]int{"N": 3, "K": 2}, Example: map[string]int{"N": 3, "K": 2},
		Inputs: []randomformula.Slot{
			{Name: "x", Type: "T", Shape: []string{"N", "K"}, Fixed: true},
			{Name: "big", Type: "u64", Shape: []string{"N"}},
			{Name: "more", Type: "u64", Shape: []string{"N"}},
			{Name: "free", Type: "i64", Shape: []string{"N", "K"}},
			{Name: "short", Type: "i32", Shape: []string{"N", "K"}},
			{Name: "on", Type: "bool", Shape: []string{"N"}},
		},
		Outputs: []randomformula.Slot{
			{Name: "y0", Type: "T", Shape: []string{"N", "K"}}, {Name: "y1", Type: "T", Shape: []string{"N", "K"}},
		}}
	c.Tidy()
	c.Text = c.Spec() // elements of given specs have all their bits
	return c
}
