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
