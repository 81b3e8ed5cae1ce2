package onnx

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/cmd/opgen-onnx/onnxgo"
	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/test/outside"
)

var everyNode = flag.Bool("every-node", false, "write packages for all node tests that pass, not for one of each operator")

// written is a network that was written as a package, with inputs for which it is run.
type written struct {
	name, model string
	options     onnxgo.Options
	known       []string
	sets        []map[string]safetensors.Tensor
	train       bool // to see that a program for training goes on from the weights
}

// module is a module of packages that opgen onnx wrote, with a program that compares them with what package
// onnx loads.
type module struct {
	dir, imports, list string
	count              int
}

// add writes the package of a network.
func (m *module) add(t *testing.T, n written) error {
	t.Helper()
	model, err := onnx.Load(n.model, target)
	if err != nil {
		return err
	}
	n.options.Package = fmt.Sprintf("p%d", m.count)
	n.options.Source = n.model
	files, err := onnxgo.Write(model, target, n.options)
	if err != nil {
		return err
	}
	folder := filepath.Join(m.dir, n.options.Package)
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var sets []string
	for i, set := range n.sets {
		data, err := (&safetensors.File{Metadata: map[string]string{}, Tensors: set}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, fmt.Sprintf("set%d.safetensors", i))
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
		sets = append(sets, file)
	}
	full, err := filepath.Abs(n.model)
	if err != nil {
		t.Fatal(err)
	}
	m.imports += fmt.Sprintf("%q\n", "beside/"+n.options.Package)
	load := "nil"
	if slices.ContainsFunc(files, func(f onnxgo.File) bool { return f.Path == "weights.safetensors" }) {
		load = n.options.Package + ".Load"
	}
	m.list += fmt.Sprintf("{%q, %q, %s.Build, %s, %q, []string{%s}, []string{%s}, %t}, // %s\n", full, folder, n.options.Package, load, strings.Join(n.known, " "), quoted(slices.Sorted(maps.Keys(n.options.Absent))), quoted(sets), n.train, n.name)
	m.count++
	return nil
}

func quoted(list []string) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, fmt.Sprintf("%q", s))
	}
	return strings.Join(parts, ", ")
}

// run compiles the packages and compares them.
func (m *module) run(t *testing.T, command ...string) string {
	t.Helper()
	program, err := os.ReadFile("testdata/beside/main.go")
	if err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"main.go":     string(program),
		"networks.go": "package main\n\nimport (\n" + m.imports + ")\n\nvar networks = []network{\n" + m.list + "}\n",
		"go.mod":      "module beside\n\ngo 1.26.0\n\nrequire github.com/opgen/opgen v0.0.0\n\nreplace github.com/opgen/opgen => " + repository + "\n",
	} {
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	env, err := outside.Env(m.dir+".work", repository, m.dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", command...)
	cmd.Dir, cmd.Env = m.dir, append(env, "PWD="+m.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// random returns a tensor of random numbers.
func random(r *rand.Rand, typ dtype.Type, dims ...int) safetensors.Tensor {
	n := 1
	for _, d := range dims {
		n *= d
	}
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(r.NormFloat64())
	}
	x, err := safetensors.Of(dims, list)
	if err == nil {
		x, err = x.As(typ)
	}
	if err != nil {
		panic(err)
	}
	return x
}

// TestPackages writes networks that people use as Go packages, which give the bits that package onnx gives,
// also for extents that the files do not name. The test of a package with references passes. OPGEN_ONNX has
// further networks.
func TestPackages(t *testing.T) {
	m := &module{dir: t.TempDir()}
	r := rand.New(rand.NewPCG(1, 2))
	x := func(dims ...int) map[string]safetensors.Tensor {
		return map[string]safetensors.Tensor{"x": random(r, dtype.F32, dims...)}
	}
	networks := []written{
		{name: "wake", train: true, model: "testdata/models/namaste_deepa.onnx", sets: []map[string]safetensors.Tensor{{"onnx::Flatten_0": random(r, dtype.F32, 1, 24, 96)}},
			options: onnxgo.Options{References: referencesOf(t, "testdata/cases/wake-1")}},
		{name: "cls", model: "testdata/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", sets: []map[string]safetensors.Tensor{x(1, 3, 48, 192), x(3, 3, 80, 100), x(2, 3, 65, 37)},
			options: onnxgo.Options{References: referencesOf(t, "testdata/cases/cls-3")}},
	}
	rows := func(n int) map[string]safetensors.Tensor {
		return map[string]safetensors.Tensor{"x": random(r, dtype.F32, n, 3)}
	}
	networks = append(networks, written{name: "computed", model: ofRows(t), sets: []map[string]safetensors.Tensor{rows(2), rows(5), rows(1)}})
	if more := os.Getenv("OPGEN_ONNX"); more != "" {
		state := func(batch, length int) map[string]safetensors.Tensor {
			rate, err := safetensors.Of([]int{}, []int64{16000})
			if err != nil {
				t.Fatal(err)
			}
			return map[string]safetensors.Tensor{"input": random(r, dtype.F32, batch, length), "state": random(r, dtype.F32, 2, batch, 128), "sr": rate}
		}
		one := state(1, 512)
		networks = append(networks,
			written{name: "rec", model: filepath.Join(more, "models/ch_PP-OCRv4_rec_infer.onnx"), sets: []map[string]safetensors.Tensor{x(1, 3, 48, 320), x(3, 3, 48, 101), x(2, 3, 48, 325)},
				options: onnxgo.Options{References: referencesOf(t, filepath.Join(more, "cases/rec-1x320")), Extents: map[string][]int{"x": {1, 3, 48, 320}}}},
			written{name: "vad", model: filepath.Join(more, "models/silero_vad_v5.onnx"), sets: []map[string]safetensors.Tensor{one, state(5, 512)}, known: []string{"sr"},
				options: onnxgo.Options{References: referencesOf(t, filepath.Join(more, "cases/vad5-16k")), Known: map[string]safetensors.Tensor{"sr": one["sr"]},
					Extents: map[string][]int{"input": {1, 512}, "state": {2, 1, 128}}}})
	}
	for _, n := range networks {
		if err := m.add(t, n); err != nil {
			t.Fatalf("%s: %v", n.name, err)
		}
	}
	if out := m.run(t, "run", "."); !strings.Contains(out, fmt.Sprint("compared ", len(networks))) {
		t.Errorf("the program printed %s", out)
	}
	for k := range networks {
		m.run(t, "vet", fmt.Sprintf("./p%d", k))
	}
	tested := 0
	for _, n := range networks {
		if n.options.References != nil {
			tested++
		}
	}
	out := m.run(t, "test", "./...")
	if got := strings.Count(out, "ok  \tbeside/p"); got != tested {
		t.Errorf("want %d packages with tests, got %d:\n%s", tested, got, out)
	}
}

// ofRows writes a network whose constants depend on the number of rows of its input: their numbers, zeros, a
// parameter that is repeated and the number itself.
func ofRows(t *testing.T) string {
	t.Helper()
	h := &hand{opset: 17, fed: map[string]safetensors.Tensor{"x": of(dtype.F32, []int{1, 3}, 1, 2, 3)}, out: []string{"y"},
		stored: map[string]safetensors.Tensor{"token": of(dtype.F32, []int{1, 3}, 4, 5, 6), "zero": of(dtype.I64, []int{}, 0), "one": of(dtype.I64, []int{}, 1), "axis": of(dtype.I64, []int{1}, 1)},
		nodes: []*onnxpb.NodeProto{op("Shape x -> shape"), op("Gather shape zero -> n"),
			op("Range zero n one -> numbers"), op("Cast numbers -> floats", "to", 1), op("Unsqueeze floats axis -> column"), op("Add x column -> sum"),
			op("Expand token shape -> tokens"), op("ConstantOfShape shape -> zeros"), op("Concat sum tokens zeros -> all", "axis", 1),
			op("Cast n -> count", "to", 1), op("Div all count -> y")}}
	m, err := onnxpb.Model(h.bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	m.Graph.Input[0].GetType().GetTensorType().Shape.Dim[0].Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "rows"}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "rows.onnx")
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// referencesOf reads the inputs and outputs of a case.
func referencesOf(t *testing.T, folder string) map[string]safetensors.Tensor {
	t.Helper()
	c := readCase(t, filepath.Join(folder, "case.json"))
	out := map[string]safetensors.Tensor{}
	for _, ports := range []map[string]port{c.Inputs, c.Outputs} {
		for name, p := range ports {
			out[name] = p.read(t, folder)
		}
	}
	return out
}

// TestNodePackages writes networks of the node tests as packages: one for each operator, or all of them. They
// give the bits that package onnx gives.
func TestNodePackages(t *testing.T) {
	registry := &task.Registry{}
	if err := catalogue.Register(registry); err != nil {
		t.Fatal(err)
	}
	tests := readNodes(t)
	m := &module{dir: t.TempDir()}
	done := map[string]bool{}
	refused := 0
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		files := tests[name]
		kind := operatorOf(name, files["model.onnx"])
		if only := os.Getenv("ONNX_NODE"); !strings.HasPrefix(name, only) || !*everyNode && done[kind] {
			continue
		}
		r := runNode(name, files, registry)
		if r.refused != nil {
			continue
		}
		path := filepath.Join(m.dir, name+".onnx")
		if err := os.WriteFile(path, files["model.onnx"], 0o666); err != nil {
			t.Fatal(err)
		}
		n := written{name: name, model: path, options: onnxgo.Options{Extents: map[string][]int{}, Lists: map[string][][]int{}, Absent: map[string]bool{}, Known: map[string]safetensors.Tensor{}}}
		model, err := onnx.Load(path, target)
		if err != nil {
			t.Fatal(err)
		}
		set := map[string]safetensors.Tensor{}
		for i, p := range model.Inputs() {
			list, value, err := readValue(p, files[fmt.Sprintf("0/input_%d.pb", i)])
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case value == noValue:
				n.options.Absent[p.Name] = true
			case value == sequenceValue:
				n.options.Lists[p.Name] = [][]int{}
				for k, x := range list {
					set[fmt.Sprintf("%s[%d]", p.Name, k)] = x
					n.options.Lists[p.Name] = append(n.options.Lists[p.Name], x.Shape)
				}
			default:
				set[p.Name] = list[0]
				if r.known[p.Name] {
					n.known = append(n.known, p.Name)
					n.options.Known[p.Name] = list[0]
				} else if p.Extents == nil {
					n.options.Extents[p.Name] = list[0].Shape
				}
			}
		}
		n.sets = append(n.sets, set)
		if err := m.add(t, n); err != nil {
			refused++
			t.Logf("%s: %v", name, err)
			continue
		}
		done[kind] = true
	}
	if m.count < 100 && os.Getenv("ONNX_NODE") == "" {
		t.Errorf("want at least 100 packages, got %d", m.count)
	}
	if refused > 0 {
		t.Errorf("%d networks that can be loaded are not written", refused)
	}
	t.Logf("%d packages", m.count)
	if out := m.run(t, "run", "."); !strings.Contains(out, fmt.Sprint("compared ", m.count)) {
		t.Errorf("the program printed %s", out)
	}
}
