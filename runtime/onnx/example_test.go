package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/safetensors"
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
		net, err := m.Insert(g, map[string]graph.Tensor{in.Name: x}, onnx.Frozen()) // it is not trained
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

// An input that is known when the graph is built makes what follows from it a constant. What a catalogue
// without operators cannot compute is refused by name.
func ExampleKnown() {
	data, err := os.ReadFile("../../test/onnx/testdata/models/namaste_deepa.onnx")
	if err != nil {
		fmt.Println(err)
		return
	}
	silence := safetensors.Tensor{Type: dtype.F32, Shape: []int{1, 24, 96}, Data: make([]byte, 4*24*96)}
	for _, entries := range [][]mapping.Entry{onnxtable.Entries, nil} {
		m, err := onnx.Read(data, &onnx.Catalogue{Operators: catalogue.Operators(), Register: catalogue.Register, Entries: entries})
		if err != nil {
			fmt.Println(err)
			return
		}
		net, err := m.Insert(graph.New(1), nil, onnx.Known(m.Inputs()[0].Name, silence))
		if refused := (*onnx.Refused)(nil); errors.As(err, &refused) {
			fmt.Println(refused.Op, refused.Missing)
		} else if err == nil {
			fmt.Println(net.Outputs[0].Shape(), len(net.Variables))
		}
	}
	// Output:
	// [1 1] 1
	// Sigmoid the catalogue has no such operator
}

// A tensor has a file of its own in the tests of ONNX.
func ExampleReadTensor() {
	file := []byte("\x08\x02\x10\x01\x42\x01x\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40")
	name, t, err := onnx.ReadTensor(file)
	fmt.Println(name, t.Type, t.Shape, t.Float64s(), err)
	// Output: x f32 [2] [1 2] <nil>
}

// Some operators are computed by nodes of others.
func ExampleFunctions() {
	for _, name := range onnx.Functions()[:3] {
		fmt.Println(name)
	}
	// Output:
	// Add
	// AffineGrid
	// ArgMax
}

// A sequence is a list of tensors of the graph, and an optional value may be left out.
func ExampleSequence() {
	tensor := &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(1)}}}
	list := &onnxpb.TypeProto{Value: &onnxpb.TypeProto_SequenceType{SequenceType: &onnxpb.TypeProto_Sequence{ElemType: tensor}}}
	maybe := &onnxpb.TypeProto{Value: &onnxpb.TypeProto_OptionalType{OptionalType: &onnxpb.TypeProto_Optional{ElemType: tensor}}}
	data, err := proto.Marshal(&onnxpb.ModelProto{OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}}, Graph: &onnxpb.GraphProto{
		Input:  []*onnxpb.ValueInfoProto{{Name: proto.String("list"), Type: list}, {Name: proto.String("maybe"), Type: maybe}},
		Output: []*onnxpb.ValueInfoProto{{Name: proto.String("all")}, {Name: proto.String("there")}},
		Node: []*onnxpb.NodeProto{
			node("ConcatFromSequence", []string{"list"}, []string{"all"}, integer("axis", 0)), node("OptionalHasElement", []string{"maybe"}, []string{"there"})}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := onnx.Read(data, target)
	if err != nil {
		fmt.Println(err)
		return
	}
	g := graph.New(1)
	net, err := m.Insert(g, nil, onnx.Sequence("list", g.Input("a", dtype.F32, 2), g.Input("b", dtype.F32, 3)), onnx.Without("maybe"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(net.Outputs[0].Shape(), net.Counts)
	// Output: [5] [1 1]
}
