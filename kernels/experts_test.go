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
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// mixture is a graph that sends four rows to three experts and joins them again. An expert holds at most two
// rows.
type mixture struct {
	g       *graph.Graph
	experts []graph.Tensor // outputs of group_by
	joined  graph.Tensor   // the output of aggregate
	specs   graph.Tensor   // the output of aggregate_spec
	balance graph.Tensor   // the balance loss of aggregate
}

func newMixture(t *testing.T) *mixture {
	t.Helper()
	m := &mixture{g: graph.New(1)}
	x, assign, gates := m.g.Input("x", dtype.F64, 4, 2), m.g.Input("assign", dtype.I64, 4, 2), m.g.Input("gates", dtype.F64, 4, 2)
	full := m.g.Input("full", dtype.F64, 4, 3)
	m.experts = groupby.Apply(m.g, groupby.Defaults(3).WithAlpha(0.75), groupby.Input(x), groupby.Assign(assign))
	at := aggregate.Defaults(3).WithLambdaBal(0.5)
	m.joined = aggregate.Apply(m.g, at, aggregate.GatePreds(gates), aggregate.GateAssign(assign), m.experts,
		graph.With(aggregate.SlotFullGatePreds, full), graph.With(aggregate.SlotTrueGateAssign, m.g.Input("true", dtype.I64, 4, 2)))
	m.specs = aggregatespec.Apply(m.g, aggregatespec.Defaults(3), aggregatespec.GateAssign(assign), m.experts)
	if m.g.Err() != nil {
		t.Fatal(m.g.Err())
	}
	m.balance = m.joined.Node().Tensor(int(aggregate.SlotBalance))
	return m
}

// run feeds the assignments of rows to experts, and those that count for the balance.
func (m *mixture) run(assign, counted []float64) (values, error) {
	p, err := graph.Inference(m.g, append(slices.Clone(m.experts), m.joined, m.specs, m.balance)...)
	if err != nil {
		return nil, err
	}
	return run(p, values{
		"x": {1, 2, 3, 4, 5, 6, 7, 8}, "assign": assign, "true": counted,
		"gates": {1, 10, 100, 1000, 1, 10, 100, 1000},
		"full":  {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 4},
	}, optest.Execution{Workers: 2, Garbage: optest.NaNs})
}

// TestRouting checks which rows each expert gets, and which rows a full expert drops.
func TestRouting(t *testing.T) {
	m := newMixture(t)
	v, err := m.run([]float64{0, 2, 2, 0, 0, 2, 2, 0}, []float64{0, 0, 0, 1, 1, 2, 2, 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float64{{1, 2, 3, 4}, {0, 0, 0, 0}, {1, 2, 3, 4}} {
		if got := v[m.experts[i].Name()]; !slices.Equal(got, want) {
			t.Errorf("expert %d: got %v, want %v", i, got, want)
		}
	}
	// Both experts of the third and of the fourth row are full.
	if got, want := v[m.joined.Name()], []float64{11, 22, 3300, 4400, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("joined rows: got %v, want %v", got, want)
	}
	if got, want := v[m.specs.Name()], []float64{1, 2, 1, 2, 3, 4, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("rows of all assignments: got %v, want %v", got, want)
	}
	// The experts have 3, 2 and 3 of the assignments that count. Their columns of full have the sums 4, 8
	// and 13.
	if got, want := v[m.balance.Name()], []float64{0.5 * (3*4 + 2*8 + 3*13)}; !slices.Equal(got, want) {
		t.Errorf("balance: got %v, want %v", got, want)
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

// TestCache runs a cache of two batches, so the third run reads what the first run stored. All runs feed the
// same batch.
func TestCache(t *testing.T) {
	for _, loaded := range []bool{false, true} {
		g := graph.New(1)
		x := g.Input("x", dtype.I32, 3)
		c := cache.Apply(g, cache.Defaults(2).WithLoadCached(loaded).WithGamma(0.75), x)
		p, err := graph.Whole(g, c.Output, c.Score)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			runs  int
			score float64
			live  []float64
		}{
			{1, 0, []float64{4, 5, 6}},
			{2, 0, []float64{4, 5, 6}},
			{3, 0.25, []float64{4, 5, 6}},
			{4, 0.25*0.75 + 0.25, []float64{4, 5, 6}},
			{3, 1 - 0.75*0.75*0.75, []float64{0, 0, 0}}, // equal to the initial batches in each run
		} {
			want := tt.live
			if loaded && tt.runs < 3 {
				want = []float64{0, 0, 0} // the initial batch
			}
			v := mustRun(t, p, values{"x": tt.live}, optest.Execution{Runs: tt.runs, Workers: 2})
			if got := v[c.Output.Name()]; !slices.Equal(got, want) {
				t.Errorf("loaded %v, run %d: got %v, want %v", loaded, tt.runs, got, want)
			}
			if got := v[c.Score.Name()]; got[0] != tt.score {
				t.Errorf("loaded %v, run %d: score %v, want %v", loaded, tt.runs, got, tt.score)
			}
		}
	}
}

// TestCacheKeepsFractions stores numbers that are no integers, and loads them in the next run.
func TestCacheKeepsFractions(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2)
	c := cache.Apply(g, cache.Defaults(1).WithLoadCached(true), x)
	p, err := graph.Whole(g, c.Output)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0.5, -1.25}
	if got := mustRun(t, p, values{"x": want}, optest.Execution{Runs: 2})[c.Output.Name()]; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCacheNoticesAnyDifference changes single elements of a batch. Only a batch that is equal to the stored
// one raises the score.
func TestCacheNoticesAnyDifference(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 3)
	c := cache.Apply(g, cache.Defaults(1).WithGamma(0.5), x)
	p, err := graph.Whole(g, c.Score)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		batch []float64
		score float64
	}{
		{[]float64{0, 0, 0}, 0.5}, // equal to the initial batch
		{[]float64{1, 0, 0}, 0},
		{[]float64{0, 1, 0}, 0},
		{[]float64{0, 0, 1}, 0},
	} {
		if got := mustRun(t, p, values{"x": tt.batch}, optest.Execution{})[c.Score.Name()]; got[0] != tt.score {
			t.Errorf("batch %v: got score %v, want %v", tt.batch, got[0], tt.score)
		}
	}
}
