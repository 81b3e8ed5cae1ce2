package onnx_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/onnx"
)

// TestHostile builds graphs of small files that ask for much work, for much memory, or for a deep stack.
func TestHostile(t *testing.T) {
	t.Parallel()
	opsets := []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}, {Domain: proto.String("own"), Version: proto.Int64(1)}}
	call := func(name, in, out string) *onnxpb.NodeProto {
		n := node(name, []string{in}, []string{out})
		n.Domain = proto.String("own")
		return n
	}
	// Each function calls the next one twice.
	var functions []*onnxpb.FunctionProto
	for i := range 40 {
		next := fmt.Sprint("f", i+1)
		functions = append(functions, &onnxpb.FunctionProto{Name: proto.String(fmt.Sprint("f", i)), Domain: proto.String("own"), Input: []string{"a"}, Output: []string{"c"},
			OpsetImport: opsets, Node: []*onnxpb.NodeProto{call(next, "a", "b"), call(next, "b", "c")}})
	}
	functions = append(functions, &onnxpb.FunctionProto{Name: proto.String("f40"), Domain: proto.String("own"), Input: []string{"a"}, Output: []string{"c"},
		OpsetImport: opsets, Node: []*onnxpb.NodeProto{node("Identity", []string{"a"}, []string{"c"})}})
	// A constant follows from a long row of others.
	var row []*onnxpb.NodeProto
	for i := range 300_000 {
		row = append(row, node("Neg", []string{fmt.Sprint("c", i)}, []string{fmt.Sprint("c", i+1)}))
	}
	end := func(n int) []*onnxpb.NodeProto {
		return append(slices.Clone(row[:n]), node("Add", []string{"x", fmt.Sprint("c", n)}, []string{"y"}))
	}
	large := []*onnxpb.NodeProto{
		node("Expand", []string{"one", "shape"}, []string{"much"}),
		node("Gather", []string{"much", "at"}, []string{"few"}, integer("axis", 1)),
		node("Gather", []string{"few", "at"}, []string{"s"}),
		node("Add", []string{"x", "s"}, []string{"y"}),
	}
	ones := make([]int64, 65)
	for i := range ones {
		ones[i] = 1
	}
	one := []*onnxpb.TensorProto{floats("one", nil, 1), integers("shape", []int64{2}, 1<<20, 1<<20), floats("c0", nil, 1), integers("at", nil, 0),
		integers("ones", []int64{65}, ones...)}
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"functions", "want functions and branches of at most 262144 nodes", model(t, []*onnxpb.NodeProto{call("f0", "x", "y")}, nil, functions...)},
		{"row", "want at most 4096 nodes of constants behind each other", model(t, end(len(row)), one)},
		{"large", "want a constant of at most 268435456 bytes, got broadcast.output f32[1048576, 1048576]", model(t, large, one)},
		{"dimensions", "want at most 64 dimensions, got 65", model(t, []*onnxpb.NodeProto{node("Expand", []string{"x", "ones"}, []string{"y"})}, one)},
		{"dimensions of a constant", "want at most 64 dimensions, got 65", model(t, []*onnxpb.NodeProto{node("Relu", []string{"x"}, []string{"y"})}, []*onnxpb.TensorProto{floats("wide", ones, 1)})},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := insert(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.300v, want %s", err, c.want)
			}
		})
	}
	// Two constants of 4 bytes each follow from others.
	two := model(t, []*onnxpb.NodeProto{
		node("Neg", []string{"c0"}, []string{"c1"}), node("Abs", []string{"c0"}, []string{"c2"}),
		node("Add", []string{"x", "c1"}, []string{"z"}), node("Add", []string{"z", "c2"}, []string{"y"}),
	}, one)
	if _, err := insert(two, onnx.Within(8)); err != nil {
		t.Error(err)
	}
	if _, err := insert(two, onnx.Within(7)); err == nil || !strings.Contains(err.Error(), "bytes of constants that follow from others") {
		t.Errorf("got %v, want an error of all constants", err)
	}
	net, err := insert(model(t, end(1<<12), one))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range net.Variables {
		if got := v.Float64s(); len(got) != 1 || got[0] != 1 {
			t.Errorf("%s: want 1, negated an even number of times, got %v", name, got)
		}
	}
	if len(net.Variables) != 1 {
		t.Errorf("want one variable, got %d", len(net.Variables))
	}
}

// TestHostileTensors counts sparse tensors as constants that are computed, since a file need not have their
// bytes, and has a tensor of a graph once that is inserted several times.
func TestHostileTensors(t *testing.T) {
	t.Parallel()
	sparse := func(name string) *onnxpb.SparseTensorProto {
		return &onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: floats(name, []int64{1}, 5), Indices: integers("", []int64{1}, 4)}
	}
	m, err := onnxpb.Model(model(t, []*onnxpb.NodeProto{node("Add", []string{"x", "v"}, []string{"s"}), node("Add", []string{"s", "w"}, []string{"y"})}, nil))
	if err != nil {
		t.Fatal(err)
	}
	m.Graph.SparseInitializer = []*onnxpb.SparseTensorProto{sparse("v"), sparse("w")}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := insert(data, onnx.Within(48)); err != nil {
		t.Error(err)
	}
	if _, err := insert(data, onnx.Within(47)); err == nil || !strings.Contains(err.Error(), "bytes of sparse tensors") {
		t.Errorf("got %v, want an error of all sparse tensors", err)
	}
	// A body that is inserted 100 times, with a constant, a tensor, and a graph with another one.
	graphOf := func(name string, g *onnxpb.GraphProto) *onnxpb.AttributeProto {
		return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_GRAPH.Enum(), G: g}
	}
	names := func(list ...string) (out []*onnxpb.ValueInfoProto) {
		for _, name := range list {
			out = append(out, &onnxpb.ValueInfoProto{Name: &name})
		}
		return out
	}
	value := &onnxpb.AttributeProto{Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: floats("", []int64{3}, 1, 2, 3)}
	branch := &onnxpb.GraphProto{Output: names("r"), Initializer: []*onnxpb.TensorProto{floats("b", []int64{3}, 7, 8, 9)}, Node: []*onnxpb.NodeProto{node("Add", []string{"q", "b"}, []string{"r"})}}
	body := &onnxpb.GraphProto{Input: names("i", "c", "s"), Output: names("c", "t"), Initializer: []*onnxpb.TensorProto{floats("a", []int64{3}, 4, 5, 6)}, Node: []*onnxpb.NodeProto{
		node("Constant", nil, []string{"k"}, value), node("Add", []string{"s", "k"}, []string{"p"}), node("Add", []string{"p", "a"}, []string{"q"}),
		node("If", []string{"c"}, []string{"t"}, graphOf("then_branch", branch), graphOf("else_branch", branch))}}
	net, err := insert(model(t, []*onnxpb.NodeProto{node("Loop", []string{"n", "", "x"}, []string{"y"}, graphOf("body", body))}, []*onnxpb.TensorProto{integers("n", nil, 100)}))
	if err != nil {
		t.Fatal(err)
	}
	if len(net.Variables) != 3 {
		t.Errorf("want 3 variables, got %d", len(net.Variables))
	}
}

// TestHostileNodes refuses nodes that no exporter writes, with operator, version, node and what is missing,
// in a line of few words.
func TestHostileNodes(t *testing.T) {
	t.Parallel()
	same := integer("axis", 1)
	odd := &onnxpb.AttributeProto{Name: proto.String("mode"), Type: onnxpb.AttributeProto_TENSOR.Enum()}
	none := &onnxpb.TensorProto{Name: proto.String("none"), DataType: proto.Int32(1), Dims: []int64{0}}
	for want, nodes := range map[string][]*onnxpb.NodeProto{
		`onnx: Softmax of version 17, node "y": want one attribute axis, got another one`:                                                                     {node("Softmax", []string{"x"}, []string{"y"}, same, same)},
		`onnx: Relu of version 17, node "y": want a value of y, got none before the node`:                                                                     {node("Relu", []string{"y"}, []string{"y"})},
		`onnx: Relu of version 17, node "z": want a value of y, got none before the node`:                                                                     {node("Relu", []string{"y"}, []string{"z"}), node("Relu", []string{"z"}, []string{"y"})},
		`onnx: Relu of version 17, node "x": want one value of x, got another one before the node`:                                                            {node("Relu", []string{"x"}, []string{"x"})},
		`onnx: LayerNormalization of version 17, node "y": nodes of others compute it: Expand: want a tensor for scale, got none`:                             {node("LayerNormalization", []string{"x", ""}, []string{"y"})},
		`onnx: InstanceNormalization of version 17, node "y": instance_norm computes it: want a tensor for gamma, got none`:                                   {node("Unsqueeze", []string{"x", "zero"}, []string{"u"}), node("InstanceNormalization", []string{"u", "", "b"}, []string{"y"})},
		`onnx: Resize of version 17, node "y": resize computes it: slope: attribute mode: tensor : want elements of a type that engines store, got UNDEFINED`: {node("Unsqueeze", []string{"x", "zero"}, []string{"u"}), node("Resize", []string{"u", "", "scales"}, []string{"y"}, odd)},
	} {
		_, err := insert(model(t, nodes, []*onnxpb.TensorProto{integers("zero", []int64{1}, 0), floats("scales", []int64{3}, 1, 1, 2), floats("b", []int64{2}, 1, 2), none}))
		if err == nil || err.Error() != want {
			t.Errorf("got  %.400v\nwant %s", err, want)
		}
	}
}
