package taskgraph

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// operand is a tensor of a layer in a test, with its map.
type operand struct {
	t *DTensor
	m Map
}

// layerOf adds a layer that a function computes.
func layerOf(t testing.TB, g *Graph, grid Dim3, inputs, outputs []operand) {
	t.Helper()
	b := NewBlock(grid, Dim3{X: 128}, 1, 0)
	var in, out []*DTensor
	for _, o := range inputs {
		b.NewInput(o.t, o.m, -1)
		in = append(in, o.t)
	}
	for _, o := range outputs {
		b.NewOutput(o.t, o.m, nil)
		out = append(out, o.t)
	}
	if err := g.Customized(in, out, b); err != nil {
		t.Fatal(err)
	}
}

// tasksOf lowers a graph for some workers. Each task is long, so that workers share them.
func tasksOf(t testing.TB, g *Graph, workers int) *TaskGraph {
	t.Helper()
	n := 0
	for _, l := range g.layers {
		n += l.block.Grid.count()
	}
	tg, err := g.Tasks(planner.Workers(workers), planner.Times(slices.Repeat([]float64{1e5}, n)))
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

// conflicts returns the pairs of tasks that touch an element which one of them writes, or bytes that two
// tensors share, by comparing all boxes of all pairs.
func conflicts(tg *TaskGraph) (pairs [][2]int) {
	type touch struct {
		Operand
		writes bool
	}
	all := make([][]touch, len(tg.Plan.Tasks))
	for i := range all {
		task := tg.Task(i)
		for _, o := range task.Inputs {
			all[i] = append(all[i], touch{o, false})
		}
		for _, o := range task.Outputs {
			all[i] = append(all[i], touch{o, true})
		}
	}
	meet := func(a, b touch) bool {
		switch {
		case a.Tensor == nil || b.Tensor == nil || !a.writes && !b.writes || a.Box.Empty() || b.Box.Empty():
			return false
		case a.Tensor == b.Tensor:
			return !a.Box.Intersect(b.Box).Empty()
		}
		return bytesMeet(tg.Plan, a.Operand, b.Operand)
	}
	for j := range all {
		for i := range j {
			if slices.ContainsFunc(all[i], func(a touch) bool {
				return slices.ContainsFunc(all[j], func(b touch) bool { return meet(a, b) })
			}) {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

// bytesMeet reports whether tiles of two tensors share a byte of the arena: it compares rows of elements.
func bytesMeet(p *plan.Plan, a, b Operand) bool {
	if !p.Roots[a.Tensor.number].Place.Overlaps(p.Roots[b.Tensor.number].Place) {
		return false
	}
	bytes := func(o Operand) map[int]bool {
		out := map[int]bool{}
		size := o.Tensor.typ.Size()
		index := slices.Clone(o.Box.Lo)
		for {
			at := int(p.Roots[o.Tensor.number].Place.Off)
			for d, i := range index {
				at += i * o.Strides[d] * size
			}
			for k := range size {
				out[at+k] = true
			}
			d := len(index) - 1
			for ; d >= 0; d-- {
				if index[d]++; index[d] < o.Box.Hi[d] {
					break
				}
				index[d] = o.Box.Lo[d]
			}
			if d < 0 {
				return out
			}
		}
	}
	other := bytes(b)
	for k := range bytes(a) {
		if other[k] {
			return true
		}
	}
	return false
}

// ordered returns the pairs of which the first task is not over before the second begins, whatever the
// workers do, and whether all queues come to their ends. It follows all paths through a graph of all entries
// of all queues, and shares no code with package verify.
func ordered(p *plan.Plan, pairs [][2]int) (wrong [][2]int, ends bool) {
	s := &p.Schedule
	base := make([]int, s.Workers()+1)
	for w, q := range s.Queues {
		base[w+1] = base[w] + len(q)
	}
	n := base[s.Workers()]
	next, entry := make([][]int, n), make([]int, s.Tasks)
	for w, q := range s.Queues {
		for i, e := range q {
			if i > 0 {
				next[base[w]+i-1] = append(next[base[w]+i-1], base[w]+i)
			}
			switch kind, k := e.Decode(); kind {
			case schedule.Run:
				entry[k] = base[w] + i
			case schedule.WaitFor:
				wait := s.Waits[k]
				from := base[wait.Worker] + int(wait.Position) - 1
				next[from] = append(next[from], base[w]+i)
			}
		}
	}
	reach, ends := make([][]bool, n), true
	for i := range reach {
		reach[i] = make([]bool, n)
		pending := slices.Clone(next[i])
		for len(pending) > 0 {
			j := pending[len(pending)-1]
			if pending = pending[:len(pending)-1]; !reach[i][j] {
				reach[i][j] = true
				pending = append(pending, next[j]...)
			}
		}
		ends = ends && !reach[i][i]
	}
	for _, pair := range pairs {
		if !reach[entry[pair[0]]][entry[pair[1]]] {
			wrong = append(wrong, pair)
		}
	}
	return wrong, ends
}

// TestGraphsOfMPK lowers graphs for which rules about numbers of blocks give wrong orders: edges that are
// left out since another path exists, one map for two edges, counts of triggers, and no order of what
// overwrites. On 1, 3 and 4 workers, every two tasks in conflict are in order, and every queue comes to its
// end. Tasks that are direct predecessors are in conflict.
func TestGraphsOfMPK(t *testing.T) {
	t.Parallel()
	const n = 8
	rows, grid := Along(0), Dim3{X: n}
	type graph struct {
		name  string
		build func(t *testing.T, g *Graph)
		pairs int // in conflict
	}
	tensor := func(g *Graph, name string) *DTensor { return g.NewOutput(name, dtype.F32, n, 4) }
	input := func(g *Graph) *DTensor { return g.NewInput("x", dtype.F32, n, 4) }
	for _, c := range []graph{
		{"a layer that another path leads to, read whole", func(t *testing.T, g *Graph) {
			x, k, q, o := input(g), tensor(g, "k"), tensor(g, "q"), tensor(g, "o")
			layerOf(t, g, grid, []operand{{x, rows}}, []operand{{k, rows}})
			layerOf(t, g, grid, []operand{{k, rows}}, []operand{{q, rows}})
			layerOf(t, g, grid, []operand{{q, rows}, {k, None}}, []operand{{o, rows}})
		}, n + n + n*n},
		{"two tensors with two maps", func(t *testing.T, g *Graph) {
			x, a, b, o := input(g), tensor(g, "a"), tensor(g, "b"), tensor(g, "o")
			layerOf(t, g, grid, []operand{{x, rows}}, []operand{{a, rows}, {b, rows}})
			layerOf(t, g, grid, []operand{{a, rows}, {b, None}}, []operand{{o, rows}})
		}, n * n},
		{"a join of two tensors of one layer and one of another", func(t *testing.T, g *Graph) {
			x, a, b, c, o := input(g), tensor(g, "a"), tensor(g, "b"), tensor(g, "c"), tensor(g, "o")
			layerOf(t, g, grid, []operand{{x, rows}}, []operand{{a, rows}, {b, rows}})
			layerOf(t, g, grid, []operand{{x, rows}}, []operand{{c, rows}})
			layerOf(t, g, grid, []operand{{a, rows}, {b, rows}, {c, rows}}, []operand{{o, rows}})
		}, n + n},
		{"a fork of two tensors to one layer and one to another", func(t *testing.T, g *Graph) {
			x, a, b, o, p := input(g), tensor(g, "a"), tensor(g, "b"), tensor(g, "o"), tensor(g, "p")
			layerOf(t, g, grid, []operand{{x, rows}}, []operand{{a, rows}, {b, rows}})
			layerOf(t, g, grid, []operand{{a, rows}, {b, rows}}, []operand{{o, rows}})
			layerOf(t, g, grid, []operand{{a, rows}}, []operand{{p, rows}})
		}, n + n},
		{"a write to what others still read", func(t *testing.T, g *Graph) {
			x, a, r := input(g), tensor(g, "a"), tensor(g, "r")
			layerOf(t, g, grid, []operand{{x, rows}}, []operand{{a, rows}})
			layerOf(t, g, grid, []operand{{a, None}}, []operand{{r, rows}})
			layerOf(t, g, grid, []operand{{x, rows}}, []operand{{a, rows}})
		}, n*n + n*n + n},
		{"two writers of one tensor", func(t *testing.T, g *Graph) {
			x, a := input(g), tensor(g, "a")
			layerOf(t, g, grid, []operand{{x, rows}}, []operand{{a, rows}})
			layerOf(t, g, grid, []operand{{x, rows}}, []operand{{a, rows}})
		}, n},
		{"a residual, where a fork meets a join", func(t *testing.T, g *Graph) {
			x, a, b, c, o := input(g), tensor(g, "a"), tensor(g, "b"), tensor(g, "c"), tensor(g, "o")
			layerOf(t, g, grid, []operand{{x, rows}}, []operand{{a, rows}})
			layerOf(t, g, grid, []operand{{a, rows}}, []operand{{b, rows}})
			layerOf(t, g, grid, []operand{{a, rows}, {b, rows}}, []operand{{c, rows}})
			layerOf(t, g, grid, []operand{{a, rows}, {b, rows}, {c, rows}}, []operand{{o, rows}})
		}, n + 2*n + 3*n},
	} {
		for _, workers := range []int{1, 3, 4} {
			g := New(c.name)
			c.build(t, g)
			tg := tasksOf(t, g, workers)
			pairs := conflicts(tg)
			if len(pairs) != c.pairs {
				t.Errorf("%s: %d pairs in conflict, want %d", c.name, len(pairs), c.pairs)
			}
			wrong, ends := ordered(tg.Plan, pairs)
			if len(wrong) > 0 || !ends {
				t.Errorf("%s, %d workers: %d pairs without an order, such as %v; queues end: %v", c.name, workers, len(wrong), wrong, ends)
			}
			for i := range tg.Plan.Tasks {
				for _, before := range tg.Plan.Deps.Preds(i) {
					if !slices.Contains(pairs, [2]int{int(before), i}) {
						t.Errorf("%s: task %d waits for %d, and needs not", c.name, i, before)
					}
				}
			}
			if workers > 1 && len(tg.Plan.Schedule.Queues[1]) == 0 {
				t.Errorf("%s: want work for %d workers", c.name, workers)
			}
		}
	}
}

// TestSameTileTwice has a grid with an axis that does not divide the output, as in MPK's own diamond: its
// blocks would write the same tile. The layer is refused, and accepted where they add to the tile.
func TestSameTileTwice(t *testing.T) {
	t.Parallel()
	for _, folds := range []bool{false, true} {
		g := New("diamond")
		x, y := g.NewInput("x", dtype.F32, 8, 4), g.NewOutput("y", dtype.F32, 4, 4)
		b := NewBlock(Dim3{X: 2, Y: 4}, Dim3{X: 128}, 1, 0)
		b.NewInput(x, Map{-1, 0, -1}, -1)
		b.NewOutput(y, Along(1), nil)
		if folds {
			b.Folds = []int{Y}
		}
		err := g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		if !folds {
			want := "task graph diamond, layer 0, output 0, axis 1: want blocks that write different elements, or an axis in Folds, got 4 blocks that write the same ones"
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		tg := tasksOf(t, g, 3)
		pairs := conflicts(tg)
		if wrong, ends := ordered(tg.Plan, pairs); len(pairs) != 2*6 || len(wrong) > 0 || !ends {
			t.Errorf("%d pairs, %v without an order; queues end: %v", len(pairs), wrong, ends)
		}
		for i, task := range tg.Plan.Tasks {
			if want := tg.places[i].block[Y] > 0; (task.Access[1].Perm == perm.Reduce) != want {
				t.Errorf("block %v: permission %v", tg.places[i].block, task.Access[1].Perm)
			}
		}
	}
}

// TestErrors checks what MPK asserts: each is an error with its place.
func TestErrors(t *testing.T) {
	t.Parallel()
	for want, build := range map[string]func(g *Graph, x, y *DTensor) error{
		"layer 0: want a block graph, got nil": func(g *Graph, x, y *DTensor) error { return g.Customized(nil, nil, nil) },
		"layer 0: want 1 inputs, got 0": func(g *Graph, x, y *DTensor) error {
			return g.Customized(nil, []*DTensor{y}, simple(x, y, Dim3{X: 2}, Along(0), Along(0)))
		},
		"layer 0, input 0: want f32[6, 4], got f32[4, 6]": func(g *Graph, x, y *DTensor) error {
			return g.Customized([]*DTensor{y}, []*DTensor{y}, simple(x, y, Dim3{X: 2}, Along(0), Along(0)))
		},
		"layer 0, input 0: want a tensor of the graph, got one of another graph": func(g *Graph, x, y *DTensor) error {
			return g.Customized([]*DTensor{New("other").NewInput("x", dtype.F32, 6, 4)}, []*DTensor{y}, simple(x, y, Dim3{X: 2}, Along(0), Along(0)))
		},
		"layer 0, output 0: want a tensor that layers write, got an input of the graph": func(g *Graph, x, y *DTensor) error {
			return g.Customized([]*DTensor{x}, []*DTensor{x}, simple(x, x, Dim3{X: 2}, Along(0), Along(0)))
		},
		"layer 0, input 0, axis 2: want a dimension below 2 for axis x of the grid, got 2": func(g *Graph, x, y *DTensor) error {
			return g.Customized([]*DTensor{x}, []*DTensor{y}, simple(x, y, Dim3{X: 2}, Along(2), Along(0)))
		},
		"layer 0, input 0, axis 1: want one axis of the grid for each dimension, got x and y": func(g *Graph, x, y *DTensor) error {
			return g.Customized([]*DTensor{x}, []*DTensor{y}, simple(x, y, Dim3{X: 2, Y: 2}, Map{1, 1, -1}, Map{0, 1, -1}))
		},
		"layer 0, input 0, axis 1: want as many blocks as there are tiles of 1 elements of 4, 4, got 5": func(g *Graph, x, y *DTensor) error {
			return g.Customized([]*DTensor{x}, []*DTensor{y}, simple(x, y, Dim3{X: 5}, Along(1), Along(0)))
		},
		"layer 0: want at most 1024 threads in a block, got 2048": func(g *Graph, x, y *DTensor) error {
			b := simple(x, y, Dim3{X: 2}, Along(0), Along(0))
			b.Threads = Dim3{X: 64, Y: 32}
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, axis 0: want a number of blocks that clusters divide, got 4 by 3": func(g *Graph, x, y *DTensor) error {
			b := simple(x, y, Dim3{X: 4}, Along(1), Along(0))
			b.Cluster = Dim3{X: 3}
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0: want an output, got none": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{X: 2}, Dim3{}, 1, 0)
			b.NewInput(x, None, -1)
			return g.Customized([]*DTensor{x}, nil, b)
		},
		"layer 0: want axes from X to Z to fold along, got 3": func(g *Graph, x, y *DTensor) error {
			b := simple(x, y, Dim3{X: 2}, Along(0), Along(0))
			b.Folds = []int{3}
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, output 0, axis 0: want an output that an axis in Folds does not divide, got one that it divides": func(g *Graph, x, y *DTensor) error {
			b := simple(x, y, Dim3{X: 2}, Along(0), Along(0))
			b.Folds = []int{X}
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, input 0, axis 1: want an extent that 3 rounds of the for-loop divide, got 4": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{X: 2}, Dim3{}, 3, 0)
			b.NewInput(x, Along(0), 1)
			b.NewOutput(y, Along(0), nil)
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, input 0, axis 2: want a dimension below 2 for the for-loop, got 2": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{X: 2}, Dim3{}, 3, 0)
			b.NewInput(x, Along(0), 2)
			b.NewOutput(y, Along(0), nil)
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, matmul, axis 1: want tiles [m, k] and [k, n], got [6, 4] and [6, 4]": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{}, Dim3{}, 1, 0)
			s := b.NewInput(x, None, -1)
			b.NewOutput(y, None, b.Matmul(s, s))
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, output 0: want a tile [4, 6], got [6, 4]": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{}, Dim3{}, 1, 0)
			b.NewOutput(y, None, b.Square(b.NewInput(x, None, -1)))
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, output 0: want a tile that ForLoopAccum has summed over the for-loop, got one of a single round": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{}, Dim3{}, 2, 0)
			b.NewOutput(y, None, b.Square(b.NewInput(x, None, 0)))
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, add, operand 1: want tiles that are all of one round of the for-loop, or all of its end, got both": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{}, Dim3{}, 2, 0)
			s := b.NewInput(x, None, 0)
			b.NewOutput(y, None, b.Add(b.ForLoopAccum(s), s))
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0: want tiles that take at most 100 bytes, got 192 bytes in tiles": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{}, Dim3{}, 1, 0)
			z := g.NewTensor("z", dtype.F32, 6, 4)
			b.NewOutput(z, None, b.Square(b.NewInput(x, None, -1)))
			b.Budget = 100
			return g.Customized([]*DTensor{x}, []*DTensor{z}, b)
		},
		"layer 0, reduction to dim x, axis 1: want an extent of 1 or more that divides 4, got 3": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{}, Dim3{}, 1, 3)
			b.NewOutput(y, None, b.ReductionToDimX(b.NewInput(x, None, -1), 1))
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, reduction, axis 2: want a dimension below 2, got 2": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{}, Dim3{}, 1, 3)
			b.NewOutput(y, None, b.Reduction(b.NewInput(x, None, -1), 2))
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, input 0, axis 2: want a dimension of the tile of a tensor, and an axis from X to Z, got axis 0": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{}, Dim3{}, 1, 3)
			b.NewInput(x, None, -1).Bound(2, X, Affine{}, Affine{})
			b.NewOutput(y, None, nil)
			return g.Customized([]*DTensor{x}, []*DTensor{y}, b)
		},
		"layer 0, square, operand 0: want elements of f32, got i32": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{}, Dim3{}, 1, 0)
			z := g.NewInput("z", dtype.I32, 4, 6)
			b.NewOutput(y, None, b.Square(b.NewInput(z, None, -1)))
			return g.Customized([]*DTensor{z}, []*DTensor{y}, b)
		},
		"layer 0, add: want tiles of one shape, or with extents of 1, got [6, 4] and [4, 6]": func(g *Graph, x, y *DTensor) error {
			b := NewBlock(Dim3{}, Dim3{}, 1, 0)
			b.NewOutput(y, None, b.Add(b.NewInput(x, None, -1), b.NewInput(y, None, -1)))
			return g.Customized([]*DTensor{x, y}, []*DTensor{y}, b)
		},
	} {
		g := New("")
		x, y := g.NewInput("x", dtype.F32, 6, 4), g.NewOutput("y", dtype.F32, 4, 6)
		err := build(g, x, y)
		if e, ok := err.(*Error); !ok || err.Error() != "task graph, "+want {
			t.Errorf("got  %v (%T)\nwant %s", err, e, want)
		}
		if len(g.layers) > 0 {
			t.Errorf("%s: the layer was added", want)
		}
	}
	g := New("")
	x, y := g.NewInput("x", dtype.F32, 6, 4), g.NewOutput("y", dtype.F32, 4, 6)
	b := simple(x, y, Dim3{X: 2}, Along(0), Along(0))
	if err := g.RegisterTask(b, "f"); err == nil || err.Error() != `task graph: want a block graph of a layer, got another, for task "f"` {
		t.Errorf("got %v", err)
	}
	if err := g.Customized([]*DTensor{x}, []*DTensor{y}, b); err != nil {
		t.Fatal(err)
	}
	if err := g.RegisterTask(b, "f"); err != nil {
		t.Fatal(err)
	}
	if err := g.RegisterTask(b, "h"); err == nil || err.Error() != `task graph, f 0: want one name for its task, got "f" and "h"` {
		t.Errorf("got %v", err)
	}
	tg, err := g.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tg.Load(nil); err == nil || err.Error() != `task graph, f 0: want a function, or operators in its block graph, got none for "f"` {
		t.Errorf("got %v", err)
	}
	// A tensor that nothing has written.
	g = New("unwritten")
	y, z := g.NewTensor("y", dtype.F32, 4), g.NewOutput("z", dtype.F32, 4)
	layerOf(t, g, Dim3{X: 2}, []operand{{y, Along(0)}}, []operand{{z, Along(0)}})
	if _, err := g.Tasks(); err == nil {
		t.Error("a layer reads what none has written, and was accepted")
	} else if _, ok := err.(*plan.Error); !ok {
		t.Errorf("want a *plan.Error, got %v", err)
	}
}

// simple returns a block graph with an input and an output that a function computes.
func simple(x, y *DTensor, grid Dim3, in, out Map) *Block {
	b := NewBlock(grid, Dim3{X: 128}, 1, 0)
	b.NewInput(x, in, -1)
	b.NewOutput(y, out, nil)
	return b
}

// TestCausal has blocks that read all rows up to their own: block i comes after i+1 blocks.
func TestCausal(t *testing.T) {
	t.Parallel()
	g := New("causal")
	x, k, o := g.NewInput("x", dtype.F32, 20, 3), g.NewTensor("k", dtype.F32, 20, 3), g.NewOutput("o", dtype.F32, 20, 3)
	layerOf(t, g, Dim3{X: 5}, []operand{{x, Along(0)}}, []operand{{k, Along(0)}})
	b := NewBlock(Dim3{X: 5}, Dim3{}, 1, 0)
	b.NewInput(k, None, -1).Bound(0, X, Affine{}, Affine{4, 4})
	b.NewOutput(o, Along(0), nil)
	if err := g.Customized([]*DTensor{k}, []*DTensor{o}, b); err != nil {
		t.Fatal(err)
	}
	tg := tasksOf(t, g, 2)
	for i := range 5 {
		got := slices.Sorted(slices.Values(tg.Plan.Deps.Preds(5 + i)))
		if want := []int32{0, 1, 2, 3, 4}[:i+1]; !slices.Equal(got, want) {
			t.Errorf("block %d comes after %v, want %v", i, got, want)
		}
		if task := &tg.Plan.Tasks[5+i]; task.Tile != i+1 || task.Over != 5 || !slices.Equal(task.Access[0].Footprint, region.Footprint{region.Between(0, [2]int{}, [2]int{4, 4}), {}}) {
			t.Errorf("block %d is tile %d of %d with %+v, want tiles of one step", i, task.Tile, task.Over, task.Access[0].Footprint)
		}
	}
	e := EventsOf(tg.Plan)
	if len(e.List) != 5 || e.Pairs() != 15 || e.MaxFanIn() != 5 || fmt.Sprint(e.Trigger(0)) != "[0 1 2 3 4]" || fmt.Sprint(e.Trigger(4)) != "[4]" {
		t.Errorf("events %+v", e)
	}
}

// TestClusters checks that blocks of a cluster follow each other.
func TestClusters(t *testing.T) {
	t.Parallel()
	g := New("clusters")
	x, y := g.NewInput("x", dtype.F32, 4, 4), g.NewOutput("y", dtype.F32, 4, 4)
	b := simple(x, y, Dim3{X: 4, Y: 2}, Map{0, 1, -1}, Map{0, 1, -1})
	b.Cluster = Dim3{X: 2}
	if err := g.Customized([]*DTensor{x}, []*DTensor{y}, b); err != nil {
		t.Fatal(err)
	}
	tg := tasksOf(t, g, 1)
	var got []string
	for i := range tg.Plan.Tasks {
		at := tg.Task(i)
		got = append(got, fmt.Sprint(at.Block[:2]))
		if want := at.Block[0]*16 + at.Block[1]*8; at.Outputs[0].Offset != want {
			t.Errorf("block %v begins at %d, want %d", at.Block, at.Outputs[0].Offset, want)
		}
	}
	if want := "[[0 0] [1 0] [0 1] [1 1] [2 0] [3 0] [2 1] [3 1]]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
