package onnx_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
)

var target = &onnx.Catalogue{Operators: catalogue.Operators(), Register: catalogue.Register, Entries: onnxtable.Entries}

func node(op string, in, out []string, attrs ...*onnxpb.AttributeProto) *onnxpb.NodeProto {
	return &onnxpb.NodeProto{OpType: &op, Input: in, Output: out, Attribute: attrs}
}

func integer(name string, n int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_INT.Enum(), I: &n}
}

func branch(name string, g *onnxpb.GraphProto) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_GRAPH.Enum(), G: g}
}

// value describes a tensor of f32, or of another type of ONNX.
func value(name string, kind onnxpb.TensorProto_DataType, extents ...int64) *onnxpb.ValueInfoProto {
	t := &onnxpb.TypeProto_Tensor{ElemType: new(int32(kind)), Shape: &onnxpb.TensorShapeProto{}}
	for _, n := range extents {
		d := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: n}}
		if n < 0 {
			d.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "n"}
		}
		t.Shape.Dim = append(t.Shape.Dim, d)
	}
	return &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: t}}}
}

func floats(name string, dims []int64, x ...float32) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: &name, DataType: new(int32(onnxpb.TensorProto_FLOAT)), Dims: dims, FloatData: x}
}

func integers(name string, dims []int64, x ...int64) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: &name, DataType: new(int32(onnxpb.TensorProto_INT64)), Dims: dims, Int64Data: x}
}

// model returns the bytes of a model with the input x of shape [n, 3] and the output y.
func model(t testing.TB, nodes []*onnxpb.NodeProto, initializers []*onnxpb.TensorProto, functions ...*onnxpb.FunctionProto) []byte {
	t.Helper()
	m := &onnxpb.ModelProto{IrVersion: proto.Int64(8), OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}, {Domain: proto.String("own"), Version: proto.Int64(1)}},
		Graph: &onnxpb.GraphProto{Name: proto.String("g"), Node: nodes, Initializer: initializers,
			Input: []*onnxpb.ValueInfoProto{value("x", onnxpb.TensorProto_FLOAT, -1, 3)}, Output: []*onnxpb.ValueInfoProto{value("y", onnxpb.TensorProto_FLOAT, -1, 3)}}, Functions: functions}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// insert builds the graph of a model for two rows.
func insert(data []byte, opts ...onnx.Option) (*onnx.Network, error) {
	m, err := onnx.Read(data, target)
	if err != nil {
		return nil, err
	}
	g := graph.New(1)
	return m.Insert(g, map[string]graph.Tensor{"x": g.Input("x", dtype.F32, 2, 3)}, opts...)
}

func TestPorts(t *testing.T) {
	t.Parallel()
	m, err := onnx.Read(model(t, []*onnxpb.NodeProto{node("Relu", []string{"x"}, []string{"y"})}, nil), target)
	if err != nil {
		t.Fatal(err)
	}
	if in, out := m.Inputs(), m.Outputs(); len(in) != 1 || in[0].Name != "x" || in[0].Type != dtype.F32 || in[0].Extents[0] != -1 || in[0].Symbols[0] != "n" || in[0].Extents[1] != 3 || out[0].Name != "y" {
		t.Errorf("got %v, %v", in, out)
	}
}

// TestShapes folds the arithmetic by which exporters compute shapes, for the extents of the input.
func TestShapes(t *testing.T) {
	t.Parallel()
	net, err := insert(model(t, []*onnxpb.NodeProto{
		node("Shape", []string{"x"}, []string{"s"}),
		node("Gather", []string{"s", "zero"}, []string{"n"}),
		node("Mul", []string{"n", "three"}, []string{"all"}),
		node("Unsqueeze", []string{"all", "axes"}, []string{"list"}),
		node("Concat", []string{"list", "one"}, []string{"shape"}, integer("axis", 0)),
		node("Reshape", []string{"x", "shape"}, []string{"y"}),
	}, []*onnxpb.TensorProto{integers("zero", nil, 0), integers("three", nil, 3), integers("axes", []int64{1}, 0), integers("one", []int64{1}, 1)}))
	if err != nil {
		t.Fatal(err)
	}
	if y := net.Outputs[0]; !y.ShapeIs([]int{6, 1}) || len(net.Variables) != 0 {
		t.Errorf("got %v and the variables %v", y, net.Variables)
	}
}

// TestShared reads an initializer twice, in one variable.
func TestShared(t *testing.T) {
	t.Parallel()
	net, err := insert(model(t, []*onnxpb.NodeProto{
		node("Add", []string{"x", "w"}, []string{"a"}),
		node("Mul", []string{"a", "w"}, []string{"y"}),
	}, []*onnxpb.TensorProto{floats("w", []int64{3}, 1, 2, 3)}))
	if err != nil || len(net.Variables) != 1 || len(net.Variables["w.value"].Data) != 12 {
		t.Errorf("got %v, %v", net, err)
	}
}

// TestEntriesByInputs takes the entry of a maximum of three values, behind the one of two, and refuses more
// inputs than any entry has.
func TestEntriesByInputs(t *testing.T) {
	t.Parallel()
	net, err := insert(model(t, []*onnxpb.NodeProto{node("Max", []string{"x", "x", "x"}, []string{"y"})}, nil))
	if err != nil || net.Outputs[0].Node().Op.Name != "element_nary" {
		t.Errorf("got %v, %v", net, err)
	}
	_, err = insert(model(t, []*onnxpb.NodeProto{node("Relu", []string{"x", "x"}, []string{"y"})}, nil))
	if err == nil || !strings.Contains(err.Error(), "the catalogue has element_unary of at most 1 inputs") {
		t.Errorf("got %v", err)
	}
}

// TestSequencePorts inserts a network with a sequence and an optional value among its inputs, and a sequence
// as its output.
func TestSequencePorts(t *testing.T) {
	t.Parallel()
	pair := value("", onnxpb.TensorProto_FLOAT, 2).GetType()
	list := &onnxpb.TypeProto{Value: &onnxpb.TypeProto_SequenceType{SequenceType: &onnxpb.TypeProto_Sequence{ElemType: pair}}}
	maybe := &onnxpb.TypeProto{Value: &onnxpb.TypeProto_OptionalType{OptionalType: &onnxpb.TypeProto_Optional{ElemType: list}}}
	body := &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{{Name: proto.String("e")}}, Output: []*onnxpb.ValueInfoProto{{Name: proto.String("r")}}, Node: []*onnxpb.NodeProto{node("Relu", []string{"e"}, []string{"r"})}}
	graphOf := func(name string) *onnxpb.AttributeProto {
		return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_GRAPH.Enum(), G: body}
	}
	data, err := proto.Marshal(&onnxpb.ModelProto{OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}}, Graph: &onnxpb.GraphProto{
		Input:  []*onnxpb.ValueInfoProto{{Name: proto.String("s"), Type: list}, {Name: proto.String("o"), Type: maybe}, value("x", onnxpb.TensorProto_FLOAT, 2)},
		Output: []*onnxpb.ValueInfoProto{{Name: proto.String("y"), Type: list}, {Name: proto.String("z"), Type: maybe}},
		Node:   []*onnxpb.NodeProto{node("SequenceInsert", []string{"s", "x"}, []string{"t"}), node("SequenceMap", []string{"t"}, []string{"y"}, graphOf("body")), node("Identity", []string{"o"}, []string{"z"})}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Read(data, target)
	if err != nil {
		t.Fatal(err)
	}
	if in := m.Inputs(); !in[0].Sequence || in[0].Optional || in[0].Type != dtype.F32 || !slices.Equal(in[0].Extents, []int{2}) || !in[1].Sequence || !in[1].Optional || in[2].Sequence || !m.Outputs()[1].Optional {
		t.Errorf("got the inputs %v", in)
	}
	g := graph.New(1)
	x, u, wide := g.Input("x", dtype.F32, 2), g.Input("u", dtype.F32, 2), g.Input("wide", dtype.F32, 3)
	known := safetensors.Tensor{Type: dtype.F32, Shape: []int{2}, Data: make([]byte, 8)}
	given := map[string]graph.Tensor{"x": x}
	for _, tt := range []struct {
		inputs map[string]graph.Tensor
		opts   []onnx.Option
		counts []int
		want   string // of the error
	}{
		{given, []onnx.Option{onnx.Sequence("s", x, u), onnx.Without("o")}, []int{3, 0}, ""},
		{given, []onnx.Option{onnx.Sequence("s"), onnx.Sequence("o", u)}, []int{1, 1}, ""},
		{given, []onnx.Option{onnx.Sequence("s", x)}, nil, "onnx: want a tensor for the input o, got none"},
		{given, []onnx.Option{onnx.Without("s"), onnx.Without("o")}, nil, "onnx: input s: want a value, since it is not optional, got none"},
		{given, []onnx.Option{onnx.Sequence("s", x, wide), onnx.Without("o")}, nil, "onnx: input s: want a tensor of f32[2], got wide f32[3]"},
		{map[string]graph.Tensor{"x": x, "s": u}, []onnx.Option{onnx.Without("o")}, nil, "onnx: input s: want a list of tensors, got a tensor"},
		{nil, []onnx.Option{onnx.Sequence("s"), onnx.Without("o"), onnx.Sequence("x", x)}, nil, "onnx: input x: want a tensor, got a list of tensors"},
		{given, []onnx.Option{onnx.Known("s", known), onnx.Without("o")}, nil, "onnx: input s: want a list of tensors, got a tensor"},
		{given, []onnx.Option{onnx.Sequence("s"), onnx.Sequence("o"), onnx.Without("o")}, nil, "onnx: input o: want a tensor, a known value, a list of tensors or none, got more than one of them"},
		{given, []onnx.Option{onnx.Sequence("s"), onnx.Without("o"), onnx.Without("p")}, nil, `onnx: want tensors and values for inputs of the model, each of them once, got ["o" "p" "s" "x"]`},
	} {
		net, err := m.Insert(g, tt.inputs, tt.opts...)
		if tt.want == "" && (err != nil || !slices.Equal(net.Counts, tt.counts) || len(net.Outputs) != tt.counts[0]+tt.counts[1]) {
			t.Errorf("got %v, %v", net, err)
		} else if tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}

// TestBranches takes the branch of a known condition, and needs both of another one.
func TestBranches(t *testing.T) {
	t.Parallel()
	graphs := func(op string) *onnxpb.GraphProto {
		return &onnxpb.GraphProto{Node: []*onnxpb.NodeProto{node(op, []string{"x"}, []string{"b"})}, Output: []*onnxpb.ValueInfoProto{value("b", onnxpb.TensorProto_FLOAT)}}
	}
	nodes := func(cond string) []*onnxpb.NodeProto {
		return []*onnxpb.NodeProto{
			node("Cast", []string{"x"}, []string{"run"}, integer("to", 9)),
			node("Equal", []string{"one", "one"}, []string{"same"}),
			node("If", []string{cond}, []string{"y"}, branch("then_branch", graphs("Relu")), branch("else_branch", graphs("NoSuchThing"))),
		}
	}
	constants := []*onnxpb.TensorProto{integers("one", nil, 1)}
	if net, err := insert(model(t, nodes("same"), constants)); err != nil || net.Outputs[0].Node().Op.Name != "element_unary" {
		t.Errorf("got %v, %v", net, err)
	}
	_, err := insert(model(t, nodes("run"), constants))
	if r := (*onnx.Refused)(nil); !errors.As(err, &r) || r.Op != "NoSuchThing" {
		t.Errorf("got %v", err)
	}
}

// TestFunctions expands a function of the model, with its attribute and without an optional input.
func TestFunctions(t *testing.T) {
	t.Parallel()
	axis := integer("axis", 0)
	axis.I, axis.RefAttrName = nil, proto.String("dim")
	f := &onnxpb.FunctionProto{Name: proto.String("Norm"), Domain: proto.String("own"), Input: []string{"a", "unused"}, Output: []string{"c"}, Attribute: []string{"dim"},
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}},
		Node:        []*onnxpb.NodeProto{node("Softmax", []string{"a"}, []string{"b"}, axis), node("Clip", []string{"b", "unused"}, []string{"c"})}}
	call := node("Norm", []string{"x"}, []string{"y"}, integer("dim", 0))
	call.Domain = proto.String("own")
	net, err := insert(model(t, []*onnxpb.NodeProto{call}, nil, f))
	if err != nil {
		t.Fatal(err)
	}
	softmax := net.Outputs[0].Node().Tensors(0)[0].Node()
	if softmax.Op.Name != "softmax" || softmax.Resolved.Operands(0)[0].Shape[0] != 2 {
		t.Errorf("got %v", softmax.Op.Name)
	}
	f.Node = []*onnxpb.NodeProto{call}
	f.OpsetImport = append(f.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: proto.String("own"), Version: proto.Int64(1)})
	f.Input, f.Output = []string{"x"}, []string{"y"}
	if _, err := insert(model(t, []*onnxpb.NodeProto{call}, nil, f)); err == nil || !strings.Contains(err.Error(), "at most 64 deep") {
		t.Errorf("got %v for a function that calls itself", err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	x, y := []string{"x"}, []string{"y"}
	named := node("NoSuchThing", x, y)
	named.Name = proto.String("the node")
	for want, nodes := range map[string][]*onnxpb.NodeProto{
		`onnx: NoSuchThing of version 17, node "the node": the catalogue has no such operator`:                                                      {named},
		`onnx: Relu of version 17, node "y": element_unary computes it: the attribute odd has no meaning here`:                                      {node("Relu", x, y, integer("odd", 1))},
		`onnx: Mish of version 17, node "y": the catalogue has other versions of the operator only`:                                                 {node("Mish", x, y)},
		`onnx: Relu of version 17, node "y": want a value of z, got none before the node`:                                                           {node("Relu", []string{"z"}, y)},
		`onnx: Reshape of version 17, node "y": reshape computes it: shape: extents: want a constant, got what is known in a run only`:              {node("Reshape", []string{"x", "x"}, y)},
		`onnx: want a node that computes the output y, got none`:                                                                                    {node("Relu", x, []string{"w"})},
		`onnx: Relu of version 17, node "x": want one value of x, got another one before the node`:                                                  {node("Relu", x, x)},
		`onnx: Constant of version 17, node "y": its outputs follow from constants: want the value of a tensor, integers, floats or strings`:        {node("Constant", nil, y)},
		`onnx: Dropout of version 17, node "y": the catalogue has dropout when outputs == 1 && or(mode, 0) == 0, a definition when outputs == 2 &&`: {node("Dropout", x, []string{"y", "mask", "more"})},
		`onnx: Concat of version 17, node "y": concat computes it: axis: want`:                                                                      nil,
		`onnx: Cast of version 17, node "y": cast computes it: dtype: want the number of an element type that engines store, got 8`:                 {node("Cast", x, y, integer("to", 8))},
		`onnx: Transpose of version 17, node "y": transpose computes it: permutation: attribute perm: want numbers, strings or a tensor, got GRAPH`: {node("Transpose", x, y, branch("perm", &onnxpb.GraphProto{}))},
	} {
		if nodes == nil {
			continue
		}
		if _, err := insert(model(t, nodes, nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	data := model(t, []*onnxpb.NodeProto{node("Relu", []string{"x"}, []string{"y"})}, nil)
	m, err := onnx.Read(data, target)
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New(1)
	bad := g.Input("bad", dtype.F32, 2, 4)
	for want, inputs := range map[string]map[string]graph.Tensor{
		"want a tensor for the input x":                                                     {},
		"input x: want a tensor of f32[-1 3], got bad f32[":                                 {"x": bad},
		`want tensors and values for inputs of the model, each of them once, got ["x" "z"]`: {"x": g.Input("x", dtype.F32, 2, 3), "z": bad},
	} {
		if _, err := m.Insert(g, inputs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	known := safetensors.Tensor{Type: dtype.F32, Shape: []int{1, 3}, Data: make([]byte, 12)}
	if net, err := m.Insert(graph.New(1), nil, onnx.Known("x", known)); err != nil || len(net.Variables) != 1 {
		t.Errorf("got %v, %v", net, err)
	}
	for want, c := range map[string]struct {
		input string
		value safetensors.Tensor
	}{
		`want tensors and values for inputs of the model, each of them once, got ["x" "z"]`: {"z", known},
		"input x: want a value of f32[-1 3], got 12 bytes of i32[1 3]":                      {"x", safetensors.Tensor{Type: dtype.I32, Shape: []int{1, 3}, Data: known.Data}},
		"input x: want a value of f32[-1 3], got 12 bytes of f32[3]":                        {"x", safetensors.Tensor{Type: dtype.F32, Shape: []int{3}, Data: known.Data}},
		"input x: want a value of f32[-1 3], got 8 bytes of f32[1 3]":                       {"x", safetensors.Tensor{Type: dtype.F32, Shape: []int{1, 3}, Data: known.Data[:8]}},
	} {
		if _, err := m.Insert(graph.New(1), nil, onnx.Known("x", known), onnx.Known(c.input, c.value)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := insert(data, onnx.Known("x", known)); err == nil || !strings.Contains(err.Error(), "got more than one of them") {
		t.Errorf("got %v", err)
	}
	twice := &onnxpb.TensorProto{Name: proto.String("w"), DataType: proto.Int32(1), Dims: []int64{1}, FloatData: []float32{1}}
	if _, err := insert(model(t, []*onnxpb.NodeProto{node("Relu", []string{"x"}, []string{"y"})}, []*onnxpb.TensorProto{twice, twice})); err == nil || !strings.Contains(err.Error(), "graph g: want one tensor w, got another one") {
		t.Errorf("got %v", err)
	}
	if _, err := onnx.Read([]byte("no model"), target); err == nil {
		t.Error("want an error of what is no model")
	}
	if _, err := onnx.Read(nil, target); err == nil || !strings.Contains(err.Error(), "want a model with a graph") {
		t.Errorf("got %v", err)
	}
}

// TestExternal reads an initializer from another file, which must lie beside the model.
func TestExternal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(location, length string) error {
		w := floats("w", []int64{3})
		w.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
		w.ExternalData = []*onnxpb.StringStringEntryProto{{Key: proto.String("location"), Value: &location}, {Key: proto.String("offset"), Value: proto.String("4")}, {Key: proto.String("length"), Value: &length}}
		data := model(t, []*onnxpb.NodeProto{node("Add", []string{"x", "w"}, []string{"y"})}, []*onnxpb.TensorProto{w})
		path := filepath.Join(dir, "m.onnx")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := onnx.Load(path, target)
		if err != nil {
			t.Fatal(err)
		}
		g := graph.New(1)
		net, err := m.Insert(g, map[string]graph.Tensor{"x": g.Input("x", dtype.F32, 2, 3)})
		if err == nil && binary.LittleEndian.Uint32(net.Variables["w.value"].Data) != 7 {
			t.Errorf("got %v", net.Variables)
		}
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "w.bin"), []byte{0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write("w.bin", "12"); err != nil {
		t.Error(err)
	}
	outside := filepath.Join(t.TempDir(), "w.bin")
	if err := os.WriteFile(outside, make([]byte, 16), 0o600); err != nil {
		t.Fatal(err)
	}
	links := [][2]string{}
	if os.Symlink(outside, filepath.Join(dir, "out")) == nil && os.Symlink("w.bin", filepath.Join(dir, "in")) == nil {
		if err := write("in", "12"); err != nil {
			t.Error(err)
		}
		links = append(links, [2]string{"out", "12"})
	}
	for _, bad := range append(links, [][2]string{{"../w.bin", "12"}, {outside, "12"}, {"w.bin", "8"}, {"none", "12"}, {"", "12"}, {".", "12"}, {"w.bin", "x"}}...) {
		if err := write(bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), "onnx: tensor w: ") {
			t.Errorf("%q: want an error of the tensor, got %v", bad, err)
		}
	}
}

// TestExternalParts reads each part of another file once, and refuses parts that overlap: together, they
// would be more than the file.
func TestExternalParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.bin"), make([]byte, 24), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		offsets []string
		want    string // of the error
	}{
		{[]string{"0", "12"}, ""},
		{[]string{"0", "0", "12", "0"}, ""},
		{[]string{"0", "4"}, ""}, // 24 bytes together
		{[]string{"0", "4", "8"}, "onnx: tensor w2: want parts of w.bin, which has 24 bytes, that do not overlap, got 12 bytes at 8 that others have"},
	} {
		var tensors []*onnxpb.TensorProto
		nodes := []*onnxpb.NodeProto{node("Identity", []string{"x"}, []string{"s0"})}
		for i, offset := range tt.offsets {
			w := floats(fmt.Sprint("w", i), []int64{3})
			w.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
			w.ExternalData = []*onnxpb.StringStringEntryProto{{Key: proto.String("location"), Value: proto.String([]string{"w.bin", "./w.bin"}[i%2])}, {Key: proto.String("offset"), Value: proto.String(offset)}}
			tensors = append(tensors, w)
			out := fmt.Sprint("s", i+1)
			if i == len(tt.offsets)-1 {
				out = "y"
			}
			nodes = append(nodes, node("Add", []string{fmt.Sprint("s", i), w.GetName()}, []string{out}))
		}
		path := filepath.Join(dir, "m.onnx")
		if err := os.WriteFile(path, model(t, nodes, tensors), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := onnx.Load(path, target)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			g := graph.New(1)
			net, err := m.Insert(g, map[string]graph.Tensor{"x": g.Input("x", dtype.F32, 2, 3)})
			if tt.want != "" {
				if err == nil || err.Error() != tt.want {
					t.Errorf("%v: got %v, want %s", tt.offsets, err, tt.want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%v: %v", tt.offsets, err)
				continue
			}
			first := map[string]*byte{}
			for i, offset := range tt.offsets {
				data := &net.Variables[fmt.Sprintf("w%d.value", i)].Data[0]
				if before := first[offset]; before != nil && before != data {
					t.Errorf("%v: tensor %d does not share its part", tt.offsets, i)
				}
				first[offset] = data
			}
		}
	}
}

// FuzzInsert builds graphs of files that may hold anything: an error at worst.
func FuzzInsert(f *testing.F) {
	f.Add(model(f, []*onnxpb.NodeProto{node("Shape", []string{"x"}, []string{"s"}), node("Reshape", []string{"x", "s"}, []string{"y"})}, nil))
	f.Add(model(f, []*onnxpb.NodeProto{node("Add", []string{"x", "w"}, []string{"y"})}, []*onnxpb.TensorProto{floats("w", []int64{3}, 1, 2, 3)}))
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = insert(data) })
}
