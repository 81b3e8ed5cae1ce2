package engine_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// An engine loads a plan and runs it. A program with a session does not need this: package opgen does it.
func Example() {
	if err := run(); err != nil {
		fmt.Println(err)
	}
	// Output: [0.5 0.5] <nil>
}

func run() (err error) {
	g := graph.New(1)
	y := softmax.Apply(g, softmax.Defaults(), g.Input("x", dtype.F32, 2), graph.Named("y"))
	program, err := graph.Inference(g, y)
	if err != nil {
		return err
	}
	plan, err := planner.Build(program)
	if err != nil {
		return err
	}
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		return err
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
	in, err := e.Load(plan)
	if err != nil {
		return err
	}
	if err := engine.Feed(in, "x", []float32{3, 3}); err != nil {
		return err
	}
	if err := in.Run(context.Background()); err != nil {
		return err
	}
	fmt.Println(engine.Fetch[float32](in, y.Name()))
	return e.Close()
}
