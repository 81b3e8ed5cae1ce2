// Command train trains a network with sloped_relu. It prints the loss of each step, and the trained slopes.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/slopedrelu"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

func main() {
	if err := train(); err != nil {
		log.Fatal(err)
	}
}

func train() error {
	g := graph.New(1)
	x, label := g.Input("x", dtype.F32, 4, 3), g.Input("label", dtype.I32, 4, 1)
	hidden := linear.Defaults(5)
	y := linear.Apply(g, hidden, x, graph.Named("hidden"))
	y = slopedrelu.Apply(g, slopedrelu.Defaults(), y, graph.Named("sloped_relu"))
	out := linear.Defaults(2)
	y = linear.Apply(g, out, y, graph.Named("out"))
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(y), scce.Label(label))
	descent := sgd.Defaults(0.5)
	step, err := graph.Training(g, loss, sgd.Optimizer(descent))
	if err != nil {
		return err
	}
	start, err := graph.Initialization(step)
	if err != nil {
		return err
	}
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		return err
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
	defer e.Close()
	var in *engine.Instance
	for _, p := range []*graph.Program{start, step} {
		pl, err := planner.Build(p)
		if err != nil {
			return err
		}
		if in, err = e.Load(pl); err != nil {
			return err
		}
		if p == start {
			if err := in.Run(context.Background()); err != nil {
				return err
			}
		}
	}
	for range 8 {
		if err := engine.Feed(in, x.Name(), []float32{1, 2, -1, -2, 0, 1, 3, -1, 0, -1, -1, -1}); err != nil {
			return err
		}
		if err := engine.Feed(in, label.Name(), []int32{0, 1, 0, 1}); err != nil {
			return err
		}
		if err := in.Run(context.Background()); err != nil {
			return err
		}
		l, err := engine.Fetch[float32](in, loss.Name())
		if err != nil {
			return err
		}
		fmt.Println("loss", l[0])
	}
	slopes, _, err := engine.Variable[float32](e, "sloped_relu.weight")
	if err != nil {
		return err
	}
	fmt.Println("slopes", slopes)
	return nil
}
