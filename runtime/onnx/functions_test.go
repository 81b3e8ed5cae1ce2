package onnx_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/onnx/mapping"
)

// TestDefinitions reads the definitions: each operator in them is mapped, defined or known by name.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	defined, used, err := onnx.ParseFunctions("")
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range used {
		if slices.Contains(defined, op) || op == ".Identity" || op == ".NonZero" || slices.ContainsFunc(target.Entries, func(e mapping.Entry) bool { return e.Domain+"."+e.Op == op }) {
			continue
		}
		t.Errorf("%s computes nothing", op)
	}
	for _, op := range onnx.Functions() {
		if strings.HasPrefix(op, "opgen.") || !slices.Contains(defined, op) && !slices.Contains(defined, "."+op) {
			t.Errorf("got %s", op)
		}
	}
}

func TestDefinitionErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\ty = Op(x)":                        "line 1: want an operator in front of it",
		"Op(x)":                              "line 1: want Operator(inputs) -> outputs, got Op(x)",
		"Op(x) -> y; before 3":               "line 1: want since, until, ignore or first, got before",
		"Op(x) -> y; since x":                "line 1: strconv.Atoi",
		"# nothing\nOp(x) -> y\n\tlet n":     "line 3: want let name = value, got let n",
		"Op(x) -> y\n\twant (":               "line 2: expression (: want a value, got the end",
		"Op(x) -> y\n\ty = A(x":              "line 2: expression y = A(x: want ,, got the end",
		"Op(x) -> y\n\tlet n = nothing(n)":   "want a function, got nothing",
		"Op(x) -> y; until 3\n\ty = A(x) if": "want a value, got the end",
	} {
		if _, _, err := onnx.ParseFunctions(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestDefined expands an operator, and refuses what its definition does not compute.
func TestDefined(t *testing.T) {
	t.Parallel()
	x, y := []string{"x"}, []string{"y"}
	net, err := insert(model(t, []*onnxpb.NodeProto{node("LpNormalization", x, y, integer("axis", 1))}, nil))
	if err != nil || net.Outputs[0].Node().Op.Name != "element_binary" || !net.Outputs[0].ShapeIs([]int{2, 3}) {
		t.Errorf("got %v, %v", net, err)
	}
	mode := &onnxpb.AttributeProto{Name: proto.String("axis"), Type: onnxpb.AttributeProto_GRAPH.Enum()}
	for want, n := range map[string]*onnxpb.NodeProto{
		`onnx: LpNormalization of version 17, node "y": nodes of others compute it: the attribute odd has no meaning here`:   node("LpNormalization", x, y, integer("odd", 1)),
		`node "y": the catalogue has a definition of at most 1 inputs`:                                                       node("LpNormalization", []string{"x", "x"}, y),
		`node "y": nodes of others compute it: want no output 1, got z`:                                                      node("LpNormalization", x, []string{"y", "z"}),
		`node "y": nodes of others compute it: ReduceL2: axis: attribute axis: want numbers, strings or a tensor, got GRAPH`: node("LpNormalization", x, y, mode),
		`the catalogue has element_unary of elements of f16, bf16, f32, f64, and not of i64`:                                 node("Sin", []string{"n"}, y),
	} {
		_, err := insert(model(t, []*onnxpb.NodeProto{node("Cast", x, []string{"n"}, integer("to", 7)), n}, nil))
		if r := (*onnx.Refused)(nil); !errors.As(err, &r) || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestDefinedFirst expands a power with an exponent for which a product takes less time, and maps others.
func TestDefinedFirst(t *testing.T) {
	t.Parallel()
	constant := func(shape []int64, values ...float32) *onnxpb.TensorProto {
		return &onnxpb.TensorProto{Name: proto.String("e"), DataType: proto.Int32(1), Dims: shape, FloatData: values}
	}
	for _, c := range []struct {
		exponent *onnxpb.TensorProto
		want     string
	}{
		{constant(nil, 2), "EW_MUL"},
		{constant([]int64{1, 1}, 2), "EW_MUL"},
		{constant(nil, 3), "EW_POW"},
		{constant([]int64{3}, 2, 2, 2), "EW_POW"},
		{constant([]int64{1, 1, 1}, 2), "EW_POW"}, // the result has three dimensions
	} {
		net, err := insert(model(t, []*onnxpb.NodeProto{node("Pow", []string{"x", "e"}, []string{"y"})}, []*onnxpb.TensorProto{c.exponent}))
		if err != nil {
			t.Fatal(err)
		}
		if n := net.Outputs[0].Node(); !strings.Contains(fmt.Sprint(n.Attrs), c.want) {
			t.Errorf("%v: got %s %s, want %s", c.exponent, n.Op.Name, n.Attrs, c.want)
		}
	}
}
