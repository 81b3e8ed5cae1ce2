package taskgraph_test

import (
	"context"
	"fmt"
	"math"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/taskgraph"
)

// A layer of MPK: the root-mean-square norm and a product with weights, in one block graph. Three blocks
// compute four columns each, and go through the inner dimension in two rounds.
func Example() {
	g := taskgraph.New("rmsnorm_linear")
	input := g.NewInput("input", dtype.F32, 2, 8)
	weightNorm := g.NewInput("weight_norm", dtype.F32, 1, 8)
	weightLinear := g.NewInput("weight_linear", dtype.F32, 8, 12)
	output := g.NewOutput("output", dtype.F32, 2, 12)

	tb := taskgraph.NewBlock(taskgraph.Dim3{X: 3}, taskgraph.Dim3{X: 128}, 2, 1)
	x := tb.NewInput(input, taskgraph.None, 1)
	w := tb.NewInput(weightNorm, taskgraph.None, 1)
	m := tb.NewInput(weightLinear, taskgraph.Along(1), 0)
	product := tb.ForLoopAccum(tb.Matmul(tb.Mul(x, w), m))
	squares := tb.ForLoopAccum(tb.ReductionToDimX(tb.Square(x), 1))
	root := tb.Unary("mean and root", squares, func(v float32) float32 { return float32(math.Sqrt(float64(v) / 8)) })
	tb.NewOutput(output, taskgraph.Along(1), tb.Div(product, root))

	err := g.Customized([]*taskgraph.DTensor{input, weightNorm, weightLinear}, []*taskgraph.DTensor{output}, tb)
	if err == nil {
		err = g.RegisterTask(tb, "rmsnorm_linear")
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	tiles, err := tb.Allocated()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range tiles[:4] {
		fmt.Println("tile", a.Tile.Dims(), "takes", a.Bytes, "bytes at", a.Offset)
	}

	tg, err := g.Tasks(planner.Workers(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range tg.Plan.Tasks {
		t := tg.Task(i)
		fmt.Printf("%s %d: weights %v at byte %d, output %v at byte %d\n", t.Name, t.Block[0], t.Inputs[2].Dims, t.Inputs[2].Offset, t.Outputs[0].Dims, t.Outputs[0].Offset)
	}
	in, err := tg.Load(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 16 {
		in.Floats(input)[i] = float32(i%5) - 2
	}
	for i := range 8 {
		in.Floats(weightNorm)[i] = 1 + float32(i%2)
	}
	for i := range 96 {
		in.Floats(weightLinear)[i] = float32(i%7) / 4
	}
	if err := in.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", in.Floats(output)[:6])
	// Output:
	// tile [2 4] takes 32 bytes at 96
	// tile [1 4] takes 16 bytes at 0
	// tile [2 4] takes 32 bytes at 128
	// tile [4 4] takes 64 bytes at 0
	// rmsnorm_linear 0: weights [8 4] at byte 0, output [2 4] at byte 0
	// rmsnorm_linear 1: weights [8 4] at byte 16, output [2 4] at byte 16
	// rmsnorm_linear 2: weights [8 4] at byte 32, output [2 4] at byte 32
	// [-2.556 -6.025 -4.382 -0.183 -1.095 -0.730]
}

// Tasks with the same predecessors wait for one event. Two rows of tiles come after the row of tiles before.
func ExampleEventsOf() {
	g := taskgraph.New("events")
	x, h, y := g.NewInput("x", dtype.F32, 8, 8), g.NewTensor("h", dtype.F32, 8, 8), g.NewOutput("y", dtype.F32, 8, 8)
	layer := func(grid taskgraph.Dim3, from, to *taskgraph.DTensor, in, out taskgraph.Map) error {
		b := taskgraph.NewBlock(grid, taskgraph.Dim3{X: 32}, 1, 0)
		b.NewInput(from, in, -1)
		b.NewOutput(to, out, nil)
		return g.Customized([]*taskgraph.DTensor{from}, []*taskgraph.DTensor{to}, b)
	}
	both := taskgraph.Map{X: 0, Y: 1, Z: -1}
	if err := layer(taskgraph.Dim3{X: 2, Y: 2}, x, h, both, both); err != nil {
		fmt.Println(err)
		return
	}
	if err := layer(taskgraph.Dim3{X: 2, Y: 4}, h, y, taskgraph.Along(0), both); err != nil {
		fmt.Println(err)
		return
	}
	tg, err := g.Tasks()
	if err != nil {
		fmt.Println(err)
		return
	}
	e := taskgraph.EventsOf(tg.Plan)
	for i := range e.List {
		fmt.Println("event", i, "has", e.List[i].NumTriggers(), "triggers,", e.List[i].Triggers, "before", e.List[i].Dependent)
	}
	fmt.Println("task 0 triggers", e.Trigger(0), "and task 4 waits for", e.Dependent[4])
	fmt.Println(e.Pairs(), "pairs, at most", e.MaxFanIn(), "triggers")
	// Output:
	// event 0 has 2 triggers, [0 1] before [4 5 6 7]
	// event 1 has 2 triggers, [2 3] before [8 9 10 11]
	// task 0 triggers [0] and task 4 waits for 0
	// 16 pairs, at most 2 triggers
}
