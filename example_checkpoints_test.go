package opgen_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/loader"
)

// A training writes a checkpoint after every second step. It is interrupted after three of them, and goes on
// from the last checkpoint: with its weights, its number of steps, and the batches that follow.
func ExampleCheckpoints() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "opgen")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	kept := opgen.Checkpoints{Dir: dir}
	batches, err := loader.New(loader.Config{Samples: 6, Batch: 2, Epochs: 2, Seed: 1, Ahead: 1},
		func(_ context.Context, samples []int) ([]float32, error) {
			return []float32{float32(samples[0]), float32(samples[1])}, nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	train := func(s *opgen.Session) error {
		g, x, z := doubles(2)
		y := g.Input("y", dtype.F32, 2, 1)
		loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
		step, err := s.Training(ctx, g, loss, sgd.Optimizer(sgd.Defaults(0.01)))
		if err != nil {
			return err
		}
		at, err := kept.Resume(s)
		if err != nil {
			return err
		}
		for b, err := range batches.From(ctx, at.Step) {
			if err != nil {
				return err
			}
			labels := []float32{2 * b.Data[0], 2 * b.Data[1]}
			if err := step.Run(ctx, opgen.With(x, b.Data), opgen.With(y, labels)); err != nil {
				return err
			}
			fmt.Println("step", b.Step, b.Data)
			if (b.Step+1)%2 == 0 {
				if err := kept.Save(s, opgen.Position{Step: b.Step + 1}); err != nil {
					return err
				}
			}
			if at.Step == 0 && b.Step == 2 {
				return fmt.Errorf("interrupted")
			}
		}
		return nil
	}
	fmt.Println(opgen.Do(catalogue.Register, train))
	fmt.Println(opgen.Do(catalogue.Register, train))
	// Output:
	// step 0 [1 5]
	// step 1 [2 0]
	// step 2 [3 4]
	// interrupted
	// step 2 [3 4]
	// step 3 [1 3]
	// step 4 [5 4]
	// step 5 [2 0]
	// <nil>
}

// Another program calls the weight by a name of its own, and has its variables in several files with an
// index.
func ExampleNames() {
	dir, err := os.MkdirTemp("", "opgen")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	index := filepath.Join(dir, "model.safetensors.index.json")
	names := opgen.Names(map[string]string{"double.weight": "layers.0.kernel"})
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g, _, z := doubles(1)
		if _, err := s.Inference(context.Background(), g, z); err != nil {
			return err
		}
		if err := s.SaveVariables(index, names, opgen.MaxFile(1<<30)); err != nil {
			return err
		}
		fmt.Println(s.LoadVariables(index, names))
		return s.LoadVariables(index)
	})
	fmt.Println(err != nil)
	// Output:
	// <nil>
	// true
}
