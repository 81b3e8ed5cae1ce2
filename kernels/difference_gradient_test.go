package kernels_test

import (
	"math"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// TestDifferenceGradient computes sigmoid(tanh(x) - b) and sigmoid(tanh(x) / b), where b has one element for
// each row of x, and their gradients. The planner runs the elementwise tasks of backward range by range, so
// the step of the difference that says so must touch the elements of its ranges only, also beside the sum
// over rows that the gradient of b is. Ranges do not begin where rows do.
func TestDifferenceGradient(t *testing.T) {
	const m, n = 200, 30
	apply := func(g *graph.Graph, name, attrs string, ins map[string]graph.Tensor) graph.Tensor {
		for _, o := range catalogue.Operators() {
			if o.Name != name {
				continue
			}
			a, err := o.DecodeAttrs([]byte(attrs))
			if err != nil {
				t.Fatal(err)
			}
			in := graph.Insert[int](g, 0, o, a)
			for slot, x := range ins {
				in.Bind(o.SlotNamed(slot), x)
			}
			return in.Node().Tensor(o.SlotNamed("output"))
		}
		t.Fatal(name)
		return graph.Tensor{}
	}
	for _, kind := range []string{"EW_SUB", "EW_DIV"} {
		var reg task.Registry
		if err := catalogue.Register(&reg); err != nil {
			t.Fatal(err)
		}
		g := graph.New(1)
		x, b, seed := g.Input("x", dtype.F32, m, n), g.Input("b", dtype.F32, m, 1), g.Input("seed", dtype.F32, m, n)
		h := apply(g, "element_unary", `{"op_type":"TANH"}`, map[string]graph.Tensor{"input": x})
		y := apply(g, "element_binary", `{"type":"`+kind+`"}`, map[string]graph.Tensor{"lhs_input": h, "rhs_input": b})
		z := apply(g, "element_unary", `{"op_type":"SIGMOID"}`, map[string]graph.Tensor{"input": y})
		p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{z: seed}, []graph.Tensor{x, b}, z)
		if err != nil {
			t.Fatal(err)
		}
		e := engine.New(&reg, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
		defer e.Close()
		pl, err := planner.Build(p, e.Options()...)
		if err != nil {
			t.Fatal(err)
		}
		in, err := e.Load(pl)
		if err != nil {
			t.Fatal(err)
		}
		xs, bs, ss := make([]float32, m*n), make([]float32, m), make([]float32, m*n)
		for i := range xs {
			xs[i], ss[i] = float32(math.Sin(float64(i))), float32(math.Cos(float64(3*i)))
		}
		for i := range bs {
			bs[i] = 1 + float32(i%7)/7
		}
		for name, v := range map[string][]float32{"x": xs, "b": bs, "seed": ss} {
			s, err := safetensors.Of([]int{len(v)}, v)
			if err != nil {
				t.Fatal(err)
			}
			if err := in.FeedBytes(name, s.Data); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		data, err := in.FetchBytes(grads[x].Name())
		if err != nil {
			t.Fatal(err)
		}
		got := safetensors.Tensor{Type: dtype.F32, Shape: []int{m, n}, Data: data}.Float64s()
		wrong, first := 0, -1
		for i := range xs {
			th, c := math.Tanh(float64(xs[i])), float64(bs[i/n])
			y, d := th-c, 1.0
			if kind == "EW_DIV" {
				y, d = th/c, 1/c
			}
			s := 1 / (1 + math.Exp(-y))
			if want := float64(ss[i]) * s * (1 - s) * d * (1 - th*th); !(math.Abs(got[i]-want) <= 1e-5) {
				if wrong++; first < 0 {
					first = i
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d elements of the gradient of x are wrong, the first at %d", kind, wrong, m*n, first)
		}
	}
}
