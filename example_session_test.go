package opgen_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// doubles returns a graph for batches of a size, its input and its output.
func doubles(size int) (g *graph.Graph, x, z graph.Tensor) {
	g = graph.New(1)
	x = g.Input("x", dtype.F32, size, 1)
	return g, x, linear.Apply(g, linear.Defaults(1).WithUseBias(false), x, graph.Named("double"))
}

// One session trains and saves its weights. Another loads them and answers, with batches of another size.
func ExampleSession_LoadVariables() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "opgen")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "weights.safetensors")
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g, x, z := doubles(2)
		y := g.Input("y", dtype.F32, 2, 1)
		optimizer := adam.Defaults().WithAlpha(0.05)
		program, err := graph.Training(g, mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y)), adam.Optimizer(optimizer))
		if err != nil {
			return err
		}
		step, err := s.Load(ctx, program)
		if err != nil {
			return err
		}
		for range 500 {
			if err := step.Run(ctx, opgen.With(x, []float32{1, 2}), opgen.With(y, []float32{2, 4})); err != nil {
				return err
			}
		}
		return s.SaveVariables(path)
	}, opgen.MemoryLimit(1<<20))
	err = errors.Join(err, opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g, x, z := doubles(3)
		program, err := s.Inference(ctx, g, z)
		if err != nil {
			return err
		}
		if err := s.LoadVariables(path); err != nil {
			return err
		}
		if err := program.Run(ctx, opgen.With(x, []float32{1, 10, 100})); err != nil {
			return err
		}
		answers, err := opgen.Fetch[float32](program, z)
		fmt.Printf("%.1f\n", answers)
		return err
	}, opgen.Backend(cpu.New(cpu.Config{Workers: 1}))))
	if err != nil {
		fmt.Println(err)
	}
	// Output: [2.0 20.0 200.0]
}
