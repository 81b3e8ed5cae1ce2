package onnx

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/safetensors"
)

// TestLinearAttention refuses what LinearAttention of ONNX does not permit.
func TestLinearAttention(t *testing.T) {
	shaped := func(dims ...int) safetensors.Tensor { return numbered(dtype.F32, dims...) }
	for name, c := range map[string]struct {
		query, decay, beta safetensors.Tensor
		attrs              []any
		want               string // of the error
	}{
		"as it is meant":    {shaped(1, 3, 8), shaped(1, 3, 2), shaped(1, 3, 2), []any{"q_num_heads", 4, "kv_num_heads", 2}, ""},
		"no heads":          {shaped(1, 3, 8), shaped(1, 3, 2), shaped(1, 3, 2), nil, "LinearAttention"},
		"0 heads":           {shaped(1, 3, 8), shaped(1, 3, 2), shaped(1, 3, 2), []any{"q_num_heads", 4, "kv_num_heads", 0}, "LinearAttention"},
		"heads below 0":     {shaped(1, 3, 8), shaped(1, 3, 2), shaped(1, 3, 2), []any{"q_num_heads", -4, "kv_num_heads", 2}, "LinearAttention"},
		"heads that differ": {shaped(1, 3, 6), shaped(1, 3, 2), shaped(1, 3, 2), []any{"q_num_heads", 3, "kv_num_heads", 2}, "LinearAttention"},
		"no such rule":      {shaped(1, 3, 8), shaped(1, 3, 2), shaped(1, 3, 2), []any{"q_num_heads", 4, "kv_num_heads", 2, "update_rule", "none"}, "LinearAttention"},
		"a rule with less":  {shaped(1, 3, 8), shaped(1, 3, 2), shaped(1, 3, 2), []any{"q_num_heads", 4, "kv_num_heads", 2, "update_rule", "linear"}, "LinearAttention"},
		"a shorter decay":   {shaped(1, 3, 8), shaped(1, 2, 2), shaped(1, 3, 2), []any{"q_num_heads", 4, "kv_num_heads", 2}, "LinearAttention"},
		"another beta":      {shaped(1, 3, 8), shaped(1, 3, 2), shaped(1, 3, 3), []any{"q_num_heads", 4, "kv_num_heads", 2}, "LinearAttention"},
		"a short query":     {shaped(1, 2, 8), shaped(1, 3, 2), shaped(1, 3, 2), []any{"q_num_heads", 4, "kv_num_heads", 2}, "LinearAttention"},
		"a matrix":          {shaped(3, 8), shaped(1, 3, 2), shaped(1, 3, 2), []any{"q_num_heads", 4, "kv_num_heads", 2}, "LinearAttention"},
	} {
		h := &hand{opset: 27, nodes: []*onnxpb.NodeProto{op("LinearAttention query key key - decay beta -> y last", c.attrs...)}, out: []string{"y"},
			fed: map[string]safetensors.Tensor{"query": c.query, "key": shaped(1, 3, 4), "decay": c.decay, "beta": c.beta}}
		_, err := h.run(t)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
