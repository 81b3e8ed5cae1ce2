package opgen_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

func trainXOR(ctx context.Context) (prediction []float32, err error) {
	g := graph.New(1)
	x, y := g.Input("x", dtype.F32, 4, 2), g.Input("y", dtype.F32, 4, 1)
	hidden := linear.Apply(g, linear.Attrs{OutChannels: 8, UseBias: true, Activation: activation.Tanh}, x)
	z := linear.Apply(g, linear.Attrs{OutChannels: 1, UseBias: true}, hidden)
	loss := mse.Apply(g, mse.Defaults(), mse.Logit(z), mse.Label(y))
	session, err := opgen.Open(catalogue.Register)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	train, err := session.Training(ctx, g, loss, sgd.Optimizer(sgd.Attrs{Lr: 0.2}), z)
	if err != nil {
		return nil, err
	}
	inputs, labels := []float32{0, 0, 0, 1, 1, 0, 1, 1}, []float32{0, 1, 1, 0}
	for range 2000 {
		if err := train.Run(ctx, opgen.With(x, inputs), opgen.With(y, labels)); err != nil {
			return nil, err
		}
	}
	return opgen.Fetch[float32](train, z)
}

func Example() {
	prediction, err := trainXOR(context.Background())
	fmt.Printf("%.2f %v\n", prediction, err) // Output: [0.00 1.00 1.00 0.00] <nil>
}
