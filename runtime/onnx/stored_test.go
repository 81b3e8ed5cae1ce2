package onnx_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/onnx"
)

// withSparse is the model y = x + w, of which w is sparse, an initializer or the value of a node.
func withSparse(t *testing.T, p *onnxpb.SparseTensorProto, ofNode bool) []byte {
	t.Helper()
	nodes := []*onnxpb.NodeProto{node("Add", []string{"x", "w"}, []string{"y"})}
	if ofNode {
		a := &onnxpb.AttributeProto{Name: proto.String("sparse_value"), Type: onnxpb.AttributeProto_SPARSE_TENSOR.Enum(), SparseTensor: p}
		nodes = append([]*onnxpb.NodeProto{node("Constant", nil, []string{"w"}, a)}, nodes...)
	}
	m, err := onnxpb.Model(model(t, nodes, nil))
	if err != nil {
		t.Fatal(err)
	}
	if !ofNode {
		m.Graph.SparseInitializer = []*onnxpb.SparseTensorProto{p}
	}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSparse stores all elements of sparse tensors, and refuses those that hold no such tensor.
func TestSparse(t *testing.T) {
	t.Parallel()
	two := floats("w", []int64{2}, 5, 7)
	list, pairs := integers("", []int64{2}, 1, 5), integers("", []int64{2, 2}, 0, 1, 1, 2)
	for name, c := range map[string]struct {
		p    *onnxpb.SparseTensorProto
		want string // of the error
	}{
		"numbers":        {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: two, Indices: list}, ""},
		"indices":        {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: two, Indices: pairs}, ""},
		"beyond":         {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: two, Indices: integers("", []int64{2}, 1, 6)}, "want a place below 6, got 6"},
		"in front":       {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: two, Indices: integers("", []int64{2}, -1, 5)}, "want a place below 6, got -1"},
		"beyond a row":   {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: two, Indices: integers("", []int64{2, 2}, 0, 3, 1, 2)}, "want a place below 3, got 3"},
		"large":          {&onnxpb.SparseTensorProto{Dims: []int64{1 << 40, 1 << 40}, Values: two, Indices: list}, "268435456 bytes"},
		"below nothing":  {&onnxpb.SparseTensorProto{Dims: []int64{2, -3}, Values: two, Indices: list}, "268435456 bytes"},
		"fewer places":   {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: two, Indices: integers("", []int64{1}, 1)}, "as many places of i64"},
		"one place":      {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: two, Indices: integers("", nil, 1)}, "as many places of i64"},
		"other places":   {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: two, Indices: floats("", []int64{2}, 1, 2)}, "as many places of i64"},
		"deeper places":  {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: two, Indices: integers("", []int64{2, 1, 1}, 1, 5)}, "as many places of i64"},
		"a place":        {&onnxpb.SparseTensorProto{Values: floats("w", []int64{1}, 5), Indices: integers("", []int64{1, 0})}, ""},
		"no tensors":     {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}}, "got UNDEFINED"},
		"without places": {&onnxpb.SparseTensorProto{Dims: []int64{2, 3}, Values: two}, "got UNDEFINED"},
	} {
		for _, ofNode := range []bool{false, true} {
			net, err := insert(withSparse(t, c.p, ofNode))
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: got %v, want %s", name, err, c.want)
				}
				continue
			}
			want := []float64{0, 5, 0, 0, 0, 7}
			if len(c.p.Dims) == 0 {
				want = []float64{5}
			}
			if err != nil || len(net.Variables) != 1 || !slices.Equal(net.Variables["w.value"].Float64s(), want) {
				t.Errorf("%s: got %v, %v, want %v", name, net, err, want)
			}
		}
	}
}

// TestStrings refuses nodes that compute with strings, and no strings that nothing computes with.
func TestStrings(t *testing.T) {
	t.Parallel()
	text := &onnxpb.TensorProto{Name: proto.String("s"), DataType: proto.Int32(int32(onnxpb.TensorProto_STRING)), Dims: []int64{1}, StringData: [][]byte{[]byte("a")}}
	word := node("Constant", nil, []string{"word"}, &onnxpb.AttributeProto{Name: proto.String("value_string"), Type: onnxpb.AttributeProto_STRING.Enum(), S: []byte("a")})
	relu := node("Relu", []string{"x"}, []string{"y"})
	if _, err := insert(model(t, []*onnxpb.NodeProto{word, relu}, []*onnxpb.TensorProto{text})); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"s", "word"} {
		for _, op := range []string{"Relu", "Identity", "Shape"} {
			_, err := insert(model(t, []*onnxpb.NodeProto{word, node(op, []string{name}, []string{"y"})}, []*onnxpb.TensorProto{text}))
			if err == nil || !strings.Contains(err.Error(), "want a tensor") || !strings.Contains(err.Error(), "got strings") {
				t.Errorf("%s: got %v", op, err)
			}
		}
	}
}

// TestFunctionAttributes reads attributes of nodes of a function that refer to those of the call, and the
// function's own where the call has none.
func TestFunctionAttributes(t *testing.T) {
	t.Parallel()
	float := func(name string, v float32) *onnxpb.AttributeProto {
		return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_FLOAT.Enum(), F: &v}
	}
	refer := func(name, to string) *onnxpb.AttributeProto {
		return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_FLOAT.Enum(), RefAttrName: &to}
	}
	sets := []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}, {Domain: proto.String("own"), Version: proto.Int64(1)}}
	own := func(n *onnxpb.NodeProto) *onnxpb.NodeProto { n.Domain = proto.String("own"); return n }
	inner := &onnxpb.FunctionProto{Name: proto.String("inner"), Domain: proto.String("own"), Input: []string{"a"}, Output: []string{"b"}, AttributeProto: []*onnxpb.AttributeProto{float("k", 3)},
		OpsetImport: sets, Node: []*onnxpb.NodeProto{node("Constant", nil, []string{"c"}, refer("value_float", "k")), node("Mul", []string{"a", "c"}, []string{"b"})}}
	outer := &onnxpb.FunctionProto{Name: proto.String("outer"), Domain: proto.String("own"), Input: []string{"a"}, Output: []string{"b"}, Attribute: []string{"k"},
		OpsetImport: sets, Node: []*onnxpb.NodeProto{own(node("inner", []string{"a"}, []string{"b"}, refer("k", "k")))}}
	for _, c := range []struct {
		attrs []*onnxpb.AttributeProto
		want  float64
	}{{nil, 3}, {[]*onnxpb.AttributeProto{float("k", 2.5)}, 2.5}} {
		for _, opts := range [][]onnx.Option{nil, {onnx.Frozen()}} {
			net, err := insert(model(t, []*onnxpb.NodeProto{own(node("outer", []string{"x"}, []string{"y"}, c.attrs...))}, nil, inner, outer), opts...)
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range net.Variables {
				if got := v.Float64s(); len(got) != 1 || got[0] != c.want {
					t.Errorf("%s: got %v, want %v", name, got, c.want)
				}
			}
			if len(net.Variables) != 1 {
				t.Errorf("want one variable, got %v", net.Variables)
			}
		}
	}
}
