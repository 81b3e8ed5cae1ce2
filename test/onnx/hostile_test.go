package onnx

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/cmd/opgen-onnx/onnxgo"
	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
)

var (
	mutations = flag.Int("mutations", 1, "how often TestMutated changes each network")
	mutation  = flag.Uint64("mutation", 1, "the seed of the first change of TestMutated")
)

// extremes are integers that files have in place of others.
var extremes = []int64{0, 1, -1, 2, 3, -2, 7, 64, 1 << 20, 1 << 31, 1<<31 - 1, 1 << 40, 1 << 62, math.MaxInt64, math.MinInt64, -1 << 31}

// mutator changes a network as no exporter does.
type mutator struct {
	*rand.Rand
	model *onnxpb.ModelProto
	ops   []string // operators of all networks
}

func (m *mutator) extreme() int64 { return extremes[m.IntN(len(extremes))] }

// pick returns an element of a list; the zero value if there is none.
func pick[T any](m *mutator, list []T) (x T) {
	if len(list) > 0 {
		x = list[m.IntN(len(list))]
	}
	return x
}

// graphs returns a graph and those within its nodes.
func graphs(g *onnxpb.GraphProto) []*onnxpb.GraphProto {
	list := []*onnxpb.GraphProto{g}
	for _, n := range g.GetNode() {
		for _, a := range n.GetAttribute() {
			if a.GetG() != nil {
				list = append(list, graphs(a.GetG())...)
			}
		}
	}
	return list
}

// change makes one change, and says which one.
func (m *mutator) change() string {
	g := pick(m, graphs(m.model.GetGraph()))
	n, t := pick(m, g.GetNode()), pick(m, g.GetInitializer())
	if constant := pick(m, g.GetNode()); t == nil && constant != nil {
		for _, a := range constant.GetAttribute() {
			if a.GetT() != nil {
				t = a.GetT()
			}
		}
	}
	a := pick(m, n.GetAttribute())
	switch kind := m.IntN(26); {
	case kind == 0 && n != nil:
		g.Node = slices.DeleteFunc(g.Node, func(x *onnxpb.NodeProto) bool { return x == n })
		return "a node that is missing"
	case kind == 1 && len(g.GetInitializer()) > 0:
		g.Initializer = slices.DeleteFunc(g.Initializer, func(x *onnxpb.TensorProto) bool { return x == t })
		return "a tensor that is missing"
	case kind == 2 && n != nil && len(n.Input) > 0:
		n.Input[m.IntN(len(n.Input))] = ""
		return "an input that is absent"
	case kind == 3 && n != nil:
		n.Input = n.Input[:m.IntN(len(n.Input)+1)]
		return "fewer inputs"
	case kind == 4 && n != nil:
		n.Input = append(n.Input, pick(m, n.Input), "", pick(m, pick(m, g.Node).Input))
		return "more inputs"
	case kind == 5 && n != nil && len(n.Input) > 0:
		n.Input[m.IntN(len(n.Input))] = pick(m, pick(m, g.Node).GetOutput())
		return "an input that another node gives, perhaps later"
	case kind == 6 && n != nil && len(n.Input) > 0:
		n.Input[m.IntN(len(n.Input))] = pick(m, g.GetInitializer()).GetName()
		return "another tensor as an input"
	case kind == 7 && n != nil && len(n.Output) > 0:
		n.Output[m.IntN(len(n.Output))] = pick(m, pick(m, g.Node).GetOutput())
		return "a name that is given twice"
	case kind == 8 && n != nil:
		n.Output = append(n.Output, "another", "and another")
		return "more outputs"
	case kind == 9 && n != nil:
		n.OpType = proto.String(pick(m, m.ops))
		return "another operator"
	case kind == 10 && n != nil:
		m.Shuffle(len(n.Input), func(i, j int) { n.Input[i], n.Input[j] = n.Input[j], n.Input[i] })
		return "inputs in another order"
	case kind == 11 && a != nil:
		n.Attribute = slices.DeleteFunc(n.Attribute, func(x *onnxpb.AttributeProto) bool { return x == a })
		return "an attribute that is missing"
	case kind == 12 && a != nil:
		n.Attribute = append(n.Attribute, proto.Clone(a).(*onnxpb.AttributeProto), &onnxpb.AttributeProto{Name: a.Name})
		return "an attribute that is there twice"
	case kind == 13 && a != nil:
		a.Type = onnxpb.AttributeProto_AttributeType(m.IntN(16)).Enum()
		return "another type of an attribute"
	case kind == 14 && a != nil:
		a.I, a.F, a.S = proto.Int64(m.extreme()), proto.Float32(pick(m, []float32{0, -1, 1e30, float32(math.NaN()), float32(math.Inf(-1))})), []byte(pick(m, []string{"", "a->", "...ij,jk->", "reflect", strings.Repeat("i", 200)}))
		return "an extreme attribute"
	case kind == 15 && a != nil && len(a.Ints) > 0:
		a.Ints[m.IntN(len(a.Ints))] = m.extreme()
		return "an extreme integer in an attribute"
	case kind == 16 && a != nil:
		a.Ints = append(a.Ints, a.Ints...)
		a.Ints = append(a.Ints, m.extreme())[:m.IntN(len(a.Ints)+1)]
		return "another length of an attribute"
	case kind == 17 && t != nil && len(t.Dims) > 0:
		t.Dims[m.IntN(len(t.Dims))] = m.extreme()
		return "an extreme extent of a tensor"
	case kind == 18 && t != nil:
		t.Dims = append([]int64{1}, t.Dims...)[m.IntN(2):]
		if m.IntN(3) == 0 && len(t.Dims) > 0 {
			t.Dims = t.Dims[1:]
		}
		return "another rank of a tensor"
	case kind == 19 && t != nil:
		t.DataType = proto.Int32(int32(m.IntN(28) - 1))
		return "another element type of a tensor"
	case kind == 20 && t != nil:
		// Integers of shapes are mostly here.
		x := m.extreme()
		if len(t.Int64Data) > 0 {
			t.Int64Data[m.IntN(len(t.Int64Data))] = x
		} else if len(t.RawData) >= 8 {
			at := 8 * m.IntN(len(t.RawData)/8)
			t.RawData = slices.Clone(t.RawData)
			for i := range 8 {
				t.RawData[at+i] = byte(uint64(x) >> (8 * i))
			}
		} else if len(t.FloatData) > 0 {
			t.FloatData[m.IntN(len(t.FloatData))] = float32(x)
		}
		return "an extreme element"
	case kind == 21 && t != nil:
		t.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
		t.RawData = nil
		t.ExternalData = []*onnxpb.StringStringEntryProto{{Key: proto.String("location"), Value: proto.String(pick(m, []string{"../../../etc/passwd", "/etc/passwd", "none", "", ".", "link"}))},
			{Key: proto.String(pick(m, []string{"offset", "length"})), Value: proto.String(fmt.Sprint(m.extreme()))}}
		return "data in another file"
	case kind == 22:
		list := slices.Concat(g.GetInput(), g.GetOutput())
		if typ := pick(m, list).GetType().GetTensorType(); typ != nil {
			typ.ElemType = proto.Int32(int32(m.IntN(28) - 1))
			if d := pick(m, typ.GetShape().GetDim()); d != nil {
				d.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: m.extreme()}
			}
		}
		return "another type of an input or an output"
	case kind == 23:
		if o := pick(m, m.model.OpsetImport); o != nil {
			o.Version = proto.Int64(pick(m, []int64{0, -1, 1, 5, 7, 9, 10, 11, 12, 13, 18, 99, math.MaxInt64, math.MinInt64}))
		}
		return "another version of the operator set"
	case kind == 24 && t != nil && len(g.Initializer) > 0:
		t.Name = pick(m, g.Initializer).Name
		return "tensors of one name"
	case kind == 25:
		if v := pick(m, g.GetOutput()); v != nil {
			v.Name = proto.String(pick(m, []string{"", "none", pick(m, pick(m, g.GetInput()).GetType().GetTensorType().GetShape().GetDim()).GetDimParam(), pick(m, g.GetInput()).GetName()}))
		}
		return "another output"
	}
	return ""
}

// TestMutated changes small networks, and some that people use, as no exporter does. Each is refused with an
// error of few words, or can be inserted, planned and run.
func TestMutated(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{}
	tests := readNodes(t)
	ops := map[string]bool{}
	for name, list := range tests {
		files[name] = list["model.onnx"]
	}
	paths := []string{"testdata/models/namaste_deepa.onnx", "testdata/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"}
	if more := os.Getenv("OPGEN_ONNX"); more != "" {
		paths = append(paths, filepath.Join(more, "models/ch_PP-OCRv4_rec_infer.onnx"), filepath.Join(more, "models/silero_vad_v5.onnx"))
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = data
	}
	models := map[string]*onnxpb.ModelProto{}
	for name, data := range files {
		m, err := onnxpb.Model(data)
		if err != nil {
			t.Fatal(err)
		}
		models[name] = m
		for _, n := range m.GetGraph().GetNode() {
			ops[n.GetOpType()] = true
		}
	}
	all := slices.Sorted(maps.Keys(ops))
	counts := map[string][2]int{}
	for i, name := range slices.Sorted(maps.Keys(models)) {
		many := *mutations
		if tests[name] == nil {
			many *= 20
		}
		for k := range many {
			seed := *mutation + uint64(k)
			m := &mutator{rand.New(rand.NewPCG(seed, uint64(i))), proto.Clone(models[name]).(*onnxpb.ModelProto), all}
			var what []string
			for range 1 + m.IntN(3) {
				if w := m.change(); w != "" {
					what = append(what, w)
				}
			}
			err := m.try(tests[name])
			if p := (panicked{}); errors.As(err, &p) || err != nil && len(err.Error()) > maxText {
				t.Errorf("%s, mutation %d (%s): %.4000v", name, seed, strings.Join(what, ", "), err)
			}
			for _, w := range what {
				c := counts[w]
				if c[0]++; err != nil {
					c[1]++
				}
				counts[w] = c
			}
		}
	}
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d, of which %d are refused", w, counts[w][0], counts[w][1])
	}
}

// maxText bounds the bytes of an error.
const maxText = 2000

// panicked is the error of a panic.
type panicked struct{ what string }

func (p panicked) Error() string { return p.what }

// try reads the network, and writes it as a package, or builds, plans and runs it.
func (m *mutator) try(files map[string][]byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked{fmt.Sprintf("panic: %v\n%s", r, debug.Stack())}
		}
	}()
	data, err := proto.Marshal(m.model)
	if err != nil {
		return err
	}
	model, err := onnx.Read(data, target)
	if err != nil {
		return err
	}
	inputs := fed{tensors: map[string]safetensors.Tensor{}, known: map[string]bool{}}
	few := m.IntN(2) == 0
	for i, p := range model.Inputs() {
		if p.Type == dtype.Invalid || p.Sequence || p.Optional {
			return errors.New("no tensor")
		}
		if _, x, err := onnx.ReadTensor(files[fmt.Sprintf("0/input_%d.pb", i)]); err == nil {
			if few && describes(i, x) {
				inputs.known[p.Name] = true
				if m.IntN(2) == 0 && x.Type == dtype.I64 && len(x.Data) > 0 {
					binary.LittleEndian.PutUint64(x.Data[8*m.IntN(len(x.Data)/8):], uint64(m.extreme()))
				}
			}
			inputs.tensors[p.Name] = x
			continue
		}
		shape, size := []int{}, 1
		for _, n := range p.Extents {
			if n < 0 {
				n = 2 + 30*m.IntN(2)
			}
			if n > 1<<20 || size*n > 1<<20 {
				return errors.New("a large input")
			}
			shape, size = append(shape, n), size*n
		}
		inputs.tensors[p.Name] = safetensors.Tensor{Type: p.Type, Shape: shape, Data: make([]byte, size*p.Type.Size())}
	}
	if m.IntN(4) == 0 {
		o := onnxgo.Options{Package: "net", Source: "net.onnx", Extents: map[string][]int{}, Known: map[string]safetensors.Tensor{}}
		for name, x := range inputs.tensors {
			if o.Extents[name] = x.Shape; inputs.known[name] {
				o.Known[name] = x
			}
		}
		_, err := onnxgo.Write(model, target, o)
		return err
	}
	l, err := loadOn(1, m.IntN(2) == 0, graph.Inference, model, registry(), inputs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.engine.Close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return l.instance.Run(ctx)
}
