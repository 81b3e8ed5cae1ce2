package onnx_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/generated/reshape"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/safetensors"
)

// A small network is saved, and read again.
func ExampleSave() {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	y := softmax.Apply(g, softmax.Defaults(), linear.Apply(g, linear.Defaults(4), x, graph.Named("layer")), graph.Named("likely"))
	p, err := graph.Inference(g, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	weights := map[string]safetensors.Tensor{
		"layer.weight": {Type: dtype.F32, Shape: []int{4, 3}, Data: make([]byte, 48)},
		"layer.bias":   {Type: dtype.F32, Shape: []int{4}, Data: make([]byte, 16)},
	}
	var file bytes.Buffer
	if err := onnx.Save(&file, target, p, weights); err != nil {
		fmt.Println(err)
		return
	}
	m, err := onnx.Read(file.Bytes(), target)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range append(m.Inputs(), m.Outputs()...) {
		fmt.Println(p.Name, p.Type, p.Extents)
	}
	// Output:
	// x f32 [2 3]
	// likely.output f32 [2 4]
}

// What ONNX does not have is refused by name.
func ExampleNotSaved() {
	g := graph.New(1)
	y := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeLgamma), g.Input("x", dtype.F32, 2), graph.Named("factorial"))
	p, err := graph.Inference(g, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	var refused *onnx.NotSaved
	if errors.As(onnx.Save(io.Discard, target, p, nil), &refused) {
		fmt.Println(refused.Operator, refused.Node)
	}
	// Output: element_unary factorial
}

// saved returns the model of a graph without variables.
func saved(t *testing.T, c *onnx.Catalogue, g *graph.Graph, fetch ...graph.Tensor) (*onnxpb.ModelProto, error) {
	t.Helper()
	p, err := graph.Inference(g, fetch...)
	if err != nil {
		t.Fatal(err)
	}
	return savedProgram(t, c, p, nil)
}

func savedProgram(t *testing.T, c *onnx.Catalogue, p *graph.Program, variables map[string]safetensors.Tensor) (*onnxpb.ModelProto, error) {
	t.Helper()
	var file bytes.Buffer
	if err := onnx.Save(&file, c, p, variables); err != nil {
		if file.Len() > 0 {
			t.Errorf("%d bytes were written before %v", file.Len(), err)
		}
		return nil, err
	}
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(file.Bytes(), m); err != nil {
		t.Fatal(err)
	}
	return m, nil
}

// nodes lists the nodes of a model.
func nodes(m *onnxpb.ModelProto) string {
	var out []string
	for _, n := range m.GetGraph().GetNode() {
		text := fmt.Sprintf("%s = %s(%s)", strings.Join(n.GetOutput(), ", "), n.GetOpType(), strings.Join(n.GetInput(), ", "))
		for _, a := range n.GetAttribute() {
			text += fmt.Sprintf(" %s %d%g%s%v", a.GetName(), a.GetI(), a.GetF(), a.GetS(), a.GetInts())
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func TestSavedNodes(t *testing.T) {
	t.Parallel()
	for want, build := range map[string]func(*graph.Graph, graph.Tensor) graph.Tensor{
		"y.output = Softmax(x) axis 00[]": func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			return softmax.Apply(g, softmax.Defaults().WithDim(0), x, graph.Named("y"))
		},
		"y.output = Softmax(x)": func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			return softmax.Apply(g, softmax.Defaults(), x, graph.Named("y"))
		},
		"y.output = Reshape(x, y.extents)": func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			return reshape.Apply(g, reshape.Defaults(attr.ListOf(3, 2)), x, graph.Named("y"))
		},
		"y.output = Elu(x) alpha 02[]": func(g *graph.Graph, x graph.Tensor) graph.Tensor {
			return elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeElu).WithAlpha(2), x, graph.Named("y"))
		},
	} {
		g := graph.New(1)
		m, err := saved(t, target, g, build(g, g.Input("x", dtype.F32, 2, 3)))
		if err != nil || nodes(m) != want {
			t.Errorf("got %s, %v, want %s", nodes(m), err, want)
		}
		if v := m.GetOpsetImport(); len(v) != 1 || v[0].GetVersion() != 26 {
			t.Errorf("got %v, want the newest operator set of the table", v)
		}
	}
}

// TestSplit saves a product with an activation as what the fusion had joined.
func TestSplit(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	y := linear.Apply(g, linear.Defaults(4).WithUseBias(false).WithActivation(activation.Tanh), g.Input("x", dtype.F32, 2, 3), graph.Named("y"))
	p, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	m, err := savedProgram(t, target, p, map[string]safetensors.Tensor{"y.weight": {Type: dtype.F32, Shape: []int{4, 3}, Data: make([]byte, 48)}})
	want := "y.across = Transpose(y.weight) perm 00[1 0]; y before element_unary = MatMul(x, y.across); y.output = Tanh(y before element_unary)"
	if err != nil || nodes(m) != want {
		t.Errorf("got %s, %v, want %s", nodes(m), err, want)
	}
	g = graph.New(1)
	y = conv2d.Apply(g, conv2d.Defaults(1, 1, 1).WithUseBias(false).WithActivation(activation.Relu), g.Input("x", dtype.F32, 1, 1, 2, 2), graph.Named("y"))
	if p, err = graph.Inference(g, y); err != nil {
		t.Fatal(err)
	}
	m, err = savedProgram(t, target, p, map[string]safetensors.Tensor{"y.filter": {Type: dtype.F32, Shape: []int{1, 1, 1, 1}, Data: make([]byte, 4)}})
	if err != nil || len(m.GetGraph().GetNode()) != 2 {
		t.Fatalf("got %v, %s", err, nodes(m))
	}
	names := map[string]bool{}
	for _, n := range m.GetGraph().GetNode() {
		if names[n.GetName()] {
			t.Errorf("two nodes have the name %s", n.GetName())
		}
		names[n.GetName()] = true
	}
}

// TestNotSaved refuses by name, and writes nothing.
func TestNotSaved(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	digamma := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeDigamma), x, graph.Named("special"))
	_, err := saved(t, target, g, digamma)
	refused := (*onnx.NotSaved)(nil)
	if !errors.As(err, &refused) || refused.Operator != "element_unary" || refused.Node != "special" || !strings.Contains(refused.Missing, "when op_type in [") {
		t.Errorf("got %v", err)
	}
	relu := elementunary.Relu(g, x, graph.Named("relu"))
	none := &onnx.Catalogue{Operators: target.Operators, Register: target.Register}
	if _, err := saved(t, none, g, relu); err == nil || err.Error() != `onnx: element_unary, node "relu": its spec has no entry [onnx]` {
		t.Errorf("got %v", err)
	}
	// A node that is read as an operator without attributes is another one, too.
	operand := func(slot string) []mapping.Operand { return []mapping.Operand{{Slot: slot}} }
	twice := &onnx.Catalogue{Operators: target.Operators, Register: target.Register, Entries: []mapping.Entry{
		{Op: "Relu", Since: 1, Operator: "noop", Inputs: operand("input"), Outputs: operand("output")},
		{Op: "Relu", Since: 1, Operator: "element_unary", Inputs: operand("input"), Outputs: operand("output"), Attrs: []mapping.Attr{{Name: "op_type", Value: "'RELU'"}}},
	}}
	if m, err := saved(t, twice, g, relu); err == nil || !strings.Contains(err.Error(), "Relu: it is read as another operator") {
		t.Errorf("got %v, %s", err, nodes(m))
	}
	// An entry that gives another operator, or other attributes, when it is read again, does not count.
	for _, e := range []mapping.Entry{
		{Op: "Relu", Since: 1, Operator: "element_unary", Inputs: []mapping.Operand{{Slot: "input"}}, Outputs: []mapping.Operand{{Slot: "output"}}, Attrs: []mapping.Attr{{Name: "op_type", Value: "'EXP'"}}},
		{Op: "Relu", Since: 1, Operator: "element_unary", Inputs: []mapping.Operand{{Slot: "input"}}, Outputs: []mapping.Operand{{Slot: "output"}}, Attrs: []mapping.Attr{{Name: "op_type", Value: "'RELU'"}, {Name: "alpha", Value: "or(a, 1) == 1 ? 2.0 : 2.0"}}},
		{Operator: "element_unary", Body: "output = Sqrt(input)"},
		{Operator: "element_unary", Ignore: []string{"op_type", "alpha"}, Body: "output = Reshape(input, [3, 2])"},
		{Operator: "element_unary", Ignore: []string{"op_type", "alpha"}, Body: "output = Relu(z)"},
	} {
		c := &onnx.Catalogue{Operators: target.Operators, Register: target.Register, Entries: append(onnxtable.Entries[:0:0], e)}
		for _, r := range onnxtable.Entries {
			if r.Op == "Reshape" {
				c.Entries = append(c.Entries, r)
			}
		}
		if m, err := saved(t, c, g, relu); !errors.As(err, &refused) {
			t.Errorf("%+v: got %v, %s", e, err, nodes(m))
		}
	}
}

// TestSavedVariables wants the value of each variable, and a program of inference.
func TestSavedVariables(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	x, label := g.Input("x", dtype.F32, 2, 3), g.Input("label", dtype.F32, 2, 1)
	y := linear.Apply(g, linear.Defaults(1).WithUseBias(false), x, graph.Named("y"))
	loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(y), meansquarederror.Label(label))
	p, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []safetensors.Tensor{{}, {Type: dtype.F64, Shape: []int{1, 3}, Data: make([]byte, 24)}, {Type: dtype.F32, Shape: []int{3}, Data: make([]byte, 12)}, {Type: dtype.F32, Shape: []int{1, 3}, Data: make([]byte, 8)}} {
		if _, err := savedProgram(t, target, p, map[string]safetensors.Tensor{"y.weight": v}); err == nil || !strings.Contains(err.Error(), "variable y.weight: want its value") {
			t.Errorf("%v: got %v", v, err)
		}
	}
	training, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]safetensors.Tensor{"y.weight": {Type: dtype.F32, Shape: []int{1, 3}, Data: make([]byte, 12)}}
	if _, err := savedProgram(t, target, training, variables); err == nil || !strings.Contains(err.Error(), "want a program of graph.Inference") {
		t.Errorf("got %v", err)
	}
	// An output that is read twice, an input and a variable are outputs, too.
	p, err = graph.Inference(g, y, x, y, y.Node().Tensor(int(linear.SlotWeight)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := savedProgram(t, target, p, variables)
	if err != nil {
		t.Fatal(err)
	}
	var outputs []string
	for _, o := range m.GetGraph().GetOutput() {
		outputs = append(outputs, o.GetName())
	}
	if got := strings.Join(outputs, " "); got != "y.output x y.weight" {
		t.Errorf("got the outputs %s of %s", got, nodes(m))
	}
}
