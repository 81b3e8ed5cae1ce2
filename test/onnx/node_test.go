// Package onnx runs the node tests of ONNX, and networks that people use.
package onnx

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/fuse"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

var update = flag.Bool("update", false, "rewrite docs/onnx.md")

var target = &onnx.Catalogue{Operators: catalogue.Operators(), Register: catalogue.Register, Entries: onnxtable.Entries}

// readNodes reads the node tests: the files of each test, by its name.
func readNodes(t *testing.T) map[string]map[string][]byte {
	t.Helper()
	f, err := os.Open("testdata/node-1.22.0.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	tests := map[string]map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data := files[h.Linkname]
		if h.Typeflag != tar.TypeLink {
			if data, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		files[h.Name] = data
		test, file, _ := strings.Cut(h.Name, "/")
		if tests[test] == nil {
			tests[test] = map[string][]byte{}
		}
		tests[test][file] = data
	}
	return tests
}

// loaded is a network in an engine.
type loaded struct {
	engine   *engine.Engine
	instance *engine.Instance
	outputs  []graph.Tensor
	counts   []int // of outputs that each output of the model has
}

// load loads a model for inputs of the types and shapes of some tensors. Those in known are given as
// constants.
func load(m *onnx.Model, registry *task.Registry, inputs map[string]safetensors.Tensor, known map[string]bool) (*loaded, error) {
	return loadOn(1, false, graph.Inference, m, registry, fed{tensors: inputs, known: known})
}

// fed are the inputs of a model.
type fed struct {
	tensors map[string]safetensors.Tensor
	known   map[string]bool // which of the tensors are given as constants
	lists   map[string][]safetensors.Tensor
	without []string // optional ones that are left out
}

// loadOn does so for a number of workers, as a network that is not trained and with fused operators if asked
// to, by a program of some kind.
func loadOn(workers int, frozen bool, program func(*graph.Graph, ...graph.Tensor) (*graph.Program, error), m *onnx.Model, registry *task.Registry, inputs fed) (*loaded, error) {
	g := graph.New(1)
	tensors, values := map[string]graph.Tensor{}, map[string]safetensors.Tensor{}
	var opts []onnx.Option
	if frozen {
		opts = append(opts, onnx.Frozen())
	}
	for name, x := range inputs.tensors {
		if inputs.known[name] {
			opts = append(opts, onnx.Known(name, x))
		} else {
			tensors[name] = g.Input(name, x.Type, x.Shape...)
			values[name] = x
		}
	}
	for name, list := range inputs.lists {
		var of []graph.Tensor
		for i, x := range list {
			t := g.Input(fmt.Sprintf("%s[%d]", name, i), x.Type, x.Shape...)
			of, values[t.Name()] = append(of, t), x
		}
		opts = append(opts, onnx.Sequence(name, of...))
	}
	for _, name := range inputs.without {
		opts = append(opts, onnx.Without(name))
	}
	if err := g.Err(); err != nil {
		return nil, err
	}
	net, err := m.Insert(g, tensors, opts...)
	if err != nil {
		return nil, err
	}
	p, err := program(g, net.Outputs...)
	if err != nil {
		return nil, err
	}
	if frozen {
		if p, _, err = fuse.Program(p); err != nil {
			return nil, err
		}
	}
	e := engine.New(registry, cpu.New(cpu.Config{Workers: workers}), engine.Config{})
	plan, err := planner.Build(p, e.Options()...)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	in, err := e.Load(plan)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	for _, v := range p.Variables {
		if err := e.SetVariableBytes(v.Name(), net.Variables[v.Name()].Data); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	for _, x := range p.Fed {
		if err := in.FeedBytes(x.Name(), values[x.Name()].Data); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return &loaded{e, in, net.Outputs, net.Counts}, nil
}

// run runs the network and returns its outputs.
func (l *loaded) run() (out []safetensors.Tensor, err error) {
	defer func() { err = errors.Join(err, l.engine.Close()) }()
	if err := l.instance.Run(context.Background()); err != nil {
		return nil, err
	}
	for _, t := range l.outputs {
		data, err := l.instance.FetchBytes(t.Name())
		if err != nil {
			return nil, err
		}
		s, err := l.instance.Shape(t.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, safetensors.Tensor{Type: t.Type(), Shape: s, Data: data})
	}
	return out, nil
}

// different returns in what a tensor differs from the one that is expected; "" for nothing.
func different(got, want safetensors.Tensor, rtol, atol float64) string {
	if got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Sprintf("got %v%v, want %v%v", got.Type, got.Shape, want.Type, want.Shape)
	}
	if !got.Type.IsFloat() {
		if !slices.Equal(got.Data, want.Data) {
			return "integers differ"
		}
		return ""
	}
	g, w := got.Float64s(), want.Float64s()
	for i, x := range g {
		y := w[i]
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		if !(math.Abs(x-y) <= atol+rtol*math.Abs(y)) {
			return fmt.Sprintf("element %d is %v, want %v", i, x, y)
		}
	}
	return ""
}

// result is how a node test went.
type result struct {
	refused error           // why the catalogue does not compute it
	failed  string          // it computes something else
	known   map[string]bool // inputs that had to be given as constants
}

func runNode(name string, files map[string][]byte, registry *task.Registry) (r result) {
	m, err := onnx.Read(files["model.onnx"], target)
	if err != nil {
		return result{refused: err}
	}
	for set := 0; ; set++ {
		folder := fmt.Sprint(set)
		if files[folder+"/output_0.pb"] == nil {
			break
		}
		inputs := fed{tensors: map[string]safetensors.Tensor{}, lists: map[string][]safetensors.Tensor{}}
		known, all := map[string]bool{}, map[string]bool{}
		for i, p := range m.Inputs() {
			data := files[path.Join(folder, fmt.Sprintf("input_%d.pb", i))]
			if data == nil {
				return result{failed: "no input " + p.Name}
			}
			if p.Type == dtype.Invalid {
				return result{refused: fmt.Errorf("the input %s is no tensor of a type that engines store", p.Name)}
			}
			list, kind, err := readValue(p, data)
			if err != nil {
				return result{refused: err}
			}
			if kind == noValue {
				inputs.without = append(inputs.without, p.Name)
			} else if kind == sequenceValue {
				inputs.lists[p.Name] = list
			}
			if kind != tensorValue {
				continue
			}
			x := list[0]
			inputs.tensors[p.Name] = x
			known[p.Name] = describes(i, x)
			all[p.Name] = len(x.Data) <= 512
		}
		program := graph.Inference
		if drawn[name] != 0 {
			program = graph.Whole
		}
		l, err := loadOn(1, false, program, m, registry, inputs)
		if err != nil {
			r.known, inputs.known = known, known
			l, err = loadOn(1, false, program, m, registry, inputs)
		}
		if err != nil {
			refused := err
			r.known, inputs.known = all, all
			if l, err = loadOn(1, false, program, m, registry, inputs); err != nil {
				return result{refused: refused}
			}
		}
		if drawn[name] != 0 {
			r.failed = dropped(l, files, folder, 1/(1-drawn[name]))
			return r
		}
		if got := check(l, m.Outputs(), files, folder, cmp.Or(rounded[name], 1e-7)); got.failed != "" {
			return got
		}
	}
	return r
}

// describes reports whether an input may describe an operation: it comes behind what the operation is applied
// to, and is small.
func describes(i int, x safetensors.Tensor) bool {
	return len(x.Shape) <= 1 && len(x.Data) <= 512 && (i > 0 || !x.Type.IsFloat())
}

func check(l *loaded, ports []onnx.Port, files map[string][]byte, folder string, atol float64) result {
	out, err := l.run()
	if err != nil {
		return result{failed: err.Error()}
	}
	for i, p := range ports {
		list, _, err := readValue(p, files[path.Join(folder, fmt.Sprintf("output_%d.pb", i))])
		if err != nil {
			return result{failed: err.Error()}
		}
		if n := l.counts[i]; n != len(list) {
			return result{failed: fmt.Sprintf("output %d: got %d tensors, want %d", i, n, len(list))}
		}
		for k, want := range list {
			if d := different(out[k], want, 1e-3, atol); d != "" {
				return result{failed: fmt.Sprintf("output %d, tensor %d: %s", i, k, d)}
			}
		}
		out = out[len(list):]
	}
	return result{}
}

// valueKind is what a file with a value of an input or of an output holds.
type valueKind uint8

const (
	tensorValue valueKind = iota
	sequenceValue
	noValue // of an optional one
)

// readValue reads the tensors in a file with a value of an input or of an output: of a message SequenceProto
// or OptionalProto of ONNX if the port has such values.
func readValue(p onnx.Port, data []byte) (list []safetensors.Tensor, kind valueKind, err error) {
	if p.Optional {
		var inner []byte
		kind = noValue
		err := fields(data, func(number protowire.Number, value []byte) {
			switch number {
			case 3:
				inner, kind = value, tensorValue
			case 5:
				inner, kind = value, sequenceValue
			}
		})
		if err != nil || kind == noValue {
			return nil, kind, err
		}
		data = inner
	} else if p.Sequence {
		kind = sequenceValue
	}
	add := func(data []byte) {
		_, x, again := onnx.ReadTensor(data)
		list, err = append(list, x), errors.Join(err, again)
	}
	if kind == tensorValue {
		add(data)
		return list, kind, err
	}
	again := fields(data, func(number protowire.Number, value []byte) {
		if number == 3 {
			add(value)
		}
	})
	return list, kind, errors.Join(err, again)
}

// fields calls f with the fields of bytes in a message.
func fields(data []byte, f func(number protowire.Number, value []byte)) error {
	for len(data) > 0 {
		number, wire, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, wire, data); n < 0 {
			return protowire.ParseError(n)
		}
		if wire == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data)
			f(number, value)
		}
		data = data[n:]
	}
	return nil
}

// drawn lists the node tests in which random numbers decide which elements are dropped, with the part of the
// elements that they drop.
var drawn = map[string]float64{"training_dropout": 0.75, "training_dropout_mask": 0.75, "training_dropout_default": 0.5, "training_dropout_default_mask": 0.5}

// dropped compares an output of which other elements are dropped than in the expected one. Those that are
// kept have the same factor, and a mask, if there is one, says which ones they are.
func dropped(l *loaded, files map[string][]byte, folder string, factor float64) string {
	_, x, err := onnx.ReadTensor(files[path.Join(folder, "input_0.pb")])
	var out []safetensors.Tensor
	if err == nil {
		out, err = l.run()
	}
	if err != nil {
		return err.Error()
	}
	kept := 0
	y := out[0].Float64s()
	for i, v := range x.Float64s() {
		keeps := y[i] != 0
		if len(out) > 1 {
			keeps = out[1].Data[i] != 0
		}
		want := 0.0
		if keeps {
			kept++
			want = factor * v
		}
		if !(math.Abs(y[i]-want) <= 1e-6*math.Abs(want)) {
			return fmt.Sprintf("element %d is %v, want %v", i, y[i], want)
		}
	}
	if n := float64(len(y)); math.Abs(float64(kept)-n/factor) > 4*math.Sqrt(n/factor*(1-1/factor)) {
		return fmt.Sprintf("%d of %d elements are kept", kept, len(y))
	}
	return ""
}

// rounded lists the node tests that expect 0 of sums of numbers up to 99, with the rounding of the library
// that computed the expected values: it gave 1.9e-7.
var rounded = map[string]float64{"dft_inverse": 2e-7, "dft_inverse_opset19": 2e-7}

// TestNodes runs the node tests of ONNX. What the catalogue computes is as ONNX says, and what it does not
// compute is refused by name. The counts stand in docs/onnx.md.
func TestNodes(t *testing.T) {
	tests := readNodes(t)
	if len(tests) != 1765 {
		t.Fatalf("want 1765 node tests, got %d", len(tests))
	}
	registry := &task.Registry{}
	if err := catalogue.Register(registry); err != nil {
		t.Fatal(err)
	}
	page := coverage{operators: map[string]*counts{}}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if only := os.Getenv("ONNX_NODE"); !strings.HasPrefix(name, only) {
			continue
		}
		r := runNode(name, tests[name], registry)
		if r.failed != "" {
			t.Errorf("%s: %s", name, r.failed)
		} else if r.refused != nil {
			t.Logf("%s: %v", name, r.refused)
		}
		page.add(name, tests[name]["model.onnx"], r)
	}
	if os.Getenv("ONNX_NODE") == "" {
		page.compare(t)
	}
}
