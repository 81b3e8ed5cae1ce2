package opgen_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/cumsum"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
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

// In checked mode, a kernel that does not do what its spec says is an error that names the operator, the
// task, the tensor and the element. So is an input that is wrong: an index beyond its bound.
func ExampleChecked() {
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx := context.Background()
		g := graph.New(1)
		index := g.Input("index", dtype.I64, 2)
		p, err := s.Inference(ctx, g, embedding.Apply(g, embedding.Defaults(5, 3), index))
		if err != nil {
			return err
		}
		err = p.Run(ctx, opgen.With(index, []int64{4, 5}))
		var broken checked.Errors
		if errors.As(err, &broken) {
			for _, e := range broken {
				fmt.Println(e.Rule == checked.Below, e.Operator, e.Task, e.Slot, e.Index, e.Want, e.Got)
			}
			return nil
		}
		return err
	}, opgen.Checked())
	if err != nil {
		fmt.Println(err)
	}
	// Output: true embedding forward input [1] an index from 0 to 4 5
}

// A session may have operators of several catalogues. Each has a function that registers its operators; here,
// each is made of one operator, which runs its formula.
func ExampleRegister() {
	only := func(o *graph.Operator) func(*task.Registry) error {
		return func(r *task.Registry) error { return formula.Register(r, op.CPU, &o.Operator) }
	}
	err := opgen.Do(only(softmax.Operator), func(s *opgen.Session) error {
		ctx := context.Background()
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 2)
		y := cumsum.Apply(g, cumsum.Defaults(), softmax.Apply(g, softmax.Defaults(), x))
		p, err := s.Inference(ctx, g, y)
		if err != nil {
			return err
		}
		if err := p.Run(ctx, opgen.With(x, []float32{1, 1})); err != nil {
			return err
		}
		sums, err := opgen.Fetch[float32](p, y)
		fmt.Println(sums)
		return err
	}, opgen.Register(only(cumsum.Operator)))
	if err != nil {
		fmt.Println(err)
	}
	// Output: [0.5 1]
}
