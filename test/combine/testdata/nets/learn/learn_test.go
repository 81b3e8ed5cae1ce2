// Package learn trains a model of operators of three modules.
package learn

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	layers "example.com/go-layers/v2/generated/catalogue"
	inner "example.com/go-layers/v2/generated/dense"
	"example.com/go-layers/v2/generated/squash"
	"example.com/nets/generated/catalogue"
	"example.com/nets/generated/dense"
	"example.com/nets/generated/double"
	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	all "github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// others registers the operators of the modules that this one uses.
var others = []opgen.Option{opgen.Register(layers.Register), opgen.Register(all.Register)}

// network is a model with two operators named dense, of two modules.
func network() (g *graph.Graph, x, y, z, loss graph.Tensor) {
	g = graph.New(3)
	x, y = g.Input("x", dtype.F32, 4, 2), g.Input("y", dtype.F32, 4, 1)
	h := inner.Apply(g, inner.Defaults(8, activation.Tanh).WithBound(squash.Tanh), x)
	h = dense.Apply(g, dense.Defaults(6).WithSquash(squash.Softsign), h)
	h = elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), double.Apply(g, double.Defaults(), h))
	z = linear.Apply(g, linear.Defaults(1), h)
	return g, x, y, z, mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
}

// TestTrain trains the model, saves its weights, and answers with them in another session.
func TestTrain(t *testing.T) {
	inputs, labels := []float32{0, 0, 0, 1, 1, 0, 1, 1}, []float32{0, 1, 1, 0}
	file := filepath.Join(t.TempDir(), "weights.safetensors")
	var trained []float32
	train := func(s *opgen.Session) error {
		ctx := context.Background()
		g, x, y, z, loss := network()
		step, err := s.Training(ctx, g, loss, adam.Optimizer(adam.Defaults().WithAlpha(0.01)), loss, z)
		if err != nil {
			return err
		}
		var first, last float32
		for i := range 400 {
			if err := step.Run(ctx, opgen.With(x, inputs), opgen.With(y, labels)); err != nil {
				return err
			}
			l, err := opgen.Fetch[float32](step, loss)
			if err != nil {
				return err
			}
			if last = l[0]; i == 0 {
				first = last
			}
		}
		if last > first/2 {
			t.Errorf("the loss went from %g to %g", first, last)
		}
		answer, err := s.Inference(ctx, g, z)
		if err != nil {
			return err
		}
		if err := answer.Run(ctx, opgen.With(x, inputs)); err != nil {
			return err
		}
		if trained, err = opgen.Fetch[float32](answer, z); err != nil {
			return err
		}
		return s.SaveVariables(file)
	}
	if err := opgen.Do(catalogue.Register, train, append(others, opgen.Fuse())...); err != nil {
		t.Fatal(err)
	}
	answer := func(s *opgen.Session) error {
		ctx := context.Background()
		g, x, _, z, _ := network()
		p, err := s.Inference(ctx, g, z)
		if err != nil {
			return err
		}
		if err := s.LoadVariables(file); err != nil {
			return err
		}
		if err := p.Run(ctx, opgen.With(x, inputs)); err != nil {
			return err
		}
		again, err := opgen.Fetch[float32](p, z)
		if !slices.Equal(trained, again) {
			t.Errorf("with loaded weights: got %v, want %v", again, trained)
		}
		return err
	}
	if err := opgen.Do(catalogue.Register, answer, append(others, opgen.Fuse())...); err != nil {
		t.Fatal(err)
	}
}

// TestNames checks that names of operators have their module where another one has the name, too.
func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		dense.Operator.FullName():  "example.com/nets.dense",
		inner.Operator.FullName():  "example.com/go-layers/v2.dense",
		linear.Operator.FullName(): "linear",
	} {
		if got != want {
			t.Errorf("full name %s, want %s", got, want)
		}
	}
	if dense.ForwardTask == inner.ForwardTask || dense.ForwardTask != task.IDOf("example.com/nets.dense", "forward") {
		t.Errorf("tasks of two modules: %v and %v", dense.ForwardTask, inner.ForwardTask)
	}
	g := graph.New(1)
	dense.Apply(g, dense.Defaults(0), g.Input("x", dtype.F32, 2, 2))
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "operator example.com/nets.dense") {
		t.Errorf("want an error about example.com/nets.dense, got %v", err)
	}
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g, _, _, z, _ := network()
		_, err := s.Inference(context.Background(), g, z)
		return err
	}, opgen.Register(all.Register))
	if err == nil || !strings.Contains(err.Error(), "want a registered task example.com/go-layers/v2.") {
		t.Errorf("want an error about the operator that is not registered, got %v", err)
	}
}

// TestOperators runs the test kit on the operators of two modules at once, with a partner of a fusion.
func TestOperators(t *testing.T) {
	optest.All(t, catalogue.Register, slices.Concat(catalogue.Operators(), layers.Operators()),
		optest.Register(layers.Register), optest.Register(all.Register), optest.Partners(elementunary.Operator))
}
