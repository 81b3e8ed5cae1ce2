// Package rows uses graphs of tasks as another module does: by hand, with the words of the persistent kernels
// of Mirage, and by plans in tiles of operators with formulas.
package rows

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/kernelgraph/generated/blur"
	own "example.com/kernelgraph/generated/catalogue"
	"example.com/kernelgraph/generated/paged"
	"example.com/kernelgraph/generated/twice"
	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	all "github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/taskgraph"
)

// operators registers those of this module and those of opgen.
func operators(r *task.Registry) error { return errors.Join(own.Register(r), all.Register(r)) }

// product is a layer that a test describes: y = x w, of 6 x 8 and 8 x 10 elements.
type product struct {
	g       *taskgraph.Graph
	x, w, y *taskgraph.DTensor
}

func newProduct() product {
	g := taskgraph.New("product")
	return product{g, g.NewInput("x", dtype.F32, 6, 8), g.NewInput("w", dtype.F32, 8, 10), g.NewOutput("y", dtype.F32, 6, 10)}
}

// add adds the layer.
func (p *product) add(b *taskgraph.Block) error {
	return p.g.Customized([]*taskgraph.DTensor{p.x, p.w}, []*taskgraph.DTensor{p.y}, b)
}

// run runs the graph on several workers, and compares the product with loops. All elements are small whole
// numbers, so every order of sums is exact.
func (p *product) run(t *testing.T, functions map[string]taskgraph.Func) {
	t.Helper()
	for workers := 1; workers <= 4; workers++ {
		tg, err := p.g.Tasks(planner.Workers(workers))
		if err != nil {
			t.Fatal(err)
		}
		in, err := tg.Load(functions)
		if err != nil {
			t.Fatal(err)
		}
		x, w, y := in.Floats(p.x), in.Floats(p.w), in.Floats(p.y)
		for i := range x {
			x[i] = float32(i%7) - 3
		}
		for i := range w {
			w[i] = float32(i%5) - 2
		}
		if err := in.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			for j := range 10 {
				var want float32
				for k := range 8 {
					want += x[i*8+k] * w[k*10+j]
				}
				if got := y[i*10+j]; got != want {
					t.Fatalf("%d workers: y[%d, %d] is %v, want %v", workers, i, j, got, want)
				}
			}
		}
	}
}

// refused fails unless an error is one of package taskgraph that contains a text.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	var e *taskgraph.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestBlockGraph computes blocks by operators on tiles, and adds the layer to the kernel graph (rows 89 and
// 96).
func TestBlockGraph(t *testing.T) {
	p := newProduct()
	b := taskgraph.NewBlock(taskgraph.Dim3{X: 3, Y: 2}, taskgraph.Dim3{X: 128}, 1, 0)
	x := b.NewInput(p.x, taskgraph.Along(0), -1)
	w := b.NewInput(p.w, taskgraph.Map{X: -1, Y: 1, Z: -1}, -1)
	y := b.Matmul(x, w)
	b.NewOutput(p.y, taskgraph.Map{X: 0, Y: 1, Z: -1}, y)
	if got := [][]int{x.Dims(), w.Dims(), y.Dims()}; !slices.EqualFunc(got, [][]int{{2, 8}, {8, 5}, {2, 5}}, slices.Equal) {
		t.Errorf("tiles have the shapes %v", got)
	}
	refused(t, p.g.Customized([]*taskgraph.DTensor{p.x}, []*taskgraph.DTensor{p.y}, b), "want 2 inputs, got 1")
	refused(t, p.g.Customized([]*taskgraph.DTensor{p.w, p.x}, []*taskgraph.DTensor{p.y}, b), "want f32[6, 8], got f32[8, 10]")
	if err := p.add(b); err != nil {
		t.Fatal(err)
	}
	p.run(t, nil)
}

// TestClusters lets blocks of a cluster follow each other (row 92).
func TestClusters(t *testing.T) {
	p := newProduct()
	b := taskgraph.NewBlock(taskgraph.Dim3{X: 6, Y: 2}, taskgraph.Dim3{}, 1, 0)
	b.Cluster = taskgraph.Dim3{X: 3}
	y := b.Matmul(b.NewInput(p.x, taskgraph.Along(0), -1), b.NewInput(p.w, taskgraph.Map{X: -1, Y: 1, Z: -1}, -1))
	b.NewOutput(p.y, taskgraph.Map{X: 0, Y: 1, Z: -1}, y)
	if err := p.add(b); err != nil {
		t.Fatal(err)
	}
	tg, err := p.g.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	for i := range tg.Plan.Tasks {
		if at, first := tg.Task(i).Block, tg.Task(i-i%3).Block; at[0]/3 != first[0]/3 || at[1] != first[1] {
			t.Errorf("task %d is block %v, in the cluster of block %v", i, at, first)
		}
	}
	p.run(t, nil)
	q := newProduct()
	b = taskgraph.NewBlock(taskgraph.Dim3{X: 3}, taskgraph.Dim3{}, 1, 0)
	b.Cluster = taskgraph.Dim3{X: 2}
	b.NewInput(q.x, taskgraph.Along(0), -1)
	b.NewInput(q.w, taskgraph.None, -1)
	b.NewOutput(q.y, taskgraph.Along(0), nil)
	refused(t, q.add(b), "want a number of blocks that clusters divide, got 3 by 2")
}

// TestForLoop goes through the inner dimension in rounds (row 93).
func TestForLoop(t *testing.T) {
	for _, rounds := range []int{1, 2, 4, 8} {
		p := newProduct()
		b := taskgraph.NewBlock(taskgraph.Dim3{X: 2}, taskgraph.Dim3{}, rounds, 0)
		x, w := b.NewInput(p.x, taskgraph.None, 1), b.NewInput(p.w, taskgraph.Along(1), 0)
		b.NewOutput(p.y, taskgraph.Along(1), b.ForLoopAccum(b.Matmul(x, w)))
		if x.Dims()[1] != 8/rounds || w.Dims()[0] != 8/rounds {
			t.Errorf("%d rounds: tiles %v and %v", rounds, x.Dims(), w.Dims())
		}
		if err := p.add(b); err != nil {
			t.Fatal(err)
		}
		p.run(t, nil)
	}
	p := newProduct()
	b := taskgraph.NewBlock(taskgraph.Dim3{X: 2}, taskgraph.Dim3{}, 3, 0)
	b.NewInput(p.x, taskgraph.None, 1)
	b.NewInput(p.w, taskgraph.Along(1), 0)
	b.NewOutput(p.y, taskgraph.Along(1), nil)
	refused(t, p.add(b), "want an extent that 3 rounds of the for-loop divide, got 8")
}

// TestFolds lets blocks add to one tile of the output, in the order of their numbers (row 94), computed by a
// function (row 97).
func TestFolds(t *testing.T) {
	p := newProduct()
	b := taskgraph.NewBlock(taskgraph.Dim3{X: 4, Y: 2}, taskgraph.Dim3{}, 1, 0)
	b.NewInput(p.x, taskgraph.Along(1), -1)
	b.NewInput(p.w, taskgraph.Map{X: 0, Y: 1, Z: -1}, -1)
	b.NewOutput(p.y, taskgraph.Map{X: -1, Y: 1, Z: -1}, nil)
	refused(t, p.add(b), "want blocks that write different elements, or an axis in Folds")
	b.Folds = []int{taskgraph.X}
	if err := p.add(b); err != nil {
		t.Fatal(err)
	}
	if err := p.g.RegisterTask(b, "part"); err != nil {
		t.Fatal(err)
	}
	part := func(at *taskgraph.BlockOf) error {
		x, w, y := &at.Inputs[0], &at.Inputs[1], &at.Outputs[0]
		xs, ws, ys := taskgraph.Elements[float32](x), taskgraph.Elements[float32](w), taskgraph.Elements[float32](y)
		for i := y.Box.Lo[0]; i < y.Box.Hi[0]; i++ {
			for j := y.Box.Lo[1]; j < y.Box.Hi[1]; j++ {
				if at.First {
					ys[y.At(i, j)] = 0
				}
				for k := w.Box.Lo[0]; k < w.Box.Hi[0]; k++ {
					ys[y.At(i, j)] += xs[x.At(i, k)] * ws[w.At(k, j)]
				}
			}
		}
		return nil
	}
	p.run(t, map[string]taskgraph.Func{"part": part})
	refused(t, p.g.RegisterTask(b, "again"), `want one name for its task, got "part" and "again"`)
	tg, err := p.g.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	_, err = tg.Load(nil)
	refused(t, err, "want a function, or operators in its block graph")
}

// TestAllocated places tiles in the memory of a block, within a budget (row 95).
func TestAllocated(t *testing.T) {
	p := newProduct()
	b := taskgraph.NewBlock(taskgraph.Dim3{X: 2}, taskgraph.Dim3{}, 2, 0)
	x, w := b.NewInput(p.x, taskgraph.None, 1), b.NewInput(p.w, taskgraph.Along(1), 0)
	sum := b.ForLoopAccum(b.Matmul(x, w))
	b.NewOutput(p.y, taskgraph.Along(1), sum)
	tiles, err := b.Allocated()
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i, a := range tiles {
		if a.Bytes != 4*a.Tile.Dims()[0]*a.Tile.Dims()[1] || a.Offset%16 != 0 {
			t.Errorf("tile %v takes %d bytes at %d", a.Tile.Dims(), a.Bytes, a.Offset)
		}
		most = max(most, a.Offset+a.Bytes)
		for _, c := range tiles[:i] {
			if together := a.Tile == sum || c.Tile == sum || a.Tile == w && c.Tile == x || a.Tile == x && c.Tile == w; together && a.Offset < c.Offset+c.Bytes && c.Offset < a.Offset+a.Bytes {
				t.Errorf("tiles %v and %v share memory", a.Tile.Dims(), c.Tile.Dims())
			}
		}
	}
	b.Budget = most
	if err := p.add(b); err != nil {
		t.Fatal(err)
	}
	b.Budget = most - 1
	refused(t, p.add(b), "bytes")
}

// TestTraining trains an ordinary network in tiles: forward, backward and updates, with the bits of whole
// operators (row 99).
func TestTraining(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 96, 64)
	y := linear.Apply(g, linear.Defaults(32), linear.Apply(g, linear.Defaults(96).WithActivation(activation.Relu), x))
	label := g.Input("label", dtype.F32, 96, 32)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(y), mse.Label(label))
	run := func(options ...opgen.Option) (out []float32, tiles map[string]int) {
		ctx := context.Background()
		err := opgen.Do(operators, func(s *opgen.Session) error {
			p, err := s.Training(ctx, g, loss, sgd.Optimizer(sgd.Defaults(0.1)), y)
			if err != nil {
				return err
			}
			tiles = tilesOf(p.Plan())
			in, zeros := make([]float32, 96*64), make([]float32, 96*32)
			for i := range in {
				in[i] = float32(i%9)/4 - 1
			}
			for range 3 {
				if err := p.Run(ctx, opgen.With(x, in), opgen.With(label, zeros)); err != nil {
					return err
				}
			}
			out, err = opgen.Fetch[float32](p, y)
			return err
		}, options...)
		if err != nil {
			t.Fatal(err)
		}
		return out, tiles
	}
	want, tiles := run()
	if len(tiles) > 0 {
		t.Errorf("a plan of whole tasks has tiles: %v", tiles)
	}
	for workers := 1; workers <= 3; workers++ {
		got, tiles := run(opgen.Tiled(), opgen.Workers(workers))
		if !slices.Equal(got, want) {
			t.Errorf("%d workers: other bits than those of whole tasks", workers)
		}
		for _, phase := range []string{"forward", "backward", "update"} {
			if tiles[phase] < 2 {
				t.Errorf("%d workers: tiles of phases are %v", workers, tiles)
			}
		}
	}
}

// tilesOf returns how many tiles each phase of a plan has.
func tilesOf(p *plan.Plan) map[string]int {
	n := map[string]int{}
	for i := range p.Tasks {
		if x := &p.Tasks[i]; x.Tile > 0 {
			n[p.Calls[x.Call].Phase]++
		}
	}
	return n
}

// TestValues selects pages by values, for a run of axes: tiles read their part of the list, and all pages
// (row 101).
func TestValues(t *testing.T) {
	g := graph.New(1)
	pages := twice.Apply(g, twice.Defaults(), g.Input("pages", dtype.F32, 12, 16))
	y := paged.Apply(g, paged.Defaults(), paged.List(g.Input("list", dtype.I32, 8, 6, 5)), paged.Pages(pages))
	p := build(t, g, []graph.Tensor{y})
	chain, _ := depth(p)
	sums, whole := 0, 0
	for i := range p.Tasks {
		switch x := &p.Tasks[i]; {
		case x.Tile == 0:
			whole++
		case p.Calls[x.Call].Node == "paged":
			sums++
			if n := len(p.Deps.Preds(i)); n < 2 {
				t.Errorf("%s waits for %d tiles, want all of those that make pages", p.Label(i), n)
			}
		}
	}
	if chain != 2 || sums < 8 || whole > 0 {
		t.Errorf("%d tiles, %d whole tasks, %d in a chain", sums, whole, chain)
	}
}

// TestLayersOverlap divides five layers: no chain of tasks is longer than the layers, in place and not, with
// memory that is used again and not (row 103).
func TestLayersOverlap(t *testing.T) {
	for name, apply := range map[string]func(g *graph.Graph, x graph.Tensor) graph.Tensor{
		"twice": func(g *graph.Graph, x graph.Tensor) graph.Tensor { return twice.Apply(g, twice.Defaults(), x) },
		"blur":  func(g *graph.Graph, x graph.Tensor) graph.Tensor { return blur.Apply(g, blur.Defaults(), x) },
	} {
		for _, apart := range []bool{false, true} {
			for _, opts := range [][]planner.Option{nil, {planner.Plain()}} {
				g := graph.New(1)
				y := g.Input("x", dtype.F32, 64, 16)
				var fetched []graph.Tensor
				for range 5 {
					y = apply(g, y)
					fetched = append(fetched, y)
				}
				if !apart {
					fetched = fetched[4:]
				}
				p := build(t, g, fetched, opts...)
				chain, widest := depth(p)
				// Memory that is used again lies at other rows of tiles than what was there before.
				if most := map[bool]int{true: 2, false: 4}[apart]; chain != 5 || widest > most || len(p.Tasks) < 40 {
					t.Errorf("%s, apart %v: %d tasks, %d in a chain, at most %d predecessors", name, apart, len(p.Tasks), chain, widest)
				}
			}
		}
	}
}

// build returns the plan of a graph in tiles, for four workers.
func build(t *testing.T, g *graph.Graph, fetched []graph.Tensor, opts ...planner.Option) *plan.Plan {
	t.Helper()
	prog, err := graph.Inference(g, fetched...)
	if err != nil {
		t.Fatal(err)
	}
	p, err := planner.Build(prog, append(opts, planner.Tiled(), planner.Workers(4))...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// depth returns how many tasks the longest chain of dependencies has, and the largest number of predecessors.
func depth(p *plan.Plan) (chain, widest int) {
	at := make([]int, len(p.Tasks))
	for t := range p.Tasks {
		preds := p.Deps.Preds(t)
		for _, s := range preds {
			at[t] = max(at[t], at[s])
		}
		at[t]++
		chain, widest = max(chain, at[t]), max(widest, len(preds))
	}
	return chain, widest
}
