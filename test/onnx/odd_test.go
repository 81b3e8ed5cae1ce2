//go:build onnxruntime

package onnx

import (
	"testing"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/safetensors"
)

// TestOddInRuntime runs models here and with ONNX Runtime in which operators meet what they seldom do: no
// elements, masks of everything, absent inputs and outputs, and graphs within graphs.
func TestOddInRuntime(t *testing.T) {
	j, _ := newJudge(t)
	j.least = 1
	type nodes = []*onnxpb.NodeProto
	ints := func(x ...float64) safetensors.Tensor { return of(dtype.I64, []int{len(x)}, x...) }
	x, row, none := numbered(dtype.F32, 2, 4, 6), numbered(dtype.F32, 6), of(dtype.F32, []int{0})
	deep := numbered(dtype.F32, 2, 3, 4, 5)
	fed := map[string]safetensors.Tensor{"x": x, "n": of(dtype.F32, []int{2, 0, 6}), "deep": deep, "flags": of(dtype.Bool, []int{2, 4, 6}, numbered01(48)...), "whole": numbered(dtype.I64, 2, 4, 6), "small": numbered(dtype.U8, 2, 4, 6),
		"masked": of(dtype.I32, []int{2, 4}, 0, 0, 0, 0, 1, 1, 0, 1), "zeros": of(dtype.F32, []int{2, 4, 6}, make([]float64, 48)...),
		"volume": numbered(dtype.F32, 1, 2, 3, 4, 5), "bytes": numbered(dtype.I8, 1, 2, 4, 5), "columns": numbered(dtype.F32, 2, 12, 10), "od": numbered(dtype.F32, 2, 24, 3, 3), "md": numbered(dtype.F32, 2, 12, 3, 3), "spectrum": numbered(dtype.F32, 2, 5, 2)}
	stored := map[string]safetensors.Tensor{"row": row, "none": none, "three": ints(3), "trips": of(dtype.I64, []int{}, 3), "true": of(dtype.Bool, []int{}, 1), "w18": numbered(dtype.F32, 6, 18), "b18": numbered(dtype.F32, 18),
		"square": numbered(dtype.F32, 6, 6), "i0": of(dtype.I64, []int{}, 0), "i1": of(dtype.I64, []int{}, 1), "one": ints(1), "two": ints(2), "zero": ints(0), "minus": ints(-1), "half": of(dtype.F32, []int{}, 0.5), "axis2": ints(2),
		"scale4": of(dtype.F32, []int{4}, 0.1, 0.2, 0.3, 0.4), "zp4": of(dtype.I8, []int{4}, 1, 2, 3, -4), "s1": of(dtype.F32, []int{}, 0.1), "u8z": of(dtype.U8, []int{}, 7), "empty": ints(), "last": ints(1 << 40), "perm": ints(0, 2, 1),
		"six": ints(2, 4, 6)}
	body := within("i c s", "c d e", op("Add s s -> d"), op("Identity d -> e"))
	branchy := within("i c s", "c d", op("Equal i i1 -> odd"), op("If odd -> d", "then_branch", typed(dtype.F32, within("", "p", op("Neg s -> p"))), "else_branch", typed(dtype.F32, within("", "q", op("Add s s -> q")))))
	for name, c := range map[string]struct {
		opset int
		nodes nodes
	}{
		"quantized zeros":           {13, nodes{op("DynamicQuantizeLinear zeros -> q s z"), op("DequantizeLinear q s z -> y")}},
		"attention without keys":    {18, nodes{op("com.microsoft.Attention x w18 b18 masked -> y", "num_heads", 2)}},
		"heads without keys":        {18, nodes{op("com.microsoft.MultiHeadAttention x x x b18 masked -> y", "num_heads", 2)}},
		"loop without a condition":  {17, nodes{op("Loop trips - x -> y all", "body", loopBody(body))}},
		"branch in a loop":          {17, nodes{op("Loop trips true x -> y", "body", loopBody(branchy))}},
		"nothing joined":            {17, nodes{op("Concat n x -> y", "axis", 1)}},
		"nothing added":             {17, nodes{op("ReduceSum n one -> y", "keepdims", 0)}},
		"nothing sliced":            {17, nodes{op("Slice x three two one -> p"), op("Relu p -> y")}},
		"nothing taken":             {17, nodes{op("Gather x empty -> y", "axis", 1)}},
		"nothing norm":              {17, nodes{op("LayerNormalization n row row -> y")}},
		"nothing softmax":           {17, nodes{op("Softmax n -> y", "axis", 1)}},
		"nothing expanded":          {17, nodes{op("Shape n -> s"), op("ConstantOfShape s -> y")}},
		"nothing split":             {17, nodes{op("Split x six6 -> y z", "axis", 2)}},
		"nothing where":             {17, nodes{op("Cast n -> c", "to", 9), op("Where c n row -> y")}},
		"no axes":                   {13, nodes{op("ReduceSum x -> y")}},
		"no axes that change":       {13, nodes{op("ReduceSum x empty -> y", "noop_with_empty_axes", 1)}},
		"mean of empty axes":        {18, nodes{op("ReduceMean x empty -> y")}},
		"max of truths":             {20, nodes{op("ReduceMax flags one -> z"), op("Cast z -> y", "to", 1)}},
		"last output of a split":    {13, nodes{op("Split deep -> a b y", "axis", 1)}},
		"third of a top":            {11, nodes{op("TopK x two -> v y", "axis", -2, "largest", 0)}},
		"scaled along an axis":      {13, nodes{op("QuantizeLinear x scale4 zp4 -> q", "axis", 1), op("DequantizeLinear q scale4 zp4 -> y", "axis", -2)}},
		"quantized halves":          {13, nodes{op("QuantizeLinear x s1 u8z -> q"), op("DequantizeLinear q s1 u8z -> y")}},
		"mixed integers":            {13, nodes{op("Cast whole -> f", "to", 1), op("Mod whole three -> m"), op("Cast m -> g", "to", 1), op("Add f g -> y")}},
		"pow of integers":           {13, nodes{op("Pow whole i1 -> p"), op("Cast p -> y", "to", 1)}},
		"float to the whole":        {13, nodes{op("Pow x trips -> y")}},
		"quotient of integers":      {13, nodes{op("Div whole three -> p"), op("Cast p -> y", "to", 1)}},
		"softmax of old":            {11, nodes{op("Softmax deep -> y", "axis", 2)}},
		"log softmax of old":        {12, nodes{op("LogSoftmax deep -> y", "axis", -2)}},
		"hard of old":               {12, nodes{op("Hardmax deep -> y", "axis", 1)}},
		"a far end":                 {13, nodes{op("Slice x one last one two -> y")}},
		"einsum of a trace":         {13, nodes{op("Einsum x -> y", "equation", "bij->j")}},
		"einsum without an arrow":   {13, nodes{op("Einsum x square -> y", "equation", "bij,jk")}},
		"expand of fewer":           {13, nodes{op("Expand row six -> y")}},
		"expand by 1":               {13, nodes{op("Expand x one -> y")}},
		"tile of nothing":           {13, nodes{op("Tile row zero -> y")}},
		"gather of whole":           {13, nodes{op("Gather x i0 -> y", "axis", 1)}},
		"sum of one":                {13, nodes{op("Sum x -> y")}},
		"mean of three":             {13, nodes{op("Mean x row half -> y")}},
		"cumulated back":            {14, nodes{op("CumSum x i1 -> y", "reverse", 1, "exclusive", 1)}},
		"triangles":                 {14, nodes{op("Trilu deep minus0 -> y", "upper", 0)}},
		"clip that crosses":         {13, nodes{op("Clip x half minushalf -> y")}},
		"dropout in inference":      {13, nodes{op("Dropout x half -> y m")}},
		"shape of parts":            {15, nodes{op("Shape deep -> s", "start", -3, "end", -1), op("Cast s -> y", "to", 1)}},
		"reshape of zeros":          {14, nodes{op("Reshape n z0 -> y", "allowzero", 1)}},
		"unsqueeze negative":        {13, nodes{op("Unsqueeze x m13 -> y")}},
		"squeeze of all":            {13, nodes{op("Unsqueeze x m13 -> u"), op("Squeeze u -> y")}},
		"gelu":                      {20, nodes{op("Gelu x -> y", "approximate", "tanh")}},
		"group norm of 21":          {21, nodes{op("GroupNormalization deep g3 g3 -> y", "num_groups", 3)}},
		"reduce log":                {18, nodes{op("Abs x -> a"), op("Add a half -> b"), op("ReduceLogSum b minus -> y")}},
		"logic of truths":           {13, nodes{op("Not flags -> f"), op("Xor f flags -> g"), op("Cast g -> y", "to", 1)}},
		"where of a scalar":         {13, nodes{op("Where flags half x -> y")}},
		"equal truths":              {13, nodes{op("Equal flags true -> z"), op("Cast z -> y", "to", 1)}},
		"arg of bytes":              {13, nodes{op("ArgMax small -> z", "axis", 2, "select_last_index", 1), op("Cast z -> y", "to", 1)}},
		"bytes":                     {14, nodes{op("Add small small -> z"), op("Cast z -> y", "to", 1)}},
		"reverse slices":            {13, nodes{op("Slice x minus low axis2 minus -> y")}},
		"pad axes":                  {18, nodes{op("Pad x p2 half m1 -> y")}},
		"pad wrap":                  {19, nodes{op("Pad x p2 - m1 -> y", "mode", "wrap")}},
		"instance norm of one":      {13, nodes{op("InstanceNormalization x g4 g4 -> y")}},
		"lrn":                       {13, nodes{op("LRN deep -> y", "size", 3)}},
		"nan":                       {13, nodes{op("Div zeros zeros -> d"), op("IsNaN d -> z"), op("Cast z -> y", "to", 1)}},
		"max of nan":                {13, nodes{op("Div zeros zeros -> d"), op("Max d x -> y")}},
		"relu of nan":               {13, nodes{op("Div zeros zeros -> d"), op("Relu d -> y")}},
		"clip of nan":               {13, nodes{op("Div zeros zeros -> d"), op("Clip d minushalf half -> y")}},
		"infinite integers":         {13, nodes{op("Sign x -> d"), op("Cast d -> z", "to", 6), op("Cast z -> y", "to", 1)}},
		"truth of floats":           {13, nodes{op("Cast x -> z", "to", 9), op("Cast z -> y", "to", 1)}},
		"wrapped bytes":             {13, nodes{op("Cast whole -> z", "to", 2), op("Cast z -> y", "to", 1)}},
		"halves":                    {13, nodes{op("Cast x -> h", "to", 10), op("Mul h h -> g"), op("Cast g -> y", "to", 1)}},
		"one dimension of a matmul": {13, nodes{op("MatMul row square -> y")}},
		"rows of a gather nd":       {13, nodes{op("GatherND x gnd -> y", "batch_dims", 1)}},
		"scattered sums":            {16, nodes{op("ScatterND x snd upd -> y", "reduction", "mul")}},
		"hot":                       {13, nodes{op("OneHot hot depth hots -> y", "axis", 1)}},
		"eye":                       {13, nodes{op("EyeLike square -> z", "k", -1), op("Add z row -> y")}},
		"range of floats":           {13, nodes{op("Range half limit step -> y")}},
		"range back":                {13, nodes{op("Range trips im step0 -> z"), op("Cast z -> y", "to", 1)}},
		"global max":                {13, nodes{op("GlobalMaxPool x -> y")}},
		"flatten of 0":              {13, nodes{op("Flatten x -> y", "axis", 0)}},
		"prelu of a number":         {16, nodes{op("PRelu x half -> y")}},
		"depth":                     {13, nodes{op("SpaceToDepth sd -> y", "blocksize", 2)}},
		"indices":                   {12, nodes{op("MaxPool deep -> v i", "kernel_shape", []int{2, 3}, "pads", []int{1, 0, 0, 2}, "strides", []int{1, 2}), op("Cast i -> f", "to", 1), op("Add v f -> y")}},
		"indices of columns":        {12, nodes{op("MaxPool deep -> v i", "kernel_shape", []int{2, 2}, "storage_order", 1, "auto_pad", "SAME_UPPER"), op("Cast i -> y", "to", 1)}},
		"indices of rows":           {12, nodes{op("MaxPool x -> v i", "kernel_shape", []int{2}, "dilations", []int{3}, "ceil_mode", 1, "strides", []int{2}), op("Cast i -> y", "to", 1)}},
		"indices of volumes":        {12, nodes{op("MaxPool volume -> v i", "kernel_shape", []int{2, 1, 2}, "strides", []int{2, 1, 1}, "ceil_mode", 1), op("Cast i -> y", "to", 1)}},
		"indices of bytes":          {12, nodes{op("MaxPool bytes -> v i", "kernel_shape", []int{3, 3}, "pads", []int{1, 1, 1, 1}), op("Cast i -> f", "to", 1), op("Cast v -> w", "to", 1), op("Add w f -> y")}},
		"unpooled":                  {12, nodes{op("MaxPool deep -> v i", "kernel_shape", []int{2, 5}, "strides", []int{2, 5}), op("MaxUnpool v i -> y", "kernel_shape", []int{2, 5}, "strides", []int{2, 5})}},
		"columns to an image":       {18, nodes{op("Col2Im columns size22 two2 -> y", "pads", []int{1, 0, 1, 0}, "strides", []int{1, 2}, "dilations", []int{2, 1})}},
		"moved windows":             {19, nodes{op("DeformConv deep wd od bd md -> y", "pads", []int{1, 1, 1, 1}, "strides", []int{2, 2}, "dilations", []int{1, 2}, "offset_group", 3)}},
		"batch of training":         {15, nodes{op("BatchNormalization deep g3 b3 m3 v3 -> a m v", "training_mode", 1, "momentum", 0.7), op("Add m v -> b"), op("ReduceMean b -> w"), op("Add a w -> y")}},
		"pad by a number of a run":  {18, nodes{op("ReduceMax x -> r", "keepdims", 0), op("Pad x p2 r m1 -> y")}},
		"norm of all":               {13, nodes{op("GlobalLpPool deep -> y", "p", 3)}},
		"mapped sequence":           {17, nodes{op("SplitToSequence x -> s", "axis", 1, "keepdims", 0), op("SequenceMap s row -> t", "body", given(dtype.F32, typed(dtype.F32, within("a b", "c", op("Mul a b -> c"))))), op("ConcatFromSequence t -> y", "axis", 1, "new_axis", 1)}},
		"crop and pad":              {18, nodes{op("CenterCropPad x crop -> y", "axes", []int{-1, 1})}},
		"inverse of one side":       {17, nodes{op("DFT spectrum -> y", "axis", 1, "inverse", 1, "onesided", 1)}},
		"pitches":                   {17, nodes{op("MelWeightMatrix mb ml mr mlow mhigh -> y")}},
		"arithmetic of 64 bits":     {14, nodes{op("Cast whole -> u", "to", 13), op("Mul u u -> v"), op("Sub v u -> w"), op("Max w u -> m"), op("Cast m -> i", "to", 7), op("Cast i -> y", "to", 1)}},
		"maximum of nothing":        {18, nodes{op("ReduceMax n one -> m"), op("Cast m -> h", "to", 10), op("Cast h -> y", "to", 1)}},
		"features":                  {13, nodes{op("ai.onnx.ml.ArrayFeatureExtractor x last2 -> f"), op("ai.onnx.ml.Binarizer f -> y", "threshold", 0.5)}},
	} {
		h := &hand{opset: c.opset, nodes: c.nodes, fed: map[string]safetensors.Tensor{}, stored: map[string]safetensors.Tensor{}, out: []string{"y"}}
		more := map[string]safetensors.Tensor{"six6": ints(0, 6), "minus0": of(dtype.I64, []int{}, -1), "minushalf": of(dtype.F32, []int{}, -0.5), "z0": ints(0, 6, 2), "m13": ints(-1, -3), "g3": of(dtype.F32, []int{3}, 1, 2, 3), "g4": of(dtype.F32, []int{4}, 1, 2, 3, 4),
			"low": ints(-1 << 60), "p2": ints(1, 2), "m1": ints(-1), "gnd": of(dtype.I64, []int{2, 1}, -1, 2), "snd": of(dtype.I64, []int{3, 2}, 0, 1, 0, 1, 1, -1), "upd": numbered(dtype.F32, 3, 6), "hot": ints(1, -1, 9), "depth": of(dtype.F32, []int{}, 4), "hots": of(dtype.F32, []int{2}, -1, 2),
			"limit": of(dtype.F32, []int{}, 2.6), "step": of(dtype.F32, []int{}, 0.3), "im": of(dtype.I64, []int{}, -4), "step0": of(dtype.I64, []int{}, -2),
			"b3": of(dtype.F32, []int{3}, 1, 0, -1), "m3": of(dtype.F32, []int{3}, 0, 1, 2), "v3": of(dtype.F32, []int{3}, 3, 2, 1), "size22": ints(5, 4), "two2": ints(2, 2), "wd": numbered(dtype.F32, 2, 3, 2, 2), "bd": of(dtype.F32, []int{2}, 1, -1), "crop": ints(9, 3), "mb": of(dtype.I64, []int{}, 8), "ml": of(dtype.I64, []int{}, 64), "mr": of(dtype.I64, []int{}, 8192),
			"mlow": of(dtype.F32, []int{}, 0), "mhigh": of(dtype.F32, []int{}, 4096), "last2": ints(5, 1)}
		read := map[string]bool{}
		var look func(list nodes)
		look = func(list nodes) {
			for _, n := range list {
				for _, name := range n.Input {
					read[name] = true
				}
				for _, a := range n.Attribute {
					look(a.GetG().GetNode())
				}
			}
		}
		look(c.nodes)
		for _, m := range []map[string]safetensors.Tensor{stored, more} {
			for k, v := range m {
				if read[k] {
					h.stored[k] = v
				}
			}
		}
		for k, v := range fed {
			if read[k] {
				h.fed[k] = v
			}
		}
		if read["sd"] {
			h.fed["sd"] = numbered(dtype.F32, 1, 2, 4, 6)
		}
		out, err := h.run(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		j.hands[name+".onnx"] = h
		j.add(t, name+".onnx", h.bytes(t), h.fed, map[string]safetensors.Tensor{"y": out[0]})
	}
	j.run(t)
}

// numbered01 returns n truth values of which no rule is plain.
func numbered01(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i * 7 / 3 % 2)
	}
	return out
}

// loopBody gives the inputs of a loop's body the types that they must have.
func loopBody(g *onnxpb.GraphProto) *onnxpb.GraphProto {
	for i, v := range g.Input {
		n := numbers[[]dtype.Type{dtype.I64, dtype.Bool, dtype.F32}[min(i, 2)]]
		v.Type = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: &n}}}
		if i < 2 {
			v.Type.GetTensorType().Shape = &onnxpb.TensorShapeProto{}
		}
	}
	return g
}

// given gives the inputs of a graph an element type.
func given(kind dtype.Type, g *onnxpb.GraphProto) *onnxpb.GraphProto {
	for _, v := range g.Input {
		n := numbers[kind]
		v.Type = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: &n}}}
	}
	return g
}
