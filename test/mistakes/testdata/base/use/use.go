// Package use trains with the operator.
package use

import (
	"context"

	"example.com/mist/generated/catalogue"
	"example.com/mist/generated/scalenorm"
	"github.com/opgen/opgen"
	shipped "github.com/opgen/opgen/generated/catalogue"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// Train runs two steps of training.
func Train(opts ...opgen.Option) error {
	opts = append(opts, opgen.Register(shipped.Register))
	return opgen.Do(catalogue.Register, train, opts...)
}

func train(s *opgen.Session) error {
	ctx, g := context.Background(), graph.New(1)
	x, want := g.Input("x", dtype.F32, 5, 3), g.Input("want", dtype.F32, 5, 3)
	attrs := scalenorm.Defaults(0.001, 1)
	h := scalenorm.Apply(g, attrs, x)
	y := scalenorm.Apply(g, attrs, h)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(y), mse.Label(want))
	step, err := s.Training(ctx, g, loss, sgd.Optimizer(sgd.Defaults(0.1)), y)
	if err != nil {
		return err
	}
	elements := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 3, 2, 5, 4, 7}
	for range 2 {
		if err := step.Run(ctx, opgen.With(x, elements), opgen.With(want, elements)); err != nil {
			return err
		}
	}
	return nil
}
