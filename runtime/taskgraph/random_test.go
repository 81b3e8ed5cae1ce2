package taskgraph

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
)

var (
	randomGraphs = flag.Int("graphs", 100, "random task graphs that are run on 1 to 8 workers")
	firstGraph   = flag.Uint64("first", 0, "seed of the first random task graph")
)

// reach says which indices along an axis of a tensor an element of the result reads: those from
// lo[0]*i + lo[1] up to, and without, hi[0]*i + hi[1], where i is the element's index along axis of; all if
// of is -1.
type reach struct {
	of     int
	lo, hi [2]int
}

// drawn is a random layer, apart from how it is divided. An element of the result mixes the elements that it
// reads, in their order, so it is the same for each division.
type drawn struct {
	inputs  []int // tensors
	reaches [][2]reach
	output  int
	from    int  // the first row that is written
	inPlace bool // whether the only input is the output
	folds   bool // whether a row of the result sums over the rows of its only input
}

// sketch is a random graph of layers, apart from how they are divided. Tensors are matrices.
type sketch struct {
	dims   [][2]int
	use    []byte // of each tensor: i for inputs, s for states, t for others
	layers []drawn
}

// newSketch draws a graph of 1 to 12 layers: windows with halos and strides, causal, reversed and replicated
// inputs, transposed and diagonal ones, sums, and work in place.
func newSketch(r *rand.Rand) *sketch {
	s := &sketch{}
	tensor := func(use byte, dims [2]int) int {
		s.dims, s.use = append(s.dims, dims), append(s.use, use)
		return len(s.dims) - 1
	}
	extents := func() [2]int { return [2]int{1 + r.IntN(12), 1 + r.IntN(5)} }
	tensor('i', extents())
	tensor('s', extents())
	for range 1 + r.IntN(12) {
		last := func() int { return max(len(s.dims)-1-r.IntN(4), 0) }
		x := last()
		l := drawn{inputs: []int{x}}
		switch k := r.IntN(8); {
		case k == 0 && s.use[x] != 'i':
			l.inPlace, l.output, l.reaches = true, x, [][2]reach{{point(0, 0), point(1, 0)}}
		case k == 1:
			l.folds, l.output = true, tensor('t', [2]int{1, s.dims[x][1]})
		default:
			if r.IntN(2) == 0 {
				l.inputs = append(l.inputs, last())
			}
			if k == 2 {
				l.output = 1 // the state, of which the last rows are written
				l.inputs = slices.DeleteFunc(l.inputs, func(x int) bool { return x == 1 })
				l.from = r.IntN(s.dims[1][0])
			} else {
				l.output = tensor('t', extents())
			}
			for _, x := range l.inputs {
				l.reaches = append(l.reaches, [2]reach{draw(r, s.dims[x][0]), draw(r, s.dims[x][1])})
			}
		}
		s.layers = append(s.layers, l)
	}
	return s
}

// point returns the reach of an element that reads one index: its own and a shift.
func point(of, shift int) reach { return reach{of, [2]int{1, shift}, [2]int{1, shift + 1}} }

// draw returns a random reach along an axis of n elements.
func draw(r *rand.Rand, n int) reach {
	of := r.IntN(2)
	switch r.IntN(7) {
	case 0:
		return reach{of: -1}
	case 1: // a window
		stride, shift := 1+r.IntN(2), r.IntN(4)-2
		return reach{of, [2]int{stride, shift}, [2]int{stride, shift + 1 + r.IntN(4)}}
	case 2: // causal
		return reach{of, [2]int{}, [2]int{1, r.IntN(2)}}
	case 3: // what follows
		return reach{of, [2]int{1, r.IntN(2)}, [2]int{0, n}}
	case 4: // reversed
		return reach{of, [2]int{-1, n - 1}, [2]int{-1, n}}
	case 5: // a part that is the same for all
		lo := r.IntN(n)
		return reach{of, [2]int{0, lo}, [2]int{0, lo + 1 + r.IntN(n-lo)}}
	}
	return point(of, 0)
}

// bound divides what a reach says: blocks have size results each, from a first index on.
func (h reach) bound(t *STensor, dim, size, from int) {
	if h.of < 0 {
		return
	}
	// The ends of a block are those of its first or of its last index.
	lo, hi := Affine{h.lo[0] * size, h.lo[0]*from + h.lo[1]}, Affine{h.hi[0] * size, h.hi[0]*from + h.hi[1]}
	if h.lo[0] < 0 {
		lo.Shift += h.lo[0] * (size - 1)
	}
	if h.hi[0] > 0 {
		hi.Shift += h.hi[0] * (size - 1)
	}
	t.Bound(dim, h.of, lo, hi)
}

// graph makes the layers, each of which is divided as divide says for its number of rows and columns.
func (s *sketch) graph(divide func(n int) (size int)) (*Graph, []*DTensor, map[string]Func, error) {
	g := New("random")
	functions := map[string]Func{}
	var all []*DTensor
	read := map[int]bool{}
	for _, l := range s.layers {
		for _, x := range l.inputs {
			read[x] = read[x] || !l.inPlace
		}
	}
	for i, d := range s.dims {
		make := g.NewTensor
		switch {
		case s.use[i] == 'i':
			make = g.NewInput
		case s.use[i] == 's':
			make = g.NewState
		case !read[i] || i%3 == 0:
			make = g.NewOutput
		}
		all = append(all, make(fmt.Sprint("t", i), dtype.I32, d[0], d[1]))
	}
	for n, l := range s.layers {
		y := all[l.output]
		rows, columns := y.dims[0]-l.from, y.dims[1]
		size := [2]int{divide(rows), divide(columns)}
		grid := Dim3{X: (rows-1)/size[0] + 1, Y: (columns-1)/size[1] + 1}
		var in []*DTensor
		for _, x := range l.inputs {
			in = append(in, all[x])
		}
		b := NewBlock(grid, Dim3{}, 1, 0)
		if l.folds {
			fold := divide(in[0].dims[0])
			b.Grid.Z, b.Folds = (in[0].dims[0]-1)/fold+1, []int{Z}
			b.NewInput(in[0], None, -1).Bound(0, Z, Affine{fold, 0}, Affine{fold, fold}).Bound(1, Y, Affine{size[1], 0}, Affine{size[1], size[1]})
		} else {
			for k, x := range in {
				t := b.NewInput(x, None, -1)
				for dim, h := range l.reaches[k] {
					if h.of == 0 {
						h.bound(t, dim, size[0], l.from)
					} else {
						h.bound(t, dim, size[1], 0)
					}
				}
			}
		}
		t := b.NewOutput(y, None, nil)
		t.Bound(0, X, Affine{size[0], l.from}, Affine{size[0], l.from + size[0]})
		t.Bound(1, Y, Affine{size[1], 0}, Affine{size[1], size[1]})
		if err := g.Customized(in, []*DTensor{y}, b); err != nil {
			return nil, nil, nil, err
		}
		name := fmt.Sprint("f", n)
		if err := g.RegisterTask(b, name); err != nil {
			return nil, nil, nil, err
		}
		functions[name] = func(b *BlockOf) error { return l.run(b, int32(n)) }
	}
	return g, all, functions, nil
}

// run computes a block. It is an error if an element reads what the tile does not hold.
func (l *drawn) run(b *BlockOf, seed int32) error {
	out := &b.Outputs[0]
	to := Elements[int32](out)
	for i := out.Box.Lo[0]; i < out.Box.Hi[0]; i++ {
		for j := out.Box.Lo[1]; j < out.Box.Hi[1]; j++ {
			e := &to[out.At(i, j)]
			if l.folds {
				from := &b.Inputs[0]
				if b.First {
					*e = seed
				}
				for k := from.Box.Lo[0]; k < from.Box.Hi[0]; k++ {
					*e += Elements[int32](from)[from.At(k, j)]*3 + int32(k)
				}
				continue
			}
			mix := seed*7919 + int32(i*31+j)
			for x := range b.Inputs {
				v := &b.Inputs[x]
				var lo, hi [2]int
				for dim, h := range l.reaches[x] {
					lo[dim], hi[dim] = 0, v.dims[dim]
					if h.of >= 0 {
						at := [2]int{i, j}[h.of]
						lo[dim], hi[dim] = max(h.lo[0]*at+h.lo[1], 0), min(h.hi[0]*at+h.hi[1], v.dims[dim])
					}
				}
				for p := lo[0]; p < hi[0]; p++ {
					for q := lo[1]; q < hi[1]; q++ {
						if p < v.Box.Lo[0] || p >= v.Box.Hi[0] || q < v.Box.Lo[1] || q >= v.Box.Hi[1] {
							return fmt.Errorf("element [%d, %d] reads [%d, %d], want indices in %v", i, j, p, q, v.Box)
						}
						mix = mix*31 + Elements[int32](v)[v.At(p, q)]
					}
				}
			}
			*e = mix
		}
	}
	return nil
}

// closure returns, for each of n tasks, which tasks are over before it begins if those of each pair are in
// order. Pairs are in the order of their second tasks.
func closure(n int, pairs [][2]int) [][]bool {
	before := make([][]bool, n)
	for t := range before {
		before[t] = make([]bool, t)
	}
	for _, p := range pairs {
		before[p[1]][p[0]] = true
		for s, is := range before[p[0]] {
			before[p[1]][s] = before[p[1]][s] || is
		}
	}
	return before
}

// results runs a graph twice by an executor, with memory of its own, and returns the elements of its outputs
// and states.
func results(t *testing.T, tg *TaskGraph, all []*DTensor, functions map[string]Func, by exec.Runner) ([]int32, error) {
	in, err := tg.Load(functions)
	if err != nil {
		return nil, err
	}
	var out []int32
	for run := range 2 {
		fed := Elements[int32](&View{data: in.Bytes(all[0])})
		for i := range fed {
			fed[i] = int32(i*i + run)
		}
		if err := in.on(t.Context(), by); err != nil {
			return nil, err
		}
		for _, x := range all {
			if r := &tg.Plan.Roots[x.number]; r.Use == plan.Fetched || r.Use == plan.Variable {
				out = append(out, Elements[int32](&View{data: in.Bytes(x)})...)
			}
		}
	}
	return out, nil
}

// TestRandomGraphs divides random layers in random ways. All executors and all numbers of workers give the
// elements that whole layers give. All pairs of tasks in conflict are in order, and no task waits
// for another without a chain of conflicts between them.
func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	const mostWorkers = 8
	pools := make([]*exec.Pool, mostWorkers)
	for w := range pools {
		pools[w] = exec.NewPool(w + 1)
		defer pools[w].Close()
	}
	graphs := uint64(*randomGraphs)
	if testing.Short() {
		graphs = min(graphs, 30)
	}
	count := map[string]int{}
	for seed := *firstGraph; seed < *firstGraph+graphs; seed++ {
		r := rand.New(rand.NewPCG(seed, 37))
		s := newSketch(r)
		fail := func(err error) { t.Fatalf("seed %d: %v\n%+v", seed, err, s) }
		g, all, functions, err := s.graph(func(n int) int { return n })
		if err != nil {
			fail(err)
		}
		whole, err := g.Tasks()
		if err != nil {
			fail(err)
		}
		want, err := results(t, whole, all, functions, exec.Sequential{})
		if err != nil {
			fail(err)
		}
		if g, all, functions, err = s.graph(func(n int) int { return 1 + r.IntN(n) }); err != nil {
			fail(err)
		}
		var pairs [][2]int
		for w := 1; w <= mostWorkers; w++ {
			tg, err := g.Tasks(planner.Workers(w))
			if err != nil {
				fail(err)
			}
			if w == 1 {
				pairs = conflicts(tg)
				before := closure(len(tg.Plan.Tasks), pairs)
				for task := range tg.Plan.Tasks {
					count["tasks"]++
					if tg.Plan.Tasks[task].Tile > 0 {
						count["tiles"]++
					}
					for _, p := range tg.Plan.Deps.Preds(task) {
						if count["predecessors"]++; !before[task][p] {
							fail(fmt.Errorf("task %d waits for %d without a reason", task, p))
						}
					}
				}
			}
			if len(tg.Plan.Tasks) < 60 {
				count["orders"]++
				if wrong, ends := ordered(tg.Plan, pairs); len(wrong) > 0 || !ends {
					fail(fmt.Errorf("%d workers: no order of tasks %v; queues come to their ends: %v", w, wrong, ends))
				}
			}
			for name, by := range map[string]exec.Runner{
				"one after the other": exec.Sequential{}, "workers": pools[w-1],
				"hostile": exec.Hostile{Seed: r.Uint64(), Asleep: -1}, "one asleep": exec.Hostile{Seed: seed, Asleep: int(seed) % w},
			} {
				count["runs"]++
				if got, err := results(t, tg, all, functions, by); err != nil || !slices.Equal(got, want) {
					fail(fmt.Errorf("%d workers, %s: got %v, want %v (%v)", w, name, got, want, err))
				}
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%s: %d", k, count[k])
	}
	if count["tiles"] == 0 || count["orders"] == 0 || count["predecessors"] < count["tasks"]/2 {
		t.Errorf("the graphs do not show what they should: %v", count)
	}
}
