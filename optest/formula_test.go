package optest

import (
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
)

// newKit returns a kit that tests the catalogue.
func newKit(t *testing.T, opts ...Option) *Kit {
	t.Helper()
	k, err := New(catalogue.Register, catalogue.Operators(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestWrongFormulasDiffer checks that the comparison with formulas finds a wrong one.
func TestWrongFormulasDiffer(t *testing.T) {
	o := linear.Operator
	sum := "pre[n, o] = sum(k: input[n, k] * weight[o, k]) + (use_bias ? bias[o] : 0) for o < out_channels"
	at := slices.Index(o.Formula, sum)
	if at < 0 {
		t.Fatalf("want the line %s, got %q", sum, o.Formula)
	}
	k := newKit(t)
	samples, err := k.samplesOf(o, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := samples[slices.IndexFunc(samples, sample.double)].fixture(t)
	computed := f.run(t, f.everything(t), f.values, Execution{})
	tests := []struct {
		name, line string
		want       []string // the beginnings of all differences
	}{
		{"right", sum, nil},
		{"no bias", "pre[n, o] = sum(k: input[n, k] * weight[o, k]) for o < out_channels", []string{"node.output", "grad of input", "grad of node.weight", "grad of node.bias"}},
		{"another index", "pre[n, o] = sum(k: input[n, k] * weight[o, K - 1 - k]) + (use_bias ? bias[o] : 0) for o < out_channels", []string{"node.output", "grad of input"}},
		// Values are multiples of 1 / 2^30, so that the line gives the right values. The gradient of round
		// is 0.
		{"a gradient", "pre[n, o] = sum(k: round(input[n, k] * 2^30) / 2^30 * weight[o, k]) + (use_bias ? bias[o] : 0) for o < out_channels", []string{"grad of input"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := slices.Clone(o.Formula)
			lines[at] = tt.line
			r, err := replaced(k, o, lines)
			if err != nil {
				t.Fatal(err)
			}
			got := formulaDifferences(t, f, r, computed)
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

// TestLoopsComputeFormulas compares the loops that are made of formulas with the formulas. It does so for
// operators with kernels by hand, too, for which nothing else runs the loops.
func TestLoopsComputeFormulas(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	reference, loops := k.reference(t), k.formulas(t, formula.Register)
	k.forEachSample(t, "loops", func(t *testing.T, s sample) {
		if len(s.op.Formula) == 0 {
			return
		}
		f := s.fixture(t)
		for _, d := range formulaDifferences(t, f, reference, f.run(t, f.everything(t), f.values, Execution{tasks: loops})) {
			s.errorf(t, "loops: %s, as the formula gives", d)
		}
	})
}
