//go:build unix

package onnx_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
)

// TestPipes refuses a pipe as a model and as its external data, at once.
func TestPipes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	w := floats("w", []int64{3})
	w.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
	w.ExternalData = []*onnxpb.StringStringEntryProto{{Key: proto.String("location"), Value: proto.String("pipe")}}
	path := filepath.Join(dir, "m.onnx")
	data := model(t, []*onnxpb.NodeProto{node("Add", []string{"x", "w"}, []string{"y"})}, []*onnxpb.TensorProto{w})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Load(path, target)
	if err != nil {
		t.Fatal(err)
	}
	for name, load := range map[string]func() error{
		"a model": func() error { _, err := onnx.Load(pipe, target); return err },
		"data": func() error {
			g := graph.New(1)
			_, err := m.Insert(g, map[string]graph.Tensor{"x": g.Input("x", dtype.F32, 2, 3)})
			return err
		},
	} {
		done := make(chan error, 1)
		go func() { done <- load() }()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "want a regular file, got a pipe") {
				t.Errorf("%s: got %v", name, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: want an error, got none", name)
		}
	}
}
