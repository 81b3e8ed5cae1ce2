package kernels_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/batchnorm"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestRunningStatistics checks the running statistics that batch_norm computes. They begin with a mean of 8
// and a variance of 4. The batch has mean 2, variance 1 and unbiased variance 2.
func TestRunningStatistics(t *testing.T) {
	tests := []struct {
		attrs                  string
		runs                   int
		mean, variance, biased float64
	}{
		{`{"momentum": 0.25}`, 1, 6.5, 3.5, 3.25},
		{`{"momentum": 0.25}`, 3, 6.5, 3.5, 3.25},
		{`{}`, 1, 2, 2, 1}, // without momentum, the statistics are averages of all batches
		{`{}`, 4, 6.5, 3.5, 3.25},
		{`{"momentum": 0.25, "training": false}`, 1, 8, 4, 4},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("batch_norm/%s/%d", tt.attrs, tt.runs), func(t *testing.T) {
			at, err := batchnorm.Operator.DecodeAttrs([]byte(tt.attrs))
			if err != nil {
				t.Fatal(err)
			}
			g := graph.New(1)
			x := g.Input("x", dtype.F64, 2, 1)
			n := batchnorm.Apply(g, at.(batchnorm.Attrs), x, graph.Named("n"), graph.Request(batchnorm.SlotRunningVarBiased)).Node()
			var fetched []graph.Tensor
			for _, slot := range []batchnorm.Slot{batchnorm.SlotRunningMean, batchnorm.SlotRunningVar, batchnorm.SlotRunningVarBiased} {
				fetched = append(fetched, n.Tensor(int(slot)))
			}
			p, err := graph.Whole(g, fetched...)
			if err != nil {
				t.Fatal(err)
			}
			v := mustRun(t, p, values{"x": {1, 3}, "n.running_mean": {8}, "n.running_var": {4}}, optest.Execution{Runs: tt.runs})
			for i, want := range []float64{tt.mean, tt.variance, tt.biased} {
				if got := v[fetched[i].Name()]; !slices.Equal(got, []float64{want}) {
					t.Errorf("%s: got %v, want %v", fetched[i].Name(), got, want)
				}
			}
		})
	}
}

// TestGradientOfExponent checks that the gradient with respect to the exponent is 0 for bases 0 and 1. At
// base 0 and exponent 0 this is a convention.
func TestGradientOfExponent(t *testing.T) {
	g := graph.New(1)
	x, y, seed := g.Input("x", dtype.F64, 4), g.Input("y", dtype.F64, 4), g.Input("seed", dtype.F64, 4)
	at := elementbinary.Defaults(elementbinary.TypeEwPow)
	z := elementbinary.Apply(g, at, elementbinary.LhsInput(x), elementbinary.RhsInput(y))
	p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{z: seed}, []graph.Tensor{y})
	if err != nil {
		t.Fatal(err)
	}
	v := mustRun(t, p, values{"x": {0, 0, 0, 1}, "y": {0, 0.5, 2, 3}, "seed": {1, 1, 1, 1}}, optest.Execution{})
	if got := v[grads[y].Name()]; !slices.Equal(got, make([]float64, 4)) {
		t.Errorf("got %v, want zeros", got)
	}
}
