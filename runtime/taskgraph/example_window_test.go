package taskgraph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/taskgraph"
)

// Blocks of running sums: block i reads the first 2*i + 2 elements and writes two. A function computes them.
// A second layer, of operators, keeps the root of what it reads.
func ExampleSTensor_Bound() {
	g := taskgraph.New("running")
	x, y, root := g.NewInput("x", dtype.F32, 6), g.NewOutput("y", dtype.F32, 6), g.NewState("root", dtype.F32, 1)

	running := taskgraph.NewBlock(taskgraph.Dim3{X: 3}, taskgraph.Dim3{X: 32}, 1, 0)
	running.NewInput(x, taskgraph.None, -1).Bound(0, taskgraph.X, taskgraph.Affine{}, taskgraph.Affine{Scale: 2, Shift: 2})
	running.NewOutput(y, taskgraph.Along(0), nil)

	norm := taskgraph.NewBlock(taskgraph.Dim3{}, taskgraph.Dim3{X: 32}, 1, 0)
	tile := norm.NewInput(y, taskgraph.None, -1)
	twice := norm.Add(tile, tile)
	half := norm.Binary("least", twice, tile, func(x, y float32) float32 { return min(x, y) })
	norm.NewOutput(root, taskgraph.None, norm.Sqrt(norm.Reduction(half, 0)))

	err := errors.Join(
		g.Customized([]*taskgraph.DTensor{x}, []*taskgraph.DTensor{y}, running), g.RegisterTask(running, "running"),
		g.Customized([]*taskgraph.DTensor{y}, []*taskgraph.DTensor{root}, norm))
	if err != nil {
		fmt.Println(err)
		return
	}
	var wrong *taskgraph.Error
	if err := g.RegisterTask(running, "again"); errors.As(err, &wrong) {
		fmt.Println("want", wrong.Want)
	}
	tg, err := g.Tasks()
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range tg.Plan.Tasks {
		t := tg.Task(i)
		fmt.Println(t.Name, t.Block[taskgraph.X], t.Block[taskgraph.Y], t.Block[taskgraph.Z], "reads", t.Inputs[0].Dims)
	}
	in, err := tg.Load(map[string]taskgraph.Func{"running": func(b *taskgraph.BlockOf) error {
		x, y := &b.Inputs[0], &b.Outputs[0]
		for at := 2 * b.At[taskgraph.X]; at < 2*b.At[taskgraph.X]+2; at++ {
			sum := float32(0)
			for i := range at + 1 {
				sum += taskgraph.Elements[float32](x)[x.At(i)]
			}
			taskgraph.Elements[float32](y)[y.At(at)] = sum
		}
		return nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	copy(in.Floats(x), []float32{1, 1, 1, 1, 1, 4})
	if err := in.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(y.Name(), y.Dims(), "of", len(in.Bytes(y)), "bytes:", in.Floats(y), in.Floats(root))
	fmt.Println("a block has", taskgraph.DefaultBudget>>10, "KiB for its tiles")
	// Output:
	// want one name for its task
	// running 0 0 0 reads [2]
	// running 1 0 0 reads [4]
	// running 2 0 0 reads [6]
	//  0 0 0 reads [6]
	// y [6] of 24 bytes: [1 2 3 4 5 9] [4.8989797]
	// a block has 96 KiB for its tiles
}
