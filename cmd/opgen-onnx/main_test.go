package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/internal/base/onnxpb"
)

const models = "../../test/onnx/testdata/models/"

// TestRun runs the command with arguments, most of which are wrong. Nothing is written then.
func TestRun(t *testing.T) {
	wake := models + "namaste_deepa.onnx"
	tests := []struct {
		args   string
		status int
		want   string // on standard error, or on standard output with status 0
	}{
		{"-o DIR " + wake, clean, "wrote DIR/net.go\nwrote DIR/weights.safetensors\n"},
		{"-o DIR", trouble, "usage: opgen-onnx -o FOLDER [flags] FILE\n"},
		{"-o DIR " + models + "none.onnx", trouble, "none.onnx"},
		{"-o DIR -input onnx::Flatten_0=2,24,96 " + wake, trouble, "input onnx::Flatten_0: want the extent 1 in dimension 0, as the file says, got 2\n"},
		{"-o DIR -input onnx::Flatten_0=1,24 " + wake, trouble, "input onnx::Flatten_0: want 3 extents, as the file says, got [1 24]\n"},
		{"-o DIR -input onnx::Flatten_0 " + wake, trouble, "opgen: -input: want NAME=NUMBER,..., got \"onnx::Flatten_0\"\n"},
		{"-o DIR -input onnx::Flatten_0=1,24,x " + wake, trouble, "want extents of 0 or more, got \"x\"\n"},
		{"-o DIR -known rate=16000 " + wake, trouble, "want an input of the network, one of [\"onnx::Flatten_0\"], got \"rate\"\n"},
		{"-o DIR -known onnx::Flatten_0=1,2 " + wake, trouble, "want numbers for extents [1 24 96], got 2\n"},
		{"-o DIR -reference " + models + " " + wake, trouble, "input_0.pb"},
		{"-o DIR " + models + "sound.onnx", refused, "onnx: Loud of version 13, node \"speaker\": the catalogue has no such operator\n"},
		{"-o DIR " + models + "ch_ppocr_mobile_v2.0_cls_infer.onnx -input x=1,3,8,8", trouble, "usage"},
		{"-o DIR -input x=1,3,8,8 " + models + "ch_ppocr_mobile_v2.0_cls_infer.onnx", refused, "want a window that fits into an image"},
	}
	for _, tt := range tests {
		dir := filepath.ToSlash(filepath.Join(t.TempDir(), "net"))
		var stdout, stderr bytes.Buffer
		status := run(strings.Fields(strings.ReplaceAll(tt.args, "DIR", dir)), &stdout, &stderr)
		got := stderr.String()
		if tt.status == clean {
			got = stdout.String()
		}
		if want := strings.ReplaceAll(tt.want, "DIR", dir); status != tt.status || !strings.Contains(got, want) {
			t.Errorf("%s: got status %d and\n%s\nwant status %d and\n%s", tt.args, status, got, tt.status, want)
		}
		if _, err := os.Stat(dir); (err == nil) != (tt.status == clean) {
			t.Errorf("%s: status %d, but of the folder: %v", tt.args, status, err)
		}
	}
}

// TestReferences writes a test for inputs and outputs that come with a network, whose extents are those to
// begin with.
func TestReferences(t *testing.T) {
	dir := t.TempDir()
	for name, dims := range map[string][]int64{"input_0.pb": {1, 24, 96}, "output_0.pb": {1, 1}} {
		n := dims[0] * dims[1]
		if len(dims) > 2 {
			n *= dims[2]
		}
		data, err := proto.Marshal(&onnxpb.TensorProto{DataType: proto.Int32(int32(onnxpb.TensorProto_FLOAT)), Dims: dims, FloatData: make([]float32, n)})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "net")
	var stdout, stderr bytes.Buffer
	if status := run([]string{"-o", out, "-reference", dir, models + "namaste_deepa.onnx"}, &stdout, &stderr); status != clean {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	for _, name := range []string{"net.go", "net_test.go", "testdata/reference.safetensors", "weights.safetensors"} {
		if !strings.Contains(stdout.String(), "wrote "+filepath.ToSlash(filepath.Join(out, name))+"\n") {
			t.Errorf("%s is not among\n%s", name, &stdout)
		}
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
}
