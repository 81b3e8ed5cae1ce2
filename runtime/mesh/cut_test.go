package mesh_test

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
)

// TestCut cuts the numbers 0 to 119 along each pair of dimensions: a device has the elements whose indices
// are in its part, in order.
func TestCut(t *testing.T) {
	t.Parallel()
	dims := []int{4, 5, 6}
	whole := make([]int, 4*5*6)
	for i := range whole {
		whole[i] = i
	}
	for name, tt := range map[string]struct {
		rules []mesh.Rule
		parts func(a, b int) [3][2]int // the indices from and to by dimension, of the device at place a of 2 and b of 3
	}{
		"none":        {nil, func(_, _ int) [3][2]int { return [3][2]int{{0, 4}, {0, 5}, {0, 6}} }},
		"first":       {[]mesh.Rule{{Tensor: "x", Dim: 0, Axis: "a"}}, func(a, _ int) [3][2]int { return [3][2]int{{2 * a, 2*a + 2}, {0, 5}, {0, 6}} }},
		"last":        {[]mesh.Rule{{Tensor: "x", Dim: 2, Axis: "b"}}, func(_, b int) [3][2]int { return [3][2]int{{0, 4}, {0, 5}, {2 * b, 2*b + 2}} }},
		"two, a is 0": {[]mesh.Rule{{Tensor: "x", Dim: 0, Axis: "a"}, {Tensor: "x", Dim: 2, Axis: "b"}}, func(a, b int) [3][2]int { return [3][2]int{{2 * a, 2*a + 2}, {0, 5}, {2 * b, 2*b + 2}} }},
	} {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, dims...)
		y := elementunary.Relu(g, x)
		p, err := graph.Inference(g, y)
		if err != nil {
			t.Fatal(err)
		}
		d, err := mesh.Divide(p, &mesh.Strategy{Mesh: []mesh.Axis{{Name: "a", Size: 2}, {Name: "b", Size: 3}}, Rules: tt.rules}, moves)
		if err != nil {
			t.Fatal(err)
		}
		got := mesh.Cut(d, x, whole)
		if len(got) != 6 {
			t.Errorf("%s: got the parts of %d devices, want 6", name, len(got))
		}
		for device, part := range got {
			in := tt.parts(device/3, device%3) // the last axis of the mesh varies fastest
			var want []int
			for i, number := range whole {
				at := [3]int{i / 30, i / 6 % 5, i % 6}
				inside := true
				for dim, x := range at {
					inside = inside && in[dim][0] <= x && x < in[dim][1]
				}
				if inside {
					want = append(want, number)
				}
			}
			if !slices.Equal(part, want) {
				t.Errorf("%s: device %d has %v, want %v", name, device, part, want)
			}
			if shape := d.Inputs(x)[device].Shape(); len(want) != shape[0]*shape[1]*shape[2] {
				t.Errorf("%s: device %d has %d elements of %v", name, device, len(want), shape)
			}
		}
	}
}
