package kernels_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/formula"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// formulas returns a registry in which all tasks of the catalogue compute the formulas of their specs, element by element.
var formulas = sync.OnceValue(func() *task.Registry { return registered(formula.RegisterReference) })

// loops returns a registry in which they do so in loops.
var loops = sync.OnceValue(func() *task.Registry { return registered(formula.Register) })

func registered(register func(*task.Registry, op.Target, ...*task.Operator) error) *task.Registry {
	var r task.Registry
	for _, o := range catalogue.Operators() {
		if len(o.Formula) == 0 {
			continue
		}
		if err := register(&r, op.CPU, &o.Operator); err != nil {
			panic(err)
		}
	}
	return &r
}

// TestKernelsComputeFormulas compares what kernels compute, gradients included, with the formulas of their specs: at
// every example, for every choice of element types. In double precision it also does so with extents of 1 and 0.
func TestKernelsComputeFormulas(t *testing.T) {
	forEachSample(t, func(t *testing.T, s sample) {
		if len(s.op.Formula) == 0 {
			return // TestOperatorsWithoutFormula
		}
		compareWithFormula(t, mustFixture(t, s))
		if !s.double() {
			return
		}
		for _, shapes := range slices.Concat(resized(s.shapes, 1), resized(s.shapes, 0)) {
			s := s
			s.shapes = shapes
			f, err := newFixture(s, domains[len(domains)-1])
			if err != nil || f.impossible() {
				continue // a condition of the operator excludes the shapes
			}
			t.Run(fmt.Sprint(shapes), func(t *testing.T) { compareWithFormula(t, f) })
		}
	})
}

// withoutFormula gives the test that compares what an operator without a formula computes with known results.
var withoutFormula = map[string]func(*testing.T){
	"checksum":            TestChecksum,
	"clip_by_global_norm": TestClipByGlobalNorm,
	"concat_flat":         TestConcatFlat,
	"einsum":              TestEinsum,
	"nonzero":             TestNonzero,
	"unique":              TestUnique,
}

// TestOperatorsWithoutFormula checks that exactly the operators without a formula have a test with known results.
func TestOperatorsWithoutFormula(t *testing.T) {
	for _, o := range catalogue.Operators() {
		if without := len(o.Formula) == 0; without != (withoutFormula[o.Name] != nil) {
			t.Errorf("operator %s: formula missing: %t, test with known results: %t", o.Name, without, !without)
		}
	}
}

func compareWithFormula(t *testing.T, f *fixture) {
	t.Helper()
	for _, d := range formulaDifferences(t, f, formulas(), nil) {
		t.Error(d)
	}
	for _, d := range formulaDifferences(t, f, formulas(), loops()) {
		t.Error("loops: " + d)
	}
}

// formulaDifferences compares what kernels compute, those of the catalogue if tasks is nil, with what the tasks of another
// registry compute, tensor by tensor.
func formulaDifferences(t *testing.T, f *fixture, formulas, tasks *task.Registry) []string {
	t.Helper()
	p := f.everything(t)
	want, err := run(p, f.values, execution{tasks: formulas})
	if err != nil {
		t.Fatal(err)
	}
	got := mustRun(t, p, f.values, execution{tasks: tasks})
	var out []string
	for _, x := range p.Fetched {
		rel, abs := 0.0, 0.0
		switch {
		case x.Type().IsFloat() && f.double():
			rel, abs = 1e-11, 1e-13
		case x.Type().IsFloat():
			rel, abs = 1e-5, 1e-6
		}
		if d := difference(got[x.Name()], want[x.Name()], rel, abs); d != "" {
			out = append(out, x.Name()+d)
		}
	}
	return out
}

// TestWrongFormulasDiffer checks that the comparison with formulas finds a wrong one.
func TestWrongFormulasDiffer(t *testing.T) {
	o := linear.Operator
	sum := "pre[n, o] = sum(k: input[n, k] * weight[o, k]) + (use_bias ? bias[o] : 0)"
	at := slices.Index(o.Formula, sum)
	if at < 0 {
		t.Fatalf("want the line %s, got %q", sum, o.Formula)
	}
	samples, err := samplesOf(o, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := mustFixture(t, samples[slices.IndexFunc(samples, sample.double)])
	tests := []struct {
		name, line string
		want       []string // the beginnings of all differences
	}{
		{"right", sum, nil},
		{"no bias", "pre[n, o] = sum(k: input[n, k] * weight[o, k])", []string{"node.output", "grad of input", "grad of node.weight", "grad of node.bias"}},
		{"another index", "pre[n, o] = sum(k: input[n, k] * weight[o, K - 1 - k]) + (use_bias ? bias[o] : 0)", []string{"node.output", "grad of input"}},
		// Values are multiples of 1 / 2^30, so that the line gives the right values. The gradient of round is 0.
		{"a gradient", "pre[n, o] = sum(k: round(input[n, k] * 2^30) / 2^30 * weight[o, k]) + (use_bias ? bias[o] : 0)", []string{"grad of input"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := slices.Clone(o.Formula)
			lines[at] = tt.line
			r, err := replaced(o, lines)
			if err != nil {
				t.Fatal(err)
			}
			got := formulaDifferences(t, f, r, nil)
			for _, want := range tt.want {
				if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
					t.Errorf("got %q, want a difference of %s", got, want)
				}
			}
			if len(tt.want) == 0 && len(got) > 0 {
				t.Errorf("got %q, want no differences", got)
			}
		})
	}
}
