// Package formulas tests that an operator with a formula needs one file, and trains.
package formulas

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/test/outside"

	// The other module uses these. The imports make go test run the test again if they change.
	_ "github.com/opgen/opgen"
	_ "github.com/opgen/opgen/cmd/opgen-onnx/onnxgo"
	_ "github.com/opgen/opgen/formula"
	_ "github.com/opgen/opgen/generated/catalogue"
	_ "github.com/opgen/opgen/runtime/onnx"
)

const (
	repository = "../.."
	maxLines   = 12 // of a formula
)

// TestOneFile generates the operators in testdata/specs, which have no kernels, in a module of their own. The
// tests of that module compare them with plain Go, and train with them.
func TestOneFile(t *testing.T) {
	specs, err := filepath.Glob("testdata/specs/*.toml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("want specs, got none: %v", err)
	}
	for _, path := range specs {
		var spec struct{ Formula string }
		if _, err := toml.DecodeFile(path, &spec); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(spec.Formula, "\n") + 1; spec.Formula == "" || n > maxLines {
			t.Errorf("%s: want a formula of 1 to %d lines, got %d", path, maxLines, n)
		}
	}

	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	opgen, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/formulas\n\ngo 1.26.0\n\nrequire github.com/opgen/opgen v0.0.0\n\nreplace github.com/opgen/opgen => " + opgen + "\n",
		"go.sum": string(sums),
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	writeNetwork(t, filepath.Join(root, "use", "gaps.onnx"))
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // of opgen, and not of Go
	r, err := generate.Write(t.Context(), generate.Options{Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("finding: %s", f.Text())
	}
	if r.Operators != len(specs) {
		t.Fatalf("want %d operators, got %d", len(specs), r.Operators)
	}

	cmd := exec.Command("go", "test", "-v", "./...")
	env, err := outside.Env(filepath.Join(t.TempDir(), "go.work"), repository, root)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.Env = root, append(env, "GOCACHE="+strings.TrimSpace(string(cache)))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go test: %v\n%s", err, out)
	}
	for _, pass := range []string{"TestValues", "TestValues/rotary_attention", "TestValues/block", "TestValues/limited", "TestValues/limited_twice", "TestGivenGradients", "TestIntegers", "TestLamb", "TestPassed", "TestTraining", "TestSavedGaps", "TestWrittenGaps", "TestEach", "TestEach/tiles",
		"TestLoops", "TestLoops/newton_schulz", "TestLoops/grid_sample", "TestLoops/nms", "TestLoops/triplet", "TestLoops/kalman", "TestLoops/soft_dtw", "TestLoops/giou_of_80_boxes", "TestLoops/lovasz", "TestLoops/causal"} {
		if !strings.Contains(string(out), "--- PASS: "+pass+" ") {
			t.Errorf("want that %s passes, got\n%s", pass, out)
		}
	}
}

// writeNetwork writes a network of one node, in whose list of inputs two are absent.
func writeNetwork(t *testing.T, path string) {
	t.Helper()
	port := func(name string) *onnxpb.ValueInfoProto {
		shape := &onnxpb.TensorShapeProto{Dim: []*onnxpb.TensorShapeProto_Dimension{{Value: &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "n"}}}}
		return &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
			TensorType: &onnxpb.TypeProto_Tensor{ElemType: new(int32(onnxpb.TensorProto_FLOAT)), Shape: shape}}}}
	}
	data, err := proto.Marshal(&onnxpb.ModelProto{IrVersion: new(int64(8)),
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: new(int64(17))}, {Domain: new("com.example"), Version: new(int64(1))}},
		Graph: &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{port("x"), port("a"), port("b")}, Output: []*onnxpb.ValueInfoProto{port("y")},
			Node: []*onnxpb.NodeProto{{OpType: new("Residual"), Domain: new("com.example"), Input: []string{"x", "", "a", "", "b", ""}, Output: []string{"y"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}
