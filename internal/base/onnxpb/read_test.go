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
