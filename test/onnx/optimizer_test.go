package onnx

import (
	"math"
	"testing"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/safetensors"
)

// TestOptimizers compares optimizers after some steps, at the default attributes, with their formulas. Node
// tests have the first step only.
func TestOptimizers(t *testing.T) {
	const rate, steps, x, g, v, h = 0.5, 3.0, 1.25, 2.0, -0.75, 5.0
	fed := map[string]safetensors.Tensor{"r": of(dtype.F64, []int{}, rate), "t": of(dtype.I64, []int{}, steps)}
	for name, value := range map[string]float64{"x": x, "g": g, "v": v, "h": h} {
		fed[name] = of(dtype.F64, []int{1}, value)
	}
	decayed, mean, square := g+0.1*x, 0.9*v+(1-0.9)*g, 0.999*h+(1-0.999)*g*g
	momentum := 0.5*v + 0.25*decayed
	for _, tt := range []struct {
		node *onnxpb.NodeProto
		want []float64
	}{
		{op("ai.onnx.preview.training.Adagrad r t x g h -> x2 h2", "decay_factor", 0.5), []float64{x - rate/(1+steps*0.5)*g/(math.Sqrt(h+g*g)+1e-6), h + g*g}},
		{op("ai.onnx.preview.training.Adam r t x g v h -> x2 v2 h2"),
			[]float64{x - rate*math.Sqrt(1-math.Pow(0.999, steps))/(1-math.Pow(0.9, steps))*mean/(math.Sqrt(square)+1e-6), mean, square}},
		{op("ai.onnx.preview.training.Momentum r t x g v -> x2 v2", "alpha", 0.5, "beta", 0.25, "mode", "standard", "norm_coefficient", 0.1), []float64{x - rate*momentum, momentum}},
		{op("ai.onnx.preview.training.Momentum r t x g v -> x2 v2", "alpha", 0.5, "beta", 0.25, "mode", "nesterov", "norm_coefficient", 0.1), []float64{x - rate*(decayed+0.5*momentum), momentum}},
	} {
		used := map[string]safetensors.Tensor{}
		for _, name := range tt.node.Input {
			used[name] = fed[name]
		}
		out, err := (&hand{opset: 17, nodes: []*onnxpb.NodeProto{tt.node}, fed: used, out: tt.node.Output}).run(t)
		if err != nil {
			t.Errorf("%s: %v", tt.node.GetOpType(), err)
			continue
		}
		for i, want := range tt.want {
			// Attributes are numbers of 32 bits.
			if got := out[i].Float64s()[0]; math.Abs(got-want) > 1e-6 {
				t.Errorf("%s, output %d: got %v, want %v", tt.node.GetOpType(), i, got, want)
			}
		}
	}
}
