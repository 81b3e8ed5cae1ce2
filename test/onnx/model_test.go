package onnx

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// hand is a model that a test builds.
type hand struct {
	opset  int
	nodes  []*onnxpb.NodeProto
	fed    map[string]safetensors.Tensor
	stored map[string]safetensors.Tensor
	out    []string
}

var registry = sync.OnceValue(func() *task.Registry {
	r := &task.Registry{}
	if err := catalogue.Register(r); err != nil {
		panic(err)
	}
	return r
})

// op returns a node: "Op a b -> c", where - is no value, and names of attributes with their values.
func op(text string, attrs ...any) *onnxpb.NodeProto {
	call, outs, _ := strings.Cut(text, "->")
	words := strings.Fields(call)
	n := &onnxpb.NodeProto{OpType: &words[0], Output: strings.Fields(outs)}
	if i := strings.LastIndexByte(words[0], '.'); i >= 0 {
		n.Domain, n.OpType = proto.String(words[0][:i]), proto.String(words[0][i+1:])
	}
	for _, name := range words[1:] {
		n.Input = append(n.Input, strings.TrimPrefix(name, "-"))
	}
	for i := 0; i < len(attrs); i += 2 {
		a := &onnxpb.AttributeProto{Name: proto.String(attrs[i].(string))}
		switch v := attrs[i+1].(type) {
		case int:
			a.Type, a.I = onnxpb.AttributeProto_INT.Enum(), proto.Int64(int64(v))
		case float64:
			a.Type, a.F = onnxpb.AttributeProto_FLOAT.Enum(), proto.Float32(float32(v))
		case string:
			a.Type, a.S = onnxpb.AttributeProto_STRING.Enum(), []byte(v)
		case []int:
			a.Type = onnxpb.AttributeProto_INTS.Enum()
			for _, n := range v {
				a.Ints = append(a.Ints, int64(n))
			}
		case []float64:
			a.Type = onnxpb.AttributeProto_FLOATS.Enum()
			for _, x := range v {
				a.Floats = append(a.Floats, float32(x))
			}
		case []string:
			a.Type = onnxpb.AttributeProto_STRINGS.Enum()
			for _, x := range v {
				a.Strings = append(a.Strings, []byte(x))
			}
		case *onnxpb.GraphProto:
			a.Type, a.G = onnxpb.AttributeProto_GRAPH.Enum(), v
		case safetensors.Tensor:
			a.Type, a.T = onnxpb.AttributeProto_TENSOR.Enum(), protoOf("", v)
		default:
			panic(v)
		}
		n.Attribute = append(n.Attribute, a)
	}
	return n
}

// within returns the graph of an attribute.
func within(inputs, outputs string, nodes ...*onnxpb.NodeProto) *onnxpb.GraphProto {
	g := &onnxpb.GraphProto{Name: proto.String("within"), Node: nodes}
	for _, name := range strings.Fields(inputs) {
		g.Input = append(g.Input, &onnxpb.ValueInfoProto{Name: &name})
	}
	for _, name := range strings.Fields(outputs) {
		g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: &name})
	}
	return g
}

// of returns a tensor of an element type.
func of(kind dtype.Type, shape []int, x ...float64) safetensors.Tensor {
	t := safetensors.Tensor{Type: kind, Shape: shape, Data: make([]byte, len(x)*kind.Size())}
	for i, v := range x {
		kind.PutFloat64(t.Data[i*kind.Size():], v)
	}
	return t
}

// numbered returns a tensor of n numbers of which no two neighbors are alike.
func numbered(kind dtype.Type, shape ...int) safetensors.Tensor {
	n := 1
	for _, e := range shape {
		n *= e
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = float64((i*37+11)%23) - 11
		if kind.IsFloat() {
			x[i] *= 0.25
		} else if kind == dtype.U8 {
			x[i] += 120
		}
	}
	return of(kind, shape, x...)
}

var numbers = map[dtype.Type]int32{dtype.F32: 1, dtype.U8: 2, dtype.I8: 3, dtype.I32: 6, dtype.I64: 7, dtype.Bool: 9, dtype.F64: 11}

// protoOf returns a tensor as files hold it.
func protoOf(name string, x safetensors.Tensor) *onnxpb.TensorProto {
	p := &onnxpb.TensorProto{Name: &name, DataType: proto.Int32(numbers[x.Type]), RawData: append([]byte{}, x.Data...)}
	for _, n := range x.Shape {
		p.Dims = append(p.Dims, int64(n))
	}
	return p
}

// bytes returns the file of the model.
func (h *hand) bytes(t *testing.T) []byte {
	t.Helper()
	g := &onnxpb.GraphProto{Name: proto.String("g"), Node: h.nodes}
	for _, name := range slices.Sorted(maps.Keys(h.fed)) {
		x := h.fed[name]
		p := &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(numbers[x.Type]), Shape: &onnxpb.TensorShapeProto{}}
		for _, n := range x.Shape {
			p.Shape.Dim = append(p.Shape.Dim, &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(n)}})
		}
		g.Input = append(g.Input, &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: p}}})
	}
	for _, name := range slices.Sorted(maps.Keys(h.stored)) {
		x := h.stored[name]
		g.Initializer = append(g.Initializer, protoOf(name, x))
	}
	for _, name := range h.out {
		g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: &name})
	}
	data, err := proto.Marshal(&onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: g, OpsetImport: []*onnxpb.OperatorSetIdProto{
		{Version: proto.Int64(int64(h.opset))}, {Domain: proto.String("com.microsoft"), Version: proto.Int64(1)}, {Domain: proto.String("ai.onnx.ml"), Version: proto.Int64(1)},
		{Domain: proto.String("ai.onnx.preview.training"), Version: proto.Int64(1)}, {Domain: proto.String("ai.onnx.preview"), Version: proto.Int64(1)}}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// run computes the outputs of the model.
func (h *hand) run(t *testing.T) ([]safetensors.Tensor, error) {
	t.Helper()
	m, err := onnx.Read(h.bytes(t), target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := load(m, registry(), h.fed, nil)
	if err != nil {
		return nil, err
	}
	return l.run()
}

// each returns a tensor of which a function gives each element, from its indices.
func each(kind dtype.Type, shape []int, f func(at []int) float64) safetensors.Tensor {
	n := 1
	for _, e := range shape {
		n *= e
	}
	x := make([]float64, n)
	at := make([]int, len(shape))
	for i := range x {
		rest := i
		for d := len(shape) - 1; d >= 0; d-- {
			at[d] = rest % shape[d]
			rest /= shape[d]
		}
		x[i] = f(at)
	}
	return of(kind, shape, x...)
}

// at returns an element of a tensor.
func at(x safetensors.Tensor, index ...int) float64 {
	k := 0
	for d, i := range index {
		k = k*x.Shape[d] + i
	}
	return x.Type.Float64(x.Data[k*x.Type.Size():])
}

// TestOldVersions runs operators of older operator sets, which say otherwise what newer ones say.
func TestOldVersions(t *testing.T) {
	x := numbered(dtype.F32, 2, 3, 4)
	image := numbered(dtype.F32, 1, 2, 3, 3)
	ints := func(x ...float64) safetensors.Tensor { return of(dtype.I64, []int{len(x)}, x...) }
	floats := func(x ...float64) safetensors.Tensor { return of(dtype.F32, []int{len(x)}, x...) }
	// rows applies a function to the rows of x, as a matrix of 2 rows.
	rows := func(f func(row []float64, k int) float64) safetensors.Tensor {
		return each(dtype.F32, []int{2, 3, 4}, func(i []int) float64 { return f(x.Float64s()[i[0]*12:][:12], i[1]*4+i[2]) })
	}
	exps := func(row []float64) (sum float64) {
		for _, v := range row {
			sum += math.Exp(v)
		}
		return sum
	}
	reduced := func(keep bool) safetensors.Tensor {
		shape := []int{2, 4}
		if keep {
			shape = []int{2, 1, 4}
		}
		return each(dtype.F32, shape, func(i []int) float64 {
			j := i[len(i)-1]
			return at(x, i[0], 0, j) + at(x, i[0], 1, j) + at(x, i[0], 2, j)
		})
	}
	for name, c := range map[string]struct {
		opset  int
		node   *onnxpb.NodeProto
		x      safetensors.Tensor
		stored map[string]safetensors.Tensor
		want   safetensors.Tensor
	}{
		"Softmax-1":     {9, op("Softmax x -> y"), x, nil, rows(func(row []float64, k int) float64 { return math.Exp(row[k]) / exps(row) })},
		"LogSoftmax-11": {12, op("LogSoftmax x -> y", "axis", 1), x, nil, rows(func(row []float64, k int) float64 { return row[k] - math.Log(exps(row)) })},
		"Hardmax-11": {11, op("Hardmax x -> y"), x, nil, rows(func(row []float64, k int) float64 {
			if k == slices.Index(row, slices.Max(row)) {
				return 1
			}
			return 0
		})},
		"Pad-2": {10, op("Pad x -> y", "pads", []int{0, 1, 0, 0, 0, 2}, "value", 0.5), x, nil, each(dtype.F32, []int{2, 4, 6}, func(i []int) float64 {
			if i[1] == 0 || i[2] >= 4 {
				return 0.5
			}
			return at(x, i[0], i[1]-1, i[2])
		})},
		"Pad-2 reflect": {9, op("Pad x -> y", "pads", []int{0, 0, 1, 0, 0, 0}, "mode", "reflect"), x, nil, each(dtype.F32, []int{2, 3, 5}, func(i []int) float64 {
			if i[2] == 0 {
				return at(x, i[0], i[1], 1)
			}
			return at(x, i[0], i[1], i[2]-1)
		})},
		"TopK-1": {9, op("TopK x -> y i", "k", 1, "axis", 1), x, nil, each(dtype.F32, []int{2, 1, 4}, func(i []int) float64 {
			return max(at(x, i[0], 0, i[2]), at(x, i[0], 1, i[2]), at(x, i[0], 2, i[2]))
		})},
		"TopK-11 smallest": {11, op("TopK x k -> y i", "largest", 0, "axis", 1), x, map[string]safetensors.Tensor{"k": ints(1)}, each(dtype.F32, []int{2, 1, 4}, func(i []int) float64 {
			return min(at(x, i[0], 0, i[2]), at(x, i[0], 1, i[2]), at(x, i[0], 2, i[2]))
		})},
		"Clip-6":               {10, op("Clip x -> y", "min", -1.0, "max", 1.5), x, nil, each(dtype.F32, x.Shape, func(i []int) float64 { return min(max(at(x, i...), -1), 1.5) })},
		"Slice-1":              {9, op("Slice x -> y", "starts", []int{1, -3}, "ends", []int{9, -1}, "axes", []int{1, 2}), x, nil, each(dtype.F32, []int{2, 2, 2}, func(i []int) float64 { return at(x, i[0], i[1]+1, i[2]+1) })},
		"Dropout-7":            {9, op("Dropout x -> y", "ratio", 0.3), x, nil, x},
		"Dropout-7 mask":       {9, op("Dropout x -> z y", "ratio", 0.3), x, nil, each(dtype.F32, x.Shape, func([]int) float64 { return 1 })},
		"Split-2":              {11, op("Split x -> s y", "axis", 2, "split", []int{1, 3}), x, nil, each(dtype.F32, []int{2, 3, 3}, func(i []int) float64 { return at(x, i[0], i[1], i[2]+1) })},
		"ReduceSum-1":          {12, op("ReduceSum x -> y", "axes", []int{-2}, "keepdims", 0), x, nil, reduced(false)},
		"ReduceSum-11":         {11, op("ReduceSum x -> y", "axes", []int{1}), x, nil, reduced(true)},
		"Squeeze-1, Unsqueeze": {9, op("Unsqueeze x -> y", "axes", []int{0, 4}), x, nil, of(dtype.F32, []int{1, 2, 3, 4, 1}, x.Float64s()...)},
		"Scatter-9": {9, op("Scatter x i u -> y", "axis", 1), x, map[string]safetensors.Tensor{"i": of(dtype.I64, []int{2, 1, 4}, 2, 0, 1, 2, -1, 1, 0, 2), "u": of(dtype.F32, []int{2, 1, 4}, 1, 2, 3, 4, 5, 6, 7, 8)},
			each(dtype.F32, x.Shape, func(i []int) float64 {
				at1 := []int{2, 0, 1, 2, 2, 1, 0, 2}
				if k := i[0]*4 + i[2]; at1[k] == i[1] {
					return float64(k + 1)
				}
				return at(x, i...)
			})},
		"Upsample-9": {9, op("Upsample x f -> y", "mode", "nearest"), image, map[string]safetensors.Tensor{"f": floats(1, 1, 2, 2)},
			each(dtype.F32, []int{1, 2, 6, 6}, func(i []int) float64 { return at(image, i[0], i[1], i[2]/2, i[3]/2) })},
		"Resize-10": {10, op("Resize x f -> y"), image, map[string]safetensors.Tensor{"f": floats(1, 1, 2, 1)},
			each(dtype.F32, []int{1, 2, 6, 3}, func(i []int) float64 { return at(image, i[0], i[1], i[2]/2, i[3]) })},
		"Resize-10 of fewer": {10, op("Resize x f -> y"), x, map[string]safetensors.Tensor{"f": floats(1, 0.6, 0.6)}, // as ONNX 1.5's test resize_downsample_nearest rounds
			each(dtype.F32, []int{2, 1, 2}, func(i []int) float64 { return at(x, i[0], 0, 2*i[2]) })},
		"Resize-10 linear": {10, op("Resize x f -> y", "mode", "linear"), image, map[string]safetensors.Tensor{"f": floats(1, 1, 1, 2)},
			each(dtype.F32, []int{1, 2, 3, 6}, func(i []int) float64 {
				return (at(image, i[0], i[1], i[2], i[3]/2) + at(image, i[0], i[1], i[2], min((i[3]+1)/2, 2))) / 2
			})},
		"Resize-11 tf_half_pixel_for_nn": {11, op("Resize x r f -> y", "coordinate_transformation_mode", "tf_half_pixel_for_nn", "nearest_mode", "floor"), image,
			map[string]safetensors.Tensor{"r": floats(), "f": floats(1, 1, 0.67, 1)},
			each(dtype.F32, []int{1, 2, 2, 3}, func(i []int) float64 {
				return at(image, i[0], i[1], int((float64(i[2])+0.5)/float64(float32(0.67))), i[3])
			})},
		"BatchNormalization-9": {9, op("BatchNormalization x s b m v -> y"), image, map[string]safetensors.Tensor{"s": floats(2, 3), "b": floats(0.5, -1), "m": floats(1, -0.5), "v": floats(4, 0.25)},
			each(dtype.F32, image.Shape, func(i []int) float64 {
				return (at(image, i...)-[]float64{1, -0.5}[i[1]])/math.Sqrt([]float64{4, 0.25}[i[1]]+1e-5)*[]float64{2, 3}[i[1]] + []float64{0.5, -1}[i[1]]
			})},
		"GroupNormalization-18": {18, op("GroupNormalization x s b -> y", "num_groups", 1), image, map[string]safetensors.Tensor{"s": floats(2), "b": floats(0.5)},
			each(dtype.F32, image.Shape, func(i []int) float64 {
				var mean, square float64
				for _, v := range image.Float64s() {
					mean += v / 18
				}
				for _, v := range image.Float64s() {
					square += (v - mean) * (v - mean) / 18
				}
				return (at(image, i...)-mean)/math.Sqrt(square+1e-5)*2 + 0.5
			})},
		"MaxPool-8": {8, op("MaxPool x -> y", "kernel_shape", []int{2, 2}, "strides", []int{1, 1}), image, nil, each(dtype.F32, []int{1, 2, 2, 2}, func(i []int) float64 {
			return max(at(image, 0, i[1], i[2], i[3]), at(image, 0, i[1], i[2]+1, i[3]), at(image, 0, i[1], i[2], i[3]+1), at(image, 0, i[1], i[2]+1, i[3]+1))
		})},
		"AveragePool-7": {9, op("AveragePool x -> y", "kernel_shape", []int{2, 2}, "pads", []int{1, 0, 0, 0}), image, nil, each(dtype.F32, []int{1, 2, 3, 2}, func(i []int) float64 {
			mean, n := 0.0, 0.0
			for h := max(i[2]-1, 0); h < i[2]+1; h++ {
				mean += at(image, 0, i[1], h, i[3]) + at(image, 0, i[1], h, i[3]+1)
				n += 2
			}
			return mean / n
		})},
		"Conv of one dimension": {9, op("Conv x w b -> y", "strides", []int{2}, "pads", []int{1, 1}, "dilations", []int{2}, "group", 3), x, map[string]safetensors.Tensor{"w": of(dtype.F32, []int{3, 1, 2}, 1, 2, -1, 0.5, 3, 4), "b": floats(0.5, 1, -1)},
			each(dtype.F32, []int{2, 3, 2}, func(i []int) float64 {
				sum := []float64{0.5, 1, -1}[i[1]]
				for k, w := range [][]float64{{1, 2}, {-1, 0.5}, {3, 4}}[i[1]] {
					if j := i[2]*2 + k*2 - 1; j >= 0 && j < 4 {
						sum += w * at(x, i[0], i[1], j)
					}
				}
				return sum
			})},
		"Pow of a number":  {9, op("Pow x e -> y"), x, map[string]safetensors.Tensor{"e": floats(3)}, each(dtype.F32, x.Shape, func(i []int) float64 { return math.Pow(at(x, i...), 3) })},
		"Pow of more dims": {9, op("Pow x e -> y"), x, map[string]safetensors.Tensor{"e": of(dtype.F32, []int{1, 1, 1, 1}, 2)}, each(dtype.F32, []int{1, 2, 3, 4}, func(i []int) float64 { return math.Pow(at(x, i[1:]...), 2) })},
		"LRN": {9, op("LRN x -> y", "size", 2, "alpha", 0.5, "beta", 0.75, "bias", 2.0), image, nil, each(dtype.F32, image.Shape, func(i []int) float64 {
			sum := math.Pow(at(image, i...), 2)
			if i[1] == 0 {
				sum += math.Pow(at(image, 0, 1, i[2], i[3]), 2)
			}
			return at(image, i...) / math.Pow(2+0.5/2*sum, 0.75)
		})},
	} {
		h := &hand{opset: c.opset, nodes: []*onnxpb.NodeProto{c.node}, fed: map[string]safetensors.Tensor{"x": c.x}, stored: c.stored, out: []string{"y"}}
		out, err := h.run(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := different(out[0], c.want, 1e-5, 1e-6); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestElementTypes runs operators on integers and truth values, and on constants whose elements decide about
// extents.
func TestElementTypes(t *testing.T) {
	ints := func(x ...float64) safetensors.Tensor { return of(dtype.I64, []int{len(x)}, x...) }
	wide := of(dtype.I64, []int{2, 2}, 1, 1<<53-1, -7, 3)
	grown := each(dtype.I64, []int{3, 3}, func(i []int) float64 {
		if i[0] == 2 || i[1] == 0 {
			return -9
		}
		return at(wide, i[0], i[1]-1)
	})
	truths := of(dtype.Bool, []int{2, 2}, 1, 0, 1, 1)
	bytes := each(dtype.U8, []int{1, 301, 1, 1}, func([]int) float64 { return 255 }) // the sum of squares is no f32
	for name, c := range map[string]struct {
		nodes  []*onnxpb.NodeProto
		x      safetensors.Tensor
		stored map[string]safetensors.Tensor
		want   safetensors.Tensor
	}{
		"pad":             {[]*onnxpb.NodeProto{op("Pad x p v -> y")}, wide, map[string]safetensors.Tensor{"p": ints(0, 1, 1, 0), "v": of(dtype.I64, []int{}, -9)}, grown},
		"pad of truths":   {[]*onnxpb.NodeProto{op("Pad x p v -> y")}, truths, map[string]safetensors.Tensor{"p": ints(0, 0, 0, 1), "v": of(dtype.Bool, []int{}, 1)}, of(dtype.Bool, []int{2, 3}, 1, 0, 1, 1, 1, 1)},
		"triangle":        {[]*onnxpb.NodeProto{op("Trilu x -> y")}, truths, nil, of(dtype.Bool, []int{2, 2}, 1, 0, 0, 1)},
		"equal":           {[]*onnxpb.NodeProto{op("Equal x e -> y")}, truths, map[string]safetensors.Tensor{"e": of(dtype.Bool, []int{2}, 0, 0)}, of(dtype.Bool, []int{2, 2}, 0, 1, 0, 0)},
		"relu":            {[]*onnxpb.NodeProto{op("Relu x -> y")}, wide, nil, of(dtype.I64, []int{2, 2}, 1, 1<<53-1, 0, 3)},
		"product":         {[]*onnxpb.NodeProto{op("MatMul x x -> y")}, of(dtype.I32, []int{2, 2}, 1, 2, 3, 100000), nil, of(dtype.I32, []int{2, 2}, 7, 200002, 300003, 1410065414)},
		"scatter":         {[]*onnxpb.NodeProto{op("ScatterElements x i u -> y")}, truths, map[string]safetensors.Tensor{"i": of(dtype.I64, []int{1, 2}, -1, 0), "u": of(dtype.Bool, []int{1, 2}, 0, 1)}, of(dtype.Bool, []int{2, 2}, 1, 1, 0, 1)},
		"places":          {[]*onnxpb.NodeProto{op("NonZero m -> at"), op("Gather x at -> y")}, ints(5, 6, 7), map[string]safetensors.Tensor{"m": of(dtype.F32, []int{2, 3}, 0, 0.5, 0, 1, 0, -1)}, of(dtype.I64, []int{2, 3}, 5, 6, 6, 6, 5, 7)},
		"compress":        {[]*onnxpb.NodeProto{op("Compress x m -> y", "axis", 1)}, wide, map[string]safetensors.Tensor{"m": of(dtype.Bool, []int{2}, 0, 1)}, of(dtype.I64, []int{2, 1}, 1<<53-1, 3)},
		"maximum":         {[]*onnxpb.NodeProto{op("ReduceMax x a -> y", "keepdims", 0)}, of(dtype.U8, []int{2, 2}, 200, 3, 4, 255), map[string]safetensors.Tensor{"a": ints(0)}, of(dtype.U8, []int{2}, 200, 255)},
		"clipped":         {[]*onnxpb.NodeProto{op("Clip x - most -> y")}, wide, map[string]safetensors.Tensor{"most": of(dtype.I64, []int{}, 2)}, of(dtype.I64, []int{2, 2}, 1, 2, -7, 2)},
		"raised":          {[]*onnxpb.NodeProto{op("Clip x least -> y")}, wide, map[string]safetensors.Tensor{"least": of(dtype.I64, []int{}, 2)}, of(dtype.I64, []int{2, 2}, 2, 1<<53-1, 2, 3)},
		"smallest":        {[]*onnxpb.NodeProto{op("TopK x k -> y at", "largest", 0)}, wide, map[string]safetensors.Tensor{"k": ints(1)}, of(dtype.I64, []int{2, 1}, 1, -7)},
		"convolved":       {[]*onnxpb.NodeProto{op("ConvInteger x w -> y")}, bytes, map[string]safetensors.Tensor{"w": bytes}, of(dtype.I32, []int{1, 1, 1, 1}, 301*255*255)},
		"binarized":       {[]*onnxpb.NodeProto{op("ai.onnx.ml.Binarizer x -> y", "threshold", -0.5)}, wide, nil, of(dtype.I64, []int{2, 2}, 1, 1, 0, 1)},
		"binarized 0":     {[]*onnxpb.NodeProto{op("ai.onnx.ml.Binarizer x -> y", "threshold", -0.5)}, of(dtype.I32, []int{3}, -1, 0, 1), nil, of(dtype.I32, []int{3}, 0, 1, 1)},
		"truth constant":  {[]*onnxpb.NodeProto{op("And x m -> y")}, truths, map[string]safetensors.Tensor{"m": of(dtype.Bool, []int{2}, 1, 0)}, of(dtype.Bool, []int{2, 2}, 1, 0, 1, 0)},
		"one number":      {[]*onnxpb.NodeProto{op("Slice x from to axis -> y")}, wide, map[string]safetensors.Tensor{"from": of(dtype.I64, []int{}, 1), "to": of(dtype.I64, []int{}, 2), "axis": of(dtype.I64, []int{}, -1)}, of(dtype.I64, []int{2, 1}, 1<<53-1, 3)},
		"padded in front": {[]*onnxpb.NodeProto{op("Conv x w -> y", "pads", []int{0, 1, 0, 0})}, of(dtype.F32, []int{1, 1, 1, 3}, 1, 2, 3), map[string]safetensors.Tensor{"w": of(dtype.F32, []int{1, 1, 1, 2}, 1, 10)}, of(dtype.F32, []int{1, 1, 1, 3}, 10, 21, 32)},
		"spread signal":   {[]*onnxpb.NodeProto{op("ConvTranspose x w -> y", "strides", []int{2}, "output_padding", []int{1})}, of(dtype.F32, []int{1, 1, 2}, 1, 2), map[string]safetensors.Tensor{"w": of(dtype.F32, []int{1, 1, 3}, 1, 10, 100)}, of(dtype.F32, []int{1, 1, 6}, 1, 10, 102, 20, 200, 0)},
		"full lengths": {[]*onnxpb.NodeProto{op("RNN x w r - n -> z y", "hidden_size", 1)}, of(dtype.F32, []int{2, 1, 1}, 0.5, 1), map[string]safetensors.Tensor{"w": of(dtype.F32, []int{1, 1, 1}, 2), "r": of(dtype.F32, []int{1, 1, 1}, 3), "n": of(dtype.I32, []int{1}, 2)},
			of(dtype.F32, []int{1, 1, 1}, math.Tanh(2+3*math.Tanh(1)))},
	} {
		out, err := (&hand{opset: 18, nodes: c.nodes, fed: map[string]safetensors.Tensor{"x": c.x}, stored: c.stored, out: []string{"y"}}).run(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := different(out[0], c.want, 1e-6, 0); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestOddExtents runs operators on extents and inputs that files seldom have.
func TestOddExtents(t *testing.T) {
	x := of(dtype.F32, []int{2, 3}, 1, -2, 3, -4, 5, -6)
	row := of(dtype.F32, []int{3}, 0, 1, -1)
	ints := func(x ...float64) safetensors.Tensor { return of(dtype.I64, []int{len(x)}, x...) }
	for name, c := range map[string]struct {
		nodes []*onnxpb.NodeProto
		want  safetensors.Tensor
	}{
		"less than no padding":         {[]*onnxpb.NodeProto{op("Pad x crop -> y")}, of(dtype.F32, []int{3, 2}, 0, 0, -2, 3, 5, -6)},
		"padding and less":             {[]*onnxpb.NodeProto{op("Pad x both -> y")}, of(dtype.F32, []int{2, 3}, 0, 1, -2, 0, -4, 5)},
		"a start in front of it":       {[]*onnxpb.NodeProto{op("Slice x front low one down -> y")}, of(dtype.F32, []int{2, 1}, 1, -4)},
		"nothing backwards":            {[]*onnxpb.NodeProto{op("Slice x zero zero one -> n"), op("Slice n front low one down -> y")}, of(dtype.F32, []int{2, 0})},
		"the largest of unlike shapes": {[]*onnxpb.NodeProto{op("Max x row half -> y")}, of(dtype.F32, []int{2, 3}, 1, 1, 3, 0.5, 5, 0.5)},
		"the mean of unlike shapes":    {[]*onnxpb.NodeProto{op("Mean x row half x -> y")}, of(dtype.F32, []int{2, 3}, 0.625, -0.625, 1.375, -1.875, 2.875, -3.125)},
		"the smallest of integers":     {[]*onnxpb.NodeProto{op("Min crop both crop -> z"), op("Cast z -> y", "to", 1)}, of(dtype.F32, []int{4}, 0, -1, 0, -1)},
		"one integer":                  {[]*onnxpb.NodeProto{op("Max crop -> z"), op("Cast z -> y", "to", 1)}, of(dtype.F32, []int{4}, 1, -1, 0, 0)},
		"normalized constants":         {[]*onnxpb.NodeProto{op("BatchNormalization image one3 row row one3 -> z", "epsilon", 0.0), op("Add z row -> y")}, of(dtype.F32, []int{1, 3}, 4, 6, 5)},
		"a range of zeros":             {[]*onnxpb.NodeProto{op("Sub x x -> n"), op("DynamicQuantizeLinear n -> q s p"), op("DequantizeLinear q s p -> y")}, of(dtype.F32, []int{2, 3}, 0, 0, 0, 0, 0, 0)},
	} {
		h := &hand{opset: 18, nodes: c.nodes, fed: map[string]safetensors.Tensor{"x": x}, out: []string{"y"}, stored: map[string]safetensors.Tensor{"row": row, "half": of(dtype.F32, []int{}, 0.5),
			"crop": ints(1, -1, 0, 0), "both": ints(0, 1, 0, -1), "front": ints(-9), "low": ints(-9), "one": ints(1), "down": ints(-2), "zero": ints(0), "image": of(dtype.F32, []int{1, 3}, 4, 5, 6), "one3": of(dtype.F32, []int{3}, 1, 1, 1)}}
		out, err := h.run(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := different(out[0], c.want, 1e-6, 0); d != "" {
			t.Errorf("%s: %s, got %v", name, d, out[0].Float64s())
		}
	}
}

// TestCountedRows runs networks of which values decide how many rows an output has, and refuses those that go
// on with such rows.
func TestCountedRows(t *testing.T) {
	boxes := of(dtype.F32, []int{1, 3, 4}, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3)
	h := &hand{opset: 18, out: []string{"y"}, fed: map[string]safetensors.Tensor{"x": boxes, "s": of(dtype.F32, []int{1, 1, 3}, 0.5, 0.75, 0.25)},
		stored: map[string]safetensors.Tensor{"n": of(dtype.I64, []int{}, 5), "t": of(dtype.F32, []int{}, 0.5)}}
	h.nodes = []*onnxpb.NodeProto{op("NonMaxSuppression x s n t -> z"), op("Identity z -> y")}
	out, err := h.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if d := different(out[0], of(dtype.I64, []int{2, 3}, 0, 0, 1, 0, 0, 2), 0, 0); d != "" {
		t.Error(d)
	}
	h.nodes = []*onnxpb.NodeProto{op("Unique values -> u first inverse number"), op("Mul u number -> m"), op("Gather m inverse -> g"), op("Add g one -> y")}
	h.stored["values"], h.stored["one"] = of(dtype.I64, []int{4}, 7, 5, 7, 7), of(dtype.I64, []int{}, 1)
	fed := h.fed
	h.fed = nil
	if out, err = h.run(t); err != nil {
		t.Fatal(err)
	}
	if d := different(out[0], of(dtype.I64, []int{4}, 22, 6, 22, 22), 0, 0); d != "" {
		t.Errorf("constants: %s", d)
	}
	h.fed, h.nodes = fed, []*onnxpb.NodeProto{op("NonMaxSuppression x s n t -> z"), nil}
	for want, n := range map[string]*onnxpb.NodeProto{
		"Shape of version 18, node \"y\": want extents that are known when the graph is built, got input 0, ":  op("Shape z -> y"),
		"Gather of version 18, node \"y\": want extents that are known when the graph is built, got input 1, ": op("Gather x z -> y"),
	} {
		h.nodes[1] = n
		if _, err := h.run(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestSequences follows lists of tensors through loops, and refuses those that only a run knows.
func TestSequences(t *testing.T) {
	x := of(dtype.F32, []int{3, 2}, 1, 2, 3, 4, 5, 6)
	collect := within("i c s", "c more", op("Gather x i -> row"), op("Mul row row -> square"), op("SequenceInsert s square -> more"))
	h := &hand{opset: 17, fed: map[string]safetensors.Tensor{"x": x, "n": of(dtype.I64, []int{}, 1)}, out: []string{"y"}, stored: map[string]safetensors.Tensor{"three": of(dtype.I64, []int{}, 3), "true": of(dtype.Bool, []int{}, 1),
		"parts": of(dtype.I64, []int{2}, 1, 2), "few": of(dtype.I64, []int{2}, 1, 1), "seven": of(dtype.I64, []int{}, 7)}}
	h.nodes = []*onnxpb.NodeProto{op("SequenceEmpty -> e"), op("Loop three true e -> s", "body", collect), op("ConcatFromSequence s -> y", "axis", 1, "new_axis", 1)}
	out, err := h.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if d := different(out[0], of(dtype.F32, []int{2, 3}, 1, 9, 25, 4, 16, 36), 0, 0); d != "" {
		t.Error(d)
	}
	h.nodes = []*onnxpb.NodeProto{op("SplitToSequence x parts -> s"), op("SequenceErase s -> f"), op("SequenceLength f -> n1"), op("Cast n1 -> r", "to", 1), op("SequenceAt f zero -> a"), op("Mul a r -> y")}
	h.stored["zero"] = of(dtype.I64, []int{}, 0)
	if out, err = h.run(t); err != nil {
		t.Fatal(err)
	}
	if d := different(out[0], of(dtype.F32, []int{1, 2}, 1, 2), 0, 0); d != "" {
		t.Error(d)
	}
	split := op("SplitToSequence x -> s")
	for want, nodes := range map[string][]*onnxpb.NodeProto{
		"Relu of version 17, node \"y\": want a tensor as input 0, got a sequence": {split, op("Relu s -> y")},
		"want a tensor, got a sequence":                                            {split, op("SequenceConstruct s -> y")},
		"want integers that are known when the graph is built as input 1":          {split, op("SequenceAt s n -> y")},
		"want a place from -3 to 2 in a sequence, got [7]":                         {split, op("SequenceAt s seven -> y")},
		"want a place from -3 to 3 in a sequence, got [7]":                         {split, op("SequenceInsert s x seven -> z"), op("SequenceLength z -> y")},
		"want parts of 3 elements, got [1 1]":                                      {op("SplitToSequence x few -> s"), op("SequenceLength s -> y")},
		"want an axis of [3 2], got 2":                                             {op("SplitToSequence x -> s", "axis", 2), op("SequenceLength s -> y")},
		"want a sequence as input 0":                                               {op("SequenceLength x -> y")},
		"want tensors in the sequence, and an axis":                                {op("SequenceEmpty -> s"), op("ConcatFromSequence s -> y", "axis", 0)},
		"want a tensor in the sequence":                                            {op("SequenceEmpty -> s"), op("SequenceErase s -> y")},
	} {
		h.nodes = nodes
		if _, err := h.run(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestNarrow runs networks with elements of 8 bits or less, and refuses those that compute with them.
func TestNarrow(t *testing.T) {
	tensor := func(kind onnxpb.TensorProto_DataType, n int64, data ...byte) *onnxpb.AttributeProto {
		return &onnxpb.AttributeProto{Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: &onnxpb.TensorProto{DataType: proto.Int32(int32(kind)), Dims: []int64{n}, RawData: data}}
	}
	four, eight := op("Constant -> q"), op("Constant -> q")
	four.Attribute = append(four.Attribute, tensor(onnxpb.TensorProto_INT4, 3, 0x8f, 0x07))
	eight.Attribute = append(eight.Attribute, tensor(onnxpb.TensorProto_FLOAT8E4M3FN, 2, 0x38, 0xc4))
	for name, c := range map[string]struct {
		nodes []*onnxpb.NodeProto
		want  safetensors.Tensor
	}{
		"integers of 4 bits":  {[]*onnxpb.NodeProto{four, op("Unsqueeze q zero -> m"), op("DequantizeLinear m half -> d"), op("Mul d x -> y")}, of(dtype.F32, []int{1, 3}, -0.5, -8, 10.5)},
		"floats of 8 bits":    {[]*onnxpb.NodeProto{eight, op("Concat q q -> m", "axis", 0), op("Cast m -> d", "to", 1), op("Slice d zero three -> e"), op("Mul e x -> y")}, of(dtype.F32, []int{3}, 1, -6, 3)},
		"numbers like others": {[]*onnxpb.NodeProto{eight, op("Mul x third -> t"), op("CastLike t q -> n"), op("Cast n -> y", "to", 1)}, of(dtype.F32, []int{3}, 0.34375, 0.6875, 1)},
	} {
		h := &hand{opset: 21, nodes: c.nodes, fed: map[string]safetensors.Tensor{"x": of(dtype.F32, []int{3}, 1, 2, 3)}, out: []string{"y"},
			stored: map[string]safetensors.Tensor{"zero": of(dtype.I64, []int{1}, 0), "three": of(dtype.I64, []int{1}, 3), "half": of(dtype.F32, []int{}, 0.5), "third": of(dtype.F32, []int{}, 1.0/3)}}
		out, err := h.run(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := different(out[0], c.want, 0, 0); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		h.nodes = []*onnxpb.NodeProto{c.nodes[0], op("Add q q -> y")}
		if _, err := h.run(t); err == nil || !strings.Contains(err.Error(), `Add of version 21, node "y": want elements of a type that engines store as input 0, got `) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestQuantized compares products of integers with sums of 64 bits, of so many that floats of 32 bits round.
func TestQuantized(t *testing.T) {
	for _, k := range []int{200, 5000} {
		a := each(dtype.U8, []int{2, k}, func(i []int) float64 { return float64(255 - (i[0]+i[1]*7)%3) })
		b := each(dtype.U8, []int{k, 3}, func(i []int) float64 { return float64(254 + (i[0]+i[1])%2) })
		h := &hand{opset: 10, nodes: []*onnxpb.NodeProto{op("MatMulInteger a b za zb -> y")}, fed: map[string]safetensors.Tensor{"a": a, "b": b},
			stored: map[string]safetensors.Tensor{"za": of(dtype.U8, []int{2}, 1, 3), "zb": of(dtype.U8, []int{3}, 0, 2, 5)}, out: []string{"y"}}
		out, err := h.run(t)
		if err != nil {
			t.Fatal(err)
		}
		want := each(dtype.I32, []int{2, 3}, func(i []int) (sum float64) {
			for n := range k {
				sum += (at(a, i[0], n) - []float64{1, 3}[i[0]]) * (at(b, n, i[1]) - []float64{0, 2, 5}[i[1]])
			}
			return sum
		})
		if d := different(out[0], want, 0, 0); d != "" {
			t.Errorf("%d products: %s", k, d)
		}
	}
}

// TestQuantizedLSTM compares an LSTM whose weights are integers with loops that quantize its inputs and the
// hidden states of each step, and refuses others by name.
func TestQuantizedLSTM(t *testing.T) {
	const steps, batch, wide, size = 7, 2, 4, 3
	x, w, r := numbered(dtype.F32, steps, batch, wide), numbered(dtype.I8, 1, wide, 4*size), numbered(dtype.U8, 1, size, 4*size)
	const wScale, rScale, rZero = 0.02, 0.03, 121
	// quantized returns numbers rounded to 256 steps, among which is 0.
	quantized := func(list []float64) []float64 {
		low, high := min(slices.Min(list), 0), max(slices.Max(list), 0)
		step := (high - low) / 255
		if step == 0 {
			step = 1
		}
		zero := math.Min(math.Max(math.RoundToEven(-low/step), 0), 255)
		out := make([]float64, len(list))
		for i, v := range list {
			out[i] = (math.Min(math.Max(math.RoundToEven(v/step)+zero, 0), 255) - zero) * step
		}
		return out
	}
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	in := quantized(x.Float64s())
	h, c := make([]float64, batch*size), make([]float64, batch*size)
	var all []float64
	for t := range steps {
		before := quantized(h)
		for n := range batch {
			for k := range size {
				var gate [4]float64
				for g := range gate {
					for d := range wide {
						gate[g] += in[(t*batch+n)*wide+d] * at(w, 0, d, g*size+k) * wScale
					}
					for d := range size {
						gate[g] += before[n*size+d] * (at(r, 0, d, g*size+k) - rZero) * rScale
					}
				}
				i := n*size + k
				c[i] = sigmoid(gate[2])*c[i] + sigmoid(gate[0])*math.Tanh(gate[3])
				h[i] = sigmoid(gate[1]) * math.Tanh(c[i])
			}
		}
		all = append(all, h...)
	}
	stored := map[string]safetensors.Tensor{"w": w, "r": r, "ws": of(dtype.F32, []int{1}, wScale), "wz": of(dtype.I8, []int{1}, 0), "rs": of(dtype.F32, []int{1}, rScale), "rz": of(dtype.U8, []int{1}, rZero),
		"few": of(dtype.I32, []int{batch}, steps, steps-1)}
	hd := &hand{opset: 17, fed: map[string]safetensors.Tensor{"x": x}, stored: stored, out: []string{"y", "h", "c"},
		nodes: []*onnxpb.NodeProto{op("com.microsoft.DynamicQuantizeLSTM x w r - - - - - ws wz rs rz -> y h c", "hidden_size", size)}}
	out, err := hd.run(t)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []safetensors.Tensor{of(dtype.F32, []int{steps, 1, batch, size}, all...), of(dtype.F32, []int{1, batch, size}, h...), of(dtype.F32, []int{1, batch, size}, c...)} {
		if d := different(out[i], want, 1e-4, 1e-6); d != "" {
			t.Errorf("output %d: %s", i, d)
		}
	}
	for want, n := range map[string]*onnxpb.NodeProto{
		"com.microsoft.DynamicQuantizeLSTM of version 1, node \"y\": the catalogue has a definition when or(activations": op("com.microsoft.DynamicQuantizeLSTM x w r - - - - - ws wz rs rz -> y h c", "hidden_size", size, "clip", 1.0),
		"when !present(sequence_lens) || known(sequence_lens)":                                                           op("com.microsoft.DynamicQuantizeLSTM x w r - few - - - ws wz rs rz -> y h c", "hidden_size", size),
		"shape(X)[1] > 0 && count ==": op("com.microsoft.DynamicQuantizeLSTM x w r - - - - - ws wz rs rz -> y h c", "hidden_size", size, "direction", "bidirectional"),
	} {
		hd.nodes = []*onnxpb.NodeProto{n}
		if _, err := hd.run(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestGroupedQueries refuses what it does not compute of attention whose keys are shared, by name.
func TestGroupedQueries(t *testing.T) {
	h := &hand{opset: 17, out: []string{"y"}, fed: map[string]safetensors.Tensor{"q": numbered(dtype.F32, 2, 3, 32), "k": numbered(dtype.F32, 2, 3, 16), "run": of(dtype.I32, []int{2}, 2, 2)},
		stored: map[string]safetensors.Tensor{"same": of(dtype.I32, []int{2}, 2, 2), "other": of(dtype.I32, []int{2}, 1, 2), "three": of(dtype.I32, []int{1}, 3), "four": of(dtype.I32, []int{1}, 4)}}
	for _, tt := range []struct {
		node *onnxpb.NodeProto
		want string // of the error
	}{
		{op("com.microsoft.GroupQueryAttention q k k - - same three -> y", "num_heads", 4, "kv_num_heads", 2), ""},
		{op("com.microsoft.GroupQueryAttention q k k - - other three -> y", "num_heads", 4, "kv_num_heads", 2), "a definition when shape(query)[0] == 1 || known(seqlens_k)"},
		{op("com.microsoft.GroupQueryAttention q k k - - run three -> y", "num_heads", 4, "kv_num_heads", 2), "a definition when shape(query)[0] == 1 || known(seqlens_k)"},
		{op("com.microsoft.GroupQueryAttention q k k - - same four -> y", "num_heads", 4, "kv_num_heads", 2), "a definition when known(total_sequence_length)"},
		{op("com.microsoft.GroupQueryAttention q k k - - same three -> y", "num_heads", 4, "kv_num_heads", 2, "local_window_size", 2), "or(local_window_size, -1) == -1"},
		{op("com.microsoft.GroupQueryAttention q k k - - same three -> y", "num_heads", 4, "kv_num_heads", 2, "qk_output", 1), "the attribute qk_output has no meaning here"},
	} {
		h.nodes = []*onnxpb.NodeProto{tt.node}
		if _, err := h.run(t); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}

// TestControlFlow runs branches and loops of which a run, the file or the extents of inputs decide.
func TestControlFlow(t *testing.T) {
	x := of(dtype.F32, []int{2}, 3, 5)
	yes := of(dtype.Bool, []int{1}, 1)
	no := of(dtype.Bool, []int{1}, 0)
	one := map[string]safetensors.Tensor{"n": of(dtype.I64, []int{}, 3), "true": of(dtype.Bool, []int{}, 1), "limit": of(dtype.F32, []int{}, 20), "zero": of(dtype.I64, []int{1}, 0), "out": of(dtype.I64, []int{}, 2000)}
	branches := op("If c -> y", "then_branch", within("", "a", op("Add x x -> a")), "else_branch", within("", "b", op("Mul x x -> b")))
	double := within("i c s", "c d e", op("Add s x -> d"), op("Identity d -> e"))
	whileSmall := within("i c s", "go d", op("Add s x -> d"), op("ReduceMax d -> most", "keepdims", 0), op("Less most limit -> go"))
	// The condition would hold again in the second run.
	whileRising := within("i c s", "go d", op("Add s x -> d"), op("ReduceMax d -> most", "keepdims", 0), op("Cast i -> t", "to", 1), op("Mul t limit -> up"), op("Less most up -> go"))
	whileListed := within("i c s", "go d d", op("Add s x -> d"), op("ReduceMax d -> most", "keepdims", 0), op("Less most limit -> go"))
	sums := within("s r", "d e", op("Add s r -> d"), op("Mul d r -> e"))
	seq := of(dtype.F32, []int{3, 2}, 1, 2, 3, 4, 5, 6)
	for name, c := range map[string]struct {
		nodes []*onnxpb.NodeProto
		fed   map[string]safetensors.Tensor
		out   []string
		want  []safetensors.Tensor
	}{
		"the then branch":            {[]*onnxpb.NodeProto{branches}, map[string]safetensors.Tensor{"x": x, "c": yes}, []string{"y"}, []safetensors.Tensor{of(dtype.F32, []int{2}, 6, 10)}},
		"the else branch":            {[]*onnxpb.NodeProto{branches}, map[string]safetensors.Tensor{"x": x, "c": no}, []string{"y"}, []safetensors.Tensor{of(dtype.F32, []int{2}, 9, 25)}},
		"a loop of three":            {[]*onnxpb.NodeProto{op("Loop n - x -> y all", "body", double)}, map[string]safetensors.Tensor{"x": x}, []string{"y", "all"}, []safetensors.Tensor{of(dtype.F32, []int{2}, 12, 20), of(dtype.F32, []int{3, 2}, 6, 10, 9, 15, 12, 20)}},
		"a condition that is set":    {[]*onnxpb.NodeProto{op("Loop n true x -> y all", "body", double)}, map[string]safetensors.Tensor{"x": x}, []string{"y"}, []safetensors.Tensor{of(dtype.F32, []int{2}, 12, 20)}},
		"a condition of the run":     {[]*onnxpb.NodeProto{op("Loop n true x -> y", "body", whileSmall)}, map[string]safetensors.Tensor{"x": of(dtype.F32, []int{2}, 3, 10)}, []string{"y"}, []safetensors.Tensor{of(dtype.F32, []int{2}, 6, 20)}},
		"a loop that ended stays so": {[]*onnxpb.NodeProto{op("Loop n true x -> y", "body", whileRising)}, map[string]safetensors.Tensor{"x": x}, []string{"y"}, []safetensors.Tensor{of(dtype.F32, []int{2}, 6, 10)}},
		"a scan": {[]*onnxpb.NodeProto{op("Scan x q -> y all", "num_scan_inputs", 1, "body", sums)}, map[string]safetensors.Tensor{"x": x, "q": seq}, []string{"y", "all"},
			[]safetensors.Tensor{of(dtype.F32, []int{2}, 12, 17), of(dtype.F32, []int{3, 2}, 4, 14, 21, 44, 60, 102)}},
		"a scan back along the last axis": {[]*onnxpb.NodeProto{op("Transpose q -> u"), op("Scan x u -> y all", "num_scan_inputs", 1, "scan_input_axes", []int{-1}, "scan_input_directions", []int{1}, "scan_output_axes", []int{1}, "scan_output_directions", []int{1}, "body", sums)},
			map[string]safetensors.Tensor{"x": x, "q": seq}, []string{"all"}, []safetensors.Tensor{of(dtype.F32, []int{2, 3}, 12, 33, 40, 34, 60, 66)}},
	} {
		out, err := (&hand{opset: 17, nodes: c.nodes, fed: c.fed, stored: one, out: c.out}).run(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, want := range c.want {
			if d := different(out[i], want, 1e-6, 0); d != "" {
				t.Errorf("%s, output %d: %s", name, i, d)
			}
		}
	}
	unlike := op("If c -> y", "then_branch", within("", "a", op("Add x x -> a")), "else_branch", within("", "b", op("ReduceMax x -> b")))
	lone := op("If c -> y", "then_branch", within("", "a", op("NoSuchThing x -> a")), "else_branch", within("", "b", op("Mul x x -> b")))
	for want, n := range map[string]*onnxpb.NodeProto{
		"equal types and shapes of output 0, got f32[2] and f32[1]":                unlike,
		"NoSuchThing of version 17":                                                lone,
		"want a number of runs that is known when the graph is built":              op("Loop r - x -> y", "body", double),
		"want a loop of at most 1024 runs":                                         op("Loop out - x -> y", "body", double),
		"want a condition that is known when the graph is built":                   op("Loop - true x -> y", "body", whileSmall),
		": want a condition that is known when the graph is built":                 op("Loop n true x -> y all", "body", whileListed),
		"want 1 to 2 inputs that are scanned, got 3":                               op("Scan x q -> y", "num_scan_inputs", 3, "body", sums),
		"want inputs that are scanned of one extent up to 1024, got [3 2] along 2": op("Scan x q -> y", "num_scan_inputs", 1, "scan_input_axes", []int{2}, "body", sums),
		"want 1 integers as scan_input_axes, got [0 1]":                            op("Scan x q -> y", "num_scan_inputs", 1, "scan_input_axes", []int{0, 1}, "body", sums),
		"want a graph of 3 inputs, got 2":                                          op("Scan x x q -> y", "num_scan_inputs", 1, "body", sums),
		"want the graph body, got none":                                            op("Loop n - x -> y"),
		"want a run at least, whose output 0 says a shape":                         op("Loop zero - x -> y all", "body", double),
		"want a number of runs, got 20":                                            op("Loop limit - x -> y", "body", double),
	} {
		h := &hand{opset: 17, nodes: []*onnxpb.NodeProto{n}, fed: map[string]safetensors.Tensor{"x": x, "c": yes, "q": seq, "r": of(dtype.I64, []int{}, 2)}, stored: one, out: []string{"y"}}
		if _, err := h.run(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestScansOfBatches scans each example of a batch by itself, as version 8 of Scan has it.
func TestScansOfBatches(t *testing.T) {
	states, inputs := numbered(dtype.F32, 3, 2), numbered(dtype.F32, 3, 4, 2)
	body := within("s r", "d e", op("Add s r -> d"), op("Mul d r -> e"))
	for _, back := range []int{0, 1} {
		h := &hand{opset: 8, fed: map[string]safetensors.Tensor{"s": states, "x": inputs}, out: []string{"last", "all"},
			nodes: []*onnxpb.NodeProto{op("Scan - s x -> last all", "num_scan_inputs", 1, "directions", []int{back}, "body", body)}}
		out, err := h.run(t)
		if err != nil {
			t.Fatal(err)
		}
		sum := func(n, steps, k int) float64 {
			s := at(states, n, k)
			for i := range steps {
				s += at(inputs, n, []int{i, 3 - i}[back], k)
			}
			return s
		}
		last := each(dtype.F32, []int{3, 2}, func(i []int) float64 { return sum(i[0], 4, i[1]) })
		all := each(dtype.F32, []int{3, 4, 2}, func(i []int) float64 {
			return sum(i[0], i[1]+1, i[2]) * at(inputs, i[0], []int{i[1], 3 - i[1]}[back], i[2])
		})
		for i, want := range []safetensors.Tensor{last, all} {
			if d := different(out[i], want, 1e-6, 0); d != "" {
				t.Errorf("direction %d, output %d: %s", back, i, d)
			}
		}
	}
	for want, n := range map[string]*onnxpb.NodeProto{
		"Scan of version 8, node \"y\": its outputs follow from constants: want inputs that are scanned, and no lengths of sequences": op("Scan lengths s x -> y z", "num_scan_inputs", 1, "body", body),
		"want inputs of one batch of up to 1024, got [2 2] as input 2":                                                                op("Scan - s two -> y z", "num_scan_inputs", 1, "body", body),
		"want a batch of at least 1, got 0": op("Scan - none -> y z", "num_scan_inputs", 1, "body", within("r", "d", op("Add r r -> d"))),
	} {
		h := &hand{opset: 8, out: []string{"y"}, nodes: []*onnxpb.NodeProto{n}, fed: map[string]safetensors.Tensor{"s": states, "x": inputs, "two": numbered(dtype.F32, 2, 2),
			"lengths": of(dtype.I64, []int{3}, 1, 2, 3), "none": numbered(dtype.F32, 0, 2)}}
		if _, err := h.run(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestFlexAttention compares attention, whose graphs read what the network around it computes, with loops.
func TestFlexAttention(t *testing.T) {
	const heads, shared, rows, places, size = 4, 2, 3, 5, 2
	q, k, v := numbered(dtype.F32, 1, heads, rows, size), numbered(dtype.F32, 1, shared, places, size), numbered(dtype.F32, 1, shared, places, 3)
	bias, factor := numbered(dtype.F32, heads, 1, places), of(dtype.F32, []int{}, 0.5)
	want := each(dtype.F32, []int{1, heads, rows, 3}, func(i []int) float64 {
		h, row := i[1], i[2]
		var sum, all float64
		for p := range places {
			score := at(bias, h, 0, p)
			for d := range size {
				score += at(q, 0, h, row, d) * at(k, 0, h/(heads/shared), p, d) / math.Sqrt(size)
			}
			all += math.Exp(score)
			sum += math.Exp(score) * at(v, 0, h/(heads/shared), p, i[3])
		}
		return 0.5 * sum / all
	})
	node := op("ai.onnx.preview.FlexAttention q k v -> y", "score_mod", within("s", "o", op("Add s bias -> o")), "prob_mod", within("p", "o", op("Mul p factor -> o")))
	tensors := map[string]safetensors.Tensor{"q": q, "k": k, "v": v, "bias": bias, "factor": factor}
	for _, names := range []string{"q k v bias factor", "bias factor", "factor", "q v"} {
		h := &hand{opset: 23, nodes: []*onnxpb.NodeProto{node}, fed: map[string]safetensors.Tensor{}, stored: maps.Clone(tensors), out: []string{"y"}}
		for _, name := range strings.Fields(names) {
			h.fed[name] = tensors[name]
			delete(h.stored, name)
		}
		out, err := h.run(t)
		if err != nil {
			t.Fatal(err)
		}
		if d := different(out[0], want, 1e-5, 1e-6); d != "" {
			t.Errorf("with %s of the caller: %s", names, d)
		}
	}
	h := &hand{opset: 23, fed: tensors, out: []string{"y"}}
	for want, n := range map[string]*onnxpb.NodeProto{
		"ai.onnx.preview.FlexAttention of version 1, node \"y\": nodes of others compute it: score_mod: want a graph of 1 inputs, got 2": op("ai.onnx.preview.FlexAttention q k v -> y", "score_mod", within("s t", "o", op("Add s t -> o"))),
		"Loud of version 23": op("ai.onnx.preview.FlexAttention q k v -> y", "score_mod", within("s", "o", op("Loud s -> o"))),
		"the catalogue has a definition when rank(Q) == 4 && rank(K) == 4 && rank(V) == 4": op("ai.onnx.preview.FlexAttention bias k v -> y"),
	} {
		h.nodes = []*onnxpb.NodeProto{n}
		if _, err := h.run(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestMoreWorkThanElements runs small files whose attributes ask for work or memory that no tensor has the
// size of.
func TestMoreWorkThanElements(t *testing.T) {
	t.Parallel()
	const far = 1 << 31
	x := map[string]safetensors.Tensor{"x": numbered(dtype.F32, 1, 1, 4)}
	window := []int{far / 2, far / 2}
	for _, name := range []string{"MaxPool", "AveragePool", "LpPool"} {
		h := &hand{opset: 22, fed: x, out: []string{"y"}, nodes: []*onnxpb.NodeProto{op(name+" x -> y", "kernel_shape", []int{far}, "pads", window)}}
		m, err := onnx.Read(h.bytes(t), target)
		if err != nil {
			t.Fatal(err)
		}
		l, err := load(m, registry(), h.fed, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		begin := time.Now()
		if err := l.instance.Run(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: want a result or an error of the context, got %v", name, err)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s: took %v to end", name, took)
		}
	}
	// Only the middle of each filter lies on the image.
	images := map[string]safetensors.Tensor{"x": numbered(dtype.F32, 1, 1, 3, 3)}
	filter := map[string]safetensors.Tensor{"w": numbered(dtype.F32, 1, 1, 3, 3)}
	apart := []int{far, far}
	for _, c := range []struct {
		text string
		pads []int
	}{{"Conv x w -> y", []int{far, far, far, far}}, {"ConvTranspose x w -> y", []int{far, far, far, far}}} {
		h := &hand{opset: 22, fed: images, stored: filter, out: []string{"y"}, nodes: []*onnxpb.NodeProto{op(c.text, "dilations", apart, "pads", c.pads)}}
		got, err := h.run(t)
		if err != nil {
			t.Fatal(c.text, err)
		}
		middle := at(filter["w"], 0, 0, 1, 1)
		want := each(dtype.F32, []int{1, 1, 3, 3}, func(i []int) float64 { return middle * at(images["x"], i...) })
		if d := different(got[0], want, 0, 0); d != "" {
			t.Errorf("%s: %s", c.text, d)
		}
	}
	boxes := &hand{opset: 16, out: []string{"y"}, nodes: []*onnxpb.NodeProto{op("RoiAlign x boxes of -> y", "sampling_ratio", far)},
		fed: map[string]safetensors.Tensor{"x": images["x"], "boxes": of(dtype.F32, []int{1, 4}, 0, 0, 2, 2), "of": of(dtype.I64, []int{1}, 0)}}
	if _, err := boxes.run(t); err == nil || !strings.Contains(err.Error(), "at most 256") {
		t.Errorf("want a bound of samples, got %v", err)
	}
}

// TestNearestOfTies resamples elements that stand halfway between two others, or at one, by roundings of
// ratios that floating point does not hold.
func TestNearestOfTies(t *testing.T) {
	t.Parallel()
	below := func(a, b int) int { return int(math.Floor(float64(a) / float64(b))) }
	rounded := map[string]func(a, b int) int{ // of the place a/b
		"round_prefer_ceil":  func(a, b int) int { return below(2*a+b, 2*b) },
		"round_prefer_floor": func(a, b int) int { return -below(-(2*a - b), 2*b) },
		"floor":              below,
		"ceil":               func(a, b int) int { return -below(-a, b) },
	}
	for _, n := range []int{3, 4, 6, 7, 9, 10} {
		h := &hand{opset: 19, fed: map[string]safetensors.Tensor{"x": each(dtype.F32, []int{n}, func(at []int) float64 { return float64(at[0]) })}, stored: map[string]safetensors.Tensor{}}
		var want [][]float64
		resize := func(name string, by safetensors.Tensor, how string, size int, place func(o int) (a, b int)) {
			h.stored[name] = by
			for mode, f := range rounded {
				row := make([]float64, size)
				for o := range row {
					row[o] = float64(min(max(f(place(o)), 0), n-1))
				}
				h.out = append(h.out, fmt.Sprint("y", len(h.out)))
				inputs := map[dtype.Type]string{dtype.I64: "x - - ", dtype.F32: "x - "}[by.Type] + name
				h.nodes = append(h.nodes, op("Resize "+inputs+" -> "+h.out[len(h.out)-1], "mode", "nearest", "nearest_mode", mode, "coordinate_transformation_mode", how))
				want = append(want, row)
			}
		}
		for _, s := range []int{2, 3, 5, 9, 15} {
			place := func(o int) (a, b int) { return (2*o+1)*n - s, 2 * s } // (o + 1/2)n/s - 1/2
			resize(fmt.Sprint("sizes", s), of(dtype.I64, []int{1}, float64(s)), "half_pixel", s, place)
			resize(fmt.Sprint("scales", s), of(dtype.F32, []int{1}, float64(s)/float64(n)), "half_pixel", s, place)
		}
		for _, p := range []int{3, 6, 7, 9, 11, 23} { // tenths, which leave a part of an element
			s := n * p / 10
			place := func(o int) (a, b int) { return (n-1)*p + (2*o+1-s)*10, 2 * p } // (n - 1)/2 + (o + 1/2 - s/2)/(p/10)
			resize(fmt.Sprint("tenths", p), of(dtype.F32, []int{1}, float64(p)/10), "half_pixel_symmetric", s, place)
		}
		out, err := h.run(t)
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range out {
			if !slices.Equal(y.Float64s(), want[i]) {
				t.Errorf("%d elements, %v: got %v, want %v", n, h.nodes[i], y.Float64s(), want[i])
			}
		}
	}
}

// TestSaidOtherwise runs pairs of models that say the same in two ways.
func TestSaidOtherwise(t *testing.T) {
	t.Parallel()
	type nodes = []*onnxpb.NodeProto
	type tensors = map[string]safetensors.Tensor
	x, image, bytes := numbered(dtype.F32, 2, 3, 4), numbered(dtype.F32, 2, 3, 2, 2), numbered(dtype.U8, 3, 4)
	floats := func(x ...float64) safetensors.Tensor { return of(dtype.F32, []int{len(x)}, x...) }
	low := of(dtype.F32, []int{}, -1)
	for name, c := range map[string]struct {
		opset      int
		fed        tensors
		stored     tensors
		one, other nodes
	}{
		"a norm without a bias": {17, tensors{"x": x}, tensors{"g": floats(1, 2, 3, 4), "b": floats(0, 0, 0, 0)},
			nodes{op("LayerNormalization x g -> y")}, nodes{op("LayerNormalization x g b -> y")}},
		"a bound of a run": {13, tensors{"x": x, "low": low}, tensors{"bound": low}, nodes{op("Clip x low -> y")}, nodes{op("Clip x bound -> y")}},
		"one tensor for scales and variances": {15, tensors{"x": image}, tensors{"a": floats(1, 2, 3), "b": floats(1, 2, 3), "c": floats(1, 2, 3), "d": floats(1, 2, 3)},
			nodes{op("BatchNormalization x a a a a -> y")}, nodes{op("BatchNormalization x a b c d -> y")}},
		"the greatest byte": {12, tensors{"x": bytes}, nil, nodes{op("ReduceMax x -> m", "axes", []int{1}), op("Cast m -> y", "to", 1)},
			nodes{op("Cast x -> w", "to", 1), op("ReduceMax w -> y", "axes", []int{1})}},
		"the least byte": {13, tensors{"x": bytes}, nil, nodes{op("ReduceMin x -> m", "axes", []int{0}), op("Cast m -> y", "to", 1)},
			nodes{op("Cast x -> w", "to", 1), op("ReduceMin w -> y", "axes", []int{0})}},
	} {
		var outs [2]safetensors.Tensor
		for i, list := range []nodes{c.one, c.other} {
			out, err := (&hand{opset: c.opset, nodes: list, fed: c.fed, stored: c.stored, out: []string{"y"}}).run(t)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			outs[i] = out[0]
		}
		if d := different(outs[0], outs[1], 1e-6, 0); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestConstantIndices refuses constant indices that are out of range, and none at the edges.
func TestConstantIndices(t *testing.T) {
	t.Parallel()
	row, rows, pairs := []int{2}, []int{2, 2}, []int{2, 2}
	for text, c := range map[string]struct {
		shape   []int
		indices []float64
		want    string // what is refused
	}{
		"Gather x i -> y":             {row, []float64{-3, 2}, ""},
		"Gather x i -> y ":            {row, []float64{0, 3}, "between -3 and 2, got 3"},
		"Gather x i -> y  ":           {row, []float64{-4, 0}, "between -3 and 2, got -4"},
		"GatherElements x i -> y":     {rows, []float64{0, 1, 2, -3}, ""},
		"GatherElements x i -> y ":    {rows, []float64{0, 1, 2, 3}, "between -3 and 2, got 3"},
		"GatherND x i -> y":           {pairs, []float64{2, -4, -3, 3}, ""},
		"GatherND x i -> y ":          {pairs, []float64{3, 2, 0, 0}, "between -3 and 2, got 3"},
		"GatherND x i -> y  ":         {pairs, []float64{0, 0, 0, -5}, "between -4 and 3, got -5"},
		"ScatterElements x i u -> y":  {rows, []float64{0, 1, 2, -3}, ""},
		"ScatterElements x i u -> y ": {rows, []float64{0, 1, 2, 3}, "between -3 and 2, got 3"},
		"ScatterND x i v -> y":        {pairs, []float64{2, -4, -3, 3}, ""},
		"ScatterND x i v -> y ":       {pairs, []float64{2, 4, 0, 0}, "between -4 and 3, got 4"},
	} {
		h := &hand{opset: 18, nodes: []*onnxpb.NodeProto{op(text)}, fed: map[string]safetensors.Tensor{"x": numbered(dtype.F32, 3, 4)}, out: []string{"y"}, stored: map[string]safetensors.Tensor{
			"i": of(dtype.I64, c.shape, c.indices...), "u": numbered(dtype.F32, 2, 2), "v": numbered(dtype.F32, 2)}}
		_, err := h.run(t)
		var refused *onnx.Refused
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %v: got %v, want %q", text, c.indices, err, c.want)
		}
	}
}

// TestActivationsOfDirections compares a layer whose second direction has another function than its first
// one, and whose sequences end at different steps, with loops.
func TestActivationsOfDirections(t *testing.T) {
	t.Parallel()
	x, w, r := numbered(dtype.F32, 4, 2, 3), numbered(dtype.F32, 2, 2, 3), numbered(dtype.F32, 2, 2, 2)
	ends := []int{4, 3}
	h := &hand{opset: 14, nodes: []*onnxpb.NodeProto{op("RNN x w r - n -> y h", "direction", "bidirectional", "hidden_size", 2, "activations", []string{"Tanh", "Relu"}, "clip", 0.9)},
		fed: map[string]safetensors.Tensor{"x": x, "n": of(dtype.I32, []int{2}, 4, 3)}, stored: map[string]safetensors.Tensor{"w": w, "r": r}, out: []string{"y", "h"}}
	out, err := h.run(t)
	if err != nil {
		t.Fatal(err)
	}
	state := func(i []int) float64 {
		way, example := i[1], i[2]
		old := []float64{0, 0}
		for k := range ends[example] {
			step, now := k, make([]float64, 2)
			if way == 1 {
				step = ends[example] - 1 - k
			}
			for m := range now {
				for j := range 3 {
					now[m] += at(w, way, m, j) * at(x, step, example, j)
				}
				for j := range 2 {
					now[m] += at(r, way, m, j) * old[j]
				}
				if now[m] = min(max(now[m], -0.9), 0.9); way == 0 {
					now[m] = math.Tanh(now[m])
				} else {
					now[m] = max(now[m], 0)
				}
			}
			if old = now; i[0] == step {
				return now[i[3]]
			}
		}
		if i[0] < 0 {
			return old[i[3]]
		}
		return 0
	}
	if d := different(out[0], each(dtype.F32, []int{4, 2, 2, 2}, state), 1e-5, 1e-6); d != "" {
		t.Errorf("outputs: %s", d)
	}
	if d := different(out[1], each(dtype.F32, []int{2, 2, 2}, func(i []int) float64 { return state([]int{-1, i[0], i[1], i[2]}) }), 1e-5, 1e-6); d != "" {
		t.Errorf("last states: %s", d)
	}
}

// TestConvolvedVolumes compares a convolution of volumes, in groups and with steps, distances and padding of
// its own along each dimension, with loops.
func TestConvolvedVolumes(t *testing.T) {
	t.Parallel()
	x, w, b := numbered(dtype.F32, 2, 4, 5, 4, 3), numbered(dtype.F32, 6, 2, 3, 2, 2), numbered(dtype.F32, 6)
	h := &hand{opset: 13, nodes: []*onnxpb.NodeProto{op("Conv x w b -> y", "group", 2, "strides", []int{2, 1, 1}, "dilations", []int{2, 1, 2}, "pads", []int{1, 0, 1, 1, 1, 0})},
		fed: map[string]safetensors.Tensor{"x": x}, stored: map[string]safetensors.Tensor{"w": w, "b": b}, out: []string{"y"}}
	out, err := h.run(t)
	if err != nil {
		t.Fatal(err)
	}
	want := each(dtype.F32, []int{2, 6, 2, 4, 2}, func(i []int) float64 {
		sum := at(b, i[1])
		for c := range 2 {
			for u := range 3 {
				for v := range 2 {
					for z := range 2 {
						p, q, r := i[2]*2+u*2-1, i[3]+v, i[4]+z*2-1
						if p >= 0 && p < 5 && q < 4 && r >= 0 && r < 3 {
							sum += at(w, i[1], c, u, v, z) * at(x, i[0], i[1]/3*2+c, p, q, r)
						}
					}
				}
			}
		}
		return sum
	})
	if d := different(out[0], want, 1e-5, 1e-5); d != "" {
		t.Error(d)
	}
}
