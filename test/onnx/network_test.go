package onnx

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// port is a tensor of a case: a file of little-endian elements in row-major order.
type port struct {
	Dtype string `json:"dtype"`
	Shape []int  `json:"shape"`
	File  string `json:"file"`
}

// networkCase is a network with inputs, and outputs that ONNX Runtime computed.
type networkCase struct {
	Model   string          `json:"model"`
	Inputs  map[string]port `json:"inputs"`
	Outputs map[string]port `json:"outputs"`
}

var dtypes = map[string]dtype.Type{"float32": dtype.F32, "int64": dtype.I64, "int32": dtype.I32, "bool": dtype.Bool, "float16": dtype.F16, "float64": dtype.F64,
	"int8": dtype.I8, "int16": dtype.I16, "uint8": dtype.U8, "uint16": dtype.U16, "uint32": dtype.U32, "uint64": dtype.U64}

func (p port) read(t testing.TB, folder string) safetensors.Tensor {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, p.File))
	if err != nil {
		t.Fatal(err)
	}
	if dtypes[p.Dtype] == dtype.Invalid {
		t.Fatalf("%s: element type %s", p.File, p.Dtype)
	}
	return safetensors.Tensor{Type: dtypes[p.Dtype], Shape: append([]int{}, p.Shape...), Data: data}
}

// TestNetworks runs networks that people use, as they are and as those that are not trained, and compares
// their outputs with those of ONNX Runtime 1.30. The folder in OPGEN_ONNX has further ones: models, and
// cases.
func TestNetworks(t *testing.T) {
	registry := &task.Registry{}
	if err := catalogue.Register(registry); err != nil {
		t.Fatal(err)
	}
	ran := 0
	eachNetwork(t, func(name, folder, file string) {
		t.Run(name, func(t *testing.T) { runNetwork(t, folder, file, registry, false) })
		t.Run(name+", frozen", func(t *testing.T) { runNetwork(t, folder, file, registry, true) })
		ran++
	})
	if ran < 3 {
		t.Errorf("want at least 3 cases, got %d", ran)
	}
}

// eachNetwork calls f for each case: its name, the folder of models and cases, and its file.
func eachNetwork(t testing.TB, f func(name, folder, file string)) {
	t.Helper()
	folders := []string{"testdata"}
	if more := os.Getenv("OPGEN_ONNX"); more != "" {
		folders = append(folders, more)
	}
	for _, folder := range folders {
		cases, err := filepath.Glob(filepath.Join(folder, "cases", "*", "case.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range cases {
			f(filepath.Base(filepath.Dir(file)), folder, file)
		}
	}
}

// readCase reads a case.
func readCase(t testing.TB, file string) (c networkCase) {
	t.Helper()
	readJSON(t, file, &c)
	return c
}

// readNetwork reads a case and its model.
func readNetwork(t testing.TB, folder, file string) (c networkCase, m *onnx.Model) {
	t.Helper()
	c = readCase(t, file)
	m, err := onnx.Load(filepath.Join(folder, "models", c.Model), target)
	if err != nil {
		t.Fatal(err)
	}
	return c, m
}

func runNetwork(t *testing.T, folder, file string, registry *task.Registry, frozen bool) {
	c, m := readNetwork(t, folder, file)
	inputs, known := map[string]safetensors.Tensor{}, map[string]bool{}
	for name, p := range c.Inputs {
		inputs[name] = p.read(t, filepath.Dir(file))
		known[name] = !inputs[name].Type.IsFloat() // what branches depend on
	}
	l, err := loadOn(1, frozen, graph.Inference, m, registry, fed{tensors: inputs, known: known})
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.run()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range m.Outputs() {
		want, ok := c.Outputs[p.Name]
		if !ok {
			t.Errorf("output %s is not among %q", p.Name, slices.Sorted(maps.Keys(c.Outputs)))
			continue
		}
		w := want.read(t, filepath.Dir(file))
		if d := different(out[i], w, 1e-4, 1e-4*largest(w)); d != "" {
			t.Errorf("output %s: %s", p.Name, d)
		}
	}
}

func readJSON(t testing.TB, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// largest returns the largest absolute value of a tensor.
func largest(t safetensors.Tensor) (most float64) {
	for _, x := range t.Float64s() {
		most = max(most, x, -x)
	}
	return most
}
