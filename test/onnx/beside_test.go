//go:build onnxruntime

package onnx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// names lists element types by their names in ONNX Runtime.
var names = map[dtype.Type]string{dtype.F32: "float32", dtype.F64: "float64", dtype.I8: "int8", dtype.I16: "int16", dtype.I32: "int32", dtype.I64: "int64",
	dtype.U8: "uint8", dtype.U16: "uint16", dtype.U32: "uint32", dtype.U64: "uint64", dtype.Bool: "bool"}

// judge collects models for ONNX Runtime, with the outputs that they must have.
type judge struct {
	folder string
	cases  []networkCase
	want   map[string]map[string]safetensors.Tensor
}

// add adds a model.
func (j *judge) add(t *testing.T, name string, model []byte, inputs, outputs map[string]safetensors.Tensor) {
	t.Helper()
	c := networkCase{Model: name, Inputs: map[string]port{}}
	write := func(file string, data []byte) {
		if err := os.WriteFile(filepath.Join(j.folder, file), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(name, model)
	for input, x := range inputs {
		file := fmt.Sprintf("%s.input%d", name, len(c.Inputs))
		write(file, x.Data)
		c.Inputs[input] = port{names[x.Type], x.Shape, file}
	}
	j.cases = append(j.cases, c)
	j.want[name] = outputs
}

// run runs all models, and compares their outputs.
func (j *judge) run(t *testing.T) {
	text, err := json.Marshal(j.cases)
	if err == nil {
		err = os.WriteFile(filepath.Join(j.folder, "cases.json"), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("node", "testdata/beside.cjs", j.folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var results map[string]struct {
		Outputs map[string]port `json:"outputs"`
		Error   string          `json:"error"`
	}
	readJSON(t, filepath.Join(j.folder, "results.json"), &results)
	same, lacking := 0, 0
	for _, c := range j.cases {
		r := results[c.Model]
		// ONNX Runtime lacks kernels of some element types, which the format has.
		if strings.Contains(r.Error, "NOT_IMPLEMENTED") || strings.Contains(r.Error, "Could not find an implementation") {
			t.Logf("%s: %s", c.Model, r.Error)
			lacking++
			continue
		}
		if strings.HasPrefix(c.Model, "einsum-") && strings.Contains(r.Error, "Ellipsis represents incompatible dimensions") {
			t.Logf("%s: ONNX infers no shape where an ellipsis is repeated", c.Model)
			lacking++
			continue
		}
		if r.Error != "" {
			t.Errorf("%s: %s", c.Model, r.Error)
			continue
		}
		ok := true
		for name, want := range j.want[c.Model] {
			p := r.Outputs[name]
			got := p.read(t, j.folder)
			if d := different(got, want, 1e-5, 1e-5*largest(want)); d != "" {
				t.Errorf("%s, output %s: %s", c.Model, name, d)
				ok = false
			}
		}
		if ok {
			same++
		}
	}
	t.Logf("%d models have the same outputs in ONNX Runtime, which lacks kernels for %d more", same, lacking)
	if same < 20*lacking {
		t.Error("want ONNX Runtime to run nearly all models")
	}
}

func newJudge(t *testing.T) (*judge, *task.Registry) {
	registry := &task.Registry{}
	if err := catalogue.Register(registry); err != nil {
		t.Fatal(err)
	}
	return &judge{folder: t.TempDir(), want: map[string]map[string]safetensors.Tensor{}}, registry
}

// byName returns outputs by their names.
func byName(tensors []graph.Tensor, values []safetensors.Tensor) map[string]safetensors.Tensor {
	out := map[string]safetensors.Tensor{}
	for i, t := range tensors {
		out[t.Name()] = values[i]
	}
	return out
}

// TestExamplesInRuntime runs the saved examples of the catalogue with ONNX Runtime.
func TestExamplesInRuntime(t *testing.T) {
	j, registry := newJudge(t)
	savedExamples(func(o *graph.Operator, number int, e *example, data []byte, err error) {
		if err != nil {
			return
		}
		out, err := run(registry, e.program, e.program.Fetched, e.values, e.values)
		if err != nil {
			t.Fatal(err)
		}
		fed := map[string]safetensors.Tensor{}
		for _, x := range e.program.Fed {
			fed[x.Name()] = e.values[x.Name()]
		}
		j.add(t, fmt.Sprintf("%s-%d.onnx", o.Name, number), data, fed, byName(e.program.Fetched, out))
	})
	j.run(t)
}

// TestNetworksInRuntime saves networks that people use, once they were loaded, and runs them with ONNX
// Runtime.
func TestNetworksInRuntime(t *testing.T) {
	j, registry := newJudge(t)
	eachNetwork(t, func(name, folder, file string) {
		c, m := readNetwork(t, folder, file)
		g := graph.New(1)
		tensors, inputs, opts := map[string]graph.Tensor{}, map[string]safetensors.Tensor{}, []onnx.Option{}
		for input, p := range c.Inputs {
			x := p.read(t, filepath.Dir(file))
			if !x.Type.IsFloat() {
				opts = append(opts, onnx.Known(input, x))
				continue
			}
			tensors[input], inputs[input] = g.Input(input, x.Type, x.Shape...), x
		}
		net, err := m.Insert(g, tensors, opts...)
		if err != nil {
			t.Fatal(err)
		}
		p, err := graph.Inference(g, net.Outputs...)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := onnx.Save(&b, target, p, net.Variables); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out, err := run(registry, p, net.Outputs, inputs, net.Variables)
		if err != nil {
			t.Fatal(err)
		}
		j.add(t, name+".onnx", b.Bytes(), inputs, byName(net.Outputs, out))
	})
	j.run(t)
}

// TestTrainedInRuntime trains the networks of the examples for a short time, and runs the files that they
// write with ONNX Runtime.
func TestTrainedInRuntime(t *testing.T) {
	j, registry := newJudge(t)
	for name, args := range map[string][]string{"digits": {"-epochs", "1"}, "charlm": {"-steps", "20", "-sample", "0", "-layers", "1", "-width", "32"}} {
		file := filepath.Join(t.TempDir(), name+".onnx")
		if out, err := exec.Command("go", append([]string{"run", "../../examples/" + name, "-onnx", file}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := onnx.Load(file, target)
		if err != nil {
			t.Fatal(err)
		}
		g, rng := graph.New(1), rand.New(rand.NewPCG(1, 2))
		tensors, inputs := map[string]graph.Tensor{}, map[string]safetensors.Tensor{}
		for _, p := range m.Inputs() {
			x := g.Input(p.Name, p.Type, p.Extents...)
			v := safetensors.Tensor{Type: p.Type, Shape: x.Shape(), Data: make([]byte, x.Elements()*p.Type.Size())}
			for i := range x.Elements() {
				if p.Type.IsFloat() {
					p.Type.PutFloat64(v.Data[i*p.Type.Size():], rng.Float64())
				} else {
					p.Type.PutFloat64(v.Data[i*p.Type.Size():], float64(rng.IntN(10)))
				}
			}
			tensors[p.Name], inputs[p.Name] = x, v
		}
		net, err := m.Insert(g, tensors)
		if err != nil {
			t.Fatal(err)
		}
		p, err := graph.Inference(g, net.Outputs...)
		if err != nil {
			t.Fatal(err)
		}
		out, err := run(registry, p, net.Outputs, inputs, net.Variables)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]safetensors.Tensor{}
		for i, o := range m.Outputs() {
			want[o.Name] = out[i]
		}
		j.add(t, name+".onnx", data, inputs, want)
	}
	j.run(t)
}

// TestOutputsInRuntime fetches an input and a variable besides what is computed from them.
func TestOutputsInRuntime(t *testing.T) {
	j, registry := newJudge(t)
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	y := linear.Apply(g, linear.Defaults(4).WithUseBias(false), x, graph.Named("y"))
	w := y.Node().Tensor(int(linear.SlotWeight))
	p, err := graph.Inference(g, y, x, w)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]safetensors.Tensor{}
	for _, v := range []graph.Tensor{x, w} {
		values[v.Name()] = draw(rand.New(rand.NewPCG(1, 2)), y.Node(), int(linear.SlotInput), v)
	}
	var b bytes.Buffer
	if err := onnx.Save(&b, target, p, values); err != nil {
		t.Fatal(err)
	}
	out, err := run(registry, p, []graph.Tensor{y}, values, values)
	if err != nil {
		t.Fatal(err)
	}
	j.add(t, "outputs.onnx", b.Bytes(), map[string]safetensors.Tensor{"x": values["x"]},
		map[string]safetensors.Tensor{y.Name(): out[0], "x": values["x"], w.Name(): values[w.Name()]})
	j.run(t)
}
