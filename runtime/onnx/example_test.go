package onnx_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
)

// A network that detects a spoken word is loaded for one example at a time, and answers how likely it heard
// the word.
func Example() {
	c := &onnx.Catalogue{Operators: catalogue.Operators(), Register: catalogue.Register, Entries: onnxtable.Entries}
	m, err := onnx.Load("../../test/onnx/testdata/models/namaste_deepa.onnx", c)
	if err != nil {
		fmt.Println(err)
		return
	}
	in := m.Inputs()[0]
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx, g := context.Background(), graph.New(1)
		x := g.Input("x", dtype.F32, in.Extents...)
		net, err := m.Insert(g, map[string]graph.Tensor{in.Name: x})
		if err != nil {
			return err
		}
		p, err := s.Inference(ctx, g, net.Outputs...)
		if err != nil {
			return err
		}
		if err := s.SetVariables(net.Variables); err != nil {
			return err
		}
		if err := p.Run(ctx, opgen.With(x, make([]float32, x.Elements()))); err != nil {
			return err
		}
		y, err := opgen.Fetch[float32](p, net.Outputs[0])
		fmt.Printf("%v%v %.1f\n", in.Name, in.Extents, y)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: onnx::Flatten_0[1 24 96] [0.4]
}
