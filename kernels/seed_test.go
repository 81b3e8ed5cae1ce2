package kernels_test

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/multiheadattention"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestGraphSeeds runs two dropouts of one graph. What they drop follows from the seed of the graph, the name
// of the node, which ends in the device, and the step, and from an attribute instead where that is given. In
// inference, nothing is dropped.
func TestGraphSeeds(t *testing.T) {
	const n = 256
	drop := func(seed uint64, runs int, at dropout.Attrs, expand func(*graph.Graph, ...graph.Tensor) (*graph.Program, error)) [2][]float64 {
		g := graph.New(seed)
		x := g.Input("x", dtype.F32, n)
		y, z := dropout.Apply(g, at, x), dropout.Apply(g, at, x, graph.Named("other"))
		p, err := expand(g, y, z)
		if err != nil {
			t.Fatal(err)
		}
		v := mustRun(t, p, values{"x": slices.Repeat([]float64{1}, n)}, optest.Execution{Runs: runs, Workers: 2})
		return [2][]float64{v[y.Name()], v[z.Name()]}
	}
	at := dropout.Defaults(0.5)
	first := drop(7, 1, at, graph.Whole)
	if slices.Equal(first[0], first[1]) {
		t.Error("two nodes drop the same elements")
	}
	if again := drop(7, 1, at, graph.Whole); !slices.Equal(again[0], first[0]) || !slices.Equal(again[1], first[1]) {
		t.Error("the same graph drops other elements")
	}
	for what, other := range map[string][2][]float64{
		"seed": drop(8, 1, at, graph.Whole), "step": drop(7, 2, at, graph.Whole),
		"attribute": drop(7, 1, at.WithSeed(7), graph.Whole),
	} {
		if slices.Equal(other[0], first[0]) {
			t.Errorf("another %s drops the same elements", what)
		}
	}
	if same := drop(7, 1, at.WithSeed(3), graph.Whole); !slices.Equal(same[0], same[1]) || !slices.Equal(same[0], drop(8, 1, at.WithSeed(3), graph.Whole)[0]) {
		t.Error("a given seed does not decide alone")
	}
	seedOn := func(device int) int {
		g := graph.OnDevice(7, device)
		return dropout.Apply(g, at, g.Input("x", dtype.F32, n)).Node().Seed
	}
	if seedOn(0) == seedOn(1) {
		t.Error("replicas on two devices have one seed")
	}
	if all := drop(7, 1, at, graph.Inference)[0]; slices.Contains(all, 0) {
		t.Error("inference drops elements")
	}
}

// TestGraphSeedsOfAttention checks that attention drops other weights in every node, and the same ones in its
// backward task.
func TestGraphSeedsOfAttention(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 1, 6, 4)
	at := multiheadattention.Defaults(4, 2).WithDropout(0.5)
	apply := func(name string) graph.Tensor {
		return multiheadattention.Apply(g, at, multiheadattention.Query(x), multiheadattention.Key(x), multiheadattention.Value(x), graph.Named(name))
	}
	a, b := apply("a").Node(), apply("b").Node()
	if a.Seed == b.Seed || a.Seed == 0 {
		t.Errorf("got seeds %d and %d, want two", a.Seed, b.Seed)
	}
	if c, err := a.Change(at.WithTraining(false), nil); err != nil || c.Seed != a.Seed {
		t.Errorf("a changed node has the seed %d, %v, want %d", c.Seed, err, a.Seed)
	}
}
