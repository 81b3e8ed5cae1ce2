package taskgraph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/planner"
)

// runners returns executors of each kind, by name. They run a task graph for some workers.
func runners(t testing.TB, workers int, seed uint64) map[string]exec.Runner {
	t.Helper()
	pool := exec.NewPool(workers)
	t.Cleanup(pool.Close)
	return map[string]exec.Runner{
		"one after the other": exec.Sequential{},
		"workers":             pool,
		"hostile":             exec.Hostile{Seed: seed, Asleep: -1},
		"one asleep":          exec.Hostile{Seed: seed, Asleep: int(seed) % workers},
		"delays":              exec.Hostile{Seed: seed + 1, Asleep: -1, Delay: time.Microsecond},
	}
}

// TestOperators computes a layer of which all operators take part, with grids that leave smaller blocks, with
// rounds of a for-loop and with blocks that add to a tile, and compares it with loops over whole tensors. All
// values are small integers and powers of two, so sums have no rounding.
func TestOperators(t *testing.T) {
	t.Parallel()
	const m, k, n = 5, 12, 7
	for _, grid := range []Dim3{{}, {X: 3}, {X: 2, Y: 4}, {X: 5, Y: 7}} {
		for _, rounds := range []int{1, 2, 4} {
			for _, split := range []int{1, 3} { // of the inner dimension, by blocks that add
				g := New("operators")
				x, scale, w, bias, y := g.NewInput("x", dtype.F32, m, k), g.NewInput("scale", dtype.F32, 1, k), g.NewInput("w", dtype.F32, k, n),
					g.NewState("bias", dtype.F32, m, n), g.NewOutput("y", dtype.F32, m, n)
				s := g.NewTensor("s", dtype.F32, m, n)
				grid.Z = split
				b := NewBlock(grid, Dim3{X: 128}, rounds, 2)
				loop := rounds
				if k/split%rounds > 0 {
					continue
				}
				b.ForLoop = loop
				if split > 1 {
					b.Folds = []int{Z}
				}
				product := b.Matmul(b.Mul(b.NewInput(x, Map{0, -1, 1}, 1), b.NewInput(scale, Map{-1, -1, 1}, 1)), b.NewInput(w, Map{-1, 1, 0}, 0))
				b.NewOutput(s, Map{0, 1, -1}, b.Unary("twice", b.ForLoopAccum(product), func(v float32) float32 { return 2 * v }))
				if err := g.Customized([]*DTensor{x, scale, w}, []*DTensor{s}, b); err != nil {
					t.Fatal(err)
				}
				// Each row is divided by the root of the sum of 4s, and the sum of the row in two parts is
				// added.
				last := NewBlock(Dim3{X: grid.X}, Dim3{}, 1, 1)
				tile := last.NewInput(s, Along(0), -1)
				four := last.Unary("four", tile, func(float32) float32 { return 4 })
				row := last.Div(tile, last.Sqrt(last.Reduction(four, 1)))
				sum := last.Add(last.Add(row, last.ReductionToDimX(tile, 1)), last.Square(last.NewInput(bias, Along(0), -1)))
				last.NewOutput(y, Along(0), last.Mul(sum, four))
				if err := g.Customized([]*DTensor{s, bias}, []*DTensor{y}, last); err != nil {
					t.Fatal(err)
				}
				for workers := 1; workers <= 3; workers++ {
					tg := tasksOf(t, g, workers)
					for name, by := range runners(t, workers, uint64(workers)) {
						in, err := tg.Load(nil)
						if err != nil {
							t.Fatal(err)
						}
						value := func(i int) float32 { return float32(i%5 - 2) }
						for _, v := range []*DTensor{x, scale, w, bias} {
							for i := range in.Floats(v) {
								in.Floats(v)[i] = value(i + v.number)
							}
						}
						var want [m * n]float32
						for i := range m {
							var total float32
							for j := range n {
								var dot float32
								for l := range k {
									dot += in.Floats(x)[i*k+l] * in.Floats(scale)[l] * in.Floats(w)[l*n+j]
								}
								want[i*n+j] = 2 * dot
								total += 2 * dot
							}
							for j := range n {
								v := in.Floats(bias)[i*n+j]
								want[i*n+j] = 4 * (want[i*n+j]/root28 + total + v*v)
							}
						}
						if err := in.on(t.Context(), by); err != nil {
							t.Fatal(err)
						}
						if got := in.Floats(y); !slices.Equal(got, want[:]) {
							t.Fatalf("grid %v, %d rounds, %d parts, %d workers, %s: got\n%v, want\n%v", grid, rounds, split, workers, name, got, want)
						}
					}
				}
			}
		}
	}
}

// root28 is the square root of 28, rounded as f32.
const root28 = float32(5.2915026221291811810)

// TestTilesOfBlock checks that tiles which are needed at the same time share no memory, and that others do.
func TestTilesOfBlock(t *testing.T) {
	t.Parallel()
	g := New("memory")
	x, y := g.NewInput("x", dtype.F32, 16, 16), g.NewOutput("y", dtype.F32, 16, 16)
	b := NewBlock(Dim3{X: 2}, Dim3{}, 1, 0)
	tile := b.NewInput(x, Along(0), -1)
	for range 10 {
		tile = b.Square(tile)
	}
	b.NewOutput(y, Along(0), tile)
	all, err := b.Allocated()
	if err != nil {
		t.Fatal(err)
	}
	const bytes = 8 * 16 * 4
	for i, a := range all {
		if a.Bytes != bytes || a.Offset != (i+1)%2*bytes {
			t.Errorf("tile %d has %d bytes at %d", i, a.Bytes, a.Offset)
		}
	}
	if len(all) != 11 {
		t.Errorf("%d tiles, want 11", len(all))
	}
	b.Budget = 2*bytes - 1
	var e *Error
	if _, err := b.Allocated(); !errors.As(err, &e) {
		t.Errorf("got %v, want a budget that is too small", err)
	}
}

// TestInPlace runs layers that change a state: one writes a row that its blocks give, as a cache does, one
// changes all of it.
func TestInPlace(t *testing.T) {
	t.Parallel()
	g := New("cache")
	x, cache, y := g.NewInput("x", dtype.I32, 1, 6), g.NewState("cache", dtype.I32, 4, 6), g.NewOutput("y", dtype.I32, 4, 6)
	b := NewBlock(Dim3{X: 3}, Dim3{}, 1, 0)
	b.NewInput(x, Along(1), -1)
	b.NewInput(cache, Along(1), -1).Bound(0, Y, Affine{}, Affine{0, 1})
	b.NewOutput(cache, Along(1), nil).Bound(0, Y, Affine{}, Affine{0, 1})
	if err := g.Customized([]*DTensor{x, cache}, []*DTensor{cache}, b); err != nil {
		t.Fatal(err)
	}
	if err := g.RegisterTask(b, "append"); err != nil {
		t.Fatal(err)
	}
	layerOf(t, g, Dim3{X: 4}, []operand{{cache, None}}, []operand{{y, Along(0)}})
	if err := g.RegisterTask(g.layers[1].block, "attend"); err != nil {
		t.Fatal(err)
	}
	double := simple(cache, cache, Dim3{X: 2}, Along(0), Along(0))
	if err := g.Customized([]*DTensor{cache}, []*DTensor{cache}, double); err != nil {
		t.Fatal(err)
	}
	if err := g.RegisterTask(double, "double"); err != nil {
		t.Fatal(err)
	}
	functions := map[string]Func{
		"append": func(b *BlockOf) error {
			from, to := &b.Inputs[0], &b.Outputs[0]
			for j := from.Box.Lo[1]; j < from.Box.Hi[1]; j++ {
				Elements[int32](to)[to.At(0, j)] += Elements[int32](from)[from.At(0, j)]
			}
			return nil
		},
		"attend": func(b *BlockOf) error {
			from, to := &b.Inputs[0], &b.Outputs[0]
			for j := range 6 {
				Elements[int32](to)[to.At(b.At[X], j)] = Elements[int32](from)[from.At(0, j)] * int32(b.At[X])
			}
			return nil
		},
		"double": func(b *BlockOf) error {
			v := &b.Outputs[0]
			for i := v.Box.Lo[0]; i < v.Box.Hi[0]; i++ {
				for j := range 6 {
					Elements[int32](v)[v.At(i, j)] *= 2
				}
			}
			return nil
		},
	}
	tg, err := g.Tasks(planner.Workers(3), planner.Times(slices.Repeat([]float64{1e5}, 9)))
	if err != nil {
		t.Fatal(err)
	}
	in, err := tg.Load(functions)
	if err != nil {
		t.Fatal(err)
	}
	for run := range 3 {
		for j := range 6 {
			Elements[int32](&View{data: in.Bytes(x)})[j] = int32(j + 1)
		}
		if err := in.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		// After each run, the row is twice what it was with the new values.
		got := Elements[int32](&View{data: in.Bytes(y)})
		for j := range 6 {
			if want := int32((j + 1) * (1<<(run+1) - 1)); got[6+j] != want || got[18+j] != 3*want {
				t.Fatalf("run %d: got %v, want %d in column %d of row 1", run, got, want, j)
			}
		}
	}
	functions["attend"] = func(*BlockOf) error { return fmt.Errorf("no attention") }
	if in, err = tg.Load(functions); err != nil {
		t.Fatal(err)
	}
	for name, by := range runners(t, 3, 1) {
		var e *exec.Error
		if err := in.on(t.Context(), by); !errors.As(err, &e) || e.Err.Error() != "no attention" {
			t.Errorf("%s: got %v", name, err)
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if err := in.on(done, by); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want canceled", name, err)
		}
	}
}
