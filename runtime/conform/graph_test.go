package conform_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/safetensors"
)

// graphCase returns a case of several operators. It may be changed.
func graphCase(t *testing.T) *conform.Case {
	t.Helper()
	cases, _ := load(t, "graph")
	c := *cases[0]
	c.Tensors, c.Graph = maps.Clone(c.Tensors), slices.Clone(c.Graph)
	return &c
}

// TestGraphDiffers changes what a case of several operators expects. Each element of each result is compared,
// within the tolerance of the element.
func TestGraphDiffers(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	if res := r.Run(t.Context(), graphCase(t)); res.Status != conform.Passed {
		t.Fatal(res.Reason)
	}
	for name := range graphCase(t).Tensors {
		kind, _, _ := strings.Cut(name, ".")
		if kind != "out" && kind != "grad_in" {
			continue
		}
		c := graphCase(t)
		x := c.Tensors[name].Float64s()
		last := len(x) - 1
		x[last] += 1e-3 * max(1, math.Abs(x[last]))
		c.Tensors[name] = doubles(c.Tensors[name].Shape, x)
		res := r.Run(t.Context(), c)
		if res.Status != conform.Failed || !strings.Contains(res.Reason, name+": 1 of") {
			t.Errorf("%s: status %d: %s", name, res.Status, res.Reason)
		}
		tol := make([]float64, len(x))
		tol[last] = math.Inf(1) // of this element, anything will do
		for i := range tol[:last] {
			tol[i] = 1e-4
		}
		c.Tensors["tol."+name] = doubles(c.Tensors[name].Shape, tol)
		if res := r.Run(t.Context(), c); res.Status != conform.Passed {
			t.Errorf("%s with a tolerance: %s", name, res.Reason)
		}
		c.Tensors["tol."+name] = doubles([]int{1}, tol[:1])
		if res := r.Run(t.Context(), c); len(x) > 1 && (res.Status != conform.Failed || !strings.Contains(res.Reason, "want tolerances of shape")) {
			t.Errorf("%s with a tolerance of another shape: %s", name, res.Reason)
		}
	}
}

func doubles(shape []int, x []float64) safetensors.Tensor {
	b := make([]byte, 8*len(x))
	for i, v := range x {
		dtype.F64.PutFloat64(b[8*i:], v)
	}
	return safetensors.Tensor{Type: dtype.F64, Shape: shape, Data: b}
}

// TestGraphErrors breaks a case of several operators: the result says where.
func TestGraphErrors(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for name, tt := range map[string]struct {
		change func(c *conform.Case)
		status conform.Status
		want   string
	}{
		"no operator":        {func(c *conform.Case) { c.Graph[1].Op = "nothing" }, conform.Skipped, "node 1 of the case: no operator nothing"},
		"no slot":            {func(c *conform.Case) { c.Graph[0].In = map[string][]string{"x": {"x0"}} }, conform.Failed, `node 0 of the case: operator element_unary: want a slot of role input, got "x"`},
		"an output as input": {func(c *conform.Case) { c.Graph[0].In = map[string][]string{"output": {"x0"}} }, conform.Failed, `want a slot of role input, got "output"`},
		"no tensor":          {func(c *conform.Case) { c.Graph[0].In = map[string][]string{"input": {"z"}} }, conform.Failed, `want a tensor that the case gives, or an output of an earlier node, got "z"`},
		"too many names":     {func(c *conform.Case) { c.Graph[0].Out = map[string][]string{"output": {"a", "b"}} }, conform.Failed, "want names for 1 tensors, got 2"},
		"an unknown result":  {func(c *conform.Case) { c.Tensors["out.z"] = doubles(nil, []float64{1}) }, conform.Failed, "want a tensor of the case for out.z, got none"},
	} {
		c := graphCase(t)
		tt.change(c)
		if res := r.Run(t.Context(), c); res.Status != tt.status || !strings.Contains(res.Reason, tt.want) {
			t.Errorf("%s: status %d: %s\nwant %s", name, res.Status, res.Reason, tt.want)
		}
	}
}
