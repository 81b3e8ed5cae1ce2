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
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/internal/base/onnxpb"
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
	least  float64          // of the largest elements by which differences of random models are judged
	hands  map[string]*hand // models of which failures show the nodes
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
			if d := different(got, want, 1e-5, 1e-5*max(largest(want), j.least)); d != "" {
				t.Errorf("%s, output %s: %s%s", c.Model, name, d, from(j.hands[c.Model], name))
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

// from returns the node that computes a name, and what gives its inputs.
func from(h *hand, name string) string {
	if h == nil {
		return ""
	}
	for _, n := range h.nodes {
		if !slices.Contains(n.Output, name) {
			continue
		}
		text := fmt.Sprintf("\n\tof %s(%s)", n.GetOpType(), strings.Join(n.Input, ", "))
		for _, a := range n.Attribute {
			text += fmt.Sprintf(" %v", a)
		}
		for _, input := range n.Input {
			if x, ok := h.stored[input]; ok && len(x.Data) <= 64 {
				text += fmt.Sprintf("; %s = %v%v%v", input, x.Type, x.Shape, x.Float64s())
			}
		}
		for _, m := range h.nodes {
			for _, out := range m.Output {
				if slices.Contains(n.Input, out) {
					text += fmt.Sprintf("; %s of %s", out, m.GetOpType())
				}
			}
		}
		return text
	}
	return ""
}

func newJudge(t *testing.T) (*judge, *task.Registry) {
	registry := &task.Registry{}
	if err := catalogue.Register(registry); err != nil {
		t.Fatal(err)
	}
	return &judge{folder: t.TempDir(), want: map[string]map[string]safetensors.Tensor{}, hands: map[string]*hand{}}, registry
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

// TestModelsInRuntime runs models by hand here and with ONNX Runtime: operators that it fused itself, and
// quantized ones.
func TestModelsInRuntime(t *testing.T) {
	j, _ := newJudge(t)
	x, row := numbered(dtype.F32, 2, 4, 6), numbered(dtype.F32, 6)
	square, image := numbered(dtype.F32, 6, 6), numbered(dtype.F32, 1, 2, 5, 5)
	kernel := numbered(dtype.F32, 4, 2, 3, 3)
	small, eight := numbered(dtype.U8, 2, 3, 4), numbered(dtype.I8, 4, 6)
	scale, zero := of(dtype.F32, []int{}, 0.05), of(dtype.U8, []int{}, 120)
	wide := numbered(dtype.F32, 18)
	three := numbered(dtype.F32, 6, 18)
	mask := of(dtype.I32, []int{2, 4}, 1, 1, 1, 0, 1, 1, 1, 1)
	ids := of(dtype.I32, []int{2, 4}, 0, 1, 2, 3, 3, 2, 1, 0)
	signal := numbered(dtype.F32, 1, 20, 1)
	type tensors = map[string]safetensors.Tensor
	left := contributed()
	for name, h := range map[string]*hand{
		"bias-gelu":      {nodes: []*onnxpb.NodeProto{op("com.microsoft.BiasGelu x b -> y")}, fed: tensors{"x": x, "b": row}},
		"fast-gelu":      {nodes: []*onnxpb.NodeProto{op("com.microsoft.FastGelu x b -> y")}, fed: tensors{"x": x, "b": row}},
		"quick-gelu":     {nodes: []*onnxpb.NodeProto{op("com.microsoft.QuickGelu x -> y", "alpha", 1.5)}, fed: tensors{"x": x}},
		"fused-matmul":   {nodes: []*onnxpb.NodeProto{op("com.microsoft.FusedMatMul w w -> y", "transA", 1, "alpha", 0.5)}, fed: tensors{"w": square}},
		"fused-conv":     {nodes: []*onnxpb.NodeProto{op("com.microsoft.FusedConv x w -> y", "activation", "Relu", "pads", []int{1, 1, 1, 1}, "strides", []int{2, 2})}, fed: tensors{"x": image, "w": kernel}},
		"skip-norm":      {nodes: []*onnxpb.NodeProto{op("com.microsoft.SkipLayerNormalization x x g b -> y", "epsilon", 0.001)}, fed: tensors{"x": x, "g": row, "b": row}},
		"skip-simple":    {nodes: []*onnxpb.NodeProto{op("com.microsoft.SkipSimplifiedLayerNormalization x x g -> y", "epsilon", 0.001)}, fed: tensors{"x": x, "g": row}},
		"simple-norm":    {nodes: []*onnxpb.NodeProto{op("SimplifiedLayerNormalization x g -> y", "epsilon", 0.001)}, fed: tensors{"x": x, "g": row}},
		"embed":          {nodes: []*onnxpb.NodeProto{op("com.microsoft.EmbedLayerNormalization i i w p s g b -> y m")}, fed: tensors{"i": ids}, stored: tensors{"w": square, "p": square, "s": square, "g": row, "b": row}},
		"attention":      {nodes: []*onnxpb.NodeProto{op("com.microsoft.Attention x w b m -> y", "num_heads", 2)}, fed: tensors{"x": x, "m": mask}, stored: tensors{"w": three, "b": wide}},
		"causal":         {nodes: []*onnxpb.NodeProto{op("com.microsoft.Attention x w b -> y", "num_heads", 3, "unidirectional", 1)}, fed: tensors{"x": x}, stored: tensors{"w": three, "b": wide}},
		"heads":          {nodes: []*onnxpb.NodeProto{op("com.microsoft.MultiHeadAttention x x x b m -> y", "num_heads", 2)}, fed: tensors{"x": x, "m": mask}, stored: tensors{"b": wide}},
		"matmul-float":   {nodes: []*onnxpb.NodeProto{op("com.microsoft.MatMulIntegerToFloat a b s s z - d -> y")}, fed: tensors{"a": small}, stored: tensors{"b": eight, "s": scale, "z": zero, "d": row}},
		"dynamic-matmul": {nodes: []*onnxpb.NodeProto{op("com.microsoft.DynamicQuantizeMatMul x b s - d -> y")}, fed: tensors{"x": numbered(dtype.F32, 3, 4)}, stored: tensors{"b": eight, "s": scale, "d": row}},
		"qadd":           {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearAdd a s z a s z t z -> y")}, fed: tensors{"a": small}, stored: tensors{"s": scale, "t": of(dtype.F32, []int{}, 0.11), "z": zero}},
		"qmul":           {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearMul a s z a s z s z -> y")}, fed: tensors{"a": small}, stored: tensors{"s": scale, "z": zero}},
		"qsigmoid":       {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearSigmoid a s z t - -> y")}, fed: tensors{"a": small}, stored: tensors{"s": scale, "t": of(dtype.F32, []int{}, 0.0041), "z": zero}},
		"qleaky":         {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearLeakyRelu a s z s z -> y", "alpha", 0.1)}, fed: tensors{"a": small}, stored: tensors{"s": scale, "z": zero}},
		"qpool":          {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearGlobalAveragePool a s z s z -> y")}, fed: tensors{"a": numbered(dtype.U8, 1, 2, 3, 5)}, stored: tensors{"s": scale, "z": zero}},
		"quantized":      {nodes: []*onnxpb.NodeProto{op("com.microsoft.QuantizeLinear x s z -> q"), op("com.microsoft.DequantizeLinear q s z -> y")}, fed: tensors{"x": x}, stored: tensors{"s": scale, "z": zero}},
		"conv-integer":   {nodes: []*onnxpb.NodeProto{op("ConvInteger a w z -> y", "pads", []int{1, 1, 1, 1})}, fed: tensors{"a": numbered(dtype.U8, 1, 2, 5, 5)}, stored: tensors{"w": numbered(dtype.U8, 4, 2, 3, 3), "z": zero}},
		"qconv": {nodes: []*onnxpb.NodeProto{op("QLinearConv a s z w v o t z b -> y", "strides", []int{2, 2})}, fed: tensors{"a": numbered(dtype.U8, 1, 2, 5, 5)},
			stored: tensors{"w": numbered(dtype.I8, 4, 2, 3, 3), "s": scale, "z": zero, "v": of(dtype.F32, []int{4}, 0.1, 0.2, 0.05, 0.02), "o": of(dtype.I8, []int{4}, 0, 0, 0, 0), "t": of(dtype.F32, []int{}, 3), "b": of(dtype.I32, []int{4}, 5, -50, 500, 0)}},
		"four-bits": {nodes: []*onnxpb.NodeProto{op("com.microsoft.MatMulNBits x w s p -> y", "K", 6, "N", 5, "bits", 4, "block_size", 16)}, fed: tensors{"x": x},
			stored: tensors{"w": numbered(dtype.U8, 5, 1, 8), "s": numbered(dtype.F32, 5), "p": of(dtype.U8, []int{5}, 7, 8, 3, 15, 0)}},
		"four-bits-of-blocks": {nodes: []*onnxpb.NodeProto{op("com.microsoft.MatMulNBits v w s -> y", "K", 40, "N", 3, "bits", 4, "block_size", 16)}, fed: tensors{"v": numbered(dtype.F32, 2, 40)},
			stored: tensors{"w": numbered(dtype.U8, 3, 3, 8), "s": numbered(dtype.F32, 9)}},
		"qaverage": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearAveragePool a s z t z -> y", "kernel_shape", []int{2, 3}, "pads", []int{0, 1, 1, 1}, "strides", []int{1, 2})},
			fed: tensors{"a": numbered(dtype.U8, 1, 2, 3, 5)}, stored: tensors{"s": scale, "t": of(dtype.F32, []int{}, 0.0413), "z": zero}},
		"qsoftmax": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearSoftmax a s z t n -> y", "axis", -1, "opset", 13)}, fed: tensors{"a": small}, stored: tensors{"s": scale, "z": zero, "t": of(dtype.F32, []int{}, 0.00390625), "n": of(dtype.U8, []int{}, 0)}},
		"qwhere": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearWhere c a s z b t z s z -> y")}, fed: tensors{"a": small, "c": of(dtype.Bool, []int{1, 3, 1}, 1, 0, 1)},
			stored: tensors{"b": numbered(dtype.U8, 2, 1, 4), "s": scale, "t": of(dtype.F32, []int{}, 0.02), "z": zero}},
		"qgemm": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QGemm a s z b t o c r z -> y", "transB", 1, "alpha", 0.5)}, fed: tensors{"a": numbered(dtype.U8, 3, 4)},
			stored: tensors{"b": numbered(dtype.I8, 6, 4), "s": scale, "t": of(dtype.F32, []int{}, 0.02), "o": of(dtype.I8, []int{}, 3), "c": of(dtype.I32, []int{6}, 5, -50, 500, 0, 1, 2), "r": of(dtype.F32, []int{}, 0.3), "z": zero}},
		"qgemm-float": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QGemm a s z b t o c -> y", "transA", 1)}, fed: tensors{"a": numbered(dtype.U8, 4, 3)},
			stored: tensors{"b": numbered(dtype.I8, 4, 6), "s": scale, "t": of(dtype.F32, []int{}, 0.02), "o": of(dtype.I8, []int{}, 3), "c": of(dtype.I32, []int{6}, 5, -50, 500, 0, 1, 2), "z": zero}},
		"qattention": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QAttention a w b s t m z o -> y", "num_heads", 2)}, fed: tensors{"a": numbered(dtype.U8, 2, 4, 6), "m": mask},
			stored: tensors{"w": numbered(dtype.I8, 6, 18), "b": wide, "s": scale, "t": of(dtype.F32, []int{}, 0.02), "z": zero, "o": of(dtype.I8, []int{}, 0)}},
		"transposed": {nodes: []*onnxpb.NodeProto{op("com.microsoft.TransposeMatMul w w -> y", "transB", 1, "alpha", 0.5)}, fed: tensors{"w": square}},
		"fused-gemm": {nodes: []*onnxpb.NodeProto{op("com.microsoft.FusedGemm w w r -> y", "transB", 1, "alpha", 0.5, "beta", 2.0, "activation", "Tanh")}, fed: tensors{"w": square}, stored: tensors{"r": row}},
		"rotary": {nodes: []*onnxpb.NodeProto{op("com.microsoft.RotaryEmbedding v p c s -> y")}, fed: tensors{"v": numbered(dtype.F32, 2, 3, 16)},
			stored: tensors{"p": of(dtype.I64, []int{2, 3}, 0, 1, 2, 3, 1, 0), "c": numbered(dtype.F32, 5, 4), "s": numbered(dtype.F32, 5, 4)}},
		"nhwc-pool": {nodes: []*onnxpb.NodeProto{op("com.microsoft.NhwcMaxPool a -> y", "kernel_shape", []int{2, 3}, "pads", []int{0, 1, 1, 1}, "strides", []int{1, 2})}, fed: tensors{"a": numbered(dtype.U8, 2, 4, 5, 3)}},
		"nhwc-qconv": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearConv a s z w v o t z b -> y", "channels_last", 1, "pads", []int{1, 0, 1, 0}, "strides", []int{2, 1})}, fed: tensors{"a": numbered(dtype.U8, 1, 5, 5, 2)},
			stored: tensors{"w": numbered(dtype.I8, 4, 2, 3, 3), "s": scale, "z": zero, "v": of(dtype.F32, []int{4}, 0.1, 0.2, 0.05, 0.02), "o": of(dtype.I8, []int{4}, 0, 0, 0, 0), "t": of(dtype.F32, []int{}, 3), "b": of(dtype.I32, []int{4}, 5, -50, 500, 0)}},
		"nhwc-qpool": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearGlobalAveragePool a s z s z -> y", "channels_last", 1)}, fed: tensors{"a": numbered(dtype.U8, 1, 3, 5, 2)}, stored: tensors{"s": scale, "z": zero}},
		"nhwc-qaverage": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearAveragePool a s z t z -> y", "channels_last", 1, "kernel_shape", []int{2, 2})}, fed: tensors{"a": numbered(dtype.U8, 2, 3, 5, 4)},
			stored: tensors{"s": scale, "t": of(dtype.F32, []int{}, 0.0413), "z": zero}},
		"qconcat": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QLinearConcat t z a s z b t z a t o -> y", "axis", 1)}, fed: tensors{"a": small},
			stored: tensors{"b": numbered(dtype.U8, 2, 1, 4), "s": scale, "t": of(dtype.F32, []int{}, 0.03), "z": zero, "o": of(dtype.U8, []int{}, 7)}},
		"qembed": {nodes: []*onnxpb.NodeProto{op("com.microsoft.QEmbedLayerNormalization i i w w w g g m s s t s t z z z z z -> y n")}, fed: tensors{"i": ids, "m": mask}, out: []string{"y", "n"},
			stored: tensors{"w": numbered(dtype.U8, 6, 6), "g": numbered(dtype.U8, 6), "s": scale, "t": of(dtype.F32, []int{}, 0.02), "z": zero}},
		"qlstm": {nodes: []*onnxpb.NodeProto{op("com.microsoft.DynamicQuantizeLSTM x w r - - - - - s z s z -> y h c", "hidden_size", 3)}, fed: tensors{"x": numbered(dtype.F32, 5, 2, 4)}, out: []string{"y", "h", "c"},
			stored: tensors{"w": numbered(dtype.I8, 1, 4, 12), "r": numbered(dtype.I8, 1, 3, 12), "s": of(dtype.F32, []int{1}, 0.02), "z": of(dtype.I8, []int{1}, 0)}},
		"qlstm-back": {nodes: []*onnxpb.NodeProto{op("com.microsoft.DynamicQuantizeLSTM x w r b - h0 c0 - s z s z -> y h c", "hidden_size", 3, "direction", "reverse")}, out: []string{"y", "h", "c"},
			fed:    tensors{"x": numbered(dtype.F32, 3, 1, 4), "h0": numbered(dtype.F32, 1, 1, 3), "c0": numbered(dtype.F32, 1, 1, 3)},
			stored: tensors{"w": numbered(dtype.U8, 1, 4, 12), "r": numbered(dtype.U8, 1, 3, 12), "b": numbered(dtype.F32, 1, 24), "s": of(dtype.F32, []int{1}, 0.02), "z": of(dtype.U8, []int{1}, 121)}},
		"qlstm-both": {nodes: []*onnxpb.NodeProto{op("com.microsoft.DynamicQuantizeLSTM x w r b - - - p s z t z -> y h c", "hidden_size", 3, "direction", "bidirectional")}, fed: tensors{"x": numbered(dtype.F32, 4, 3, 5)}, out: []string{"y", "h", "c"},
			stored: tensors{"w": numbered(dtype.I8, 2, 5, 12), "r": numbered(dtype.I8, 2, 3, 12), "b": numbered(dtype.F32, 2, 24), "p": numbered(dtype.F32, 2, 9),
				"s": each(dtype.F32, []int{2, 12}, func(i []int) float64 { return 0.01 + 0.002*float64(i[0]+i[1]) }), "t": each(dtype.F32, []int{2, 12}, func(i []int) float64 { return 0.03 - 0.002*float64(i[1]) }), "z": of(dtype.I8, []int{2, 12}, make([]float64, 24)...)}},
		"lengths-lstm": {nodes: []*onnxpb.NodeProto{op("LSTM x w r b n h0 c0 p -> y h c", "hidden_size", 3, "direction", "bidirectional")}, out: []string{"y", "h", "c"},
			fed: tensors{"x": numbered(dtype.F32, 5, 3, 4), "n": of(dtype.I32, []int{3}, 2, 5, 3), "h0": numbered(dtype.F32, 2, 3, 3), "c0": numbered(dtype.F32, 2, 3, 3)}, stored: tensors{"w": numbered(dtype.F32, 2, 12, 4), "r": numbered(dtype.F32, 2, 12, 3), "b": numbered(dtype.F32, 2, 24), "p": numbered(dtype.F32, 2, 9)}},
		"lengths-lstm-back": {nodes: []*onnxpb.NodeProto{op("LSTM x w r - n -> y h c", "hidden_size", 3, "direction", "reverse")}, out: []string{"y", "h", "c"},
			fed: tensors{"x": numbered(dtype.F32, 6, 3, 4), "n": of(dtype.I32, []int{3}, 2, 5, 3)}, stored: tensors{"w": numbered(dtype.F32, 1, 12, 4), "r": numbered(dtype.F32, 1, 12, 3)}},
		"lengths-gru": {nodes: []*onnxpb.NodeProto{op("GRU x w r b n h0 -> y h", "hidden_size", 3, "direction", "bidirectional", "linear_before_reset", 1)}, out: []string{"y", "h"},
			fed: tensors{"x": numbered(dtype.F32, 5, 3, 4), "n": of(dtype.I32, []int{3}, 2, 5, 3), "h0": numbered(dtype.F32, 2, 3, 3)}, stored: tensors{"w": numbered(dtype.F32, 2, 9, 4), "r": numbered(dtype.F32, 2, 9, 3), "b": numbered(dtype.F32, 2, 18)}},
		"lengths-rnn": {nodes: []*onnxpb.NodeProto{op("RNN x w r b n -> y h", "hidden_size", 3, "direction", "reverse")}, out: []string{"y", "h"},
			fed: tensors{"x": numbered(dtype.F32, 5, 3, 4), "n": of(dtype.I32, []int{3}, 2, 5, 3)}, stored: tensors{"w": numbered(dtype.F32, 1, 3, 4), "r": numbered(dtype.F32, 1, 3, 3), "b": numbered(dtype.F32, 1, 6)}},
		"functions-lstm": {nodes: []*onnxpb.NodeProto{op("LSTM x w r b n h0 c0 p -> y h c", "hidden_size", 3, "direction", "bidirectional", "activations", []string{"HardSigmoid", "Tanh", "Relu", "Sigmoid", "Softsign", "HardSigmoid"}, "activation_alpha", []float64{0.25, 0.3}, "activation_beta", []float64{0.4, 0.6})}, out: []string{"y", "h", "c"},
			fed: tensors{"x": numbered(dtype.F32, 5, 3, 4), "n": of(dtype.I32, []int{3}, 2, 5, 3), "h0": numbered(dtype.F32, 2, 3, 3), "c0": numbered(dtype.F32, 2, 3, 3)}, stored: tensors{"w": numbered(dtype.F32, 2, 12, 4), "r": numbered(dtype.F32, 2, 12, 3), "b": numbered(dtype.F32, 2, 24), "p": numbered(dtype.F32, 2, 9)}},
		"coupled-lstm": {nodes: []*onnxpb.NodeProto{op("LSTM x w r b n -> y h c", "hidden_size", 3, "input_forget", 1, "clip", 0.7)}, out: []string{"y", "h", "c"},
			fed: tensors{"x": numbered(dtype.F32, 5, 3, 4), "n": of(dtype.I32, []int{3}, 2, 5, 3)}, stored: tensors{"w": numbered(dtype.F32, 1, 12, 4), "r": numbered(dtype.F32, 1, 12, 3), "b": numbered(dtype.F32, 1, 24)}},
		"functions-gru": {nodes: []*onnxpb.NodeProto{op("GRU x w r b n -> y h", "hidden_size", 3, "direction", "reverse", "activations", []string{"HardSigmoid", "LeakyRelu"}, "clip", 0.9)}, out: []string{"y", "h"},
			fed: tensors{"x": numbered(dtype.F32, 5, 3, 4), "n": of(dtype.I32, []int{3}, 2, 5, 3)}, stored: tensors{"w": numbered(dtype.F32, 1, 9, 4), "r": numbered(dtype.F32, 1, 9, 3), "b": numbered(dtype.F32, 1, 18)}},
		"functions-gru-behind": {nodes: []*onnxpb.NodeProto{op("GRU x w r b n h0 -> y h", "hidden_size", 3, "linear_before_reset", 1, "activations", []string{"Sigmoid", "ScaledTanh"}, "activation_alpha", []float64{0.8}, "activation_beta", []float64{1.5})}, out: []string{"y", "h"},
			fed: tensors{"x": numbered(dtype.F32, 5, 3, 4), "n": of(dtype.I32, []int{3}, 2, 5, 3), "h0": numbered(dtype.F32, 1, 3, 3)}, stored: tensors{"w": numbered(dtype.F32, 1, 9, 4), "r": numbered(dtype.F32, 1, 9, 3), "b": numbered(dtype.F32, 1, 18)}},
		"functions-rnn": {nodes: []*onnxpb.NodeProto{op("RNN x w r b n -> y h", "hidden_size", 3, "direction", "bidirectional", "activations", []string{"Affine", "Elu"}, "activation_alpha", []float64{0.5, 0.7}, "activation_beta", []float64{0.1})}, out: []string{"y", "h"},
			fed: tensors{"x": numbered(dtype.F32, 5, 3, 4), "n": of(dtype.I32, []int{3}, 2, 5, 3)}, stored: tensors{"w": numbered(dtype.F32, 2, 3, 4), "r": numbered(dtype.F32, 2, 3, 3), "b": numbered(dtype.F32, 2, 6)}},
		"group-query": {nodes: []*onnxpb.NodeProto{op("com.microsoft.GroupQueryAttention q k v - - n t -> y pk pv", "num_heads", 4, "kv_num_heads", 2)}, fed: tensors{"q": numbered(dtype.F32, 2, 3, 32), "k": numbered(dtype.F32, 2, 3, 16), "v": numbered(dtype.F32, 2, 3, 16)},
			stored: tensors{"n": of(dtype.I32, []int{2}, 2, 2), "t": of(dtype.I32, []int{1}, 3)}, out: []string{"y", "pk", "pv"}},
		"group-query-past": {nodes: []*onnxpb.NodeProto{op("com.microsoft.GroupQueryAttention q - - ok ov n t c s -> y pk pv", "num_heads", 4, "kv_num_heads", 2, "do_rotary", 1, "scale", 0.3, "softcap", 2.0)}, out: []string{"y", "pk", "pv"},
			fed:    tensors{"q": numbered(dtype.F32, 1, 1, 128), "ok": numbered(dtype.F32, 1, 2, 3, 16), "ov": numbered(dtype.F32, 1, 2, 3, 16)},
			stored: tensors{"n": of(dtype.I32, []int{1}, 3), "t": of(dtype.I32, []int{1}, 4), "c": numbered(dtype.F32, 8, 8), "s": numbered(dtype.F32, 8, 8)}},
		"attention-past": {nodes: []*onnxpb.NodeProto{op("com.microsoft.Attention x w b m past -> y present", "num_heads", 2, "unidirectional", 1)}, out: []string{"y", "present"},
			fed: tensors{"x": x, "m": of(dtype.I32, []int{2, 5}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0), "past": numbered(dtype.F32, 2, 2, 2, 1, 3)}, stored: tensors{"w": three, "b": wide}},
		"eight-bits": {nodes: []*onnxpb.NodeProto{op("com.microsoft.MatMulNBits v w s -> y", "K", 40, "N", 3, "bits", 8, "block_size", 16)}, fed: tensors{"v": numbered(dtype.F32, 2, 40)},
			stored: tensors{"w": numbered(dtype.U8, 3, 3, 16), "s": numbered(dtype.F32, 9)}},
		"grid":       {nodes: []*onnxpb.NodeProto{op("com.microsoft.GridSample x g -> y", "mode", "bilinear", "align_corners", 1)}, fed: tensors{"x": image, "g": each(dtype.F32, []int{1, 3, 4, 2}, func(i []int) float64 { return float64(i[1]*4+i[2]*2+i[3])*0.13 - 1 })}},
		"dims":       {nodes: []*onnxpb.NodeProto{op("com.microsoft.ExpandDims x k -> y")}, fed: tensors{"x": x}, stored: tensors{"k": of(dtype.I32, []int{1}, 1)}},
		"trilu":      {nodes: []*onnxpb.NodeProto{op("com.microsoft.Trilu w k -> y", "upper", 0)}, fed: tensors{"w": square}, stored: tensors{"k": of(dtype.I64, []int{}, 1)}},
		"stft":       {nodes: []*onnxpb.NodeProto{op("STFT x s w -> y")}, fed: tensors{"x": signal}, stored: tensors{"s": of(dtype.I64, []int{}, 4), "w": numbered(dtype.F32, 8)}},
		"reverse":    {nodes: []*onnxpb.NodeProto{op("ReverseSequence x n -> y", "time_axis", 1, "batch_axis", 0)}, fed: tensors{"x": x}, stored: tensors{"n": of(dtype.I64, []int{2}, 3, 1)}},
		"scatter-nd": {nodes: []*onnxpb.NodeProto{op("ScatterND x i u -> y", "reduction", "add")}, fed: tensors{"x": x}, stored: tensors{"i": of(dtype.I64, []int{3, 2}, 0, 1, -1, -2, 0, 1), "u": numbered(dtype.F32, 3, 6)}},
	} {
		if h.opset = 18; h.out == nil {
			h.out = []string{"y"}
		}
		out, err := h.run(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := map[string]safetensors.Tensor{}
		for i, name := range h.out {
			want[name] = out[i]
		}
		j.add(t, name+".onnx", h.bytes(t), h.fed, want)
		for _, n := range h.nodes {
			left = slices.DeleteFunc(left, func(op string) bool { return n.GetDomain() == "com.microsoft" && n.GetOpType() == op })
		}
	}
	if len(left) > 0 {
		t.Errorf("want a model of each of %q", left)
	}
	j.run(t)
}
