package kernels_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/einsum"
	"github.com/opgen/opgen/runtime/graph"
)

// TestEinsum compares einsum with results that were worked out by hand. The elements of all inputs together
// are 1, 2, 3 ...
func TestEinsum(t *testing.T) {
	for _, tt := range []struct {
		equation string
		shapes   [][]int
		shape    []int
		want     []float64
	}{
		{"ij->ji", [][]int{{2, 3}}, d(3, 2), []float64{1, 4, 2, 5, 3, 6}},                            // transposed
		{"ij->", [][]int{{2, 2}}, d(), []float64{10}},                                                // sum of all
		{"ij->j", [][]int{{2, 3}}, d(3), []float64{5, 7, 9}},                                         // sums of columns
		{"ii", [][]int{{2, 2}}, d(), []float64{5}},                                                   // trace
		{"ii->i", [][]int{{2, 2}}, d(2), []float64{1, 4}},                                            // diagonal
		{"i,i->", [][]int{{3}, {3}}, d(), []float64{1*4 + 2*5 + 3*6}},                                // inner product
		{"i,i->i", [][]int{{2}, {2}}, d(2), []float64{3, 8}},                                         // element by element
		{"i,j->ij", [][]int{{2}, {3}}, d(2, 3), []float64{3, 4, 5, 6, 8, 10}},                        // outer product
		{"ij,j->i", [][]int{{2, 2}, {2}}, d(2), []float64{1*5 + 2*6, 3*5 + 4*6}},                     // matrix and vector
		{"ij,jk->ik", [][]int{{2, 2}, {2, 2}}, d(2, 2), []float64{19, 22, 43, 50}},                   // product of matrices
		{"ij , jk", [][]int{{2, 2}, {2, 2}}, d(2, 2), []float64{19, 22, 43, 50}},                     // without an output
		{"ba", [][]int{{2, 3}}, d(3, 2), []float64{1, 4, 2, 5, 3, 6}},                                // labels in alphabetical order
		{"bij,bjk->bik", [][]int{{2, 1, 2}, {2, 2, 1}}, d(2, 1, 1), []float64{1*5 + 2*6, 3*7 + 4*8}}, // batches
		{"ij,kj->ik", [][]int{{1, 2}, {2, 2}}, d(1, 2), []float64{11, 17}},                           // transposed factor
		{"ij,ij->", [][]int{{2, 1}, {2, 1}}, d(), []float64{1*3 + 2*4}},                              // inner product of matrices
		{"i,ij,j->", [][]int{{2}, {2, 2}, {2}}, d(), []float64{1*3*7 + 1*4*8 + 2*5*7 + 2*6*8}},       // three factors
		{"...ij->...ji", [][]int{{1, 1, 2, 2}}, d(1, 1, 2, 2), []float64{1, 3, 2, 4}},                // further dimensions
		{"...i,...i->...", [][]int{{2, 1}, {1}}, d(2), []float64{3, 6}},                              // repeated ones
		{"...,i->i...", [][]int{{2}, {2}}, d(2, 2), []float64{3, 6, 4, 8}},                           // their place in the output
		{"ij,jk->ik", [][]int{{1, 0}, {0, 2}}, d(1, 2), []float64{0, 0}},                             // sums of nothing
		{"i->i", [][]int{{2}}, d(2), []float64{1, 2}},                                                // unchanged
	} {
		g := graph.New(1)
		x, v := fed(g, tt.shapes...)
		y := einsum.Apply(g, einsum.Defaults(tt.equation), x)
		if got := computed(t, g, v, y); !slices.Equal(got, tt.want) || !slices.Equal(y.Shape(), tt.shape) {
			t.Errorf("%s: got %v of shape %v, want %v of shape %v", tt.equation, got, y.Shape(), tt.want, tt.shape)
		}
	}
}

// TestEinsumErrors applies equations that are wrong, or that do not fit the shapes of the inputs. Each is an
// error of Apply.
func TestEinsumErrors(t *testing.T) {
	for _, tt := range []struct {
		equation string
		shapes   [][]int
		want     string
	}{
		{"i1->i", [][]int{{2, 2}}, `want letters or ... as the labels of input 0, got '1'`},
		{"i->i+", [][]int{{2}}, `want letters or ... as the labels of the output, got '+'`},
		{"...i...->i", [][]int{{2}}, `want letters or ... as the labels of input 0, got ... twice`},
		{"ij->ii", [][]int{{2, 2}}, `the output has the label i twice`},
		{"ij->ik", [][]int{{2, 2}}, `no input has the label k of the output`},
		{"ij,jk->ik", [][]int{{2, 2}}, `want 2 inputs, got 1`},
		{"ij->i", [][]int{{2}}, `want 2 dimensions of input 0, got the shape [2]`},
		{"i->i", [][]int{{2, 2}}, `want 1 dimensions of input 0, got the shape [2 2]`},
		{"ij,jk->ik", [][]int{{2, 3}, {2, 3}}, `the label j has the extent 3, and 2 in input 1`},
		{"ii->i", [][]int{{2, 3}}, `the label i has the extent 2, and 3 in input 0`},
	} {
		g := graph.New(1)
		x, _ := fed(g, tt.shapes...)
		einsum.Apply(g, einsum.Defaults(tt.equation), x)
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), "einsum") || !strings.HasSuffix(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), "einsum_test.go:") {
			t.Errorf("%s: got %v, want an error at this file that ends in %s", tt.equation, err, tt.want)
		}
	}
}
