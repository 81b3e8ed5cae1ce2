package use

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	own "example.com/formulas/generated/catalogue"
	"example.com/formulas/generated/onnxtable"
	"example.com/formulas/generated/residual"

	"github.com/opgen/opgen/cmd/opgen-onnx/onnxgo"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
)

var target = &onnx.Catalogue{Operators: own.Operators(), Register: own.Register, Entries: onnxtable.Entries}

// TestSavedGaps saves uses of an operator with a list of inputs. A tensor that is absent in front of another
// one is refused, with the operator, the node and the slot, and nothing is written. One that is absent at the
// end changes nothing.
func TestSavedGaps(t *testing.T) {
	const refusal = `onnx: residual, node "sum": single tensors of branch are absent`
	for _, tt := range []struct {
		there string
		want  string // of the error
	}{{"", ""}, {"a", ""}, {"ab", ""}, {"ab..", ""}, {".a", refusal}, {"a.b", refusal}, {".a.b.", refusal}} {
		g := graph.New(1)
		list := make(residual.Branch, len(tt.there))
		for i, c := range tt.there {
			if c != '.' {
				list[i] = g.Input(string(c), dtype.F32, 3)
			}
		}
		y := residual.Apply(g, residual.Defaults(), residual.Input(g.Input("x", dtype.F32, 3)), list, graph.Named("sum"))
		p, err := graph.Inference(g, y)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		err = onnx.Save(&file, target, p, nil)
		if tt.want == "" {
			if err != nil || file.Len() == 0 {
				t.Errorf("%q: got %v and %d bytes, want a file", tt.there, err, file.Len())
			}
			continue
		}
		refused := (*onnx.NotSaved)(nil)
		if !errors.As(err, &refused) || err.Error() != tt.want || refused.Operator != "residual" || file.Len() > 0 {
			t.Errorf("%q: got %v and %d bytes, want %s", tt.there, err, file.Len(), tt.want)
		}
	}
}

// TestWrittenGaps writes a network in whose list of inputs single ones are absent as a package. It is
// compiled, and gives the reference outputs.
func TestWrittenGaps(t *testing.T) {
	m, err := onnx.Load("gaps.onnx", target)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]safetensors.Tensor{}
	for name, list := range map[string][]float32{"x": {1, 2, 3}, "a": {10, 20, 30}, "b": {100, 200, 300}, "y": {211, 422, 633}} {
		if values[name], err = safetensors.Of([]int{3}, list); err != nil {
			t.Fatal(err)
		}
	}
	files, err := onnxgo.Write(m, target, onnxgo.Options{Package: "gaps", Source: "gaps.onnx", References: values, Extents: map[string][]int{"x": {3}}})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("../gaps")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
		if want := "residual.Branch{{}, a, {}, b}"; f.Path == "net.go" && !strings.Contains(string(f.Data), want) {
			t.Errorf("want %s in\n%s", want, f.Data)
		}
	}
	for _, args := range [][]string{{"vet", "."}, {"test", "-count=1", "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || args[0] == "test" && !strings.Contains(string(out), "ok  \texample.com/formulas/gaps") {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
