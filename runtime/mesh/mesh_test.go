package mesh_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
)

// network returns a graph with a residual: y = x + out(hidden(x)), its softmax, and sums over samples.
func network() *graph.Graph {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 6, 4)
	h := linear.Apply(g, linear.Defaults(8), x, graph.Named("hidden"))
	o := linear.Apply(g, linear.Defaults(4).WithUseBias(false), h, graph.Named("out"))
	y := elementbinary.Add(g, x, o, graph.Named("y"))
	softmax.Apply(g, softmax.Defaults(), y, graph.Named("p"))
	total := reduce.Sum(g, y, attr.ListOf(0), graph.Named("total"))
	elementbinary.Add(g, total, total, graph.Named("twice"))
	return g
}

// two is a mesh of six devices.
var two = []mesh.Axis{{Name: "data", Size: 3}, {Name: "model", Size: 2}}

// TestPropagate completes strategies. A sum over samples stands undivided where it is read.
func TestPropagate(t *testing.T) {
	s := &mesh.Strategy{Mesh: two, Rules: []mesh.Rule{{Tensor: "p.output", Dim: -2, Axis: "data"}, {Tensor: "out.weight", Dim: 1, Axis: "model"}}}
	got, err := mesh.Propagate(network(), s)
	if err != nil {
		t.Fatal(err)
	}
	const want = `x [6/data, 4]
hidden.weight [8/model, 4]
hidden.bias [8/model]
hidden.output [6/data, 8/model]
out.weight [4, 8/model]
out.output [6/data, 4] sums over model
y.output [6/data, 4]
p.output [6/data, 4]
total.output [4] sums over data
`
	if got.String() != want || s.Devices() != 6 {
		t.Errorf("got %d devices and\n%s", s.Devices(), got)
	}
}

// TestErrors lists strategies that do not fit the network, and what the errors say of both sides.
func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct{ rules, want string }{
		"no tensor":    {`z = { 0 = "data" }`, "s.toml:6:7: z: want a tensor of a node of the graph, got none of this name"},
		"no dimension": {`x = { 2 = "data" }`, "s.toml:6:7: x: want a dimension of x f32[6, 4], got 2"},
		"no axis":      {`x = { 0 = "pipe" }`, `s.toml:6:7: x: want an axis of the mesh, one of data, model, got "pipe"`},
		"two axes of an index": {"x = { 0 = \"data\" }\n\"p.output\" = { 0 = \"model\" }",
			"want one axis of the mesh for an index that tensors have in common, got p.output dimension 0 over model (s.toml:7:16) and x dimension 0 over data (s.toml:6:7)"},
		"two indices over an axis": {"x = { 0 = \"model\" }\n\"hidden.bias\" = { 0 = \"model\" }",
			"want at most one dimension of hidden.output f32[6, 8] over model, got two, by x dimension 0 over model (s.toml:6:7) and hidden.bias dimension 0 over model (s.toml:7:19)"},
		"extent": {`"hidden.bias" = { 0 = "data" }`, "want an axis whose size divides the extent 8 of dimension 0 of hidden.weight f32[8, 4], got 3 devices on data"},
		"all of an index": {`"y.output" = { 1 = "model" }`,
			"mesh: node p, divided by y.output dimension 1 over model (s.toml:6:16): operator softmax, slot input: want dimension 1 undivided, since each part of the result needs all of it; dimension 0 may be divided, got degree 2"},
	} {
		s, err := mesh.Parse("s.toml", []byte("[mesh]\ndata = 3\nmodel = 2\n\n[divide]\n"+tt.rules+"\n"))
		if err == nil {
			_, err = mesh.Propagate(network(), s)
		}
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
}

// TestParseErrors lists files that are no strategies, with the places of what is wrong.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[mesh\n":                "s.toml:2:6: expected",
		"[mesh]\ndata = 0\n":     "s.toml:2:8: axis data: want a size of 1 or more",
		"[mesh]\ndata = \"2\"\n": "s.toml:2:9: axis data: want a size of 1 or more",
		"[mesh]\ndata = 2\n[divide]\nx.a = \"b\"":      "s.toml:4:8: x: want the number of a dimension, got \"a\"",
		"[mesh]\ndata = 2\n[divide]\nx.0 = 1\n":        "s.toml:4:7: x: dimension 0: want the name of an axis",
		"[mesh]\ndata = 2\n[stages]\na = 1\n":          "s.toml: want the tables mesh, divide, read and pipeline, got stages",
		"[pipeline]\nmicro_batches = 0\n":              "s.toml:2:17: micro_batches: want 1 or more",
		"[pipeline]\nstages = [\"a\"]\n":               "s.toml: micro_batches: want 1 or more",
		"[pipeline]\nstages = [\"a\",\n 1]\n":          "s.toml:2:11: stages: want the name of a node",
		"[pipeline]\nmicro_batches = 2\ncut.x = \"a\"": "s.toml:3:10: x: want the number of a dimension",
	} {
		if _, err := mesh.Parse("s.toml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v\nwant %s", text, err, want)
		}
	}
}
