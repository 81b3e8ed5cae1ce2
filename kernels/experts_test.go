package kernels_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/aggregate"
	"github.com/opgen/opgen/generated/aggregatespec"
	"github.com/opgen/opgen/generated/cache"
	"github.com/opgen/opgen/generated/groupby"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// mixture sends four rows to three experts with two rows each, and joins them again.
type mixture struct {
	g                  *graph.Graph
	experts            []graph.Tensor
	joined, specs, out graph.Tensor
}

func newMixture(t *testing.T) *mixture {
	t.Helper()
	m := &mixture{g: graph.New(1)}
	x, assign, gates := m.g.Input("x", dtype.F64, 4, 2), m.g.Input("assign", dtype.I64, 4, 2), m.g.Input("gates", dtype.F64, 4, 2)
	full := m.g.Input("full", dtype.F64, 4, 3)
	m.experts = groupby.Apply(m.g, groupby.Attrs{N: 3, Alpha: 0.75}, groupby.Input(x), groupby.Assign(assign))
	at := aggregate.Attrs{N: 3, LambdaBal: 0.5}
	m.joined = aggregate.Apply(m.g, at, aggregate.GatePreds(gates), aggregate.GateAssign(assign), m.experts,
		graph.With(aggregate.SlotFullGatePreds, full), graph.With(aggregate.SlotTrueGateAssign, m.g.Input("true", dtype.I64, 4, 2)))
	m.specs = aggregatespec.Apply(m.g, aggregatespec.Attrs{N: 3}, aggregatespec.GateAssign(assign), m.experts)
	if m.g.Err() != nil {
		t.Fatal(m.g.Err())
	}
	m.out = m.joined.Node().Tensor(int(aggregate.SlotBalance))
	return m
}

func (m *mixture) run(assign, counted []float64) (values, error) {
	p, err := graph.Inference(m.g, append(slices.Clone(m.experts), m.joined, m.specs, m.out)...)
	if err != nil {
		return nil, err
	}
	return run(p, values{
		"x": {1, 2, 3, 4, 5, 6, 7, 8}, "assign": assign, "true": counted,
		"gates": {1, 10, 100, 1000, 1, 10, 100, 1000},
		"full":  {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 4},
	}, execution{workers: 2, garbage: manyNaNs})
}

// TestRouting checks which rows experts get, and which rows a full expert drops.
func TestRouting(t *testing.T) {
	m := newMixture(t)
	v, err := m.run([]float64{0, 2, 2, 0, 0, 2, 2, 0}, []float64{0, 0, 0, 1, 1, 2, 2, 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float64{{1, 2, 3, 4}, {0, 0, 0, 0}, {1, 2, 3, 4}} {
		if got := v[m.experts[i].Name()]; !slices.Equal(got, want) {
			t.Errorf("expert %d got %v, want %v", i, got, want)
		}
	}
	// The third and the fourth row find both of their experts full.
	if got, want := v[m.joined.Name()], []float64{11, 22, 3300, 4400, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("joined rows are %v, want %v", got, want)
	}
	if got, want := v[m.specs.Name()], []float64{1, 2, 1, 2, 3, 4, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("rows of all assignments are %v, want %v", got, want)
	}
	// Experts have 3, 2 and 3 of the assignments that count, and 4, 8 and 13 of all weights.
	if got, want := v[m.out.Name()], []float64{0.5 * (3*4 + 2*8 + 3*13)}; !slices.Equal(got, want) {
		t.Errorf("balance is %v, want %v", got, want)
	}
}

// TestUnknownExperts assigns rows to experts that do not exist.
func TestUnknownExperts(t *testing.T) {
	m := newMixture(t)
	good := make([]float64, 8)
	for _, wrong := range []float64{-1, 3} {
		bad := slices.Clone(good)
		bad[5] = wrong
		for slot, in := range map[string][2][]float64{"assign": {bad, good}, "true_gate_assign": {good, bad}} {
			_, err := m.run(in[0], in[1])
			want := fmt.Sprintf("slot %s, element 5: want an expert from 0 to 2, got %v", slot, wrong)
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("got %v\nwant %s", err, want)
			}
		}
	}
}

// TestCache runs three times with two batches: the third run is the first batch again.
func TestCache(t *testing.T) {
	for _, loaded := range []bool{false, true} {
		g := graph.New(1)
		x := g.Input("x", dtype.I32, 3)
		c := cache.Apply(g, cache.Attrs{NumBatches: 2, LoadCached: loaded, Gamma: 0.75}, x)
		p, err := graph.Whole(g, c.Output, c.Score)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			runs  int
			score float64
			live  []float64
		}{{1, 0, []float64{4, 5, 6}}, {2, 0, []float64{4, 5, 6}}, {3, 0.25, []float64{4, 5, 6}}, {4, 0.25*0.75 + 0.25, []float64{4, 5, 6}}, {3, 0.25, []float64{0, 0, 0}}} {
			want := slices.Clone(tt.live)
			if loaded && tt.runs < 3 {
				want = []float64{0, 0, 0} // no batch is stored yet
			}
			if tt.live[0] == 0 {
				tt.score = 1 - 0.75*0.75*0.75 // the initial score
			}
			v := mustRun(t, p, values{"x": tt.live}, execution{runs: tt.runs, workers: 2})
			if got := v[c.Output.Name()]; !slices.Equal(got, want) {
				t.Errorf("loaded %v, run %d: got %v, want %v", loaded, tt.runs, got, want)
			}
			if got := v[c.Score.Name()]; got[0] != tt.score {
				t.Errorf("loaded %v, run %d: score %v, want %v", loaded, tt.runs, got, tt.score)
			}
		}
	}
}

// TestCacheNoticesAnyDifference changes one element.
func TestCacheNoticesAnyDifference(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 3)
	c := cache.Apply(g, cache.Attrs{NumBatches: 1, Gamma: 0.5}, x)
	p, err := graph.Whole(g, c.Score)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		in := []float64{0, 0, 0, 0}
		in[i] = 1
		want := 0.0
		if i == 3 {
			want = 0.5
		}
		if got := mustRun(t, p, values{"x": in[:3]}, execution{})[c.Score.Name()]; got[0] != want {
			t.Errorf("element %d changed: score %v, want %v", i, got, want)
		}
	}
}
