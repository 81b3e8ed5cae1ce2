package opgen_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/clip"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/rmsprop"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// What Apply was given may change from run to run, without another plan.
func ExampleSet() {
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx, g := context.Background(), graph.New(1)
		x := g.Input("x", dtype.F32, 3)
		y := clip.Apply(g, clip.Defaults(), x, -1, 1)
		program, err := s.Inference(ctx, g, y)
		if err != nil {
			return err
		}
		for _, values := range [][]opgen.Value{nil, {opgen.Set(y.Node(), clip.SlotHigh, 4.0)}} {
			if err := program.Run(ctx, append(values, opgen.With(x, []float32{-3, 2, 5}))...); err != nil {
				return err
			}
			got, err := opgen.Fetch[float32](program, y)
			if err != nil {
				return err
			}
			fmt.Println(got)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// [-1 1 1]
	// [-1 2 4]
}

// The learning rate of all weights changes from a step on. With a rate of 0, the loss stays what it is.
func ExampleSetUpdates() {
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx := context.Background()
		g, x, z := doubles(1)
		y := g.Input("y", dtype.F32, 1, 1)
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
		step, err := s.Training(ctx, g, loss, rmsprop.Optimizer(rmsprop.Defaults(), 0.01))
		if err != nil {
			return err
		}
		var losses []float32
		for i := range 4 {
			values := []opgen.Value{opgen.With(x, []float32{1}), opgen.With(y, []float32{2})}
			if i == 1 {
				values = append(values, opgen.SetUpdates(rmsprop.SlotRate, 0.0))
			}
			if err := step.Run(ctx, values...); err != nil {
				return err
			}
			l, err := opgen.Fetch[float32](step, loss)
			if err != nil {
				return err
			}
			losses = append(losses, l...)
		}
		fmt.Println(losses[1] < losses[0], losses[2] == losses[1], losses[3] == losses[1])
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: true true true
}
