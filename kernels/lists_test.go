package kernels_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/concatflat"
	"github.com/opgen/opgen/generated/padsequence"
	"github.com/opgen/opgen/generated/topk"
	"github.com/opgen/opgen/generated/unfold"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/shape"
)

// fed returns inputs of a graph that have the given shapes, and values 1, 2, 3 ... for all of them together.
func fed(g *graph.Graph, shapes ...[]int) ([]graph.Tensor, values) {
	var tensors []graph.Tensor
	v := values{}
	next := 1.0
	for _, s := range shapes {
		x := g.Input(fmt.Sprint("x", len(tensors)), dtype.F64, s...)
		for range shape.Prod(s) {
			v[x.Name()] = append(v[x.Name()], next)
			next++
		}
		tensors = append(tensors, x)
	}
	return tensors, v
}

// computed runs a program that computes x.
func computed(t *testing.T, g *graph.Graph, v values, x graph.Tensor) []float64 {
	t.Helper()
	if g.Err() != nil {
		t.Fatal(g.Err())
	}
	p, err := graph.Whole(g, x)
	if err != nil {
		t.Fatal(err)
	}
	return mustRun(t, p, v, optest.Execution{Workers: 2})[x.Name()]
}

// TestConcatFlat joins tensors of several ranks, one of them a scalar and one without elements.
func TestConcatFlat(t *testing.T) {
	g := graph.New(1)
	x, v := fed(g, d(2, 2), d(), d(0, 3), d(3))
	y := concatflat.Apply(g, concatflat.Defaults(), x)
	if got := computed(t, g, v, y); !slices.Equal(got, []float64{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("got %v, want 1 to 8", got)
	}
}

// TestPadSequence fills sequences up to the longest.
func TestPadSequence(t *testing.T) {
	g := graph.New(1)
	x, v := fed(g, d(2), d(0), d(3))
	y := padsequence.Apply(g, padsequence.Defaults().WithValue(-1), x)
	if got := computed(t, g, v, y); !slices.Equal(y.Shape(), d(3, 3)) || !slices.Equal(got, []float64{1, 2, -1, -1, -1, -1, 3, 4, 5}) {
		t.Errorf("got %v of shape %v", got, y.Shape())
	}
	padsequence.Apply(g, padsequence.Defaults().WithLongest(2), x)
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "want sequences of length 2 at most, got [2, 0, 3]") {
		t.Errorf("got %v, want an error about the longest sequence", err)
	}
}

// TestUnfold takes the windows of an image apart. A list of an attribute has the length and the least
// elements that the spec says.
func TestUnfold(t *testing.T) {
	g := graph.New(1)
	x, v := fed(g, d(1, 1, 2, 3))
	at := unfold.Defaults(attr.ListOf(2, 2))
	y := unfold.Apply(g, at, x[0])
	if got := computed(t, g, v, y); !slices.Equal(y.Shape(), d(1, 4, 2)) || !slices.Equal(got, []float64{1, 2, 2, 3, 4, 5, 5, 6}) {
		t.Errorf("got %v of shape %v", got, y.Shape())
	}
	for _, tt := range []struct {
		kernel []int
		want   string
	}{
		{d(2), "operator unfold: attribute kernel: want 2 values, got 1"},
		{d(2, 0), "operator unfold: attribute kernel: want at least 1, got 0"},
	} {
		at.Kernel = attr.ListOf(tt.kernel...)
		if err := at.Validate(); err == nil || err.Error() != tt.want {
			t.Errorf("kernel %v: got %v, want %s", tt.kernel, err, tt.want)
		}
	}
}

// TestLanesOfEverySlot selects along a dimension in the middle: the lanes of outputs run along their
// dimension at the same place, though the axis attribute binds that of the input only.
func TestLanesOfEverySlot(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 2, 3, 2)
	y := topk.Apply(g, topk.Defaults(2).WithAxis(1), x)
	v := values{"x": {1, 60, 3, 20, 2, 40, 9, 0, 7, 5, 8, 6}}
	if got := computed(t, g, v, y.Output); !slices.Equal(got, []float64{3, 60, 2, 40, 9, 6, 8, 5}) {
		t.Errorf("got %v", got)
	}
	if got := computed(t, g, v, y.Indices); !slices.Equal(got, []float64{1, 0, 2, 2, 0, 2, 2, 1}) {
		t.Errorf("got the indices %v", got)
	}
}
