package cpu_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/batchmatmul"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

// halos returns a program of two pooling operators whose windows overlap, so that a tile of the second reads
// rows of several tiles of the first.
func halos(tb testing.TB) *graph.Program {
	g := graph.New(1)
	pool := pool2d.Defaults(3, 3)
	pool.PaddingH, pool.PaddingW = 1, 1
	x := pool2d.Apply(g, pool, g.Input("image", dtype.F32, 2, 2, 18, 7))
	pool.PoolType, pool.StrideH = pool2d.PoolTypeAvg, 2
	return inference(tb, g, pool2d.Apply(g, pool, x, graph.Named("second")))
}

// products returns a program of matrix products that is cut along all three dimensions.
func products(tb testing.TB) *graph.Program {
	g := graph.New(1)
	x := batchmatmul.Apply(g, batchmatmul.Defaults(), batchmatmul.LhsInput(g.Input("a", dtype.F32, 3, 70, 9)), batchmatmul.RhsInput(g.Input("b", dtype.F32, 3, 9, 41)))
	return inference(tb, g, batchmatmul.Apply(g, batchmatmul.Defaults(), batchmatmul.LhsInput(x), batchmatmul.RhsInput(g.Input("c", dtype.F32, 41, 35))))
}

func inference(tb testing.TB, g *graph.Graph, fetch graph.Tensor) *graph.Program {
	tb.Helper()
	p, err := graph.Inference(g, fetch)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// after runs a plan a few times, with inputs that follow from their names and sizes, and returns the bytes of
// its variables and of what it fetches.
func after(t *testing.T, p *graph.Program, pl *plan.Plan, workers int) map[string][]byte {
	t.Helper()
	e := newEngine(t, workers)
	init, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := load(t, e, init).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	in, err := e.Load(pl)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, r := range pl.Roots {
			if r.Use != plan.Fed {
				continue
			}
			if err := in.FeedBytes(r.Name, values(r)); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string][]byte{}
	for _, r := range pl.Roots {
		if r.Use == plan.Variable {
			out[r.Name], err = e.VariableBytes(r.Name)
		} else if r.Use == plan.Fetched {
			out[r.Name], err = in.FetchBytes(r.Name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// again writes a plan in binary form and reads it.
func again(t *testing.T, p *plan.Plan) *plan.Plan {
	t.Helper()
	data, err := p.EncodeBinary()
	if err != nil {
		t.Fatal(err)
	}
	q, err := plan.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// values returns the bytes that are fed to an input.
func values(r plan.Root) []byte {
	data := make([]byte, r.Place.Bytes)
	size := r.Type.Size()
	for i := range len(data) / size {
		r.Type.PutFloat64(data[i*size:], float64(i*(7+len(r.Name))%10))
	}
	return data
}

// TestTiled compares plans whose tiles are tasks of their own to plans whose steps are, for several numbers
// of workers: they compute the same bits, and are verified.
func TestTiled(t *testing.T) {
	for name, p := range map[string]*graph.Program{"digits": digits(t, 40), "halos": halos(t), "products": products(t)} {
		pl, err := planner.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		want := after(t, p, pl, 1)
		for _, workers := range []int{1, 2, 5} {
			tiled, err := planner.Build(p, planner.Tiled(), planner.Workers(workers))
			if err != nil {
				t.Fatal(err)
			}
			if err := verify.Plan(tiled); err != nil {
				t.Fatal(err)
			}
			if err := validate.Plan(tiled, p); err != nil {
				t.Fatal(err)
			}
			if len(tiled.Tasks) <= len(pl.Tasks) {
				t.Errorf("%s: %d tasks, tiled %d", name, len(pl.Tasks), len(tiled.Tasks))
			}
			got := after(t, p, again(t, tiled), workers)
			for tensor, b := range want {
				if !bytes.Equal(got[tensor], b) {
					t.Errorf("%s, %d workers: %s differs", name, workers, tensor)
				}
			}
		}
	}
}

// TestHaloDependencies checks that a tile comes after those tiles of the operator before whose rows it reads,
// and not after others.
func TestHaloDependencies(t *testing.T) {
	p, err := planner.Build(halos(t), planner.Tiled())
	if err != nil {
		t.Fatal(err)
	}
	// 4 planes; the first operator has 5 tiles of 4 rows in each, the second 3, which read rows 8k-1 to 8k+7.
	if len(p.Tasks) != 4*5+4*3 {
		t.Fatalf("%d tasks", len(p.Tasks))
	}
	for i := range 12 {
		plane, k := i/3, i%3
		var want []int32
		for tile := max(2*k-1, 0); tile < min(2*k+2, 5); tile++ {
			want = append(want, int32(5*plane+tile))
		}
		got := slices.Sorted(slices.Values(p.Deps.Preds(20 + i)))
		if !slices.Equal(got, want) {
			t.Errorf("tile %d of plane %d comes after %v, want %v", k, plane, got, want)
		}
	}
}

// TestTilesRefused loads plans whose tiles are not those of the operator.
func TestTilesRefused(t *testing.T) {
	for name, change := range map[string]func(p *plan.Plan){
		"extent":    func(p *plan.Plan) { each(p, func(x *plan.Task) { x.Inner[1].Over = 3 }) },
		"rank":      func(p *plan.Plan) { each(p, func(x *plan.Task) { x.Inner = x.Inner[:1] }) },
		"missing":   func(p *plan.Plan) { p.Tasks[0].Tile = 2 },
		"footprint": func(p *plan.Plan) { p.Tasks[20].Access[0].Footprint[2].Shift = 5 },
	} {
		p, err := planner.Build(halos(t), planner.Tiled())
		if err != nil {
			t.Fatal(err)
		}
		change(p)
		if _, err := newEngine(t, 1).Load(p); err == nil {
			t.Errorf("%s: a plan with other tiles was loaded", name)
		}
	}
}

// each calls f for the tasks of a plan.
func each(p *plan.Plan, f func(*plan.Task)) {
	for i := range p.Tasks {
		f(&p.Tasks[i])
	}
}
