package onnxpb

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func model(t testing.TB) []byte {
	t.Helper()
	data, err := proto.Marshal(&ModelProto{IrVersion: proto.Int64(10), Graph: &GraphProto{Name: proto.String("g"), Node: []*NodeProto{{
		OpType: proto.String("Relu"), Input: []string{"x"}, Output: []string{"y"},
		Attribute: []*AttributeProto{{Name: proto.String("a"), I: proto.Int64(3), Type: AttributeProto_INT.Enum()}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestModel(t *testing.T) {
	t.Parallel()
	m, err := Model(model(t))
	if err != nil || m.GetGraph().GetNode()[0].GetOpType() != "Relu" || m.GetGraph().GetNode()[0].GetAttribute()[0].GetI() != 3 {
		t.Errorf("got %v, %v", m, err)
	}
}

// TestRawData compares a message that has its raw data in common with the file with one that package proto
// has read: tensors in attributes, in graphs within graphs and in sparse tensors, empty raw data and none,
// and raw data twice, of which the last counts.
func TestRawData(t *testing.T) {
	t.Parallel()
	of := func(raw []byte) *TensorProto { return &TensorProto{Dims: []int64{int64(len(raw))}, RawData: raw} }
	inner := &GraphProto{Initializer: []*TensorProto{of([]byte("inner"))}}
	want := &ModelProto{Graph: &GraphProto{
		Initializer:       []*TensorProto{of([]byte("weights")), of(nil), of([]byte{}), {FloatData: []float32{1}}, of([]byte("12345678"))},
		SparseInitializer: []*SparseTensorProto{{Values: of([]byte("sparse")), Indices: of([]byte("at"))}},
		Node: []*NodeProto{{Attribute: []*AttributeProto{{T: of([]byte("constant")), Tensors: []*TensorProto{of([]byte("a")), of([]byte("b"))},
			G: inner, Graphs: []*GraphProto{inner, inner}}}}},
	}}
	data, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	twice := protowire.AppendBytes(protowire.AppendTag(protowire.AppendBytes(protowire.AppendTag(nil, 9, protowire.BytesType), []byte("first")), 9, protowire.BytesType), []byte("last"))
	twice = protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), twice) // GraphProto.initializer
	data = protowire.AppendBytes(protowire.AppendTag(data, 7, protowire.BytesType), twice) // ModelProto.graph
	want.Graph.Initializer = append(want.Graph.Initializer, &TensorProto{RawData: []byte("last")})
	got, err := Model(data)
	if err != nil || !proto.Equal(got, want) {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
	data[bytes.Index(data, []byte("weights"))]++
	if s := string(got.GetGraph().GetInitializer()[0].GetRawData()); s != "xeights" {
		t.Errorf("the raw data is a copy: %s", s)
	}
	if x := got.GetGraph().GetInitializer(); x[1].RawData != nil || x[2].RawData == nil {
		t.Errorf("got %v and %v, want raw data only in the second", x[1], x[2])
	}
}

// TestBounds reads small files that would take much memory, and files within files.
func TestBounds(t *testing.T) {
	t.Parallel()
	node := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), nil) // GraphProto.node
	many := protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), bytes.Repeat(node, maxMessages+1))
	graph := []byte{}
	for range maxDepth {
		attr := protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), graph) // AttributeProto.g
		n := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), attr)     // NodeProto.attribute
		graph = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), n)
	}
	deep := protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), graph)
	for want, data := range map[string][]byte{"more than 2097152 messages": many, "more than 100 deep": deep, "unexpected EOF": model(t)[:20]} {
		if _, err := Model(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Tensor([]byte{0xff}); err == nil || !strings.Contains(err.Error(), "want a tensor") {
		t.Errorf("got %v", err)
	}
}

func FuzzModel(f *testing.F) {
	f.Add(model(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Model(data)
		if err != nil {
			return
		}
		again, err := (proto.MarshalOptions{AllowPartial: true}).Marshal(m)
		if err != nil {
			t.Skip(err) // strings that are not UTF-8
		}
		if _, err := Model(again); err != nil {
			t.Errorf("what was read does not read again: %v", err)
		}
	})
}
